//! Sixteen lifecycles of at most twelve pods, step by step. Between them they reach every place where the operator writes.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_lifecycle::Kind;

use crate::play::QUIET;
use crate::world::World;

/// The same where a gang is to be taken down after a minute.
const LONG: Duration = Duration::from_secs(90);

/// What happens to a world from outside.
#[derive(Clone)]
pub enum Act {
    Create(Value),
    /// Changes the set as a user does.
    Edit(fn(&mut Value)),
    /// Changes the deployment as a user does.
    EditDeployment(fn(&mut Value)),
    Patch(Kind, &'static str, Value),
    Scale(Kind, &'static str, usize),
    Delete(Kind, &'static str),
    /// The first pod of a clique ends badly.
    Fail(&'static str),
    /// The first pod of a clique is deleted.
    Lose(&'static str),
    /// A task's pod ends well.
    Finish(&'static str),
    /// Pods of these cliques find no room from now on.
    Hold(&'static [&'static str]),
    Release,
}

/// What happens at once, and how long it then takes.
#[derive(Clone)]
pub struct Step {
    pub what: &'static str,
    pub acts: Vec<Act>,
    /// How long nothing may happen before the step is done.
    pub quiet: Duration,
    /// It says something about what stands there after the step before, so it has to wait for that.
    pub waits: bool,
}

/// A lifecycle.
#[derive(Clone)]
pub struct Scenario {
    pub name: &'static str,
    /// KAI's profile is enabled.
    pub kai: bool,
    /// Somebody collects garbage; without, everything is left to the operator.
    pub collects: bool,
    pub steps: Vec<Step>,
}

impl Scenario {
    fn new(name: &'static str) -> Self {
        Self { name, kai: false, collects: true, steps: Vec::new() }
    }

    fn with_kai(mut self) -> Self {
        self.kai = true;
        self
    }

    fn without_collector(mut self) -> Self {
        self.collects = false;
        self
    }

    fn step(mut self, what: &'static str, acts: Vec<Act>) -> Self {
        self.steps.push(Step { what, acts, quiet: QUIET, waits: false });
        self
    }

    /// A step for which the one before has to be done.
    fn then(mut self, what: &'static str, acts: Vec<Act>) -> Self {
        self.steps.push(Step { what, acts, quiet: QUIET, waits: true });
        self
    }

    fn long(mut self) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.quiet = LONG;
        }
        self
    }
}

impl Step {
    pub async fn act(&self, world: &World) {
        for act in &self.acts {
            match act {
                Act::Create(object) => world.create(object).await,
                Act::Edit(change) => world.edit(Kind::PodCliqueSet, "wl", change).await,
                Act::EditDeployment(change) => world.edit(Kind::DynamoGraphDeployment, "wl", change).await,
                Act::Patch(kind, name, patch) => world.patch(*kind, name, patch).await,
                Act::Scale(kind, name, replicas) => world.scale(*kind, name, *replicas).await,
                Act::Delete(kind, name) => world.delete(*kind, name).await,
                Act::Fail(clique) => world.fail(&world.first_pod(clique)).await,
                Act::Lose(clique) => world.delete(Kind::Pod, &world.first_pod(clique)).await,
                Act::Finish(pod) => world.finish(pod).await,
                Act::Hold(cliques) => world.stage.hold(cliques),
                Act::Release => world.stage.release(),
            }
        }
    }
}

/// The set of all scenarios: always called `wl`.
pub fn set(cliques: &[Value], groups: &[Value]) -> Value {
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": "wl", "namespace": "default" },
        "spec": { "replicas": 1, "template": { "cliques": cliques, "podCliqueScalingGroups": groups } },
    })
}

pub fn clique(name: &str, replicas: usize, min: usize) -> Value {
    json!({ "name": name, "spec": {
        "roleName": name, "replicas": replicas, "minAvailable": min,
        "podSpec": { "containers": [{ "name": "app", "image": "app:1" }] },
    } })
}

pub fn group(name: &str, replicas: usize, min: usize, cliques: &[&str]) -> Value {
    json!({ "name": name, "replicas": replicas, "minAvailable": min, "cliqueNames": cliques })
}

fn merged(mut value: Value, change: &Value) -> Value {
    json_patch::merge(&mut value, change);
    value
}

fn template(set: Value, change: &Value) -> Value {
    merged(set, &json!({ "spec": { "template": change } }))
}

fn topology(name: &str, levels: &[(&str, &str)]) -> Value {
    let levels: Vec<Value> = levels.iter().map(|(domain, key)| json!({ "domain": domain, "key": key })).collect();
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
        "metadata": { "name": name }, "spec": { "levels": levels },
    })
}

const RACK: (&str, &str) = ("rack", "test/rack");
const ZONE: (&str, &str) = ("zone", "test/zone");
const HOST: (&str, &str) = ("host", "kubernetes.io/hostname");

pub fn all() -> Vec<Scenario> {
    vec![
        deployed(),
        with_gangs(),
        in_order(),
        set_scaled(),
        group_scaled(),
        clique_scaled(),
        updated(),
        terminated(),
        placed_by_kai(),
        repaired(),
        around_the_pods(),
        topology_used(),
        by_dynamo(),
        by_dynamo_anew(),
        workflow_run(),
        pool_edited(),
        pool_shared(),
    ]
}

/// By far the most writes, so what is made anew is left to long campaigns.
fn by_dynamo() -> Scenario {
    let component = |name: &str, type_: &str| json!({ "name": name, "type": type_, "podTemplate": { "spec": { "containers": [{ "name": "main", "image": "app:1" }] } } });
    let mut worker = component("w", "worker");
    worker["multinode"] = json!({ "nodeCount": 2 });
    let deployment = json!({
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
        "metadata": { "name": "wl", "namespace": "default" },
        "spec": { "topologyConstraint": { "packDomain": "rack" }, "components": [component("f", "frontend"), worker] },
    });
    let scaled = |it: &mut Value| it["spec"]["components"][0]["replicas"] = 2.into();
    let changed = |it: &mut Value| it["spec"]["priorityClassName"] = "high".into();
    let brief = Scenario::new("a Dynamo deployment is made, scaled, changed and deleted")
        .without_collector()
        .step("deployed", vec![Act::Create(deployment.clone())])
        .step("scaled", vec![Act::EditDeployment(scaled)])
        .step("changed", vec![Act::EditDeployment(changed)])
        .step("deleted", vec![Act::Delete(Kind::DynamoGraphDeployment, "wl")]);
    if std::env::var_os("TRELLIS_LONG").is_none() {
        return brief;
    }
    Scenario::new("a Dynamo deployment is made, scaled, changed, made anew and deleted")
        .without_collector()
        .step("deployed", vec![Act::Create(deployment.clone())])
        .step(
            "scaled",
            vec![Act::EditDeployment(|it| {
                it["spec"]["components"][0]["replicas"] = 3.into();
                it["spec"]["components"][1]["replicas"] = 2.into();
            })],
        )
        .step(
            "changed",
            vec![Act::EditDeployment(|it| {
                it["spec"]["components"][0]["replicas"] = 2.into();
                it["spec"]["priorityClassName"] = "high".into();
                it["spec"]["labels"] = json!({ "team": "a" });
            })],
        )
        .then("its set is deleted", vec![Act::Delete(Kind::PodCliqueSet, "wl")])
        .step("made anew", vec![Act::Delete(Kind::DynamoGraphDeployment, "wl"), Act::Create(deployment)])
        .step("deleted", vec![Act::Delete(Kind::DynamoGraphDeployment, "wl")])
}

/// As few pods as can be in a scaling group, for what the brief one leaves out.
fn by_dynamo_anew() -> Scenario {
    let deployment = json!({
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
        "metadata": { "name": "wl", "namespace": "default" },
        "spec": { "components": [{
            "name": "w", "type": "worker", "experimental": { "grove": { "forceScalingGroup": true } },
            "podTemplate": { "spec": { "containers": [{ "name": "main", "image": "app:1" }] } },
        }] },
    });
    let scaled = |it: &mut Value| it["spec"]["components"][0]["replicas"] = 2.into();
    Scenario::new("a Dynamo deployment's group is scaled, its set deleted, and it is made anew")
        .without_collector()
        .step("deployed", vec![Act::Create(deployment.clone())])
        .step("scaled", vec![Act::EditDeployment(scaled)])
        .then("its set is deleted", vec![Act::Delete(Kind::PodCliqueSet, "wl")])
        .step("made anew", vec![Act::Delete(Kind::DynamoGraphDeployment, "wl"), Act::Create(deployment)])
}

fn deployed() -> Scenario {
    let set = set(&[clique("a", 2, 1), clique("b", 1, 1)], &[]);
    Scenario::new("a set is deployed and deleted")
        .without_collector()
        .step("deployed", vec![Act::Create(set)])
        .step("deleted", vec![Act::Delete(Kind::PodCliqueSet, "wl")])
}

fn with_gangs() -> Scenario {
    let set = set(&[clique("a", 1, 1), clique("b", 1, 1), clique("c", 1, 1)], &[group("g", 3, 1, &["b", "c"])]);
    Scenario::new("a set with scaled gangs is deployed, deleted, and made anew at once")
        .without_collector()
        .step("deployed", vec![Act::Create(set.clone())])
        .step("made anew", vec![Act::Delete(Kind::PodCliqueSet, "wl"), Act::Create(set)])
}

fn in_order() -> Scenario {
    let set = template(
        set(&[clique("a", 1, 1), clique("b", 1, 1)], &[]),
        &json!({ "cliqueStartupType": "CliqueStartupTypeInOrder" }),
    );
    let rules = json!({ "rules": [] });
    Scenario::new("cliques start in order, by rights that somebody meddles with")
        .step("deployed", vec![Act::Create(set)])
        .then("a role emptied", vec![Act::Patch(Kind::Role, "grove.io:pcs:wl", rules)])
        .then("a binding deleted", vec![Act::Delete(Kind::RoleBinding, "grove.io:pcs:wl")])
}

fn set_scaled() -> Scenario {
    let set = set(&[clique("a", 1, 1), clique("b", 1, 1)], &[group("g", 1, 1, &["b"])]);
    Scenario::new("a set is scaled out and in")
        .step("deployed", vec![Act::Create(set)])
        .step("scaled out", vec![Act::Scale(Kind::PodCliqueSet, "wl", 3)])
        .step("scaled in", vec![Act::Scale(Kind::PodCliqueSet, "wl", 1)])
}

fn group_scaled() -> Scenario {
    let set = set(&[clique("a", 1, 1), clique("b", 1, 1)], &[group("g", 2, 1, &["b"])]);
    Scenario::new("a scaling group is scaled out and in")
        .step("deployed", vec![Act::Create(set)])
        .then("scaled out", vec![Act::Scale(Kind::ScalingGroup, "wl-0-g", 4)])
        .then("scaled in", vec![Act::Scale(Kind::ScalingGroup, "wl-0-g", 1)])
        .step(
            "scaled by the template",
            vec![Act::Edit(|set| {
                set["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"] = 3.into();
            })],
        )
}

fn clique_scaled() -> Scenario {
    let set = set(&[clique("a", 2, 1), clique("b", 1, 1)], &[]);
    Scenario::new("a clique is scaled out and in")
        .step("deployed", vec![Act::Create(set)])
        .then("scaled out", vec![Act::Scale(Kind::PodClique, "wl-0-a", 4)])
        .then("scaled in", vec![Act::Scale(Kind::PodClique, "wl-0-a", 1)])
        .step(
            "scaled by the template",
            vec![Act::Edit(|set| {
                set["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 3.into();
            })],
        )
}

fn updated() -> Scenario {
    let set = merged(
        set(&[clique("a", 2, 1), clique("b", 1, 1)], &[group("g", 2, 1, &["b"])]),
        &json!({ "spec": { "replicas": 2 } }),
    );
    Scenario::new("a template is updated").step("deployed", vec![Act::Create(set)]).step(
        "updated",
        vec![Act::Edit(|set| {
            for clique in set["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
                clique["spec"]["podSpec"]["containers"][0]["image"] = "app:2".into();
            }
        })],
    )
}

fn terminated() -> Scenario {
    let set = template(
        set(&[clique("a", 2, 2), clique("b", 1, 1)], &[group("g", 2, 1, &["b"])]),
        &json!({ "terminationDelay": "1m" }),
    );
    Scenario::new("a broken gang is taken down and placed anew")
        .step("deployed", vec![Act::Create(set)])
        .then("broken", vec![Act::Hold(&["wl-0-a"]), Act::Fail("wl-0-a")])
        .long()
        .then("mended", vec![Act::Release])
}

fn placed_by_kai() -> Scenario {
    let mut cliques = [clique("a", 1, 1), clique("b", 1, 1)];
    for clique in &mut cliques {
        clique["spec"]["podSpec"]["schedulerName"] = "kai-scheduler".into();
    }
    let set = merged(
        set(&cliques, &[group("g", 2, 1, &["b"])]),
        &json!({
            "metadata": { "labels": { "kai.scheduler/queue": "test" } },
            "spec": { "template": { "clusterTopologyName": "one", "topologyConstraint": { "packDomain": "rack" } } },
        }),
    );
    let levels = json!({ "spec": { "levels": [
        { "domain": ZONE.0, "key": ZONE.1 }, { "domain": RACK.0, "key": RACK.1 }, { "domain": HOST.0, "key": HOST.1 },
    ] } });
    Scenario::new("KAI places a set that turns to another topology while it waits")
        .with_kai()
        .step(
            "deployed, and without room",
            vec![
                Act::Hold(&["wl-0-a", "wl-0-g-0-b", "wl-0-g-1-b"]),
                Act::Create(topology("one", &[ZONE, RACK])),
                Act::Create(topology("two", &[RACK, HOST])),
                Act::Create(set),
            ],
        )
        .then(
            "turned to another topology",
            vec![Act::Edit(|set| {
                set["spec"]["template"]["clusterTopologyName"] = "two".into();
            })],
        )
        .then("placed", vec![Act::Release])
        .then("levels drifted", vec![Act::Patch(Kind::ClusterTopology, "two", levels)])
        .then("scaled in", vec![Act::Scale(Kind::ScalingGroup, "wl-0-g", 1)])
        .then("deleted", vec![Act::Delete(Kind::PodCliqueSet, "wl")])
}

fn repaired() -> Scenario {
    let set = set(&[clique("a", 2, 1), clique("b", 1, 1)], &[group("g", 2, 1, &["b"])]);
    Scenario::new("what is lost comes back")
        .step("deployed", vec![Act::Create(set)])
        .then("a pod fails", vec![Act::Fail("wl-0-a")])
        .then("a pod is deleted", vec![Act::Lose("wl-0-a")])
        .then("a clique is deleted", vec![Act::Delete(Kind::PodClique, "wl-0-a")])
        .then("a gang is deleted", vec![Act::Delete(Kind::PodGang, "wl-0")])
        .then("a scaling group is deleted", vec![Act::Delete(Kind::ScalingGroup, "wl-0-g")])
}

fn around_the_pods() -> Scenario {
    let mut scaled = clique("a", 2, 1);
    scaled["spec"]["autoScalingConfig"] = json!({ "minReplicas": 1, "maxReplicas": 4 });
    let set = template(set(&[scaled, clique("b", 1, 1)], &[]), &json!({ "priorityClassName": "low" }));
    Scenario::new("what stands around the pods changes")
        .step("deployed", vec![Act::Create(set)])
        .step(
            "changed",
            vec![Act::Edit(|set| {
                let template = &mut set["spec"]["template"];
                template["cliques"][0]["spec"]["autoScalingConfig"]["maxReplicas"] = 6.into();
                template["headlessServiceConfig"] = json!({ "publishNotReadyAddresses": false });
                template["priorityClassName"] = "high".into();
            })],
        )
        .step(
            "taken away",
            vec![Act::Edit(|set| {
                let template = &mut set["spec"]["template"];
                drop(template["cliques"][0]["spec"].as_object_mut().map(|spec| spec.remove("autoScalingConfig")));
            })],
        )
}

fn topology_used() -> Scenario {
    let set = template(
        set(&[clique("a", 1, 1), clique("b", 1, 1)], &[]),
        &json!({ "clusterTopologyName": "racks", "topologyConstraint": { "packDomain": "rack" } }),
    );
    let levels = json!({ "spec": { "levels": [{ "domain": ZONE.0, "key": ZONE.1 }] } });
    Scenario::new("a topology is used, drifts, and is deleted while it is used")
        .step("deployed", vec![Act::Create(topology("racks", &[ZONE, RACK])), Act::Create(set)])
        .then("a level goes", vec![Act::Patch(Kind::ClusterTopology, "racks", levels)])
        .then("deletion is asked for", vec![Act::Delete(Kind::ClusterTopology, "racks")])
        .then("the last user goes", vec![Act::Delete(Kind::PodCliqueSet, "wl")])
}

fn pool(name: &str, keys: &[(&str, &str)]) -> Value {
    json!({
        "apiVersion": "trellis.dev/v1alpha1", "kind": "Pool", "metadata": { "name": name },
        "spec": { "topology_keys": levels(keys), "scheduler_settings": { "scheduler_type": "trellis" } },
    })
}

fn levels(keys: &[(&str, &str)]) -> Value {
    keys.iter().map(|(key, label)| json!({ "key": key, "label": label })).collect()
}

fn workflow_run() -> Scenario {
    let task = |name: &str, more: Value| {
        merged(json!({ "name": name, "image": "app:1", "command": ["run"], "resource": name }), &more)
    };
    let rack = |group: &str| json!({ "gpu": 1, "topology": [{ "key": "rack", "group": group }] });
    let files = json!({ "files": [{ "path": "/etc/a", "contents": "a" }] });
    let train = json!({ "name": "train", "tasks": [task("a", files), task("b", json!({}))] });
    let test = json!({ "name": "test", "tasks": [task("c", json!({ "inputs": [{ "task": "a" }] }))] });
    let workflow = json!({
        "apiVersion": "trellis.dev/v1alpha1", "kind": "Workflow",
        "metadata": { "name": "wf", "namespace": "default" },
        "spec": { "groups": [train, test], "resources": { "a": rack("one"), "b": rack("two"), "c": { "cpu": 1 } } },
    });
    let keys = json!({ "spec": { "topology_keys": levels(&[RACK, HOST]) } });
    Scenario::new("a workflow runs in a pool whose levels change")
        .step("a pool", vec![Act::Create(pool("p", &[ZONE, RACK]))])
        .then("submitted", vec![Act::Create(workflow)])
        .then("other levels", vec![Act::Patch(Kind::Pool, "p", keys)])
        .then("a task lost", vec![Act::Delete(Kind::Pod, "wf-b")])
        .then("the first group done", vec![Act::Finish("wf-a")])
        .then("canceled", vec![Act::Patch(Kind::Workflow, "wf", json!({ "spec": { "cancel": true } }))])
        .then("deleted", vec![Act::Delete(Kind::Workflow, "wf"), Act::Delete(Kind::Pool, "p")])
}

/// The pool changes, and is to go, while what was submitted is under way.
fn pool_edited() -> Scenario {
    let task = |name: &str| json!({ "name": name, "image": "app:1", "command": ["run"] });
    let workflow = json!({
        "apiVersion": "trellis.dev/v1alpha1", "kind": "Workflow",
        "metadata": { "name": "wf", "namespace": "default" },
        "spec": {
            "groups": [{ "name": "g", "tasks": [task("a"), task("b")] }],
            "resources": { "default": { "gpu": 1, "topology": [{ "key": "rack" }] } },
        },
    });
    let keys = json!({ "spec": { "topology_keys": levels(&[RACK, HOST]) } });
    let moved = json!({ "spec": { "k8s_namespace": "elsewhere" } });
    Scenario::new("a pool is moved, edited and deleted under a workflow")
        .step("a pool", vec![Act::Create(pool("p", &[ZONE, RACK]))])
        .then("submitted", vec![Act::Create(workflow)])
        .then("moved", vec![Act::Patch(Kind::Pool, "p", moved)])
        .then("other levels", vec![Act::Patch(Kind::Pool, "p", keys)])
        .then("the pool is to go", vec![Act::Delete(Kind::Pool, "p")])
        .then("the workflow goes", vec![Act::Delete(Kind::Workflow, "wf")])
}

fn pool_shared() -> Scenario {
    let moved = json!({ "spec": { "k8s_namespace": "elsewhere", "topology_keys": [] } });
    let quota = json!({ "spec": { "resources": { "gpu": { "guarantee": 8 } } } });
    Scenario::new("pools share a queue, and one moves away")
        .step("two pools", vec![Act::Create(pool("p", &[RACK])), Act::Create(pool("q", &[RACK]))])
        .then("one moves", vec![Act::Patch(Kind::Pool, "p", moved)])
        .then("the other has a share", vec![Act::Patch(Kind::Pool, "q", quota)])
        .then("deleted", vec![Act::Delete(Kind::Pool, "p"), Act::Delete(Kind::Pool, "q")])
}
