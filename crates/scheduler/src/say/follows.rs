//! What follows from the pods of a PodGang that no operator looks after: whether all of it is there, whether its minima are ready, and its
//! phase. An operator says this of its own gangs.

use crate::picture::{Object, Picture};
use crate::trim::tells_ready;
use k8s_openapi::api::core::v1::Pod;
use trellis_api::kinds::{GangPhase, PodGang, PodGroup};

/// The conditions, and their reasons where they are true and where they are not.
pub(crate) const INITIALIZED: (&str, [&str; 2]) = ("Initialized", ["PodGangPodsCreated", "PodGangPodsCreationPending"]);
const READY: (&str, [&str; 2]) = ("Ready", ["MinimumReady", "MinimumNotReady"]);
/// So many groups are told of by name.
const NAMED: usize = 3;

/// What follows from the pods.
pub(super) struct Follows {
    /// Kind, truth, reason and message of conditions; those that somebody else speaks of are left out.
    pub conditions: Vec<(&'static str, bool, &'static str, String)>,
    pub phase: GangPhase,
}

/// The members of a group, as far as they count.
#[derive(Default)]
struct Counts {
    there: usize,
    with_node: usize,
    ready: usize,
    succeeded: usize,
}

/// What follows from the pods of a gang; nothing if an operator says so, or if it is not known whether they are ready.
pub(super) fn of(picture: &Picture<'_>, gang: usize) -> Option<Follows> {
    let object = picture.whos[gang].object;
    let Object::PodGang(it) = object else { return None };
    if object.is_attended() {
        return None;
    }
    let counted: Vec<(&PodGroup, Counts)> =
        it.spec.pod_groups.iter().map(|group| Some((group, counts(picture, group)?))).collect::<Option<_>>()?;
    let lacking = |has: &dyn Fn(&PodGroup, &Counts) -> bool| -> Vec<&str> {
        counted.iter().filter(|(group, counts)| !has(group, counts)).map(|(group, _)| group.name.as_str()).collect()
    };
    let min = |group: &PodGroup| usize::try_from(group.min_replicas).unwrap_or(0);
    let missing = lacking(&|group, counts| {
        counts.there == group.pod_references.len() && group.pod_references.len() >= min(group)
    });
    let unready = lacking(&|group, counts| counts.ready + counts.succeeded >= min(group));
    let unplaced = lacking(&|group, counts| counts.with_node + counts.succeeded >= min(group));
    let is_done = |(group, counts): &(&PodGroup, Counts)| counts.succeeded == group.pod_references.len();
    let phase = if counted.iter().all(is_done) && counted.iter().any(|(_, counts)| counts.succeeded > 0) {
        GangPhase::Succeeded
    } else if !unplaced.is_empty() {
        GangPhase::Pending
    } else if unready.is_empty() {
        GangPhase::Running
    } else {
        GangPhase::Starting
    };
    let told = [
        (INITIALIZED, "all pods that it names are there", "pods are missing in", missing),
        (READY, "the minimum of every group is ready", "too few ready pods in", unready),
    ];
    let conditions = told.into_iter().filter(|((kind, reasons), ..)| is_ours(it, kind, reasons)).map(
        |((kind, [so, not_so]), all, some, lacking)| match lacking.is_empty() {
            true => (kind, true, so, all.to_owned()),
            false => (kind, false, not_so, format!("{some} {}", first_few(&lacking))),
        },
    );
    Some(Follows { conditions: conditions.collect(), phase })
}

/// Whether nobody else speaks of something.
fn is_ours(gang: &PodGang, kind: &str, reasons: &[&str]) -> bool {
    let mut known = gang.status.iter().flat_map(|status| &status.conditions).filter(|known| known.type_ == kind);
    known.all(|known| reasons.contains(&known.reason.as_str()))
}

fn counts(picture: &Picture<'_>, group: &PodGroup) -> Option<Counts> {
    let mut counts = Counts::default();
    for reference in &group.pod_references {
        let Some(pod) = picture.seen.pod(&reference.namespace, &reference.name) else { continue };
        if !tells_ready(pod) {
            return None;
        }
        let spec = pod.spec.as_ref()?;
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let stays = pod.metadata.deletion_timestamp.is_none();
        counts.there += usize::from(stays);
        match phase {
            Some("Succeeded") if stays => counts.succeeded += 1,
            Some("Succeeded" | "Failed") => {}
            _ if stays => {
                counts.with_node += usize::from(spec.node_name.is_some());
                counts.ready += usize::from(is_ready(pod));
            }
            _ => {}
        }
    }
    Some(counts)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn first_few(names: &[&str]) -> String {
    match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}
