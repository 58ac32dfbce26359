//! What the API was last seen to hold, and what is under way. It is fed by watches and by the answers to our own writes; of two versions
//! of an object the newer counts.
//!
//! Whoever decides takes a copy, and is woken only by what could change a decision: a node that reports that it is alive, or a pod that
//! becomes ready, wakes nobody.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::Notify;
use trellis_api::kinds::kai::{KaiPodGroup, Topology};
use trellis_api::kinds::{ClusterTopology, NodeResourceTopology, PodGang, PodGangStatus};
use trellis_api::names::annotation;
use trellis_controller::table::{Name, Put, Table, name_of};

use crate::plan::{Bind, Kind, Target};
use crate::seen::{Key, Seen};
use crate::trim;

/// A kind that the index holds.
pub trait Kept: Clone + PartialEq + Send + Sync + 'static {
    /// Its name.
    const KIND: &'static str;
    /// Whether we write to its objects, and so have to know their last version even if it says nothing new.
    const IS_WRITTEN: bool = false;
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// Its metadata.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
    /// Leaves only what decisions look at.
    fn trim(&mut self) {
        trim::metadata(self.metadata_mut());
    }
    /// Where its objects are.
    fn table(tables: &mut Tables) -> &mut Table<Self>;
    /// Puts an object where decisions see it, or takes it away.
    fn show(seen: &mut Seen, name: &Name, object: Option<Arc<Self>>);
}

/// Versions of all that was seen.
#[derive(Debug, Default)]
pub struct Tables {
    nodes: Table<Node>,
    pods: Table<Pod>,
    pod_gangs: Table<PodGang>,
    pod_groups: Table<KaiPodGroup>,
    cluster_topologies: Table<ClusterTopology>,
    kai_topologies: Table<Topology>,
    priority_classes: Table<PriorityClass>,
    budgets: Table<PodDisruptionBudget>,
    node_resource_topologies: Table<NodeResourceTopology>,
    claims: Table<PersistentVolumeClaim>,
    volumes: Table<PersistentVolume>,
}

macro_rules! kept {
    ($type:ty, $kind:literal, $field:ident, $key:expr $(, written: $written:literal)? $(, trim: $trim:path)?) => {
        impl Kept for $type {
            const KIND: &'static str = $kind;
            $(const IS_WRITTEN: bool = $written;)?

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }

            $(fn trim(&mut self) {
                $trim(self);
            })?

            fn table(tables: &mut Tables) -> &mut Table<Self> {
                &mut tables.$field
            }

            fn show(seen: &mut Seen, name: &Name, object: Option<Arc<Self>>) {
                let key = $key(name);
                match object {
                    Some(object) => drop(seen.$field.insert(key, object)),
                    None => drop(seen.$field.remove(&key)),
                }
            }
        }
    };
}

fn by_name((_, name): &Name) -> Arc<str> {
    name.as_str().into()
}

fn by_key((namespace, name): &Name) -> Key {
    Key::new(namespace, name)
}

kept!(Node, "Node", nodes, by_name, trim: trim::node);
kept!(Pod, "Pod", pods, by_key, written: true, trim: trim::pod);
kept!(PodGang, "PodGang", pod_gangs, by_key, written: true);
kept!(KaiPodGroup, "PodGroup", pod_groups, by_key, written: true);
kept!(ClusterTopology, "ClusterTopology", cluster_topologies, by_name, trim: trim::cluster_topology);
kept!(Topology, "Topology", kai_topologies, by_name);
kept!(PriorityClass, "PriorityClass", priority_classes, by_name);
kept!(PodDisruptionBudget, "PodDisruptionBudget", budgets, by_key);
kept!(NodeResourceTopology, "NodeResourceTopology", node_resource_topologies, by_name);
kept!(PersistentVolumeClaim, "PersistentVolumeClaim", claims, by_key, trim: trim::claim);
kept!(PersistentVolume, "PersistentVolume", volumes, by_name, trim: trim::volume);

/// The index, shared by watches, planner and those who write.
#[derive(Debug, Default)]
pub struct Index {
    state: Mutex<State>,
    generation: AtomicU64,
    changed: Notify,
}

/// Who has told of a version of an object.
#[derive(Clone, Copy)]
enum Source {
    Watch,
    Answer,
}

#[derive(Debug, Default)]
struct State {
    seen: Seen,
    tables: Tables,
}

impl Index {
    /// A look inside. Nothing that waits may be done meanwhile.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of all that was seen.
    pub fn seen(&self) -> Seen {
        self.state().seen.clone()
    }

    /// A number that rises with everything that could change a decision.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Has a decision made.
    pub fn wake(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Resolves once the generation is another one.
    pub async fn changed(&self, since: u64) {
        loop {
            let notified = self.changed.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.generation() != since {
                return;
            }
            notified.await;
        }
    }

    fn wake_if(&self, news: bool) {
        if news {
            self.wake();
        }
    }

    /// Takes a version of an object that a watch or a list has told of.
    pub fn put<T: Kept>(&self, object: T) {
        self.take(object, Source::Watch, same);
    }

    /// Takes a version of an object; `same` tells whether two versions say the same, so that nobody has to be woken.
    fn take<T: Kept>(&self, mut object: T, source: Source, same: impl FnOnce(&T, &mut T) -> bool) {
        object.trim();
        let name = name_of(object.metadata());
        let mut state = self.state();
        let State { seen, tables } = &mut *state;
        let table = T::table(tables);
        let says_the_same = table.get(&name).is_some_and(|former| same(&**former, &mut object));
        let metadata = object.metadata().clone();
        let put = match source {
            Source::Watch => table.put(&metadata, || object),
            Source::Answer => table.answered(&metadata, || object),
        };
        let Put::New(_) = put else { return };
        if T::IS_WRITTEN || !says_the_same {
            // An object that says the same stays the one that decisions rest on.
            T::show(seen, &name, table.get(&name).cloned());
        }
        drop(state);
        self.wake_if(!says_the_same);
    }

    /// Takes note that a watch saw an object go.
    pub fn gone<T: Kept>(&self, metadata: &ObjectMeta) {
        self.take_away::<T>(&name_of(metadata), |table, _| table.remove(metadata));
    }

    /// Takes note that we know the object of this uid to be gone.
    pub fn forget<T: Kept>(&self, name: &Name, uid: &str) {
        self.take_away::<T>(name, |table, name| table.forget(name, uid));
    }

    fn take_away<T: Kept>(&self, name: &Name, take: impl FnOnce(&mut Table<T>, &Name) -> Option<Arc<T>>) {
        let mut state = self.state();
        let State { seen, tables } = &mut *state;
        let Some(taken) = take(T::table(tables), name) else { return };
        T::show(seen, name, None);
        drop_notes(seen, &*taken);
        drop(state);
        self.wake();
    }

    /// A list of this kind begins to come in.
    pub fn begin_list<T: Kept>(&self) {
        T::table(&mut self.state().tables).begin_list();
    }

    /// A list of this kind has come in whole, or there is no such kind and so none of it; what was not named is gone.
    pub fn end_list<T: Kept>(&self) {
        let mut state = self.state();
        let State { seen, tables } = &mut *state;
        let missing = T::table(tables).end_list();
        for object in &missing {
            T::show(seen, &name_of(object.metadata()), None);
            drop_notes(seen, &**object);
        }
        drop(state);
        self.wake_if(!missing.is_empty());
    }

    /// Takes the answer to a write: the object as it is now.
    pub fn answered(&self, kind: Kind, text: &str) -> Result<(), serde_json::Error> {
        match kind {
            Kind::PodGang => self.take(serde_json::from_str::<PodGang>(text)?, Source::Answer, same),
            Kind::PodGroup => self.take(serde_json::from_str::<KaiPodGroup>(text)?, Source::Answer, same),
            Kind::Pod => self.take(serde_json::from_str::<Pod>(text)?, Source::Answer, same),
        }
        Ok(())
    }

    /// Takes the answer to a write in which we only said something. That it was said wakes nobody; what others have written meanwhile does.
    pub fn heard(&self, kind: Kind, text: &str) -> Result<(), serde_json::Error> {
        match kind {
            Kind::PodGang => self.take(serde_json::from_str::<PodGang>(text)?, Source::Answer, |former, object| {
                let unsaid = |gang: &PodGang| PodGang { status: Some(unsaid(gang)), ..gang.clone() };
                same(&unsaid(former), &mut unsaid(object))
            }),
            Kind::Pod => self.take(serde_json::from_str::<Pod>(text)?, Source::Answer, |former, object| {
                let unsaid = |pod: &Pod| {
                    let mut pod = pod.clone();
                    let conditions = pod.status.as_mut().and_then(|status| status.conditions.as_mut());
                    conditions.into_iter().for_each(|all| all.retain(|condition| condition.type_ != "PodScheduled"));
                    pod
                };
                same(&unsaid(former), &mut unsaid(object))
            }),
            Kind::PodGroup => return self.answered(kind, text),
        }
        Ok(())
    }

    /// Whether a pod still waits, and nothing is under way for its gang.
    pub fn is_waiting(&self, pod: &Target, uid: &str, gang: &Target) -> bool {
        let state = self.state();
        let found = state.seen.pod(&pod.namespace, &pod.name);
        let waits = found.is_some_and(|pod| {
            let has_node = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
            pod.metadata.uid.as_deref() == Some(uid) && !has_node
        });
        waits && !state.seen.under_way.contains_key(gang)
    }

    /// Takes note that the object of this uid is not there.
    pub fn absent(&self, target: &Target, uid: &str) {
        let name = (target.namespace.clone(), target.name.clone());
        match target.kind {
            Kind::PodGang => self.forget::<PodGang>(&name, uid),
            Kind::PodGroup => self.forget::<KaiPodGroup>(&name, uid),
            Kind::Pod => self.forget::<Pod>(&name, uid),
        }
    }

    /// Takes note that a bind was acknowledged. The answer does not carry the pod; every later version of it has the node. Nobody is
    /// woken: the pod was charged already, and its gang is under way until its last bind has been answered.
    pub fn bound(&self, bind: &Bind) {
        let name = (bind.namespace.clone(), bind.pod.clone());
        let mut state = self.state();
        let State { seen, tables } = &mut *state;
        let is_known = tables.pods.amend(&name, &bind.version.uid, |pod| {
            pod.spec.get_or_insert_default().node_name = Some(bind.node.clone());
            if let Some(zone) = &bind.zone {
                let annotations = pod.metadata.annotations.get_or_insert_default();
                annotations.insert(annotation::NUMA_ZONE.to_owned(), zone.clone());
            }
        });
        if is_known {
            Pod::show(seen, &name, tables.pods.get(&name).cloned());
        }
    }

    /// Takes note that a pod may not go to this node, for good.
    pub fn refused(&self, bind: &Bind) {
        let refusal = (bind.version.uid.as_str().into(), bind.node.as_str().into());
        let is_new = self.state().seen.refused.insert(refusal);
        self.wake_if(is_new);
    }

    /// The plan of a gang is being carried out, with this ledger; false if one is already.
    pub fn begin(&self, target: &Target, ledger: &str) -> bool {
        let mut state = self.state();
        let is_free = !state.seen.under_way.contains_key(target);
        if is_free {
            state.seen.under_way.insert(target.clone(), ledger.into());
        }
        is_free
    }

    /// The deletion of the pod with this uid is asked for. Whatever is answered, or nothing, it may come true until the pod is gone.
    pub fn deletes(&self, uid: &str) {
        self.state().seen.deleting.insert(uid.into());
    }

    /// Whether plans are being carried out.
    pub fn is_busy(&self) -> bool {
        !self.state().seen.under_way.is_empty()
    }

    /// The plan of a gang is no longer being carried out.
    pub fn end(&self, target: &Target) {
        let was_there = self.state().seen.under_way.remove(target).is_some();
        self.wake_if(was_there);
    }

    /// Whether a node, and the topologies, are still what they were when a decision was made.
    pub fn stands(&self, then: &Seen, node: &str) -> bool {
        let state = self.state();
        let now = &state.seen;
        let is_same_node = match (then.nodes.get(node), now.nodes.get(node)) {
            (Some(then), Some(now)) => Arc::ptr_eq(then, now),
            _ => false,
        };
        is_same_node
            && same_objects(&then.cluster_topologies, &now.cluster_topologies)
            && same_objects(&then.kai_topologies, &now.kai_topologies)
    }
}

fn same_objects<T>(then: &crate::seen::ByName<T>, now: &crate::seen::ByName<T>) -> bool {
    then.len() == now.len() && then.iter().zip(now).all(|(then, now)| then.0 == now.0 && Arc::ptr_eq(then.1, now.1))
}

/// What others say of a gang. That it has to leave is not only said: its pods are deleted after that.
fn unsaid(gang: &PodGang) -> PodGangStatus {
    let mut status = gang.status.clone().unwrap_or_default();
    status.conditions.retain(|condition| condition.type_ != "Scheduled");
    PodGangStatus { placement_score: None, ..status }
}

/// Whether two versions of an object differ in nothing but the version. The newer one is left as it was.
fn same<T: Kept>(former: &T, object: &mut T) -> bool {
    let version = former.metadata().resource_version.clone();
    let version = std::mem::replace(&mut object.metadata_mut().resource_version, version);
    let same = former == object;
    object.metadata_mut().resource_version = version;
    same
}

/// What a pod was refused, and that its deletion was asked for, is of no interest once the pod is gone.
fn drop_notes<T: Kept>(seen: &mut Seen, gone: &T) {
    let uid = gone.metadata().uid.as_deref().unwrap_or_default();
    seen.deleting.remove(uid);
    if !seen.refused.is_empty() {
        seen.refused.retain(|(pod, _)| **pod != *uid);
    }
}

#[cfg(test)]
mod tests;
