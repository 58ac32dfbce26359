//! The operator needs what its manifest gives it, and nothing else: it runs as its service account on a real API server through
//! everything that it can do, and the server's audit log is held against the roles of `deploy/`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use trellis_testkit::process::{Process, Program, configuration, kubeconfig};
use trellis_testkit::stage::Stage;
use trellis_testkit::{ControlPlane, Options, objects, rights};

const USER: &str = "system:serviceaccount:trellis-system:trellis-operator";
const TOKEN: &str = "operator";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn documents(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file);
    serde_saphyr::from_multiple(&std::fs::read_to_string(path).expect("a manifest")).expect("YAML")
}

/// What the tests look at and change.
const KINDS: [(&str, &str, &str, &str); 22] = [
    ("nvidia.com", "v1beta1", "DynamoGraphDeployment", "dynamographdeployments"),
    ("grove.io", "v1alpha1", "PodCliqueSet", "podcliquesets"),
    ("grove.io", "v1alpha1", "PodCliqueScalingGroup", "podcliquescalinggroups"),
    ("grove.io", "v1alpha1", "PodClique", "podcliques"),
    ("grove.io", "v1alpha1", "ClusterTopology", "clustertopologies"),
    ("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs"),
    ("", "v1", "Pod", "pods"),
    ("", "v1", "Service", "services"),
    ("", "v1", "ServiceAccount", "serviceaccounts"),
    ("", "v1", "Secret", "secrets"),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
    ("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"),
    ("kai.scheduler", "v1alpha1", "Topology", "topologies"),
    ("scheduling.run.ai", "v2", "Queue", "queues"),
    ("trellis.dev", "v1alpha1", "Pool", "pools"),
    ("trellis.dev", "v1alpha1", "Workflow", "workflows"),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
];

/// The cluster as its administrator sees it.
struct Cluster {
    client: Client,
    stage: Stage,
}

impl Cluster {
    fn resource(kind: &str) -> ApiResource {
        let (group, version, kind, plural) = KINDS.into_iter().find(|known| known.2 == kind).expect("a known kind");
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let resource = Self::resource(kind);
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    async fn list(&self, kind: &str, namespace: &str) -> Vec<Value> {
        let listed = self.api(kind, namespace).list(&ListParams::default()).await;
        let items = listed.map(|list| list.items).unwrap_or_default();
        let typed = |object: DynamicObject| {
            let mut value = serde_json::to_value(object).expect("an object is JSON");
            // Items of a list do not say what they are.
            value["apiVersion"] = Self::resource(kind).api_version.into();
            value["kind"] = kind.into();
            value
        };
        items.into_iter().map(typed).collect()
    }

    async fn create(&self, object: &Value) {
        objects::create(&self.client, object).await.unwrap_or_else(|error| panic!("{error}"));
    }

    async fn patch(&self, kind: &str, namespace: &str, name: &str, patch: Value) {
        let patched = self.api(kind, namespace).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    async fn delete(&self, kind: &str, namespace: &str, name: &str) {
        let deleted = self.api(kind, namespace).delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    async fn namespace(&self, name: &str) {
        self.create(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await;
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": name },
        });
        // The controller manager may be faster.
        let _ = objects::create(&self.client, &account).await;
    }

    /// Waits until so many pods of a namespace are ready, and no others are there.
    async fn ready(&self, namespace: &str, count: usize) {
        let is_ready = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
        };
        until(&format!("{count} pods of {namespace} are ready"), async || {
            let pods = self.list("Pod", namespace).await;
            pods.len() == count && pods.iter().all(is_ready)
        })
        .await;
    }
}

/// Looks until it is so.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let looks = async {
        while !is_so().await {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, looks).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"));
}

/// A set with everything that a set can have: an order of start, an autoscaler, claims, a scaling group with gangs of its own.
fn everything(namespace: &str) -> Value {
    let clique = |name: &str| {
        json!({ "name": name, "spec": {
            "roleName": name, "replicas": 1, "minAvailable": 1,
            "podSpec": { "containers": [{ "name": "app", "image": "app:1" }], "terminationGracePeriodSeconds": 0 },
        } })
    };
    let mut scaled = clique("a");
    scaled["spec"]["autoScalingConfig"] = json!({ "minReplicas": 1, "maxReplicas": 3 });
    let claim =
        json!({ "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } } });
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": "wl", "namespace": namespace },
        "spec": { "replicas": 1, "template": {
            "cliques": [scaled, clique("b")],
            "cliqueStartupType": "CliqueStartupTypeInOrder",
            "terminationDelay": "1s",
            "resourceClaimTemplates": [{ "name": "shared", "templateSpec": claim }],
            "resourceSharing": [{ "name": "shared", "scope": "PerReplica" }],
            "podCliqueScalingGroups": [{ "name": "g", "replicas": 2, "minAvailable": 1, "cliqueNames": ["b"] }],
        } },
    })
}

/// The same set for KAI, packed into a rack.
fn for_kai(namespace: &str) -> Value {
    let clique = json!({ "name": "a", "spec": {
        "roleName": "a", "replicas": 1, "minAvailable": 1,
        "podSpec": {
            "schedulerName": "kai-scheduler", "terminationGracePeriodSeconds": 0,
            "containers": [{ "name": "app", "image": "app:1" }],
        },
    } });
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": "kai", "namespace": namespace, "labels": { "kai.scheduler/queue": "test" } },
        "spec": { "replicas": 2, "template": {
            "cliques": [clique], "clusterTopologyName": "racks", "topologyConstraint": { "packDomain": "rack" },
        } },
    })
}

fn topology(levels: &[(&str, &str)]) -> Value {
    let levels: Vec<Value> = levels.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
        "metadata": { "name": "racks" }, "spec": { "levels": levels },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_manifest_gives_what_is_needed_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let (policy, log) = (folder.path().join("policy.yaml"), folder.path().join("audit.log"));
    std::fs::write(&policy, rights::policy(USER)).expect("a file");
    let groups = ["system:serviceaccounts", "system:serviceaccounts:trellis-system"];
    let options = Options::with_controllers()
        .user(TOKEN, USER, &groups)
        .api_server_flag(&format!("--audit-policy-file={}", policy.display()))
        .api_server_flag(&format!("--audit-log-path={}", log.display()));
    let plane = ControlPlane::start(options).await.expect("a control plane");
    let client = plane.client().expect("a client");
    let manifests = [documents("operator.yaml"), documents("install-crds.yaml")].concat();
    let cluster = Cluster { stage: Stage::start(&client), client };
    let applied = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    for object in manifests.iter().filter(|object| applied.contains(&object["kind"].as_str().unwrap_or_default())) {
        cluster.create(object).await;
    }
    for definition in trellis_api::crd::kai() {
        cluster.create(&serde_json::to_value(definition).expect("a definition is JSON")).await;
    }
    cluster.create(&json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-0" } })).await;
    let as_operator = kubeconfig(folder.path(), "kubeconfig", &plane.url(), Some(&plane.ca_path()), Some(TOKEN));
    let runs = Runs { folder: folder.path(), kubeconfig: &as_operator };
    let given = rights::given(&manifests);

    let handed_on = script(&cluster, &runs).await;

    // Nobody can give others a right that they do not have.
    rights::check(&log, USER, &given, &handed_on).await;
}

/// How operators are started here: as the service account, with webhooks on a port of their own.
struct Runs<'a> {
    folder: &'a Path,
    kubeconfig: &'a Path,
}

impl Runs<'_> {
    /// Starts an operator, and waits until it leads and its webhooks are known.
    async fn start(&self, cluster: &Cluster, name: &str, change: &Value) -> Process {
        let mut config = configuration();
        config["leaderElection"] =
            json!({ "enabled": true, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "250ms" });
        merge(&mut config, change);
        let args = ["--namespace", "trellis-system", "--install-crds", "--listen-webhooks", "127.0.0.1:0"];
        let program = Program { binary: env!("CARGO_BIN_EXE_trellis"), command: "operator", folder: self.folder };
        let mut operator = Process::start(program, name, self.kubeconfig, &config, &args);
        let log = self.folder.join(format!("{name}.log"));
        let says = |words: &str| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(words));
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        let guards = change["authorizer"]["enabled"] == true;
        let published = async || {
            let hooks = cluster.list("ValidatingWebhookConfiguration", "").await;
            let is_guard = |hook: &Value| hook["metadata"]["name"].as_str().is_some_and(|it| it.contains("authorizer"));
            hooks.len() > 1 && hooks.iter().any(is_guard) == guards
        };
        let started = async {
            while !(says("leading") && published().await) {
                ticks.tick().await;
                assert!(operator.runs(), "it ended:\n{}", operator.said());
            }
        };
        let started = tokio::time::timeout(PATIENCE, started).await;
        assert!(started.is_ok(), "it does not start:\n{}", operator.said());
        operator
    }

    /// Ends one, as a kubelet does.
    async fn stop(mut operator: Process) {
        operator.signal("-TERM");
        assert_eq!(operator.code(PATIENCE).await, Some(0), "{}", operator.said());
    }
}

fn merge(value: &mut Value, change: &Value) {
    match (value, change) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(fields.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
        (value, change) => *value = change.clone(),
    }
}

/// Everything that an operator does, by three of them one after the other. Returns the rights that it has given to others.
async fn script(cluster: &Cluster, runs: &Runs<'_>) -> BTreeSet<rights::Right> {
    let guarded = json!({ "authorizer": { "enabled": true } });
    let first = runs.start(cluster, "first", &guarded).await;
    cluster.create(&topology(&[("rack", "test/rack"), ("host", "kubernetes.io/hostname")])).await;
    cluster.namespace("all").await;
    cluster.create(&everything("all")).await;
    cluster.ready("all", 3).await;
    let handed_on = rights::given(&cluster.list("Role", "all").await);
    cluster.namespace("kai").await;
    cluster.create(&for_kai("kai")).await;
    cluster.ready("kai", 2).await;
    Runs::stop(first).await;

    // On another port, without the authorizer, and with other levels in the default topology, which KAI's cannot follow without being
    // made anew.
    let levels = json!({ "topologyAwareScheduling": { "levels": [{ "domain": "rack", "key": "test/rack" }] } });
    let second = runs.start(cluster, "second", &levels).await;
    deploy(cluster).await;
    meddle(cluster).await;
    stand_in_the_way(cluster).await;
    drift(cluster).await;
    terminate(cluster).await;
    scale_in(cluster).await;
    delete(cluster).await;
    pools(cluster).await;
    Runs::stop(second).await;

    // A certificate that is none has to be made anew.
    let none = json!({ "data": { "tls.crt": "bm9uZQ==", "tls.key": "bm9uZQ==" } });
    cluster.patch("Secret", "trellis-system", "grove-webhook-server-cert", none.clone()).await;
    let off = json!({ "topologyAwareScheduling": { "enabled": false, "levels": [] } });
    let third = runs.start(cluster, "third", &off).await;
    until("the webhooks' certificate is back", async || {
        let secrets = cluster.list("Secret", "trellis-system").await;
        secrets.iter().any(|secret| secret["data"]["tls.crt"] != none["data"]["tls.crt"])
    })
    .await;
    until("the default topology is gone", async || {
        let topologies = cluster.list("ClusterTopology", "").await;
        topologies.iter().all(|topology| topology["metadata"]["name"] != "grove-topology")
    })
    .await;
    Runs::stop(third).await;
    handed_on
}

/// A DynamoGraphDeployment is made, scaled and changed, finds a set in its way, and goes.
async fn deploy(cluster: &Cluster) {
    let component = |name: &str, type_: &str| {
        let main = json!({ "name": "main", "image": "app:1" });
        let pods = json!({ "spec": { "containers": [main], "terminationGracePeriodSeconds": 0 } });
        json!({ "name": name, "type": type_, "replicas": 1, "podTemplate": pods })
    };
    let mut worker = component("worker", "worker");
    worker["multinode"] = json!({ "nodeCount": 2 });
    let deployment = |front: usize, workers: usize, priority: &str| {
        let mut components = vec![component("front", "frontend"), worker.clone()];
        components[0]["replicas"] = front.into();
        components[1]["replicas"] = workers.into();
        json!({
            "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
            "metadata": { "name": "dgd", "namespace": "dynamo" },
            "spec": { "components": components, "priorityClassName": priority },
        })
    };
    cluster.namespace("dynamo").await;
    cluster.create(&deployment(1, 1, "system-cluster-critical")).await;
    cluster.ready("dynamo", 3).await;
    cluster.patch("DynamoGraphDeployment", "dynamo", "dgd", deployment(2, 2, "system-node-critical")).await;
    cluster.ready("dynamo", 6).await;
    cluster.delete("DynamoGraphDeployment", "dynamo", "dgd").await;
    until("the deployment is gone, and its set", async || {
        cluster.list("DynamoGraphDeployment", "dynamo").await.is_empty()
            && cluster.list("PodCliqueSet", "dynamo").await.is_empty()
    })
    .await;
}

/// Many pools at once, of which only one can make what they share; a workflow that runs, one whose file has its name taken, other levels, and
/// a pool that moves.
async fn pools(cluster: &Cluster) {
    let pool = |name: String| {
        json!({ "apiVersion": "trellis.dev/v1alpha1", "kind": "Pool", "metadata": { "name": name }, "spec": {
            "topology_keys": [{ "key": "rack", "label": "test/rack" }], "k8s_namespace": "jobs",
            "scheduler_settings": { "scheduler_type": "trellis" },
        } })
    };
    cluster.namespace("jobs").await;
    let names: Vec<String> = (0..10).map(|n| format!("pool-{n}")).collect();
    let all: Vec<Value> = names.iter().cloned().map(pool).collect();
    futures::future::join_all(all.iter().map(|pool| cluster.create(pool))).await;
    let is_ready = |pool: &Value| {
        let conditions = pool["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    until("all pools are ready", async || cluster.list("Pool", "").await.iter().all(is_ready)).await;
    let workflow = |name: &str| {
        let files = json!([{ "path": "/etc/a", "contents": "a" }]);
        let task = json!({ "name": "a", "image": "app:1", "command": ["run"], "files": files });
        json!({ "apiVersion": "trellis.dev/v1alpha1", "kind": "Workflow",
            "metadata": { "name": name, "namespace": "jobs" },
            "spec": { "pool": "pool-0", "groups": [{ "name": "g", "tasks": [task] }],
                "resources": { "default": { "cpu": 1, "topology": [{ "key": "rack" }] } } } })
    };
    let taken =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "two-a", "namespace": "jobs" } });
    cluster.create(&taken).await;
    cluster.create(&workflow("one")).await;
    cluster.create(&workflow("two")).await;
    cluster.ready("jobs", 1).await;
    let keys = json!([{ "key": "rack", "label": "test/rack" }, { "key": "host", "label": "kubernetes.io/hostname" }]);
    cluster.patch("Pool", "", "pool-0", json!({ "spec": { "topology_keys": keys } })).await;
    until("the gang has kept its levels", async || {
        cluster.list("Topology", "").await.iter().any(|topology| {
            let name = topology["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with("osmo-pool-jobs-pool-0-topology-")
        })
    })
    .await;
    cluster.patch("Workflow", "jobs", "one", json!({ "spec": { "cancel": true } })).await;
    until("the canceled workflow has no pods", async || cluster.list("Pod", "jobs").await.is_empty()).await;
    let quota = json!({ "spec": { "resources": { "gpu": { "guarantee": 1 } } } });
    cluster.patch("Pool", "", "pool-0", quota).await;
    cluster.patch("Pool", "", "pool-1", json!({ "spec": { "k8s_namespace": "all" } })).await;
    until("the pool has moved", async || {
        let queues = cluster.list("Queue", "").await;
        let named = |name: &str| queues.iter().any(|queue| queue["metadata"]["name"] == name);
        named("osmo-pool-all-pool-1") && !named("osmo-pool-jobs-pool-1")
    })
    .await;
    for name in ["one", "two"] {
        cluster.delete("Workflow", "jobs", name).await;
    }
    for name in &names {
        cluster.delete("Pool", "", name).await;
    }
    until("nothing is left of the pools", async || {
        let left = [cluster.list("Queue", "").await, cluster.list("PriorityClass", "").await].concat();
        left.iter().all(|object| !object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("osmo-")))
    })
    .await;
}

/// Somebody takes a label off everything that was made; it is put back.
async fn meddle(cluster: &Cluster) {
    let key = "app.kubernetes.io/component";
    let kinds = [
        "PodClique",
        "PodCliqueScalingGroup",
        "PodGang",
        "Service",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "HorizontalPodAutoscaler",
        "ResourceClaim",
    ];
    let changed = json!({ "spec": { "template": { "priorityClassName": "system-cluster-critical" } } });
    cluster.patch("PodCliqueSet", "kai", "kai", changed).await;
    for kind in kinds {
        let is_ours = |object: &&Value| object["metadata"]["labels"][key].is_string();
        let found = cluster.list(kind, "all").await;
        let name =
            found.iter().find(is_ours).map(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        let name = name.unwrap_or_else(|| panic!("there is no {kind} of ours: {found:?}"));
        cluster.patch(kind, "all", &name, json!({ "metadata": { "labels": { key: null } } })).await;
        until(&format!("the label of {kind} {name} is back"), async || {
            let object = cluster.api(kind, "all").get(&name).await;
            object.is_ok_and(|object| object.labels().contains_key(key))
        })
        .await;
    }
}

/// Objects of others have the names that a set needs: each is looked at before it is told to be in the way.
async fn stand_in_the_way(cluster: &Cluster) {
    let others = [
        "Service",
        "ServiceAccount",
        "Role",
        "HorizontalPodAutoscaler",
        "ResourceClaim",
        "PodClique",
        "PodCliqueScalingGroup",
    ];
    taken(cluster, "taken", &others).await;
    // A binding is made once its role is.
    taken(cluster, "bound", &["RoleBinding"]).await;

    cluster.namespace("grouped").await;
    let group = json!({
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
        "metadata": { "name": "kai-0", "namespace": "grouped" }, "spec": {},
    });
    cluster.create(&group).await;
    cluster.create(&for_kai("grouped")).await;
    tells_what_is_in_its_way(cluster, "grouped", "kai").await;
}

/// The names of some kinds are taken in a namespace before the set comes.
async fn taken(cluster: &Cluster, namespace: &str, kinds: &[&str]) {
    cluster.namespace(namespace).await;
    for kind in kinds {
        let made = cluster.list(kind, "all").await.into_iter();
        for mut object in made.filter(|object| !object["metadata"]["labels"]["app.kubernetes.io/part-of"].is_null()) {
            object["metadata"] = json!({ "name": object["metadata"]["name"], "namespace": namespace });
            drop(object.as_object_mut().map(|fields| fields.remove("status")));
            if *kind == "Service" {
                object["spec"] = json!({ "clusterIP": "None" });
            }
            cluster.create(&object).await;
        }
    }
    cluster.create(&everything(namespace)).await;
    tells_what_is_in_its_way(cluster, namespace, "wl").await;
}

/// Waits for the set to say so, and deletes it.
async fn tells_what_is_in_its_way(cluster: &Cluster, namespace: &str, name: &str) {
    until("the set says what is in its way", async || {
        let set = cluster.api("PodCliqueSet", namespace).get(name).await.expect("a set");
        let errors = &serde_json::to_value(set).expect("a set is JSON")["status"]["lastErrors"];
        errors.to_string().contains("not ours")
    })
    .await;
    cluster.delete("PodCliqueSet", namespace, name).await;
}

/// A topology loses a level and gets it back, again and again, under a set that waits: the same is told more than once.
async fn drift(cluster: &Cluster) {
    cluster.stage.hold("drift-0-a");
    let mut set = for_kai("all");
    set["metadata"]["name"] = "drift".into();
    set["spec"]["replicas"] = 1.into();
    cluster
        .create(&json!({ "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": "loose" },
        "spec": { "levels": [{ "domain": "zone", "key": "test/zone" }, { "domain": "rack", "key": "test/rack" }] } }))
        .await;
    set["spec"]["template"]["clusterTopologyName"] = "loose".into();
    cluster.create(&set).await;
    for round in 0..4 {
        let both = round % 2 == 1;
        let mut levels = vec![json!({ "domain": "zone", "key": "test/zone" })];
        levels.extend(both.then(|| json!({ "domain": "rack", "key": "test/rack" })));
        cluster.patch("ClusterTopology", "", "loose", json!({ "spec": { "levels": levels } })).await;
        let expected = if both { "False" } else { "True" };
        until(&format!("the set knows of the levels, round {round}"), async || {
            let sets = cluster.list("PodCliqueSet", "all").await;
            let set = sets.iter().find(|set| set["metadata"]["name"] == "drift").expect("the set");
            let conditions = set["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|one| one["type"] == "TopologyLevelsUnavailable" && one["status"] == expected)
        })
        .await;
    }
    cluster.delete("PodCliqueSet", "all", "drift").await;
    cluster.stage.release().await;
    cluster.delete("ClusterTopology", "", "loose").await;
}

/// A gang that stays broken is taken down and placed anew.
async fn terminate(cluster: &Cluster) {
    cluster.ready("all", 3).await;
    cluster.stage.hold("wl-0-a");
    let pods = cluster.list("Pod", "all").await;
    let is_first = |pod: &&Value| pod["metadata"]["labels"]["grove.io/podclique"] == "wl-0-a";
    let first = pods.iter().find(is_first).expect("a pod")["metadata"]["name"].as_str().expect("a name").to_owned();
    cluster.delete("Pod", "all", &first).await;
    until("the gang is taken down", async || {
        let gangs = cluster.list("PodGang", "all").await;
        let conditions = gangs.iter().flat_map(|gang| gang["status"]["conditions"].as_array().into_iter().flatten());
        conditions.into_iter().any(|one| one["type"] == "DisruptionTarget")
    })
    .await;
    cluster.stage.release().await;
    cluster.ready("all", 3).await;
}

/// Sets with more than one replica lose one.
async fn scale_in(cluster: &Cluster) {
    cluster.patch("PodCliqueSet", "all", "wl", json!({ "spec": { "replicas": 2 } })).await;
    cluster.ready("all", 6).await;
    cluster.patch("PodCliqueSet", "all", "wl", json!({ "spec": { "replicas": 1 } })).await;
    cluster.ready("all", 3).await;
    cluster.patch("PodCliqueSet", "kai", "kai", json!({ "spec": { "replicas": 1 } })).await;
    cluster.ready("kai", 1).await;
    until("KAI's group is gone", async || cluster.list("PodGroup", "kai").await.len() == 1).await;
}

async fn delete(cluster: &Cluster) {
    cluster.delete("PodCliqueSet", "all", "wl").await;
    cluster.ready("all", 0).await;
    cluster.delete("PodCliqueSet", "kai", "kai").await;
    cluster.ready("kai", 0).await;
    cluster.delete("ClusterTopology", "", "racks").await;
    until("the topology is gone", async || {
        let topologies = cluster.list("ClusterTopology", "").await;
        topologies.iter().all(|topology| topology["metadata"]["name"] != "racks")
    })
    .await;
}
