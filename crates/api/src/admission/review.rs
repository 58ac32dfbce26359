//! The whole way of an object through admission: read, default, judge, against its old version and the cluster.
//!
//! Webhooks and the command line take the same way. A review is begun before anything is known of the cluster, so that it
//! can say what has to be known; most objects need nothing.

use super::object::{Decoded, Kind, decode};
use super::{
    ClusterView, Pools, Verdict, default_pod_clique_set, pod_clique_set_structure, validate_cluster_topology,
    validate_pod_clique_set, validate_pool, validate_workflow,
};
use crate::constraint::{self, Pack};
use crate::field::ErrorType;
use crate::kinds::osmo::Workflow;
use crate::kinds::{ClusterTopology, PodCliqueSet};
use crate::names::label;
use crate::settings::Settings;
use serde_json::Value;

/// A PodCliqueSet as it would be stored, with what defaulting had to say.
#[derive(Debug)]
pub struct Defaulted {
    /// The set, as far as anything could be made of it.
    pub decoded: Decoded<PodCliqueSet>,
    /// What was overwritten.
    pub warnings: Vec<String>,
}

/// Reads and defaults a set that replaces `old`, if there is an old one.
pub fn defaulted(value: &Value, old: Option<&PodCliqueSet>, settings: &Settings) -> Defaulted {
    let mut decoded: Decoded<PodCliqueSet> = decode(Kind::PodCliqueSet, value.clone());
    let warnings = decoded.object.as_mut().map(|set| default_pod_clique_set(set, old, settings)).unwrap_or_default();
    Defaulted { decoded, warnings }
}

/// Reads a set that is stored already: it has its defaults, and the label that it has is the label that it had.
pub fn stored(value: &Value, settings: &Settings) -> Decoded<PodCliqueSet> {
    let mut decoded = defaulted(value, None, settings).decoded;
    let written = value["metadata"]["labels"].get(label::TOPOLOGY_NAME).and_then(|name| name.as_str());
    if let (Some(set), Some(written)) = (&mut decoded.object, written) {
        set.metadata.labels.get_or_insert_default().insert(label::TOPOLOGY_NAME.to_owned(), written.to_owned());
    }
    decoded
}

/// What has to be known of the cluster to judge a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The topology that the set speaks of.
    pub topology: Option<String>,
    /// Whether a live pod of the set has a node.
    pub scheduled: bool,
}

/// A PodCliqueSet on its way through admission.
#[derive(Debug)]
pub struct SetReview {
    new: Defaulted,
    old: Option<PodCliqueSet>,
    leave: Leave,
}

impl SetReview {
    /// Reads a set and its old version. An old version of which nothing can be made is as good as none.
    pub fn of(value: &Value, old: Option<&Value>, settings: &Settings) -> Self {
        let before = old.and_then(|old| stored(old, settings).object);
        let new = defaulted(value, before.as_ref(), settings);
        Self { new, old: before, leave: Leave::of(value, old) }
    }

    /// What has to be in the view that the set is judged with.
    pub fn wants(&self, settings: &Settings) -> Wants {
        let same = |set: &PodCliqueSet| self.old.as_ref().is_some_and(|old| old.spec == set.spec);
        let Some(set) = self.new.decoded.object.as_ref().filter(|set| !self.leave.deleted && !same(set)) else {
            return Wants::default();
        };
        let (before, after) = (self.old.as_ref().and_then(constraint::resolved_name), constraint::resolved_name(set));
        let changed = before != after || self.old.as_ref().is_none_or(|old| packs(old) != packs(set));
        Wants {
            topology: after.filter(|_| changed && settings.topology_enabled).map(str::to_owned),
            scheduled: before.is_some() && after.is_some() && before != after,
        }
    }

    /// Judges the set by its form, its rules and the cluster.
    pub fn judge(self, view: &ClusterView, settings: &Settings) -> Verdict {
        let Defaulted { decoded, mut warnings } = self.new;
        let mut verdict = rules(decoded, |set| validate_pod_clique_set(set, self.old.as_ref(), view, settings));
        warnings.append(&mut verdict.warnings);
        verdict.warnings = warnings;
        self.leave.excuse(&mut verdict);
        verdict
    }
}

/// The constraints of a set, whichever way they are spelled.
fn packs(set: &PodCliqueSet) -> Vec<(String, Option<Pack>)> {
    let one = |place: &constraint::Place<'_>| (format!("{:?}", place.holder), place.written.map(Pack::of));
    constraint::places(set).iter().map(one).collect()
}

/// Judges a new number of replicas of a set: by what it breaks that was not broken before.
pub fn scaled(set: &PodCliqueSet, replicas: i32, settings: &Settings) -> Verdict {
    if set.metadata.deletion_timestamp.is_some() || set.spec.replicas == replicas {
        return Verdict::default();
    }
    let before = pod_clique_set_structure(set, Some(set), settings).errors;
    let mut new = set.clone();
    new.spec.replicas = replicas;
    let mut errors = pod_clique_set_structure(&new, Some(set), settings).errors;
    errors.retain(|error| !before.contains(error));
    Verdict { errors, warnings: Vec::new() }
}

/// A ClusterTopology on its way through admission.
#[derive(Debug)]
pub struct TopologyReview {
    new: Decoded<ClusterTopology>,
    old: Option<ClusterTopology>,
    leave: Leave,
}

impl TopologyReview {
    /// Reads a topology and its old version. The levels are left in their order: sorted, their faults would be told of other places.
    pub fn of(value: &Value, old: Option<&Value>) -> Self {
        let before = old.and_then(|old| decode(Kind::ClusterTopology, old.clone()).object);
        Self { new: decode(Kind::ClusterTopology, value.clone()), old: before, leave: Leave::of(value, old) }
    }

    /// The topology whose sets have to be in the view, with whether they are scheduled: of one whose levels change.
    pub fn wants_sets_of(&self) -> Option<&str> {
        let (new, old) = (self.new.object.as_ref()?, self.old.as_ref()?);
        let changed = new.spec.sorted_levels() != old.spec.sorted_levels();
        old.metadata.name.as_deref().filter(|_| changed && !self.leave.spec_unchanged)
    }

    /// Judges the topology by its form, its rules and the cluster.
    pub fn judge(self, by_operator: bool, view: &ClusterView, settings: &Settings) -> Verdict {
        let old = self.old.as_ref();
        let mut verdict =
            rules(self.new, |topology| validate_cluster_topology(topology, old, by_operator, view, settings));
        self.leave.excuse(&mut verdict);
        verdict
    }
}

/// Judges a pool that replaces `old`, if there is an old one.
pub fn pool(value: &Value, old: Option<&Value>) -> Verdict {
    let mut verdict = rules(decode(Kind::Pool, value.clone()), validate_pool);
    Leave::of(value, old).excuse(&mut verdict);
    verdict
}

/// Judges a workflow that replaces `old`, if there is an old one.
pub fn workflow(value: &Value, old: Option<&Value>, pools: &Pools) -> Verdict {
    let before = old.and_then(|old| decode::<Workflow>(Kind::Workflow, old.clone()).object);
    let decoded: Decoded<Workflow> = decode(Kind::Workflow, value.clone());
    let mut verdict = rules(decoded, |workflow| validate_workflow(workflow, before.as_ref(), pools));
    Leave::of(value, old).excuse(&mut verdict);
    verdict
}

/// Applies rules to what could be read, and adds what is wrong with the form.
pub fn rules<T>(decoded: Decoded<T>, judge: impl FnOnce(&T) -> Verdict) -> Verdict {
    let verdict = decoded.object.as_ref().map(judge).unwrap_or_default();
    decoded.judged(verdict)
}

/// What is not held against an object, whatever its form.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    deleted: bool,
    spec_unchanged: bool,
}

impl Leave {
    /// What may be left aside for an object that replaces `old`.
    pub fn of(value: &Value, old: Option<&Value>) -> Self {
        Self {
            deleted: !value["metadata"]["deletionTimestamp"].is_null(),
            spec_unchanged: old.is_some_and(|old| old["spec"] == value["spec"]),
        }
    }

    /// Whether the object is being deleted.
    pub fn is_deleted(self) -> bool {
        self.deleted
    }

    /// Takes back what is not to be held against the object.
    pub fn excuse(self, verdict: &mut Verdict) {
        // Nothing holds up an object that is being deleted, but for the lock on levels that others still use.
        if self.deleted {
            verdict.errors.retain(|error| error.type_ == ErrorType::Forbidden && error.field == "spec.levels");
        }
        // What stood in the spec before is not held against an update that leaves the spec alone.
        if self.spec_unchanged {
            verdict.errors.retain(|error| error.field.starts_with("metadata"));
        }
    }
}
