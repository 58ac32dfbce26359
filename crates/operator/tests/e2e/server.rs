//! The two servers that every scenario runs on: the embedded API, one for each scenario, and a real control plane that scenarios share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::future::join_all;
use http::Request;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::conditions::{is_crd_established, is_deleted};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};
use trellis_cluster::api::Behaviour;
use trellis_cluster::clock::Clock;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::faults::{Fault, Faults};
use trellis_cluster::nodes::{NodeSpec, Nodes, Now, Options};
use trellis_cluster::user::User;
use trellis_testkit::ControlPlane;

use crate::placer::{self, Placing, offers};
use crate::running::{Mode, Running, configuration};
use crate::startup;

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// The embedded API, with a clock that stands still while something is done.
    Embedded,
    /// kube-apiserver, etcd and kube-controller-manager.
    Real,
}

/// Where the operator lives.
pub const OPERATOR_NAMESPACE: &str = "trellis-system";
const OPERATOR_ACCOUNT: &str = "trellis-operator";

/// How many simulated nodes there are.
const NODES: usize = 30;

/// Runs everything that has to do with the real server, since clients belong to the runtime that made them.
pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
});

/// Nodes that a scenario plays on.
#[derive(Clone, Debug)]
pub struct Set {
    pub names: Vec<String>,
    /// Under which value of label [`OF`] its pods find them, where there are others too.
    pub selected: Option<String>,
}

/// The label of nodes that says which set they belong to.
pub const OF: &str = "e2e.trellis.dev/set";

#[derive(Default)]
struct Machines {
    /// Sets that nobody plays on.
    free: Vec<Set>,
    made: usize,
}

/// A cluster that is furnished: the kinds are known, and there are nodes.
pub struct Cluster {
    pub server: Server,
    /// The administrator's client.
    pub client: Client,
    /// The operator's client; on the embedded API its requests are counted by `faults`.
    pub operator: Client,
    pub faults: Faults,
    /// The embedded API itself.
    pub embedded: Option<trellis_cluster::api::Api>,
    pub nodes: Nodes,
    pub now: Now,
    /// The operator that scenarios share, if they do.
    pub shared: Option<Running>,
    /// The scheduler that they share.
    pub scheduler: Option<Arc<placer::Running>>,
    /// The administrator's, of a real server.
    pub kubeconfig: Option<PathBuf>,
    machines: Mutex<Machines>,
    /// Whoever has it has the control plane for itself.
    _alone: Option<OwnedMutexGuard<Option<ControlPlane>>>,
}

impl Cluster {
    /// An embedded API of one's own.
    pub async fn embedded(placing: Placing) -> Arc<Self> {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
        let options = trellis_cluster::api::Options {
            clock,
            entropy: Entropy::seeded(1),
            behaviour: Behaviour { service_accounts: true, taint_new_nodes: false },
            ..trellis_cluster::api::Options::default()
        };
        let api = trellis_cluster::api::Api::new(options);
        api.furnish().await.expect("the objects of every cluster");
        // The nodes send no heartbeats, and nobody is to miss them.
        let year = Duration::from_hours(24 * 365);
        let controllers = trellis_cluster::controllers::Options {
            node_grace: year,
            node_startup_grace: year,
            ..trellis_cluster::controllers::Options::default()
        };
        tokio::spawn(trellis_cluster::controllers::run(api.clone(), controllers, std::future::pending()));
        let client = Client::new(traced("others").around(api.service(User::admin())), "default");
        let faults = traced("operator");
        let user = User::service_account(OPERATOR_NAMESPACE, OPERATOR_ACCOUNT);
        let operator = Client::new(faults.around(api.service(user)), "default");
        let now: Now = Arc::new(move || clock.now());
        define(&client).await;
        let (nodes, set) = nodes(&client, placing, None, now.clone()).await;
        Arc::new(Self {
            server: Server::Embedded,
            client,
            operator,
            faults,
            embedded: Some(api),
            nodes,
            now,
            shared: None,
            scheduler: None,
            kubeconfig: None,
            machines: Mutex::new(Machines { free: vec![set], made: 1 }),
            _alone: None,
        })
    }

    /// The real control plane that scenarios share, with one operator for all of them.
    pub async fn shared() -> Arc<Self> {
        static SHARED: OnceCell<Arc<Cluster>> = OnceCell::const_new();
        let start = async {
            let plane = ControlPlane::shared_with_controllers().await.expect("a control plane");
            let mut cluster = Self::real(plane, Placing::StandIn).await;
            let mode = Mode { timers: true, webhooks: true };
            cluster.shared = Some(Running::start(&cluster, &configuration(), mode).await);
            Arc::new(cluster)
        };
        SHARED.get_or_init(|| start).await.clone()
    }

    /// Another one, for scenarios that our scheduler places: one operator and one scheduler for all of them, and nodes for each.
    pub async fn scheduled() -> Arc<Self> {
        static SHARED: OnceCell<Arc<Cluster>> = OnceCell::const_new();
        static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
        let start = async {
            let options = trellis_testkit::Options::with_controllers();
            let plane =
                PLANE.get_or_init(|| async { ControlPlane::start(options).await.expect("a control plane") }).await;
            let mut cluster = Self::real(plane, Placing::Ours).await;
            let mode = Mode { timers: true, webhooks: true };
            cluster.shared = Some(Running::start(&cluster, &configuration(), mode).await);
            let scheduler = placer::Running::start(cluster.client.clone(), cluster.now.clone()).await;
            cluster.scheduler = Some(Arc::new(scheduler));
            Arc::new(cluster)
        };
        SHARED.get_or_init(|| start).await.clone()
    }

    /// Nodes that nobody plays on.
    pub async fn take(&self, placing: Placing) -> Set {
        if placing == Placing::StandIn {
            // How many pods of a scenario go on a node is its stand-in's to decide, so they are everybody's.
            return self.machines.lock().await.free[0].clone();
        }
        let number = {
            let mut machines = self.machines.lock().await;
            if let Some(set) = machines.free.pop() {
                return set;
            }
            machines.made += 1;
            machines.made
        };
        let (specs, set) = machines(placing, Some(number));
        let added = join_all(specs.into_iter().map(|spec| self.nodes.add(spec))).await;
        added.into_iter().for_each(|added| added.expect("a node"));
        placer::cordon(&self.client, &set.names, true).await;
        set
    }

    /// Gives nodes back that are empty, and closed.
    pub async fn give_back(&self, set: Set) {
        self.machines.lock().await.free.push(set);
    }

    /// A real control plane that nobody else uses meanwhile, for scenarios that start operators of their own.
    pub async fn alone() -> Arc<Self> {
        static ALONE: LazyLock<Arc<Mutex<Option<ControlPlane>>>> = LazyLock::new(Arc::default);
        let mut plane = ALONE.clone().lock_owned().await;
        if plane.is_none() {
            let options = trellis_testkit::Options::with_controllers();
            *plane = Some(ControlPlane::start(options).await.expect("a control plane"));
        }
        let cluster = Self::real(plane.as_ref().expect("it was started"), Placing::StandIn).await;
        Arc::new(Self { _alone: Some(plane), ..cluster })
    }

    async fn real(plane: &ControlPlane, placing: Placing) -> Self {
        let client = plane.client().expect("a client");
        let operator = operator_of(plane);
        let now: Now = Arc::new(k8s_openapi::jiff::Timestamp::now);
        define(&client).await;
        grant(&client).await;
        is_granted(&operator).await;
        let (nodes, set) = nodes(&client, placing, (placing == Placing::Ours).then_some(1), now.clone()).await;
        Self {
            server: Server::Real,
            client,
            operator,
            faults: Faults::none(),
            embedded: None,
            nodes,
            now,
            shared: None,
            scheduler: None,
            kubeconfig: Some(plane.kubeconfig_path().to_owned()),
            machines: Mutex::new(Machines { free: vec![set], made: 1 }),
            _alone: None,
        }
    }
}

/// No faults; with `TRELLIS_TRACE` every write is printed.
fn traced(who: &'static str) -> Faults {
    let wanted = std::env::var_os("TRELLIS_TRACE").is_some();
    Faults::decided(move |seen| {
        if wanted && seen.write.is_some() {
            println!("{who} {} {}", seen.method, seen.target);
        }
        Fault::None
    })
}

/// A client that acts as the operator's account.
fn operator_of(plane: &ControlPlane) -> Client {
    let mut config = Config::new(plane.url().parse().expect("a URL"));
    config.root_cert_file = Some(plane.ca_path());
    config.auth_info.token = Some(plane.admin_token().to_owned().into());
    let user = User::service_account(OPERATOR_NAMESPACE, OPERATOR_ACCOUNT);
    config.auth_info.impersonate = Some(user.name);
    config.auth_info.impersonate_groups = Some(user.groups);
    Client::try_from(config).expect("a client")
}

/// Makes our kinds and KAI's known, and waits until they are. The operator's namespace is there too.
async fn define(client: &Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let wanted = serde_json::from_value(json!({ "metadata": { "name": OPERATOR_NAMESPACE } })).expect("a namespace");
    let made = namespaces.create(&PostParams::default(), &wanted).await;
    assert!(made.is_ok() || is_conflict(&made), "{made:?}");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut names = Vec::new();
    for definition in trellis_api::crd::served() {
        names.push(definition.metadata.name.clone().expect("a name"));
        let made = definitions.create(&PostParams::default(), &definition).await;
        assert!(made.is_ok() || is_conflict(&made), "{made:?}");
    }
    names.extend(define_kai(client).await);
    for name in names {
        let established = await_condition(definitions.clone(), &name, is_crd_established());
        tokio::time::timeout(Duration::from_mins(1), established).await.expect("in time").expect("a definition");
    }
}

/// Gives the operator's account the rights of the manifest that users apply, and no others.
async fn grant(client: &Client) {
    for document in include_str!("../../../../deploy/operator.yaml").split("\n---\n") {
        let kind = document.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap_or_default();
        let place = match kind {
            "ClusterRole" => "clusterroles".to_owned(),
            "ClusterRoleBinding" => "clusterrolebindings".to_owned(),
            "Role" => format!("namespaces/{OPERATOR_NAMESPACE}/roles"),
            "RoleBinding" => format!("namespaces/{OPERATOR_NAMESPACE}/rolebindings"),
            _ => continue,
        };
        let request = Request::post(format!("/apis/rbac.authorization.k8s.io/v1/{place}"))
            .header("content-type", "application/yaml")
            .body(document.as_bytes().to_vec())
            .expect("a request");
        let made: kube::Result<Value> = client.request(request).await;
        assert!(made.is_ok() || is_conflict(&made), "{kind}: {made:?}");
    }
}

/// Waits until the server knows of the rights: it learns of them a moment after they are stored.
async fn is_granted(operator: &Client) {
    let secrets: Api<Secret> = Api::namespaced(operator.clone(), OPERATOR_NAMESPACE);
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    for tick in 0.. {
        ticks.tick().await;
        match secrets.get_opt("grove-webhook-server-cert").await {
            Ok(_) => break,
            other => assert!(tick < 1500, "the operator has no rights: {other:?}"),
        }
    }
}

/// Makes KAI's kinds known. The file is sent as it is: an API server reads YAML.
pub async fn define_kai(client: &Client) -> Vec<String> {
    let mut names = Vec::new();
    for document in include_str!("kai_crds.yaml").split("\n---\n") {
        let request = Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict")
            .header("content-type", "application/yaml")
            .body(document.as_bytes().to_vec())
            .expect("a request");
        let name = document.lines().find_map(|line| line.strip_prefix("  name: ")).expect("a name");
        let made: kube::Result<Value> = client.request(request).await;
        assert!(made.is_ok() || is_conflict(&made), "{name}: {made:?}");
        names.push(name.to_owned());
    }
    names
}

/// Takes KAI's kinds away again, with all their objects.
pub async fn undefine_kai(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for name in ["topologies.kai.scheduler", "podgroups.scheduling.run.ai"] {
        let uid = definitions.get(name).await.expect("a definition").metadata.uid.expect("a uid");
        definitions.delete(name, &DeleteParams::default()).await.expect("deleted");
        let gone = await_condition(definitions.clone(), name, is_deleted(&uid));
        tokio::time::timeout(Duration::from_mins(1), gone).await.expect("in time").expect("it goes");
    }
}

fn is_conflict<T>(result: &kube::Result<T>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.code == 409)
}

/// Thirty nodes, 28 to a zone, 20 to a block, 7 to a rack; the first fourteen have a block of one more kind, the rest of another. Numbered
/// ones stand beside others, and are chosen by a label.
fn machines(placing: Placing, number: Option<usize>) -> (Vec<NodeSpec>, Set) {
    let prefix = number.map(|number| format!("set-{number}-")).unwrap_or_default();
    let selected = number.map(|number| format!("set-{number}"));
    let spec = |n: usize| {
        let label =
            |level: &str, size: usize| (format!("kubernetes.io/{level}"), format!("{prefix}{level}-{}", n / size));
        let kind = if n < 14 { "h100" } else { "gb200" };
        let kind = (format!("example.com/{kind}-block"), format!("{prefix}{kind}-{}", n / 7));
        let mut labels = BTreeMap::from([label("zone", 28), label("block", 20), label("rack", 7), kind]);
        labels.extend(selected.clone().map(|name| (OF.to_owned(), name)));
        NodeSpec { name: format!("{prefix}node-{n:02}"), labels, allocatable: offers(placing), ..NodeSpec::default() }
    };
    let specs: Vec<NodeSpec> = (0..NODES).map(spec).collect();
    let names = specs.iter().map(|spec| spec.name.clone()).collect();
    (specs, Set { names, selected })
}

/// The first set of nodes. Pods on them are ready soon after they may start.
async fn nodes(client: &Client, placing: Placing, number: Option<usize>, now: Now) -> (Nodes, Set) {
    let (specs, set) = machines(placing, number);
    let options = Options {
        ready_after: Duration::from_millis(50),
        heartbeat: Duration::ZERO,
        init: Some(startup::wait_hook(client.clone())),
        now,
        ..Options::default()
    };
    let nodes = Nodes::start(client.clone(), specs, options, |_| ()).await.expect("nodes");
    if placing == Placing::Ours {
        placer::cordon(client, &set.names, true).await;
    }
    (nodes, set)
}

/// Merges a change into JSON.
pub fn merged(mut value: Value, change: &Value) -> Value {
    json_patch::merge(&mut value, change);
    value
}

/// A namespace of one's own, with the account that pods need.
pub async fn namespace(client: &Client) -> String {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let wanted = serde_json::from_value(json!({ "metadata": { "generateName": "e2e-" } })).expect("a namespace");
    let made = namespaces.create(&PostParams::default(), &wanted).await.expect("a namespace");
    let name = made.metadata.name.expect("a name");
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(client.clone(), &name);
    let account = serde_json::from_value(json!({ "metadata": { "name": "default" } })).expect("an account");
    // Whoever looks after accounts may have been first.
    drop(accounts.create(&PostParams::default(), &account).await);
    name
}
