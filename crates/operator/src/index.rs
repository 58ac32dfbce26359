//! What the API was last seen to hold, by kind and by the set or workflow that it belongs to.
//!
//! A decision after a write sees that write, because answers to our own writes come in here as well as what watches say.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use tokio::sync::Notify;
use trellis_api::admission::Pools;
use trellis_api::constraint;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::kai::{KaiPodGroup, Queue, Topology};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::kinds::{ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use trellis_api::names::{label, osmo};
use trellis_controller::table::{self, Name, Put, name_of};
use trellis_lifecycle::dynamo::{Deployment, DynamoObserved};
use trellis_lifecycle::osmo::{PoolObserved, WorkflowObserved};
use trellis_lifecycle::pod::Pod;
use trellis_lifecycle::topology::NodeLabels;
use trellis_lifecycle::{ByName, Kind, Observed, Target};

use crate::queue::Key;

/// Objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    objects: table::Table<T>,
    /// Names by the set or workflow that they belong to.
    of: HashMap<Key, BTreeSet<String>>,
    /// Whether the API was last heard to say that it cannot be listed.
    is_unserved: bool,
}

/// Who has told of a version of an object.
#[derive(Clone, Copy)]
enum Source {
    Watch,
    Answer,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { objects: table::Table::default(), of: HashMap::new(), is_unserved: false }
    }
}

/// The set or workflow that an object belongs to.
fn home_of(metadata: &ObjectMeta) -> Option<Key> {
    let labels = metadata.labels.as_ref()?;
    let (namespace, name) = (metadata.namespace.clone().unwrap_or_default(), labels.get(label::PART_OF)?.clone());
    Some(match labels.contains_key(osmo::label::WORKFLOW) {
        true => Key::Workflow(namespace, name),
        false => Key::Set(namespace, name),
    })
}

impl<T: Kept> Table<T> {
    /// Takes a version of an object.
    fn put(&mut self, object: T, source: Source) -> Put<T> {
        let metadata = object.metadata().clone();
        let put = match source {
            Source::Watch => self.objects.put(&metadata, || object),
            Source::Answer => self.objects.answered(&metadata, || object),
        };
        if let Put::New(former) = &put {
            let (_, name) = name_of(&metadata);
            let home = home_of(&metadata);
            if let Some(former) = former.as_ref().filter(|former| home_of(former.metadata()) != home) {
                self.unlink(former);
            }
            if let Some(home) = home {
                self.of.entry(home).or_default().insert(name);
            }
        }
        put
    }

    fn unlink(&mut self, object: &T) {
        let (_, name) = name_of(object.metadata());
        let Some(home) = home_of(object.metadata()) else { return };
        if let Some(names) = self.of.get_mut(&home) {
            names.remove(&name);
            if names.is_empty() {
                self.of.remove(&home);
            }
        }
    }

    /// Takes note that the watch saw the object go.
    fn remove(&mut self, metadata: &ObjectMeta) {
        if let Some(removed) = self.objects.remove(metadata) {
            self.unlink(&removed);
        }
    }

    /// Takes note that we know the object to be gone.
    fn forget(&mut self, name: &Name, uid: &str) -> Option<Arc<T>> {
        let forgotten = self.objects.forget(name, uid)?;
        self.unlink(&forgotten);
        Some(forgotten)
    }

    /// Forgets what a list that is now complete has not named; returns it.
    fn end_list(&mut self) -> Vec<Arc<T>> {
        self.is_unserved = false;
        let missing = self.objects.end_list();
        missing.iter().for_each(|object| self.unlink(object));
        missing
    }
}

impl<T> Table<T> {
    /// The objects of a set or workflow.
    fn of(&self, home: &Key) -> impl Iterator<Item = (&String, &Arc<T>)> {
        let namespace = match home {
            Key::Set(namespace, _) | Key::Deployment(namespace, _) | Key::Workflow(namespace, _) => namespace.as_str(),
            Key::Topology(_) | Key::Pool(_) => "",
        };
        let names = self.of.get(home).into_iter().flatten();
        names.filter_map(move |name| Some((name, self.get(namespace, name)?)))
    }

    fn by_name(&self, home: &Key) -> ByName<T> {
        self.of(home).map(|(name, object)| (name.clone(), Arc::clone(object))).collect()
    }

    /// All objects of a cluster-scoped kind by name; none if the API is not known to serve it.
    fn whole(&self) -> Option<ByName<T>> {
        let named = self.objects.all().map(|((_, name), object)| (name.clone(), Arc::clone(object)));
        self.is_listed().then(|| named.collect())
    }

    /// An object by namespace and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.objects.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.all().map(|(_, object)| object)
    }

    /// Whether a list has come in whole.
    pub fn is_listed(&self) -> bool {
        self.objects.is_listed()
    }

    /// Whether it is known if the API serves the kind.
    fn is_known(&self) -> bool {
        self.is_listed() || self.is_unserved
    }
}

/// A kind that the index holds.
pub trait Kept: Sized + Send + Sync + 'static {
    /// Where its objects are.
    fn table(tables: &mut Tables) -> &mut Table<Self>;
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// What has to be looked at when one of its objects changes.
    fn touches(&self, tables: &Tables, keys: &mut Vec<Key>);
    /// What has to be looked at when it is first known that the API serves the kind.
    fn appears(_: &Tables, _: &mut Vec<Key>) {}
}

/// All that was seen.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the kinds speak for themselves")]
pub struct Tables {
    pub deployments: Table<Deployment>,
    pub sets: Table<PodCliqueSet>,
    pub groups: Table<PodCliqueScalingGroup>,
    pub cliques: Table<PodClique>,
    pub gangs: Table<PodGang>,
    pub pods: Table<Pod>,
    pub services: Table<Service>,
    pub accounts: Table<ServiceAccount>,
    pub roles: Table<Role>,
    pub bindings: Table<RoleBinding>,
    pub autoscalers: Table<HorizontalPodAutoscaler>,
    pub claims: Table<DynamicObject>,
    pub kai_pod_groups: Table<KaiPodGroup>,
    pub topologies: Table<ClusterTopology>,
    pub kai_topologies: Table<Topology>,
    pub pools: Table<Pool>,
    pub workflows: Table<Workflow>,
    pub queues: Table<Queue>,
    pub classes: Table<PriorityClass>,
    pub files: Table<ConfigMap>,
    pub nodes: BTreeMap<String, NodeLabels>,
}

/// The deployment that a set was made for.
fn deployment_of(set: &PodCliqueSet) -> Option<Key> {
    let (_, _, kind, _) = Kind::DynamoGraphDeployment.names();
    let mut owners = set.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == kind)?;
    Some(Key::Deployment(set.metadata.namespace.clone().unwrap_or_default(), owner.name.clone()))
}

/// A child of a set or workflow touches that; one whose status tells of a set, also the deployment that the set was made for.
macro_rules! child {
    ($kind:ty, $table:ident) => {
        child!($kind, $table, |_, _| None);
    };
    ($kind:ty, $table:ident, $beyond:expr) => {
        impl Kept for $kind {
            fn table(tables: &mut Tables) -> &mut Table<Self> {
                &mut tables.$table
            }

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn touches(&self, tables: &Tables, keys: &mut Vec<Key>) {
                let beyond: fn(&Tables, (&str, &str)) -> Option<Key> = $beyond;
                let Some(home) = home_of(&self.metadata) else { return };
                if let Key::Set(namespace, set) = &home {
                    keys.extend(beyond(tables, (namespace, set)));
                }
                keys.push(home);
            }
        }
    };
}

child!(PodCliqueScalingGroup, groups, of_deployment);
child!(PodClique, cliques, of_deployment);
child!(PodGang, gangs);
child!(Pod, pods);
child!(Service, services);
child!(ServiceAccount, accounts);
child!(Role, roles);
child!(RoleBinding, bindings);
child!(HorizontalPodAutoscaler, autoscalers);
child!(DynamicObject, claims);
child!(ConfigMap, files);

/// Whether an object belongs to a workflow.
fn is_of_workflow(metadata: &ObjectMeta) -> bool {
    metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(osmo::label::WORKFLOW))
}

/// The pools that own an object, by what its owner references say.
fn pools_of(metadata: &ObjectMeta) -> impl Iterator<Item = Key> {
    let owners = metadata.owner_references.iter().flatten();
    owners.filter(|owner| owner.kind == Kind::Pool.names().2).map(|owner| Key::Pool(owner.name.clone()))
}

/// All pools.
fn all_pools(tables: &Tables) -> impl Iterator<Item = Key> {
    tables.pools.all().filter_map(|pool| pool.metadata.name.clone()).map(Key::Pool)
}

impl Kept for KaiPodGroup {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.kai_pod_groups
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, tables: &Tables, keys: &mut Vec<Key>) {
        keys.extend(home_of(&self.metadata));
        // What a pool had, and the pool itself, are kept as long as gangs speak of them.
        if is_of_workflow(&self.metadata) {
            keys.extend(all_pools(tables));
        }
    }

    fn appears(tables: &Tables, keys: &mut Vec<Key>) {
        keys.extend(all_pools(tables));
        keys.extend(tables.workflows.all().map(|it| workflow_key(&it.metadata)));
    }
}

fn workflow_key(metadata: &ObjectMeta) -> Key {
    let (namespace, name) = name_of(metadata);
    Key::Workflow(namespace, name)
}

impl Kept for Pool {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.pools
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, tables: &Tables, keys: &mut Vec<Key>) {
        keys.extend(self.metadata.name.clone().map(Key::Pool));
        let has_ended = |it: &Workflow| it.status.as_ref().is_some_and(|status| status.state.is_final());
        keys.extend(tables.workflows.all().filter(|it| !has_ended(it)).map(|it| workflow_key(&it.metadata)));
    }
}

impl Kept for Workflow {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.workflows
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, _: &Tables, keys: &mut Vec<Key>) {
        keys.push(workflow_key(&self.metadata));
    }
}

/// What pools own touches them; where the kind was not known to be served, all of them.
macro_rules! of_pools {
    ($kind:ty, $table:ident) => {
        impl Kept for $kind {
            fn table(tables: &mut Tables) -> &mut Table<Self> {
                &mut tables.$table
            }

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn touches(&self, _: &Tables, keys: &mut Vec<Key>) {
                keys.extend(pools_of(&self.metadata));
            }

            fn appears(tables: &Tables, keys: &mut Vec<Key>) {
                keys.extend(all_pools(tables));
            }
        }
    };
}

of_pools!(Queue, queues);
of_pools!(PriorityClass, classes);

fn of_deployment(tables: &Tables, (namespace, set): (&str, &str)) -> Option<Key> {
    tables.sets.get(namespace, set).and_then(|set| deployment_of(set))
}

impl Kept for Deployment {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.deployments
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, _: &Tables, keys: &mut Vec<Key>) {
        let (namespace, name) = name_of(&self.metadata);
        keys.push(Key::Deployment(namespace, name));
    }

    /// From then on it shows which sets have lost their deployment.
    fn appears(tables: &Tables, keys: &mut Vec<Key>) {
        keys.extend(tables.sets.all().filter_map(|set| deployment_of(set)));
    }
}

impl Kept for PodCliqueSet {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.sets
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, tables: &Tables, keys: &mut Vec<Key>) {
        let (namespace, name) = name_of(&self.metadata);
        keys.push(Key::Set(namespace.clone(), name.clone()));
        match deployment_of(self) {
            Some(key) => keys.push(key),
            // One that belongs to nobody may be in a deployment's way.
            None => {
                let here = |it: &&Arc<Deployment>| it.metadata.namespace.as_ref() == Some(&namespace);
                let named = |it: &&Arc<Deployment>| it.graph.as_ref().is_ok_and(|graph| graph.set_name() == name);
                let in_its_way = tables.deployments.all().filter(here).filter(named);
                in_its_way.for_each(|deployment| deployment.touches(tables, keys));
            }
        }
        // A topology waits for the last set that refers to it.
        let written = constraint::written_names(self).into_iter().map(|(_, name)| name);
        let named = constraint::resolved_name(self).into_iter().chain(written);
        keys.extend(named.map(|topology| Key::Topology(topology.to_owned())));
    }
}

impl Kept for ClusterTopology {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.topologies
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, tables: &Tables, keys: &mut Vec<Key>) {
        let name = self.metadata.name.clone().unwrap_or_default();
        for set in tables.sets.all().filter(|set| constraint::references(set, &name)) {
            let (namespace, name) = name_of(&set.metadata);
            keys.push(Key::Set(namespace, name));
        }
        // One that was refused for the want of it may be let in now.
        let asks = |it: &&Arc<Deployment>| it.graph.as_ref().is_ok_and(|graph| graph.topology() == Some(&name));
        for deployment in tables.deployments.all().filter(asks) {
            deployment.touches(tables, keys);
        }
        keys.push(Key::Topology(name));
    }
}

impl Kept for Topology {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.kai_topologies
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, _: &Tables, keys: &mut Vec<Key>) {
        keys.extend(self.metadata.name.clone().map(Key::Topology));
        keys.extend(pools_of(&self.metadata));
    }

    fn appears(tables: &Tables, keys: &mut Vec<Key>) {
        keys.extend(tables.topologies.all().filter_map(|topology| topology.metadata.name.clone()).map(Key::Topology));
        keys.extend(all_pools(tables));
    }
}

/// The index, shared by watches and workers.
#[derive(Debug, Default)]
pub struct Index {
    tables: Mutex<Tables>,
    /// Tells that a list has come in whole.
    listed: Notify,
    /// Tells that there is a pool.
    pooled: Notify,
}

impl Index {
    /// A look at the tables. Nothing that waits may be done meanwhile.
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a version of an object that a watch has told of; what that touches.
    pub fn put<T: Kept>(&self, object: T) -> Vec<Key> {
        self.take(object, Source::Watch)
    }

    fn take<T: Kept>(&self, object: T, source: Source) -> Vec<Key> {
        let mut tables = self.tables();
        let mut keys = Vec::new();
        let (namespace, name) = name_of(object.metadata());
        if let Put::New(former) = T::table(&mut tables).put(object, source) {
            // What it was touches too: a set may have referred to another topology before.
            let now = T::table(&mut tables).get(&namespace, &name).cloned();
            for object in former.iter().chain(&now) {
                object.touches(&tables, &mut keys);
            }
        }
        if tables.pools.all().next().is_some() {
            self.pooled.notify_waiters();
        }
        keys.dedup();
        keys
    }

    /// Takes note that the watch saw an object go; what that touches.
    pub fn gone<T: Kept>(&self, object: &T) -> Vec<Key> {
        let mut tables = self.tables();
        T::table(&mut tables).remove(object.metadata());
        let mut keys = Vec::new();
        object.touches(&tables, &mut keys);
        keys
    }

    /// Takes note that an object of this uid is no longer there; what that touches. A watch need not tell of it any more: after a list it
    /// is not among what is missing.
    pub fn forget<T: Kept>(&self, name: &Name, uid: &str) -> Vec<Key> {
        let mut tables = self.tables();
        let forgotten = T::table(&mut tables).forget(name, uid);
        let mut keys = Vec::new();
        forgotten.iter().for_each(|object| object.touches(&tables, &mut keys));
        keys
    }

    /// A list of this kind begins to come in.
    pub fn begin_list<T: Kept>(&self) {
        T::table(&mut self.tables()).objects.begin_list();
    }

    /// A list of this kind has come in whole; what it no longer has is forgotten, and touches.
    pub fn end_list<T: Kept>(&self) -> Vec<Key> {
        let mut tables = self.tables();
        let is_first = !T::table(&mut tables).is_listed();
        let missing = T::table(&mut tables).end_list();
        let mut keys = Vec::new();
        if is_first {
            T::appears(&tables, &mut keys);
        }
        missing.iter().for_each(|object| object.touches(&tables, &mut keys));
        drop(tables);
        self.listed.notify_waiters();
        keys
    }

    /// The API does not serve this kind, or says that we may not list it; what that touches, if it is news.
    pub fn unserved<T: Kept>(&self) -> Vec<Key> {
        let mut tables = self.tables();
        let table = T::table(&mut tables);
        let mut keys = Vec::new();
        if !table.is_known() {
            table.is_unserved = true;
            T::appears(&tables, &mut keys);
            self.listed.notify_waiters();
        }
        keys
    }

    /// Resolves once a pool was seen: before that, nobody needs what only pools need.
    pub async fn has_pool(&self) {
        loop {
            let notified = self.pooled.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.tables().pools.all().next().is_some() {
                return;
            }
            notified.await;
        }
    }

    /// Resolves once every kind that every cluster has was listed: before that, what is there looks as if it were not.
    pub async fn listed(&self) {
        loop {
            let notified = self.listed.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            let all = {
                let tables = self.tables();
                tables.sets.is_listed()
                    && tables.groups.is_listed()
                    && tables.cliques.is_listed()
                    && tables.gangs.is_listed()
                    && tables.pods.is_listed()
                    && tables.services.is_listed()
                    && tables.accounts.is_listed()
                    && tables.roles.is_listed()
                    && tables.bindings.is_listed()
                    && tables.autoscalers.is_listed()
                    && tables.topologies.is_listed()
                    // Who does without pools need not know them.
                    && tables.pools.is_known()
                    && tables.workflows.is_known()
                    && tables.files.is_listed()
                    && tables.classes.is_listed()
            };
            if all {
                return;
            }
            notified.await;
        }
    }

    /// All that was seen of a set.
    pub fn observe(&self, namespace: &str, name: &str) -> Observed {
        let tables = self.tables();
        let key = Key::Set(namespace.to_owned(), name.to_owned());
        let mut pods: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
        for (_, pod) in tables.pods.of(&key) {
            let clique = pod.label(label::POD_CLIQUE).unwrap_or_default();
            match pods.get_mut(clique) {
                Some(of_clique) => of_clique.push(Arc::clone(pod)),
                None => drop(pods.insert(clique.to_owned(), vec![Arc::clone(pod)])),
            }
        }
        Observed {
            set: tables.sets.get(namespace, name).cloned(),
            groups: tables.groups.by_name(&key),
            cliques: tables.cliques.by_name(&key),
            gangs: tables.gangs.by_name(&key),
            pods,
            services: tables.services.by_name(&key),
            accounts: tables.accounts.by_name(&key),
            roles: tables.roles.by_name(&key),
            bindings: tables.bindings.by_name(&key),
            autoscalers: tables.autoscalers.by_name(&key),
            claims: tables.claims.by_name(&key),
            kai_pod_groups: tables.kai_pod_groups.by_name(&key),
        }
    }

    /// All that was seen of a deployment. None, while it is not known which there are.
    pub fn observe_deployment(&self, namespace: &str, name: &str) -> Option<DynamoObserved> {
        let tables = self.tables();
        if !tables.deployments.is_listed() {
            return None;
        }
        let deployment = tables.deployments.get(namespace, name).cloned();
        let mut seen = DynamoObserved { name: name.to_owned(), deployment, ..DynamoObserved::default() };
        let own = seen.deployment.as_ref().and_then(|it| it.graph.as_ref().ok().map(Graph::set_name));
        let key = Key::Deployment(namespace.to_owned(), name.to_owned());
        let here = tables.sets.all().filter(|set| set.metadata.namespace.as_deref() == Some(namespace));
        let is_own = |set: &PodCliqueSet| own.is_some() && set.metadata.name == own;
        let sets = here.filter(|set| is_own(set) || deployment_of(set).as_ref() == Some(&key));
        seen.sets = sets.map(|set| (set.metadata.name.clone().unwrap_or_default(), Arc::clone(set))).collect();
        if let Some(own) = own {
            let set = Key::Set(namespace.to_owned(), own);
            seen.cliques = tables.cliques.by_name(&set);
            seen.groups = tables.groups.by_name(&set);
        }
        Some(seen)
    }

    /// All that was seen of a workflow; none as long as it is not known whether its gangs can be seen.
    pub fn observe_workflow(&self, namespace: &str, name: &str) -> Option<WorkflowObserved> {
        let tables = self.tables();
        let key = Key::Workflow(namespace.to_owned(), name.to_owned());
        let is_known = tables.kai_pod_groups.is_known() || tables.pools.all().next().is_none();
        is_known.then(|| WorkflowObserved {
            workflow: tables.workflows.get(namespace, name).cloned(),
            pods: tables.pods.by_name(&key),
            pod_groups: tables.kai_pod_groups.by_name(&key),
            services: tables.services.by_name(&key),
            files: tables.files.by_name(&key),
        })
    }

    /// All pools.
    pub fn pools(&self) -> Pools {
        let tables = self.tables();
        tables.pools.all().map(|it| (it.metadata.name.clone().unwrap_or_default(), (**it).clone())).collect()
    }

    /// All that a pool's decisions look at; none as long as it is not known which of the kinds that it needs are served.
    pub fn observe_pool<'a>(&self, pool: &'a Pool, nodes: &'a [NodeLabels]) -> Option<PoolObserved<'a>> {
        let tables = self.tables();
        let known = tables.queues.is_known() && tables.kai_topologies.is_known() && tables.kai_pod_groups.is_known();
        let of_workflow = |group: &&Arc<KaiPodGroup>| is_of_workflow(&group.metadata);
        known.then(|| PoolObserved {
            pool,
            queues: tables.queues.whole(),
            topologies: tables.kai_topologies.whole().filter(|_| tables.kai_pod_groups.is_listed()),
            pod_groups: tables.kai_pod_groups.all().filter(of_workflow).cloned().collect(),
            classes: tables.classes.whole().unwrap_or_default(),
            nodes,
        })
    }

    /// All topologies.
    pub fn topologies(&self) -> BTreeMap<String, ClusterTopology> {
        let tables = self.tables();
        let named = tables.topologies.all().map(|it| (it.metadata.name.clone().unwrap_or_default(), (**it).clone()));
        named.collect()
    }

    /// The uid of a set, of what becomes one, or of a topology.
    pub fn uid(&self, target: &Target) -> Option<String> {
        let (namespace, name) = (&target.namespace, &target.name);
        let tables = self.tables();
        match target.kind {
            Kind::DynamoGraphDeployment => tables.deployments.get(namespace, name)?.metadata.uid.clone(),
            Kind::PodCliqueSet => tables.sets.get(namespace, name)?.metadata.uid.clone(),
            Kind::ClusterTopology => tables.topologies.get("", name)?.metadata.uid.clone(),
            Kind::Pool => tables.pools.get("", name)?.metadata.uid.clone(),
            Kind::Workflow => tables.workflows.get(namespace, name)?.metadata.uid.clone(),
            _ => None,
        }
    }

    /// Takes the answer to a write of ours.
    pub fn answered(&self, kind: Kind, text: &str) -> Result<Vec<Key>, serde_json::Error> {
        fn told<T: Kept>(index: &Index, object: T) -> Vec<Key> {
            index.take(object, Source::Answer)
        }
        Ok(match kind {
            Kind::DynamoGraphDeployment => told(self, Deployment::read(serde_json::from_str(text)?)),
            Kind::PodCliqueSet => told(self, serde_json::from_str::<PodCliqueSet>(text)?),
            Kind::ScalingGroup => told(self, serde_json::from_str::<PodCliqueScalingGroup>(text)?),
            Kind::PodClique => told(self, serde_json::from_str::<PodClique>(text)?),
            Kind::PodGang => told(self, serde_json::from_str::<PodGang>(text)?),
            Kind::Pod => told(self, crate::watches::trimmed_pod(serde_json::from_str::<Pod>(text)?)),
            Kind::Service => told(self, serde_json::from_str::<Service>(text)?),
            Kind::ServiceAccount => told(self, serde_json::from_str::<ServiceAccount>(text)?),
            Kind::Role => told(self, serde_json::from_str::<Role>(text)?),
            Kind::RoleBinding => told(self, serde_json::from_str::<RoleBinding>(text)?),
            Kind::Autoscaler => told(self, serde_json::from_str::<HorizontalPodAutoscaler>(text)?),
            Kind::ResourceClaim => told(self, serde_json::from_str::<DynamicObject>(text)?),
            Kind::KaiPodGroup => told(self, serde_json::from_str::<KaiPodGroup>(text)?),
            Kind::ClusterTopology => told(self, serde_json::from_str::<ClusterTopology>(text)?),
            Kind::KaiTopology => told(self, serde_json::from_str::<Topology>(text)?),
            Kind::Pool => told(self, serde_json::from_str::<Pool>(text)?),
            Kind::Workflow => told(self, serde_json::from_str::<Workflow>(text)?),
            Kind::KaiQueue => told(self, serde_json::from_str::<Queue>(text)?),
            Kind::PriorityClass => told(self, serde_json::from_str::<PriorityClass>(text)?),
            Kind::ConfigMap => told(self, crate::watches::trimmed_files(serde_json::from_str::<ConfigMap>(text)?)),
        })
    }

    /// Takes note that an object that we knew is not there.
    pub fn absent(&self, target: &Target, uid: &str) -> Vec<Key> {
        let name = (target.namespace.clone(), target.name.clone());
        match target.kind {
            Kind::DynamoGraphDeployment => self.forget::<Deployment>(&name, uid),
            Kind::PodCliqueSet => self.forget::<PodCliqueSet>(&name, uid),
            Kind::ScalingGroup => self.forget::<PodCliqueScalingGroup>(&name, uid),
            Kind::PodClique => self.forget::<PodClique>(&name, uid),
            Kind::PodGang => self.forget::<PodGang>(&name, uid),
            Kind::Pod => self.forget::<Pod>(&name, uid),
            Kind::Service => self.forget::<Service>(&name, uid),
            Kind::ServiceAccount => self.forget::<ServiceAccount>(&name, uid),
            Kind::Role => self.forget::<Role>(&name, uid),
            Kind::RoleBinding => self.forget::<RoleBinding>(&name, uid),
            Kind::Autoscaler => self.forget::<HorizontalPodAutoscaler>(&name, uid),
            Kind::ResourceClaim => self.forget::<DynamicObject>(&name, uid),
            Kind::KaiPodGroup => self.forget::<KaiPodGroup>(&name, uid),
            Kind::ClusterTopology => self.forget::<ClusterTopology>(&name, uid),
            Kind::KaiTopology => self.forget::<Topology>(&name, uid),
            Kind::Pool => self.forget::<Pool>(&name, uid),
            Kind::Workflow => self.forget::<Workflow>(&name, uid),
            Kind::KaiQueue => self.forget::<Queue>(&name, uid),
            Kind::PriorityClass => self.forget::<PriorityClass>(&name, uid),
            Kind::ConfigMap => self.forget::<ConfigMap>(&name, uid),
        }
    }
}

#[cfg(test)]
mod tests;
