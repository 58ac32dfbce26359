//! PodGangs: made when the cliques of a gang are there, so that they can name all pods at once, and kept to what the set asks for.

use crate::backend;
use crate::children::{change, create, whole_spec};
use crate::picture::{Gang, Picture, is_child_of};
use crate::plan::{Kind, Plan, site};
use crate::roster::Roster;
use serde_json::Map;
use std::collections::BTreeSet;
use trellis_api::names::annotation;
use trellis_lower as lower;

/// How far a gang's objects are.
pub struct Standing<'a> {
    /// The pods of each of its cliques; none before the cliques are there.
    pub rosters: Vec<Roster<'a>>,
    /// Whether the PodGang, and the scheduler's own object for it, say what they should.
    pub is_current: bool,
}

/// What is due for the gangs, and how far each of them is, in the order of [`Picture::gangs`].
pub fn decide<'a>(picture: &Picture<'a>, plan: &mut Plan) -> Vec<Standing<'a>> {
    let backend = backend::of(picture.profile);
    let standing = picture.gangs.iter().map(|gang| one(picture, gang, backend, plan)).collect();
    let wanted: BTreeSet<&str> = picture.gangs.iter().map(|gang| gang.name.as_str()).collect();
    for (_, live) in picture.observed.gangs.iter().filter(|(name, _)| !wanted.contains(name.as_str())) {
        let owned = live.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
        if owned {
            plan.delete(site::DELETE_GANG, Kind::PodGang, &live.metadata, false);
        }
    }
    backend.clean_up(picture, plan);
    standing
}

fn one<'a>(picture: &Picture<'a>, gang: &Gang<'a>, backend: &dyn backend::Backend, plan: &mut Plan) -> Standing<'a> {
    let members = picture.members(gang);
    let is_there = |clique: &crate::picture::Clique<'_>| {
        clique.live.is_some_and(|live| live.metadata.deletion_timestamp.is_none())
    };
    if !members.iter().all(is_there) {
        return Standing { rosters: Vec::new(), is_current: false };
    }
    let rosters: Vec<Roster<'a>> = members.iter().map(Roster::of).collect();
    let names = |clique: &str, _: usize| {
        let position = members.iter().position(|member| member.instance.name == clique);
        let slots = position.map(|position| rosters[position].slots.iter().map(|slot| slot.name.clone()));
        slots.map(Iterator::collect).unwrap_or_default()
    };
    let instances: Vec<_> = members.iter().map(|clique| &clique.instance).collect();
    let mut desired = lower::pod_gang(picture.set, &instances, &picture.translation, picture.around.settings, &names);
    let Some(live) = gang.live else {
        match picture.observed.gangs.get(&gang.name) {
            // Left over from an earlier set of this name.
            Some(stale) if !is_child_of(&stale.metadata, picture.set.metadata.uid.as_deref()) => {
                plan.delete(site::DELETE_GANG, Kind::PodGang, &stale.metadata, false);
            }
            _ => plan.writes.extend(create(site::CREATE_GANG, Kind::PodGang, &desired.metadata, &desired)),
        }
        return Standing { rosters, is_current: false };
    };
    if live.metadata.deletion_timestamp.is_some() {
        return Standing { rosters, is_current: false };
    }
    // When it got its place is for `terminate` to say; like the rest of its annotations it is ours, and would go otherwise.
    if let Some(stamp) = live.metadata.annotations.as_ref().and_then(|map| map.get(annotation::SCHEDULED_AT)) {
        let annotations = desired.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::SCHEDULED_AT.to_owned(), stamp.clone());
    }
    let body = if live.spec == desired.spec { Map::new() } else { whole_spec(&**live, &desired) };
    let write = change(site::CHANGE_GANG, Kind::PodGang, &live.metadata, &desired.metadata, body);
    let same = write.is_none();
    plan.writes.extend(write);
    // The scheduler's object follows the PodGang as it is stored.
    let is_current = same && backend.sync_gang(picture, live, plan);
    Standing { rosters, is_current }
}
