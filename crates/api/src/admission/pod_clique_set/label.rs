//! The label that names a constrained set's topology.

use crate::constraint;
use crate::field::{FieldError, Path};
use crate::kinds::PodCliqueSet;
use crate::names::LABEL_VALUE_MAX;
use crate::names::label::TOPOLOGY_NAME;
use crate::settings::Settings;

fn written(set: &PodCliqueSet) -> Option<&str> {
    set.metadata.labels.as_ref()?.get(TOPOLOGY_NAME).map(String::as_str)
}

/// Whether this request changed the label to `label`.
fn changed_by_request(label: &str, old: Option<&PodCliqueSet>) -> bool {
    old.and_then(written) != Some(label)
}

/// Keeps the label of a constrained set equal to the resolved name: put there on create, put back when removed,
/// rewritten when a name change left it stale. A label that this update changed to something else stays, to be
/// refused.
pub fn default(set: &mut PodCliqueSet, old: Option<&PodCliqueSet>, settings: &Settings) -> Vec<String> {
    if !settings.topology_enabled || set.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    // A name that fits no label is refused where it is written.
    let fits = |name: &&str| name.len() <= LABEL_VALUE_MAX;
    let Some(resolved) = constraint::resolved_name(set).filter(fits).map(str::to_owned) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    match written(set) {
        Some(label) if label == resolved => return warnings,
        Some(label) if old.is_some() && changed_by_request(label, old) => return warnings,
        Some(label) if old.is_none() => {
            warnings.push(format!(
                "metadata.labels[{TOPOLOGY_NAME}]: {label:?} was replaced by {resolved:?}, the topology of the set"
            ));
        }
        _ => {}
    }
    set.metadata.labels.get_or_insert_default().insert(TOPOLOGY_NAME.to_owned(), resolved);
    warnings
}

/// Refuses an edit of the label that disagrees with the set.
pub fn check(set: &PodCliqueSet, old: Option<&PodCliqueSet>, errors: &mut Vec<FieldError>) {
    let (Some(old), Some(label), Some(resolved)) = (old, written(set), constraint::resolved_name(set)) else {
        return;
    };
    if label != resolved && changed_by_request(label, Some(old)) {
        let path = Path::new("metadata.labels").key(TOPOLOGY_NAME);
        let message =
            format!("must be {resolved:?}, the topology of the set; the label follows `clusterTopologyName` by itself");
        errors.push(FieldError::invalid(&path, label, message));
    }
}
