//! Rolling updates: which pods of another template go next. Their successors are made from the present one like any missing pod.
//!
//! Which pods are outdated shows in their labels, so nothing has to be remembered. One replica of the set is updated at a time
//! ([`current_replica`]). Inside it, standalone cliques and scaling groups go in parallel, each by itself: what is not available goes at
//! once, for nobody misses it; of what is available one pod of a clique, or one replica of a group, when all the others are there. So at
//! most one is missing because of the update, and the minimum is kept unless it equals what there is.
//!
//! A pod of the new template that finds no room would hold the update up for ever, for instance because it asks for more and its gang's
//! domain is full. After `terminationDelay` its gang is therefore taken down and placed anew; [`stuck_since`] tells, and
//! [`crate::terminate`] does it.

mod order;
#[cfg(test)]
pub(crate) mod play;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod toy;

pub(crate) use order::current_replica;

use crate::picture::{Clique, Gang, Group, Picture};
use crate::plan::{Kind, Plan, site};
use crate::pod::Pod;
use crate::terminate::{is_terminating, was_placed};
use jiff::Timestamp;
use std::sync::Arc;

/// What is due for the update of a set.
pub fn decide(picture: &Picture<'_>, plan: &mut Plan) {
    let Some(index) = current_replica(picture) else { return };
    // What is taken down comes back from the present template anyway.
    let going = plan.writes.iter().any(|write| write.site == site::BEGIN_TERMINATION);
    if going || picture.gangs.iter().any(|gang| gang.set_index == index && is_terminating(gang)) {
        return;
    }
    let standalone = picture.cliques.iter().filter(|clique| clique.instance.group.is_none());
    let pods = standalone.filter(|clique| clique.instance.set_index == index).flat_map(next_of_clique);
    let groups = picture.groups.iter().filter(|group| group.set_index == index);
    for pod in pods.chain(groups.flat_map(|group| next_of_group(picture, group))) {
        plan.delete(site::DELETE_POD_UPDATED, Kind::Pod, &pod.metadata, true);
    }
}

/// The pods of a clique that were made from another template and have work left to do; what has succeeded is never made anew.
pub(crate) fn outdated<'p, 'a>(clique: &'p Clique<'a>) -> impl Iterator<Item = &'a Arc<Pod>> + use<'p, 'a> {
    let is_outdated = |pod: &Pod| pod.is_member() && !pod.has_succeeded() && !pod.is_at(&clique.instance.template_hash);
    clique.pods.iter().copied().filter(move |pod| is_outdated(pod))
}

/// The pods of a standalone clique that go now.
fn next_of_clique<'a>(clique: &Clique<'a>) -> Vec<&'a Arc<Pod>> {
    let idle: Vec<_> = outdated(clique).filter(|pod| !pod.is_ready()).collect();
    if !idle.is_empty() {
        return idle;
    }
    let counts = clique.counts;
    let whole = counts.members == counts.replicas && counts.ready == counts.replicas;
    // The choice is the same on every view of these pods, so a leader that was replaced meanwhile asks for one that is gone already.
    let oldest = outdated(clique).min_by_key(|pod| (pod.created(), pod.index(), pod.name()));
    oldest.filter(|_| whole).into_iter().collect()
}

/// The pods of a scaling group that go now.
fn next_of_group<'a>(picture: &Picture<'a>, group: &Group<'_>) -> Vec<&'a Arc<Pod>> {
    let cliques =
        |replica: &Vec<usize>| -> Vec<&Clique<'a>> { replica.iter().map(|at| &picture.cliques[*at]).collect() };
    let replicas: Vec<Vec<&Clique<'a>>> = group.replicas.iter().map(cliques).collect();
    let is_available = |replica: &[&Clique<'a>]| replica.iter().all(|clique| clique.counts.is_available());
    let old = |replica: &[&Clique<'a>]| replica.iter().flat_map(|clique| outdated(clique)).collect::<Vec<_>>();
    let idle: Vec<_> =
        replicas.iter().filter(|replica| !is_available(replica)).flat_map(|replica| old(replica)).collect();
    if !idle.is_empty() {
        return idle;
    }
    let available = replicas.iter().filter(|replica| is_available(replica)).count();
    // One that never had a place is not missed, and may wait for room much longer than the others can for their update.
    let waits = |replica: &[&Clique<'a>]| {
        replica.iter().any(|clique| !clique.counts.is_available() && was_placed(&picture.gangs[clique.gang]))
    };
    let spare = available > group.min_available() || available == replicas.len();
    if !spare || replicas.iter().any(|replica| waits(replica)) {
        return Vec::new();
    }
    replicas.iter().map(|replica| old(replica)).find(|old| !old.is_empty()).unwrap_or_default()
}

/// Since when a pod of the new template has found no room, if that is in the way of the gang's update. Not if neither an outdated pod
/// nor a place is left to give up: then it waits like any other.
pub(crate) fn stuck_since(picture: &Picture<'_>, gang: &Gang<'_>) -> Option<Timestamp> {
    let members = picture.members(gang);
    if crate::terminate::placed_at(gang).is_none() && members.iter().all(|clique| outdated(clique).next().is_none()) {
        return None;
    }
    let updated = members.iter().flat_map(|clique| {
        clique.pods.iter().filter(|pod| pod.is_member() && pod.is_at(&clique.instance.template_hash))
    });
    updated.filter(|pod| !pod.is_scheduled()).filter_map(|pod| pod.unschedulable_since()).min()
}
