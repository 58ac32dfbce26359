//! Rules about topology constraints and the topology they speak of.

use super::super::{ClusterView, Verdict};
use crate::constraint::{self, Holder, Pack, Place, places};
use crate::field::{FieldError, Path};
use crate::kinds::{ClusterTopology, PodCliqueSet};
use crate::names::{LABEL_VALUE_MAX, label, profile};
use crate::settings::Settings;
use crate::{Domain, kinds::TopologyConstraint};

const NAME_PATH: &str = "spec.template.clusterTopologyName";
const TOPOLOGY_OFF: &str = "topology support is not enabled in the operator";

/// Shape of the constraints: spelling, one name, widths that nest.
pub fn check_shape(set: &PodCliqueSet, verdict: &mut Verdict) {
    let places = places(set);
    for place in &places {
        if let Some(constraint) = place.written {
            spelling(place, constraint, &mut verdict.errors);
            redundant_preference(place, &mut verdict.warnings);
        }
    }
    one_name(set, &mut verdict.errors);
    for (path, name) in constraint::written_names(set).into_iter().filter(|(_, name)| name.len() > LABEL_VALUE_MAX) {
        verdict.errors.push(FieldError::too_long(&path, name, LABEL_VALUE_MAX));
    }
    let unconstrained = places.iter().all(|place| place.written.is_none());
    if let (true, Some(name)) = (unconstrained, set.spec.template.cluster_topology_name.as_deref())
        && !name.is_empty()
    {
        let message = "must not be set when no topologyConstraint is specified on the PodCliqueSet, any \
                           PodCliqueScalingGroup or any PodClique";
        verdict.errors.push(FieldError::invalid(&Path::new(NAME_PATH), name, message));
    }
    nesting(set, &places, &mut verdict.errors);
}

fn spelling(place: &Place<'_>, constraint: &TopologyConstraint, errors: &mut Vec<FieldError>) {
    match (constraint.pack_domain, &constraint.pack) {
        (Some(_), Some(_)) => {
            errors.push(FieldError::forbidden(&place.path.child("pack"), "must not set both packDomain and pack"));
        }
        (None, None) => errors.push(FieldError::required(&place.path, "must specify packDomain or pack")),
        (None, Some(pack)) if pack.required.is_none() && pack.preferred.is_none() => {
            let message = "must specify at least one of required or preferred";
            errors.push(FieldError::required(&place.path.child("pack"), message));
        }
        _ => {}
    }
}

fn redundant_preference(place: &Place<'_>, warnings: &mut Vec<String>) {
    let pack = place.pack();
    if let (Some(required), Some(preferred)) = (pack.required, pack.preferred)
        && !preferred.narrower_than(required)
    {
        warnings.push(format!(
            "{}: '{preferred}' is not narrower than the required '{required}' and is redundant; it is left out",
            place.preferred_path()
        ));
    }
}

/// All names in one set must be equal; each that differs from the first is a fault.
fn one_name(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let names = constraint::written_names(set);
    let Some((first_path, first)) = names.first() else { return };
    for (path, name) in names.iter().filter(|(_, name)| name != first) {
        let message = format!("all topology names within a PodCliqueSet must be equal, and {first_path} is {first:?}");
        errors.push(FieldError::invalid(path, *name, message));
    }
}

/// What a place is called in messages.
fn called(holder: Holder<'_>) -> String {
    match holder {
        Holder::Set => "PodCliqueSet".to_owned(),
        Holder::Group(name) => format!("PodCliqueScalingGroup '{name}'"),
        Holder::Clique(name) => format!("PodClique '{name}'"),
    }
}

/// A child asks for the same level as its parent or a narrower one: required against required, preferred against
/// preferred. Faults stand at the parent.
fn nesting(set: &PodCliqueSet, places: &[Place<'_>], errors: &mut Vec<FieldError>) {
    let Some((of_set, below)) = places.split_first() else { return };
    for child in below {
        nested_in(of_set, child, errors);
    }
    let group_of_clique = |place: &Place<'_>| match place.holder {
        Holder::Clique(name) => constraint::group_of(set, name).map(|(_, group)| group.name.clone()),
        _ => None,
    };
    let groups: Vec<Option<String>> = below.iter().map(group_of_clique).collect();
    for parent in below {
        let Holder::Group(name) = parent.holder else { continue };
        for (child, _) in below.iter().zip(&groups).filter(|(_, group)| group.as_deref() == Some(name)) {
            nested_in(parent, child, errors);
        }
    }
}

fn nested_in(parent: &Place<'_>, child: &Place<'_>, errors: &mut Vec<FieldError>) {
    let fault = |what: &str, wide: Domain, narrow: Domain| {
        let (parent, child) = (called(parent.holder), called(child.holder));
        format!("{parent} {what} '{narrow}' is narrower than {child} {what} '{wide}'")
    };
    let (above, below) = (parent.pack(), child.pack());
    if let (Some(narrow), Some(wide)) = (above.required, below.required)
        && narrow.narrower_than(wide)
    {
        let message = fault("topology constraint domain", wide, narrow);
        errors.push(FieldError::invalid(&parent.path, narrow.as_str(), message));
    }
    if let (Some(narrow), Some(wide)) = (above.preferred, below.preferred)
        && narrow.narrower_than(wide)
    {
        let message = fault("preferred topology domain", wide, narrow);
        errors.push(FieldError::invalid(&parent.preferred_path(), narrow.as_str(), message));
    }
}

/// What a constraint was before this request, in one form.
fn old_pack(old: Option<&PodCliqueSet>, holder: Holder<'_>) -> Option<Pack> {
    let place = places(old?).into_iter().find(|place| place.holder == holder)?;
    place.written.map(Pack::of)
}

/// A required constraint on a backend that cannot enforce it is refused, not ignored; and KAI needs one queue.
pub fn check_backend(set: &PodCliqueSet, old: Option<&PodCliqueSet>, settings: &Settings, verdict: &mut Verdict) {
    let scheduler = set.spec.template.cliques.first().and_then(|clique| clique.spec.pod_spec.scheduler_name());
    let profile = settings.profile(scheduler);
    if profile == profile::DEFAULT_SCHEDULER {
        for place in places(set) {
            let required = place.pack().required;
            if required.is_some() && old_pack(old, place.holder).and_then(|old| old.required) != required {
                let message = format!(
                    "scheduler {profile:?} cannot enforce required topology constraints; use {:?} or {:?}",
                    profile::TRELLIS,
                    profile::KAI
                );
                verdict.errors.push(FieldError::forbidden(&place.required_path(), message));
            }
        }
    }
    if profile == profile::DEFAULT_SCHEDULER {
        for place in places(set).iter().filter(|place| place.pack().preferred.is_some()) {
            let path = place.preferred_path();
            verdict
                .warnings
                .push(format!("{path}: scheduler {profile:?} knows no topology, the preference is ignored"));
        }
    }
    if profile == profile::KAI {
        kai_queue(set, verdict);
    }
}

fn kai_queue(set: &PodCliqueSet, verdict: &mut Verdict) {
    let queues = crate::kinds::kai::queues(set);
    match queues.as_slice() {
        [] => verdict.warnings.push(format!(
            "metadata.labels[{0}]: no KAI queue is configured on the PodCliqueSet or its cliques; KAI schedules nothing \
             without one",
            label::KAI_QUEUE
        )),
        [_] => {}
        several => {
            let path = Path::new("metadata.labels").key(label::KAI_QUEUE);
            let message = format!("conflicting KAI queues on the PodCliqueSet and its cliques: {}", several.join(", "));
            verdict.errors.push(FieldError::invalid(&path, several[0], message));
        }
    }
}

/// The topology that the set speaks of: topology is on, the topology is there and has the levels.
///
/// On an update this is held against what the update adds, unless the set moves to another topology.
pub fn check_cluster(
    set: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    view: &ClusterView,
    settings: &Settings,
    errors: &mut Vec<FieldError>,
) {
    let Some(resolved) = constraint::resolved_name(set) else {
        name_while_off(set, old, settings, errors);
        return;
    };
    let moved = old.and_then(constraint::resolved_name) != Some(resolved);
    let places = places(set);
    let is_added = |place: &Place<'_>| old_pack(old, place.holder) != place.written.map(Pack::of);
    let is_new = |place: &Place<'_>| moved || is_added(place);
    if !settings.topology_enabled {
        name_while_off(set, old, settings, errors);
        for place in places.iter().filter(|place| place.written.is_some() && is_added(place)) {
            let pack = place.pack();
            let value = pack.required.or(pack.preferred).map_or("", Domain::as_str);
            errors.push(FieldError::invalid(&place.path, value, TOPOLOGY_OFF));
        }
        return;
    }
    let name_path = constraint::written_names(set).into_iter().next().map_or(Path::new(NAME_PATH), |(path, _)| path);
    let Some(topology) = view.topologies.get(resolved) else {
        if moved || places.iter().any(|place| place.written.is_some() && is_new(place)) {
            errors.push(FieldError::not_found(&name_path, resolved, no_such_topology(view)));
        }
        return;
    };
    if moved && topology.metadata.deletion_timestamp.is_some() {
        let message = format!("ClusterTopology {resolved:?} is being deleted");
        errors.push(FieldError::forbidden(&name_path, message));
    }
    for place in places.iter().filter(|place| is_new(place)) {
        let pack = place.pack();
        let levels = [(pack.required, place.required_path()), (pack.preferred, place.preferred_path())];
        for (domain, path) in levels.into_iter().filter_map(|(domain, path)| Some((domain?, path))) {
            if topology.spec.key(domain).is_none() {
                errors.push(FieldError::invalid(&path, domain.as_str(), no_such_level(domain, resolved, topology)));
            }
        }
        kai_below_host(set, place, topology, settings, errors);
    }
}

/// The same topology in the other spelling, or the default one by its name, is no change.
fn name_while_off(set: &PodCliqueSet, old: Option<&PodCliqueSet>, settings: &Settings, errors: &mut Vec<FieldError>) {
    let name = |set: &PodCliqueSet| set.spec.template.cluster_topology_name.clone().filter(|name| !name.is_empty());
    let old_name = |old: &PodCliqueSet| constraint::resolved_name(old).map(str::to_owned).or_else(|| name(old));
    if let (false, Some(written)) = (settings.topology_enabled, name(set))
        && old.and_then(old_name).as_ref() != Some(&written)
    {
        errors.push(FieldError::invalid(&Path::new(NAME_PATH), written, TOPOLOGY_OFF));
    }
}

fn no_such_topology(view: &ClusterView) -> String {
    let there: Vec<&str> = view.topologies.keys().map(String::as_str).collect();
    if there.is_empty() {
        "no such ClusterTopology, and there is none at all".to_owned()
    } else {
        format!("no such ClusterTopology; there are: {}", there.join(", "))
    }
}

fn no_such_level(domain: Domain, name: &str, topology: &ClusterTopology) -> String {
    let levels: Vec<&str> = topology.spec.sorted_levels().iter().map(|level| level.domain.as_str()).collect();
    format!("topology domain '{domain}' does not exist in cluster topology '{name}' [{}]", levels.join(" "))
}

/// KAI takes the host name label only as its last level, so it cannot enforce what lies below.
fn kai_below_host(
    set: &PodCliqueSet,
    place: &Place<'_>,
    topology: &ClusterTopology,
    settings: &Settings,
    errors: &mut Vec<FieldError>,
) {
    let scheduler = set.spec.template.cliques.first().and_then(|clique| clique.spec.pod_spec.scheduler_name());
    let host = topology.spec.levels.iter().find(|level| level.key == label::HOSTNAME);
    let (Some(host), profile::KAI) = (host, settings.profile(scheduler)) else { return };
    if let Some(required) = place.pack().required.filter(|required| required.narrower_than(host.domain)) {
        let message = format!(
            "scheduler {:?} cannot enforce '{required}': it knows no level below {}",
            profile::KAI,
            label::HOSTNAME
        );
        errors.push(FieldError::forbidden(&place.required_path(), message));
    }
}

/// Constraints are for life; the topology's name may change while no pod has a node.
pub fn check_immutable(set: &PodCliqueSet, old: &PodCliqueSet, view: &ClusterView, errors: &mut Vec<FieldError>) {
    for place in places(set) {
        let before = old_pack(Some(old), place.holder);
        let after = place.written.map(Pack::of);
        let what = match (before, after) {
            (None, Some(_)) => "cannot be added after creation".to_owned(),
            (Some(_), None) => "cannot be removed after creation".to_owned(),
            (Some(before), Some(after)) if before != after => {
                format!("cannot be changed from '{}' to '{}'", shown(before), shown(after))
            }
            _ => continue,
        };
        let message = format!("{} topology constraint {what}", called(place.holder));
        errors.push(FieldError::forbidden(&place.path, message));
    }
    let (before, after) = (constraint::resolved_name(old), constraint::resolved_name(set));
    if let (Some(before), Some(after)) = (before, after)
        && before != after
        && view.is_scheduled(old)
    {
        let path = constraint::written_names(set).into_iter().next().map_or(Path::new(NAME_PATH), |(path, _)| path);
        let message =
            format!("cannot be changed from '{before}' to '{after}' while pods of the PodCliqueSet are scheduled");
        errors.push(FieldError::forbidden(&path, message));
    }
}

fn shown(pack: Pack) -> String {
    let name = |domain: Option<Domain>| domain.map_or("", Domain::as_str);
    match (pack.required, pack.preferred) {
        (required, None) => name(required).to_owned(),
        (required, preferred) => format!("required={} preferred={}", name(required), name(preferred)),
    }
}
