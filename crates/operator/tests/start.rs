//! What an operator does before it serves, on the embedded API and on a real one.
//!
//! `grove-topology` is the only one of its name in a cluster, so one story runs through it on each server, from an empty cluster on.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use trellis_api::kinds::kai::Topology;
use trellis_api::kinds::{ClusterTopology, TopologyLevel};
use trellis_api::settings::Settings;
use trellis_api::{Domain, crd};
use trellis_cluster::api::{self, Options};
use trellis_cluster::faults::{Fault, Faults};
use trellis_cluster::status::Status;
use trellis_cluster::user::User;
use trellis_operator::{StartError, install_crds, own_user, served, synchronise};
use trellis_testkit::ControlPlane;

const NAME: &str = "grove-topology";
const OURS: &str = "grove.io/clustertopology";

/// Levels from widest to narrowest, each with a key; in the configuration they stand the other way round.
const SHORT: [(Domain, &str); 2] = [(Domain::Zone, "example.com/zone"), (Domain::Host, "kubernetes.io/hostname")];
const LONG: [(Domain, &str); 4] = [
    (Domain::Zone, "example.com/zone"),
    (Domain::Rack, "example.com/rack"),
    (Domain::Host, "kubernetes.io/hostname"),
    (Domain::Numa, "example.com/numa"),
];

fn settings(levels: &[(Domain, &str)], profiles: &[&str]) -> Settings {
    let level = |(domain, key): &(Domain, &str)| TopologyLevel { domain: *domain, key: (*key).to_owned() };
    Settings {
        profiles: profiles.iter().map(|&name| name.to_owned()).collect(),
        default_levels: Some(levels.iter().rev().map(level).collect()),
        ..Settings::default()
    }
}

fn with_kai(levels: &[(Domain, &str)]) -> Settings {
    settings(levels, &["trellis", "kai-scheduler"])
}

fn off() -> Settings {
    Settings { topology_enabled: false, ..with_kai(&LONG) }
}

/// One server, as an administrator sees it.
struct Server {
    client: Client,
    topologies: Api<ClusterTopology>,
    kai: Api<Topology>,
}

impl Server {
    fn new(client: Client) -> Self {
        Self { topologies: Api::all(client.clone()), kai: Api::all(client.clone()), client }
    }

    async fn topology(&self) -> Option<ClusterTopology> {
        self.topologies.get_opt(NAME).await.expect("a look at the topology")
    }

    async fn kai(&self) -> Option<Topology> {
        match self.kai.get_opt(NAME).await {
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            kai => kai.expect("a look at KAI's topology"),
        }
    }

    async fn start(&self, settings: &Settings) -> Result<(), StartError> {
        synchronise(&self.client, settings).await
    }

    /// Both objects in a few words.
    async fn shown(&self) -> String {
        let keys = |keys: Vec<&str>| keys.join(" ");
        let topology = self.topology().await;
        let uid = topology.as_ref().and_then(|topology| topology.metadata.uid.clone());
        let topology = topology.map_or("none".to_owned(), |topology| {
            assert_eq!(
                topology.labels().get("app.kubernetes.io/managed-by").map(String::as_str),
                Some("grove-operator")
            );
            let levels = keys(topology.spec.levels.iter().map(|level| level.key.as_str()).collect());
            format!("{levels} [{}]", topology.finalizers().join(" "))
        });
        let kai = self.kai().await.map_or("none".to_owned(), |kai| {
            let owner = kai.owner_references().first().map(|owner| owner.uid.clone());
            assert!(owner.is_some() && owner == uid, "owned by {owner:?}, which is not {uid:?}");
            keys(kai.spec.levels.iter().map(|level| level.node_label.as_str()).collect())
        });
        format!("{topology} / {kai}")
    }

    async fn patch_topology(&self, patch: Value) {
        let patched = self.topologies.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.expect("a patch of the topology");
    }

    async fn patch_kai(&self, patch: Value) {
        self.kai.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a patch of KAI's topology");
    }

    /// Has KAI's kinds served.
    async fn install_kai(&self) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for definition in crd::kai() {
            definitions.create(&PostParams::default(), &definition).await.expect("a definition of KAI's");
            let name = definition.name_any();
            let established = await_condition(definitions.clone(), &name, conditions::is_crd_established());
            established.await.expect("an established definition");
        }
        // A real server lists a new kind a little after it serves it.
        for _ in 0..5_000 {
            if served(&self.client, "kai.scheduler", "v1alpha1", "topologies").await.expect("an answer") {
                return;
            }
        }
        panic!("KAI's kinds are not served");
    }
}

const SHORT_KEYS: &str = "example.com/zone kubernetes.io/hostname [grove.io/clustertopology]";
const LONG_KEYS: &str =
    "example.com/zone example.com/rack kubernetes.io/hostname example.com/numa [grove.io/clustertopology]";

/// From an empty cluster to an empty cluster.
async fn story(client: Client, user: &str) {
    let server = Server::new(client);
    assert_eq!(own_user(&server.client).await.expect("a user"), user);
    definitions(&server).await;
    let mine = json!({"metadata": {"name": "mine"}, "spec": {"levels": [{"domain": "zone", "key": "mine"}]}});
    let mine: ClusterTopology = serde_json::from_value(mine).expect("a topology");
    let mine = server.topologies.create(&PostParams::default(), &mine).await.expect("a topology of a user");

    default_topology(&server).await;
    backend(&server).await;
    deleted_by_hand(&server).await;
    switched_off(&server).await;

    let after = server.topologies.get("mine").await.expect("the topology of a user");
    assert_eq!(after, mine, "topologies of users are not touched");
}

async fn definitions(server: &Server) {
    let error = server.start(&with_kai(&SHORT)).await.expect_err("no kinds, no topology");
    assert!(error.to_string().contains("hint: start with --install-crds"), "{error}");
    server.start(&off()).await.expect("nothing to delete");
    install_crds(&server.client).await.expect("definitions");
    let list = async || -> Vec<(String, Option<String>)> {
        let definitions: Api<CustomResourceDefinition> = Api::all(server.client.clone());
        let list = definitions.list(&kube::api::ListParams::default()).await.expect("definitions");
        list.items.into_iter().map(|it| (it.name_any(), it.metadata.resource_version)).collect()
    };
    let before = list().await;
    let names = |list: &[(String, Option<String>)]| list.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    let mut wanted: Vec<String> = crd::served().iter().map(ResourceExt::name_any).collect();
    wanted.sort();
    assert_eq!(names(&before), wanted);
    install_crds(&server.client).await.expect("definitions, once more");
    assert_eq!(list().await, before, "equal definitions are not written");
    let is_served =
        async |group, version, plural| served(&server.client, group, version, plural).await.expect("an answer");
    assert!(is_served("", "v1", "pods").await);
    assert!(!is_served("", "v1", "topologies").await);
    assert!(!is_served("apps", "v9", "deployments").await);
    assert!(!is_served("kai.scheduler", "v1alpha1", "topologies").await);
}

async fn default_topology(server: &Server) {
    let version = async || server.topology().await.and_then(|topology| topology.metadata.resource_version);
    // KAI is enabled and not installed, which is no failure.
    server.start(&with_kai(&SHORT)).await.expect("a new topology");
    assert_eq!(server.shown().await, format!("{SHORT_KEYS} / none"));
    let before = version().await;
    server.start(&with_kai(&SHORT)).await.expect("a topology as it should be");
    assert_eq!(version().await, before, "an equal topology is not written");
    server.start(&with_kai(&LONG)).await.expect("other levels");
    assert_eq!(server.shown().await, format!("{LONG_KEYS} / none"));
    let levels = json!([{"domain": "rack", "key": "by-hand"}]);
    let labels = json!({"app.kubernetes.io/managed-by": null, "team": "a"});
    server
        .patch_topology(
            json!({"metadata": {"labels": labels, "finalizers": ["example.com/theirs"]}, "spec": {"levels": levels}}),
        )
        .await;
    server.start(&with_kai(&SHORT)).await.expect("changes by hand");
    assert_eq!(
        server.shown().await,
        "example.com/zone kubernetes.io/hostname [example.com/theirs grove.io/clustertopology] / none"
    );
    let topology = server.topology().await.expect("a topology");
    assert_eq!(topology.labels().get("team").map(String::as_str), Some("a"), "what others added stays");
    server.patch_topology(json!({"metadata": {"finalizers": [OURS]}})).await;
}

async fn backend(server: &Server) {
    server.install_kai().await;
    server.start(&settings(&SHORT, &["trellis"])).await.expect("without KAI");
    assert_eq!(server.shown().await, format!("{SHORT_KEYS} / none"));
    let without = Settings { create_kai_topologies: false, ..with_kai(&SHORT) };
    server.start(&without).await.expect("with KAI, without its topology");
    assert_eq!(server.shown().await, format!("{SHORT_KEYS} / none"));

    server.start(&with_kai(&SHORT)).await.expect("with KAI");
    let short = format!("{SHORT_KEYS} / example.com/zone kubernetes.io/hostname");
    assert_eq!(server.shown().await, short);
    let before = server.kai().await;
    server.start(&with_kai(&SHORT)).await.expect("with KAI, once more");
    assert_eq!(server.kai().await, before, "an equal one is not written");
    server.start(&with_kai(&LONG)).await.expect("other levels");
    let long = format!("{LONG_KEYS} / example.com/zone example.com/rack kubernetes.io/hostname");
    assert_eq!(server.shown().await, long);
    let uid = |kai: Option<Topology>| kai.and_then(|kai| kai.metadata.uid);
    assert_ne!(uid(server.kai().await), uid(before), "levels cannot change, so it was made anew");

    server.patch_kai(json!({"metadata": {"ownerReferences": null}})).await;
    let before = server.kai().await;
    let error = server.start(&with_kai(&LONG)).await.expect_err("somebody else's topology");
    assert!(matches!(error, StartError::Foreign(_)), "{error:?}");
    let message = error.to_string();
    assert!(message.starts_with("KAI Topology `grove-topology` is not owned by"), "{message}");
    assert!(message.contains("hint: "), "{message}");
    assert_eq!(server.kai().await, before, "it is left alone");
    server.kai.delete(NAME, &DeleteParams::default()).await.expect("KAI's topology goes");
    server.start(&with_kai(&LONG)).await.expect("the way is free");
    assert_eq!(server.shown().await, long);
}

/// Nobody collects garbage here, so KAI's Topology of the former one is still there when the new one is made.
async fn deleted_by_hand(server: &Server) {
    let uid = async || server.topology().await.and_then(|topology| topology.metadata.uid);
    let before = (uid().await, server.shown().await);
    server.topologies.delete(NAME, &DeleteParams::default()).await.expect("a deletion");
    assert_eq!(uid().await, before.0, "its finalizer holds it");
    server.start(&with_kai(&LONG)).await.expect("a deleted topology is made anew");
    assert_ne!(uid().await, before.0);
    assert_eq!(server.shown().await, before.1);
}

async fn switched_off(server: &Server) {
    server.start(&off()).await.expect("off");
    assert_eq!(server.topology().await, None, "it goes although our finalizer was on it");
    server.start(&off()).await.expect("off, once more");
    server.kai.delete(NAME, &DeleteParams::default()).await.expect("garbage collection by hand");

    server.start(&with_kai(&SHORT)).await.expect("on again");
    server.patch_topology(json!({"metadata": {"finalizers": [OURS, "example.com/theirs"]}})).await;
    server.start(&off()).await.expect("off, held by somebody else");
    let held = server.topology().await.expect("it is still there");
    assert!(held.metadata.deletion_timestamp.is_some(), "{held:?}");
    assert_eq!(held.finalizers(), ["example.com/theirs"]);
    server.patch_topology(json!({"metadata": {"finalizers": []}})).await;
    assert_eq!(server.topology().await, None);
    server.kai.delete(NAME, &DeleteParams::default()).await.expect("garbage collection by hand");
}

async fn embedded() -> api::Api {
    let api = api::Api::new(Options::default());
    api.furnish().await.expect("the objects of every cluster");
    api
}

fn operator() -> User {
    User::service_account("trellis-system", "trellis-operator")
}

#[tokio::test]
async fn the_embedded_api() {
    let client = Client::new(embedded().await.service(operator()), "default");
    story(client, "system:serviceaccount:trellis-system:trellis-operator").await;
}

#[tokio::test]
async fn a_real_api() {
    let plane = ControlPlane::shared().await.expect("a control plane");
    story(plane.client().expect("a client"), "admin").await;
}

/// States that a start may find.
#[derive(Clone, Copy, Debug)]
enum Before {
    Nothing,
    OtherLevels,
    DeletedByHand,
}

async fn prepared(before: Before) -> api::Api {
    let api = embedded().await;
    let server = Server::new(Client::new(api.service(User::admin()), "default"));
    let needed = ["clustertopologies.grove.io", "topologies.kai.scheduler"];
    let definitions = crd::own().into_iter().chain(crd::kai());
    for definition in definitions.filter(|definition| needed.contains(&definition.name_any().as_str())) {
        api.create(&User::admin(), &json!(definition)).await.expect("a definition");
    }
    match before {
        Before::Nothing => {}
        Before::OtherLevels => server.start(&with_kai(&SHORT)).await.expect("a start"),
        Before::DeletedByHand => {
            server.start(&with_kai(&LONG)).await.expect("a start");
            server.topologies.delete(NAME, &DeleteParams::default()).await.expect("a deletion");
        }
    }
    api
}

fn conflict() -> Status {
    Status::other(409, "Conflict", "the object has been modified")
}

/// Whatever happens to any one write, the next start ends with the same objects; what was refused for a newer version, this one does.
#[tokio::test(start_paused = true)]
async fn every_write_may_fail() {
    let faults = [Fault::Refuse(conflict()), Fault::LoseRequest, Fault::LoseAnswer, Fault::TimeOut];
    // How many writes a start takes with topology-aware scheduling on, and off.
    for (before, on, gone) in [(Before::Nothing, 2, 0), (Before::OtherLevels, 3, 2), (Before::DeletedByHand, 4, 1)] {
        for (settings, writes) in [(with_kai(&LONG), on), (off(), gone)] {
            for at in 0..writes {
                for fault in &faults {
                    let what = format!("{before:?}, topology {}, write {at}, {fault:?}", settings.topology_enabled);
                    check_failure(&what, before, &settings, at, fault.clone(), writes).await;
                }
            }
        }
    }
}

async fn check_failure(what: &str, before: Before, settings: &Settings, at: u64, fault: Fault, writes: u64) {
    let api = prepared(before).await;
    let is_conflict = matches!(fault, Fault::Refuse(_));
    let mut fault = Some(fault);
    let faults = Faults::decided(move |seen| match seen.write == Some(at) {
        true => fault.take().unwrap_or(Fault::None),
        false => Fault::None,
    });
    let suffering = Server::new(Client::new(faults.around(api.service(operator())), "default"));
    let result = suffering.start(settings).await;
    assert!(faults.seen().1 > at, "{what}: only {} writes", faults.seen().1);
    let is_fatal = settings.topology_enabled && !is_conflict;
    assert_eq!(result.is_err(), is_fatal, "{what}: {result:?}");

    let server = Server::new(Client::new(api.service(operator()), "default"));
    if is_conflict {
        assert_eq!(faults.seen().1, writes + 1, "{what}: a conflict costs one write more");
    } else {
        server.start(settings).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    if settings.topology_enabled {
        let expected = format!("{LONG_KEYS} / example.com/zone example.com/rack kubernetes.io/hostname");
        assert_eq!(server.shown().await, expected, "{what}");
    } else {
        assert_eq!(server.topology().await, None, "{what}");
    }
}

/// A start neither hangs nor tries for ever.
#[tokio::test(start_paused = true)]
async fn a_start_is_bounded() {
    let api = prepared(Before::OtherLevels).await;
    let client = |fault: Fault| {
        let faults = Faults::decided(move |seen| if seen.write.is_some() { fault.clone() } else { Fault::None });
        Client::new(faults.around(api.service(operator())), "default")
    };
    let long = std::time::Duration::from_hours(1);
    let error = synchronise(&client(Fault::Refuse(conflict())), &with_kai(&LONG)).await.expect_err("others write it");
    assert!(matches!(error, StartError::Contended { .. }), "{error:?}");
    assert!(
        error.to_string().starts_with("cannot write ClusterTopology `grove-topology`: others changed it"),
        "{error}"
    );
    let error = synchronise(&client(Fault::Delay(long)), &with_kai(&LONG)).await.expect_err("no answer");
    assert_eq!(error.to_string(), "cannot write ClusterTopology `grove-topology`: not done within 10 s");
    let refusal = Status::other(403, "Forbidden", "clustertopologies is forbidden");
    let error = synchronise(&client(Fault::Refuse(refusal)), &with_kai(&LONG)).await.expect_err("no rights");
    assert_eq!(error.to_string(), "cannot write ClusterTopology `grove-topology`: clustertopologies is forbidden");
    synchronise(&client(Fault::Delay(long)), &off()).await.expect("off: logged");

    let server = Server::new(Client::new(api.service(User::admin()), "default"));
    server.patch_topology(json!({"metadata": {"finalizers": ["example.com/theirs"]}})).await;
    server.topologies.delete(NAME, &DeleteParams::default()).await.expect("a deletion");
    let error = server.start(&with_kai(&LONG)).await.expect_err("somebody holds it");
    assert_eq!(
        error.to_string(),
        "cannot make ClusterTopology `grove-topology` anew: not done within 10 s; finalizers that hold it: example.com/theirs"
    );
}
