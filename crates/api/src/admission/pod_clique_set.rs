//! Admission of PodCliqueSets.

mod counts;
mod defaults;
mod immutable;
mod label;
mod names;
mod pods;
mod resources;
mod sharing;
mod startup;
mod structure;
mod topology;

pub use defaults::default_pod_clique_set;

use super::{ClusterView, Verdict};
use crate::kinds::PodCliqueSet;
use crate::settings::Settings;

/// Faults and oddities that show in the set alone, whatever the cluster looks like.
pub fn structure(set: &PodCliqueSet, old: Option<&PodCliqueSet>, settings: &Settings) -> Verdict {
    let mut verdict = Verdict::default();
    structure::check(set, &mut verdict);
    names::check(set, &mut verdict);
    counts::check(set, &mut verdict.errors);
    startup::check(set, &mut verdict);
    pods::check(set, old, settings, &mut verdict);
    sharing::check(set, &mut verdict.errors);
    topology::check_shape(set, &mut verdict);
    topology::check_backend(set, old, settings, &mut verdict);
    verdict
}

/// Whether the set may be created, or may replace `old`. Both are taken as defaulted.
///
/// A set that is being deleted is never held up, and an update that leaves the spec alone only has to leave the
/// topology label alone too.
pub fn validate_pod_clique_set(
    set: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    view: &ClusterView,
    settings: &Settings,
) -> Verdict {
    if set.metadata.deletion_timestamp.is_some() {
        return Verdict::default();
    }
    let mut verdict = Verdict::default();
    if old.is_none_or(|old| old.spec != set.spec) {
        verdict = structure(set, old, settings);
        topology::check_cluster(set, old, view, settings, &mut verdict.errors);
        if let Some(old) = old {
            immutable::check(set, old, settings, &mut verdict.errors);
            topology::check_immutable(set, old, view, &mut verdict.errors);
        }
    }
    label::check(set, old, &mut verdict.errors);
    verdict
}
