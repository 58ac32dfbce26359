//! A world for one scenario: a namespace on a server, an operator, nodes, a scheduler, and an observer of all that happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use trellis_api::names::label;
use trellis_lifecycle::Kind;

use crate::binder::Versions;
use crate::placer::{self, Placer, Placing};
use crate::running::{Mode, Running, configuration};
use crate::server::{self, Cluster, Server, namespace};
use crate::view::{Observer, View, objects};
use crate::workloads::Set;

/// Far more than any step takes on a real server.
const PATIENCE: Duration = Duration::from_mins(1);

/// What scenarios look at. Claims are left out: the embedded API does not serve them.
pub fn kinds() -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| *kind != Kind::ResourceClaim).collect()
}

/// What a scenario needs beyond the usual.
#[derive(Clone, Debug)]
pub struct Needs {
    /// It waits for time to pass, so the operator's timers are on.
    pub timers: bool,
    /// It starts operators of its own, with this configuration first.
    pub alone: Option<Value>,
    /// Nobody judges what users write before it is stored.
    pub no_webhooks: bool,
}

impl Needs {
    /// Nothing special.
    pub fn nothing() -> Self {
        Self { timers: false, alone: None, no_webhooks: false }
    }

    /// Something happens after a time.
    pub fn timers() -> Self {
        Self { timers: true, ..Self::nothing() }
    }

    /// Operators of its own, this configuration first.
    pub fn configured(configuration: Value) -> Self {
        Self { alone: Some(configuration), ..Self::nothing() }
    }

    /// Operators of its own, the usual configuration first.
    pub fn alone() -> Self {
        Self::configured(configuration())
    }

    /// The same, without webhooks.
    pub fn no_webhooks() -> Self {
        Self { no_webhooks: true, ..Self::alone() }
    }
}

impl Needs {
    fn mode(&self, server: Server) -> Mode {
        Mode { timers: self.timers || server == Server::Real, webhooks: !self.no_webhooks }
    }
}

/// A world.
pub struct World {
    pub cluster: Arc<Cluster>,
    pub client: Client,
    pub namespace: String,
    pub placer: Placer,
    pub observer: Observer,
    needs: Needs,
    operator: Mutex<Running>,
    nodes: server::Set,
    open: Mutex<BTreeSet<String>>,
}

impl World {
    /// A world on this server.
    pub async fn on(server: Server, placing: Placing, needs: Needs) -> Self {
        let cluster = match (server, &needs.alone, placing) {
            (Server::Embedded, ..) => Cluster::embedded(placing).await,
            (Server::Real, None, Placing::StandIn) => Cluster::shared().await,
            (Server::Real, None, Placing::Ours) => Cluster::scheduled().await,
            (Server::Real, Some(_), _) => Cluster::alone().await,
        };
        let client = cluster.client.clone();
        let namespace = namespace(&client).await;
        let patience = match server {
            // Time stands still while anything is done, so this costs nothing.
            Server::Embedded => Duration::from_mins(30),
            Server::Real => PATIENCE,
        };
        let observer = Observer::start(&client, &namespace, &kinds(), patience).await;
        let placer = match placing {
            Placing::StandIn => Placer::stand_in(&client, &namespace, cluster.now.clone()),
            Placing::Ours => {
                let scheduler = match &cluster.scheduler {
                    Some(shared) => Arc::clone(shared),
                    None => Arc::new(placer::Running::start(client.clone(), cluster.now.clone()).await),
                };
                Placer::ours(&client, &namespace, scheduler)
            }
        };
        let operator = match &cluster.shared {
            Some(operator) => operator.clone(),
            None => {
                let configuration = needs.alone.clone().unwrap_or_else(configuration);
                Running::start(&cluster, &configuration, needs.mode(server)).await
            }
        };
        let (operator, open) = (Mutex::new(operator), Mutex::default());
        let nodes = cluster.take(placing).await;
        Self { cluster, client, namespace, placer, observer, needs, operator, nodes, open }
    }

    pub fn is_real(&self) -> bool {
        self.cluster.server == Server::Real
    }

    pub fn operator(&self) -> Running {
        self.operator.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the operator and starts another with this configuration. Only in a world of one's own.
    pub async fn restart(&self, configuration: &Value) {
        assert!(self.cluster.shared.is_none(), "the operator is not this scenario's alone");
        self.operator().stop().await;
        let operator = Running::start(&self.cluster, configuration, self.needs.mode(self.cluster.server)).await;
        *self.operator.lock().unwrap_or_else(PoisonError::into_inner) = operator;
    }

    /// How long a broken gang may stay: short where time is real.
    pub fn delay(&self) -> &'static str {
        if self.is_real() { "1s" } else { "1m" }
    }

    /// Lets time pass where it costs nothing.
    pub async fn pass(&self, time: Duration) {
        if !self.is_real() {
            tokio::time::sleep(time).await;
        }
    }

    /// Waits until it is so, and says how it is then.
    pub async fn until(&self, what: &str, is_so: impl Fn(&View) -> bool) -> View {
        self.observer.until(what, is_so).await
    }

    /// Waits until exactly these pods have nodes, and sees that it stays so: how many of each clique.
    pub async fn placed(&self, expected: &[(&str, usize)]) -> View {
        let expected: BTreeMap<String, usize> =
            expected.iter().filter(|(_, count)| *count > 0).map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let what = format!("these have nodes: {expected:?}");
        self.until(&what, |view| view.placed() == expected).await;
        self.quiet().await;
        let view = self.observer.view();
        assert_eq!(view.placed(), expected, "for a moment it was so, then not\n{}", view.dump());
        view
    }

    /// Waits until there are just so many pods, all of them ready, and sees that it stays so.
    pub async fn ready(&self, pods: usize) -> View {
        let what = format!("{pods} pods are ready, and no others are there");
        let is_so = |view: &View| view.pods().count() == pods && view.pods().all(|pod| pod.is_ready());
        self.until(&what, is_so).await;
        self.quiet().await;
        let view = self.observer.view();
        assert!(is_so(&view), "for a moment it was so, then not: {what}\n{}", view.dump());
        view
    }

    /// Waits until nobody has anything to do.
    pub async fn quiet(&self) {
        if self.is_real() {
            return self.rest().await;
        }
        // Time moves only when nobody has anything to do.
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    /// Waits, where time is real, until nothing has changed for a while and everybody has seen it.
    async fn rest(&self) {
        const WHILE: usize = 3;
        if !self.is_real() {
            return;
        }
        let rest = async {
            let (mut before, mut same) = (self.versions().await, 0);
            // The scheduler does not tell when it has dealt with everything, so it is given the time to.
            let mut ticks = tokio::time::interval(Duration::from_millis(40));
            while same < WHILE {
                if matches!(self.placer, Placer::Ours(_)) {
                    ticks.tick().await;
                }
                let placed_on = self.placer.settled().await;
                let after = self.versions().await;
                let for_placer = after.iter().filter(|((kind, _), _)| Placer::KINDS.contains(kind));
                let all_saw = for_placer.eq(&placed_on) && self.observer.view().versions() == after;
                same = if all_saw && before == after { same + 1 } else { 0 };
                before = after;
            }
        };
        if tokio::time::timeout(PATIENCE, rest).await.is_err() {
            panic!("it does not come to rest\n{}", self.observer.view().dump());
        }
    }

    /// The version of every object.
    async fn versions(&self) -> Versions {
        let mut versions = BTreeMap::new();
        // Topologies belong to all scenarios of a server.
        for kind in kinds().into_iter().filter(|kind| kind.is_namespaced()) {
            let listed = objects(&self.client, &self.namespace, kind).list(&ListParams::default()).await;
            // A kind that is not served has no objects.
            if matches!(&listed, Err(kube::Error::Api(status)) if status.code == 404) {
                continue;
            }
            for object in listed.expect("a list").items {
                let version = object.metadata.resource_version.unwrap_or_default();
                versions.insert((kind, object.metadata.name.unwrap_or_default()), version);
            }
        }
        versions
    }

    /// Opens so many more nodes to the scheduler, once nobody has anything to do: who gets them hangs on what it sees.
    pub async fn open(&self, count: usize) {
        self.rest().await;
        let more: Vec<String> = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let closed = self.nodes.names.iter().filter(|node| !open.contains(*node));
            let more: Vec<String> = closed.take(count).cloned().collect();
            open.extend(more.clone());
            more
        };
        assert_eq!(more.len(), count, "there are not so many nodes");
        self.placer.open(more).await;
    }

    /// Closes a node to the scheduler.
    pub async fn close(&self, node: &str) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(node);
        self.placer.close(vec![node.to_owned()]).await;
    }

    /// Closes all nodes to the scheduler, and says which they were.
    pub async fn close_all(&self) -> Vec<String> {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        let open: Vec<String> = open.into_iter().collect();
        self.placer.close(open.clone()).await;
        open
    }

    /// Opens these nodes, in the same way.
    pub async fn reopen(&self, nodes: Vec<String>) {
        self.rest().await;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).extend(nodes.clone());
        self.placer.open(nodes).await;
    }

    /// Creates a set.
    pub async fn create(&self, set: &Set) -> Value {
        self.try_create(set).await.expect("the set is admitted")
    }

    /// Creates a set, or says why not.
    pub async fn try_create(&self, set: &Set) -> kube::Result<Value> {
        self.make(Kind::PodCliqueSet, &self.selected(set.value())).await
    }

    /// The set with pods that go to nodes of this world only.
    fn selected(&self, set: &Value) -> Value {
        let mut set = set.clone();
        if let Some(selected) = &self.nodes.selected {
            for clique in set["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
                clique["spec"]["podSpec"]["nodeSelector"][server::OF] = json!(selected);
            }
        }
        set
    }

    /// What pods select its nodes by, where there are others.
    pub fn selects(&self) -> Option<&str> {
        self.nodes.selected.as_deref()
    }

    /// The nodes of this world, in the order of their places: 28 to a zone, 20 to a block, 7 to a rack.
    pub fn node_names(&self) -> &[String] {
        &self.nodes.names
    }

    /// Creates an object of any kind, as strictly as the server can be.
    pub async fn make(&self, kind: Kind, object: &Value) -> kube::Result<Value> {
        let url = format!("{}?fieldValidation=Strict", self.api(kind).resource_url());
        let request = http::Request::post(url).header("content-type", "application/json");
        self.client.request(request.body(object.to_string().into_bytes()).expect("a request")).await
    }

    /// Where objects of a kind are found.
    pub fn api(&self, kind: Kind) -> Api<kube::api::DynamicObject> {
        objects(&self.client, &self.namespace, kind)
    }

    /// Changes an object as its user would: reads, changes, writes, and again if somebody else was faster.
    pub async fn edit(&self, kind: Kind, name: &str, change: impl Fn(&mut Value)) {
        self.try_edit(kind, name, change).await.expect("the change is admitted");
    }

    /// As [`World::edit`], or says why it is refused.
    pub async fn try_edit(&self, kind: Kind, name: &str, change: impl Fn(&mut Value)) -> kube::Result<()> {
        loop {
            let found = self.api(kind).get(name).await?;
            let mut value = serde_json::to_value(found).expect("an object is JSON");
            change(&mut value);
            let changed = serde_json::from_value(value).expect("an object");
            match self.api(kind).replace(name, &PostParams::default(), &changed).await {
                Err(kube::Error::Api(status)) if status.reason == "Conflict" => {}
                result => return result.map(drop),
            }
        }
    }

    /// Sets replicas by the scale subresource.
    pub async fn scale(&self, kind: Kind, name: &str, replicas: usize) {
        let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        self.api(kind).patch_scale(name, &PatchParams::default(), &patch).await.expect("scaled");
    }

    /// Deletes an object.
    pub async fn delete(&self, kind: Kind, name: &str) {
        self.api(kind).delete(name, &DeleteParams::default()).await.expect("deleted");
    }

    /// Loses pods for good: their nodes are closed before they are deleted.
    pub async fn lose(&self, pods: &[&str]) {
        let view = self.observer.view();
        for name in pods {
            if let Some(node) = view.get(Kind::Pod, name)["spec"]["nodeName"].as_str() {
                self.close(node).await;
            }
        }
        // It has to know before it sees room.
        self.placer.told().await;
        for name in pods {
            self.delete(Kind::Pod, name).await;
        }
    }

    /// Ends the world: no law was broken, and when the sets are deleted nothing is left of them.
    pub async fn end(self) {
        self.observer.no_laws();
        // Deployments first, or they would make their sets anew.
        for kind in [Kind::DynamoGraphDeployment, Kind::PodCliqueSet] {
            for name in self.observer.view().names(kind) {
                match self.api(kind).delete(name, &DeleteParams::default()).await {
                    // The scenario may have deleted it by itself.
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    result => drop(result.expect("deleted")),
                }
            }
        }
        self.until("nothing is left of the sets", |view| left(view).is_empty()).await;
        if self.cluster.shared.is_none() {
            self.operator().stop().await;
            self.cluster.nodes.stop().await;
        }
        if self.nodes.selected.is_some() {
            self.close_all().await;
            self.cluster.give_back(self.nodes.clone()).await;
        }
        if self.is_real() {
            let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.client.clone());
            drop(namespaces.delete(&self.namespace, &DeleteParams::default()).await);
        }
    }
}

/// A scenario that failed leaves no operator behind that would be in the way of the next.
impl Drop for World {
    fn drop(&mut self) {
        if self.cluster.shared.is_none() {
            self.operator().tell_to_stop();
        }
    }
}

/// Whatever belongs to a set.
pub fn left(view: &View) -> Vec<String> {
    let mut left = Vec::new();
    for kind in kinds().into_iter().filter(|kind| kind.is_namespaced()) {
        let is_users = matches!(kind, Kind::DynamoGraphDeployment | Kind::PodCliqueSet);
        let of_set = |object: &Value| is_users || !object["metadata"]["labels"][label::PART_OF].is_null();
        let found = view.all(kind).filter(|(_, object)| of_set(object));
        left.extend(found.map(|(name, _)| format!("{kind:?} {name}")));
    }
    left
}
