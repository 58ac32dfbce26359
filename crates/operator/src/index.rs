//! What the API was last seen to hold, by kind and by the set that it belongs to.
//!
//! It is fed by watches and by the answers to our own writes, whichever comes first: of two versions of an object the newer counts, and
//! what we saw go does not come back because an older event is late. So a decision after a write sees that write. That is a courtesy, not a
//! promise: every write is safe on any view.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use tokio::sync::Notify;
use trellis_api::constraint;
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use trellis_api::names::label;
use trellis_lifecycle::pod::Pod;
use trellis_lifecycle::topology::NodeLabels;
use trellis_lifecycle::{ByName, Kind, Observed, Target};

use crate::queue::Key;

/// An object by namespace and name.
type Name = (String, String);

/// Objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    objects: HashMap<Name, (Arc<T>, ObjectKey)>,
    /// Names by namespace and set.
    of_set: HashMap<Name, BTreeSet<String>>,
    /// Uids that we saw go, until the watch says so too.
    gone: HashSet<String>,
    /// While a list comes in: what it has named, and what we wrote meanwhile.
    listing: Option<HashSet<Name>>,
    /// Whether a list has come in whole.
    pub listed: bool,
}

/// What decides which of two versions is the newer.
#[derive(Debug, Clone)]
struct ObjectKey {
    uid: String,
    version: u64,
    set: Option<String>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { objects: HashMap::new(), of_set: HashMap::new(), gone: HashSet::new(), listing: None, listed: false }
    }
}

fn name_of(metadata: &ObjectMeta) -> Name {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

fn set_of(metadata: &ObjectMeta) -> Option<String> {
    metadata.labels.as_ref()?.get(label::PART_OF).cloned()
}

fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(u64::MAX)
}

impl<T> Table<T> {
    /// Takes a version of an object; whether it is news. `set` overrules the label, for sets themselves.
    fn put(&mut self, metadata: &ObjectMeta, object: impl FnOnce() -> T) -> bool {
        let name = name_of(metadata);
        if let Some(listing) = &mut self.listing {
            listing.insert(name.clone());
        }
        let uid = metadata.uid.clone().unwrap_or_default();
        let version = version_of(metadata);
        if self.gone.contains(&uid) {
            return false;
        }
        if self.objects.get(&name).is_some_and(|(_, known)| known.version >= version) {
            return false;
        }
        let set = set_of(metadata);
        if let Some((_, known)) = self.objects.get(&name)
            && known.set != set
        {
            let former = known.set.clone();
            self.unlink(&name, former);
        }
        if let Some(set) = &set {
            self.of_set.entry((name.0.clone(), set.clone())).or_default().insert(name.1.clone());
        }
        self.objects.insert(name, (Arc::new(object()), ObjectKey { uid, version, set }));
        true
    }

    fn unlink(&mut self, name: &Name, set: Option<String>) {
        let Some(set) = set else { return };
        let key = (name.0.clone(), set);
        if let Some(names) = self.of_set.get_mut(&key) {
            names.remove(&name.1);
            if names.is_empty() {
                self.of_set.remove(&key);
            }
        }
    }

    /// Forgets the object, if it is the one with this uid; returns it.
    fn remove(&mut self, name: &Name, uid: &str) -> Option<Arc<T>> {
        self.objects.get(name).filter(|(_, known)| known.uid == uid)?;
        let (object, known) = self.objects.remove(name)?;
        self.unlink(name, known.set);
        Some(object)
    }

    /// The objects of a set.
    fn of(&self, set: &Name) -> impl Iterator<Item = (&String, &Arc<T>)> {
        let names = self.of_set.get(set).into_iter().flatten();
        names.filter_map(|name| Some((name, &self.objects.get(&(set.0.clone(), name.clone()))?.0)))
    }

    fn by_name(&self, set: &Name) -> ByName<T> {
        self.of(set).map(|(name, object)| (name.clone(), Arc::clone(object))).collect()
    }

    /// An object by namespace and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.objects.get(&(namespace.to_owned(), name.to_owned())).map(|(object, _)| object)
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.values().map(|(object, _)| object)
    }

    fn begin_list(&mut self) {
        self.listing = Some(HashSet::new());
    }

    /// Forgets what a list that is now complete has not named; returns it.
    fn end_list(&mut self) -> Vec<Arc<T>> {
        self.listed = true;
        self.gone.clear();
        let Some(named) = self.listing.take() else { return Vec::new() };
        let missing: Vec<(Name, String)> = self
            .objects
            .iter()
            .filter(|(name, _)| !named.contains(*name))
            .map(|(name, (_, known))| (name.clone(), known.uid.clone()))
            .collect();
        missing.into_iter().filter_map(|(name, uid)| self.remove(&name, &uid)).collect()
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
    pub nodes: BTreeMap<String, NodeLabels>,
}

/// A child of a set touches that set.
macro_rules! child {
    ($kind:ty, $table:ident) => {
        impl Kept for $kind {
            fn table(tables: &mut Tables) -> &mut Table<Self> {
                &mut tables.$table
            }

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn touches(&self, _: &Tables, keys: &mut Vec<Key>) {
                let namespace = self.metadata.namespace.clone().unwrap_or_default();
                keys.extend(set_of(&self.metadata).map(|set| Key::Set(namespace, set)));
            }
        }
    };
}

child!(PodCliqueScalingGroup, groups);
child!(PodClique, cliques);
child!(PodGang, gangs);
child!(Pod, pods);
child!(Service, services);
child!(ServiceAccount, accounts);
child!(Role, roles);
child!(RoleBinding, bindings);
child!(HorizontalPodAutoscaler, autoscalers);
child!(DynamicObject, claims);
child!(KaiPodGroup, kai_pod_groups);

impl Kept for PodCliqueSet {
    fn table(tables: &mut Tables) -> &mut Table<Self> {
        &mut tables.sets
    }

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn touches(&self, _: &Tables, keys: &mut Vec<Key>) {
        let (namespace, name) = name_of(&self.metadata);
        keys.push(Key::Set(namespace, name));
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
    }

    fn appears(tables: &Tables, keys: &mut Vec<Key>) {
        keys.extend(tables.topologies.all().filter_map(|topology| topology.metadata.name.clone()).map(Key::Topology));
    }
}

/// The index, shared by watches and workers.
#[derive(Debug, Default)]
pub struct Index {
    tables: Mutex<Tables>,
    /// Tells that a list has come in whole.
    listed: Notify,
}

impl Index {
    /// A look at the tables. Nothing that waits may be done meanwhile.
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a version of an object; what that touches.
    pub fn put<T: Kept>(&self, object: T) -> Vec<Key> {
        let mut tables = self.tables();
        let mut keys = Vec::new();
        let metadata = object.metadata().clone();
        let former = T::table(&mut tables).objects.get(&name_of(&metadata)).map(|(former, _)| Arc::clone(former));
        if T::table(&mut tables).put(&metadata, || object) {
            // What it was touches too: a set may have referred to another topology before.
            let now = T::table(&mut tables).objects.get(&name_of(&metadata)).map(|(now, _)| Arc::clone(now));
            for object in former.iter().chain(&now) {
                object.touches(&tables, &mut keys);
            }
        }
        keys.dedup();
        keys
    }

    /// Takes note that the watch saw an object go; what that touches.
    pub fn gone<T: Kept>(&self, object: &T) -> Vec<Key> {
        let mut tables = self.tables();
        let uid = object.metadata().uid.clone().unwrap_or_default();
        let table = T::table(&mut tables);
        table.gone.remove(&uid);
        table.remove(&name_of(object.metadata()), &uid);
        let mut keys = Vec::new();
        object.touches(&tables, &mut keys);
        keys
    }

    /// Takes note that an object of this uid is no longer there.
    pub fn forget<T: Kept>(&self, name: &Name, uid: &str) {
        let mut tables = self.tables();
        let table = T::table(&mut tables);
        if table.remove(name, uid).is_some() {
            table.gone.insert(uid.to_owned());
        }
    }

    /// A list of this kind begins to come in.
    pub fn begin_list<T: Kept>(&self) {
        T::table(&mut self.tables()).begin_list();
    }

    /// A list of this kind has come in whole; what it no longer has is forgotten, and touches.
    pub fn end_list<T: Kept>(&self) -> Vec<Key> {
        let mut tables = self.tables();
        let is_first = !T::table(&mut tables).listed;
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

    /// Resolves once every kind that every cluster has was listed: before that, what is there looks as if it were not.
    pub async fn listed(&self) {
        loop {
            let notified = self.listed.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            let all = {
                let tables = self.tables();
                tables.sets.listed
                    && tables.groups.listed
                    && tables.cliques.listed
                    && tables.gangs.listed
                    && tables.pods.listed
                    && tables.services.listed
                    && tables.accounts.listed
                    && tables.roles.listed
                    && tables.bindings.listed
                    && tables.autoscalers.listed
                    && tables.topologies.listed
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
        let key = (namespace.to_owned(), name.to_owned());
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

    /// All topologies.
    pub fn topologies(&self) -> BTreeMap<String, ClusterTopology> {
        let tables = self.tables();
        let named = tables.topologies.all().map(|it| (it.metadata.name.clone().unwrap_or_default(), (**it).clone()));
        named.collect()
    }

    /// Takes the answer to a write of ours.
    pub fn answered(&self, kind: Kind, text: &str) -> Result<Vec<Key>, serde_json::Error> {
        Ok(match kind {
            Kind::PodCliqueSet => self.put(serde_json::from_str::<PodCliqueSet>(text)?),
            Kind::ScalingGroup => self.put(serde_json::from_str::<PodCliqueScalingGroup>(text)?),
            Kind::PodClique => self.put(serde_json::from_str::<PodClique>(text)?),
            Kind::PodGang => self.put(serde_json::from_str::<PodGang>(text)?),
            Kind::Pod => self.put(crate::watches::trimmed_pod(serde_json::from_str::<Pod>(text)?)),
            Kind::Service => self.put(serde_json::from_str::<Service>(text)?),
            Kind::ServiceAccount => self.put(serde_json::from_str::<ServiceAccount>(text)?),
            Kind::Role => self.put(serde_json::from_str::<Role>(text)?),
            Kind::RoleBinding => self.put(serde_json::from_str::<RoleBinding>(text)?),
            Kind::Autoscaler => self.put(serde_json::from_str::<HorizontalPodAutoscaler>(text)?),
            Kind::ResourceClaim => self.put(serde_json::from_str::<DynamicObject>(text)?),
            Kind::KaiPodGroup => self.put(serde_json::from_str::<KaiPodGroup>(text)?),
            Kind::ClusterTopology => self.put(serde_json::from_str::<ClusterTopology>(text)?),
            Kind::KaiTopology => self.put(serde_json::from_str::<Topology>(text)?),
        })
    }

    /// Takes note that an object that we knew is not there.
    pub fn absent(&self, target: &Target, uid: &str) {
        let name = (target.namespace.clone(), target.name.clone());
        match target.kind {
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
        }
    }
}
