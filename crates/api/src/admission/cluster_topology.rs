//! Admission of ClusterTopologies.

use super::{ClusterView, Verdict, form};
use crate::constraint;
use crate::field::{FieldError, Path};
use crate::kinds::{ClusterTopology, TopologyLevel};
use crate::names::{DEFAULT_TOPOLOGY, LABEL_KEY_MAX, label};
use crate::{Domain, settings::Settings};
use std::collections::BTreeSet;

/// Most levels a topology can have: one for each domain.
const LEVELS_MAX: usize = Domain::ALL.len();

/// Brings the levels into order, widest first.
pub fn default_cluster_topology(topology: &mut ClusterTopology) {
    topology.spec.levels.sort_by_key(|level| level.domain);
}

/// Whether the topology may be created, or may replace `old`. `by_operator` says that the operator itself asks, who
/// alone may write the default topology and whose changes of it the workloads follow.
pub fn validate_cluster_topology(
    topology: &ClusterTopology,
    old: Option<&ClusterTopology>,
    by_operator: bool,
    view: &ClusterView,
    settings: &Settings,
) -> Verdict {
    let mut verdict = Verdict::default();
    if old.is_some_and(|old| same_levels(topology, old)) {
        return verdict;
    }
    // One that is being deleted waits for those who use it: the lock holds for it too, and nothing else does.
    if topology.metadata.deletion_timestamp.is_none() {
        check_topology(topology, by_operator, settings, &mut verdict);
    }
    if let Some(old) = old.filter(|_| !by_operator) {
        check_lock(topology, old, view, &mut verdict.errors);
    }
    verdict
}

/// Rules about the topology itself.
fn check_topology(topology: &ClusterTopology, by_operator: bool, settings: &Settings, verdict: &mut Verdict) {
    form::cluster_scoped_name(&topology.metadata, &mut verdict.errors);
    let name = topology.metadata.name.as_deref().unwrap_or_default();
    let is_default = name == DEFAULT_TOPOLOGY;
    // Without a configuration, a default topology among the objects stands for the operator's own.
    if is_default && !by_operator && settings.default_levels.is_some() {
        let message = format!(
            "{DEFAULT_TOPOLOGY:?} is kept by the operator from topologyAwareScheduling.levels of its configuration; give \
             another topology another name"
        );
        verdict.errors.push(FieldError::forbidden(&Path::new("metadata.name"), message));
    }
    let path = Path::new("spec.levels");
    check_levels(&topology.spec.levels, &path, verdict);
}

fn same_levels(a: &ClusterTopology, b: &ClusterTopology) -> bool {
    a.spec.sorted_levels() == b.spec.sorted_levels()
}

/// Rules about levels, for a ClusterTopology and for the configuration of the default one.
pub(super) fn check_levels(levels: &[TopologyLevel], path: &Path, verdict: &mut Verdict) {
    let errors = &mut verdict.errors;
    if levels.len() > LEVELS_MAX {
        errors.push(FieldError::too_many(path, levels.len(), format!("must have at most {LEVELS_MAX} items")));
    }
    if levels.is_empty() {
        errors.push(FieldError::required(path, "at least one topology level must be defined"));
    }
    let (mut domains, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for (i, level) in levels.iter().enumerate() {
        let path = path.index(i);
        if !domains.insert(level.domain) {
            errors.push(FieldError::duplicate(&path.child("domain"), level.domain.as_str()));
        }
        let key_path = path.child("key");
        if level.key.is_empty() {
            errors.push(FieldError::required(&key_path, "a node label key is needed"));
            continue;
        }
        if level.key.len() > LABEL_KEY_MAX {
            errors.push(FieldError::too_long(&key_path, level.key.as_str(), LABEL_KEY_MAX));
        } else if let Some(fault) = form::label_key_fault(&level.key) {
            errors.push(FieldError::invalid(&key_path, level.key.as_str(), fault));
        }
        if !keys.insert(level.key.as_str()) {
            errors.push(FieldError::duplicate(&key_path, level.key.as_str()));
        }
        let is_hostname = level.key == label::HOSTNAME;
        if (level.domain == Domain::Host) != is_hostname {
            verdict.warnings.push(if is_hostname {
                format!("{key_path}: {} tells hosts apart, and this level is '{}'", label::HOSTNAME, level.domain)
            } else {
                format!("{key_path}: {:?} on level 'host'; the kubelet sets {}", level.key, label::HOSTNAME)
            });
        }
    }
}

/// Levels stay as they are while a set that uses them has pods on nodes.
fn check_lock(topology: &ClusterTopology, old: &ClusterTopology, view: &ClusterView, errors: &mut Vec<FieldError>) {
    let name = topology.metadata.name.as_deref().or(old.metadata.name.as_deref()).unwrap_or_default();
    let mut blocking: Vec<String> = view
        .sets
        .iter()
        .filter(|set| constraint::references(set, name) && view.is_scheduled(set))
        .map(|set| {
            let namespace = set.metadata.namespace.as_deref().unwrap_or("default");
            format!("{namespace}/{}", set.metadata.name.as_deref().unwrap_or_default())
        })
        .collect();
    if blocking.is_empty() {
        return;
    }
    blocking.sort();
    blocking.dedup();
    let message = format!(
        "levels cannot be changed while the topology is in use by PodCliqueSets with scheduled pods: {}",
        blocking.join(", ")
    );
    errors.push(FieldError::forbidden(&Path::new("spec.levels"), message));
}
