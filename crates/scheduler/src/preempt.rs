//! Gangs that have to make room for more important ones.
//!
//! Four steps, each seen before the next: the preemptor's ledger names places and victims; each victim is marked, in its ledger and by
//! its condition; its pods are deleted; the preemptor finds the room. From the first step on the places are held for it, so that neither
//! a victim that is made anew at once nor anybody else of its own or a lower priority gets them. A victim stays marked as long as the
//! nomination that names it stands, and once its first pod goes until its last is gone: a preemptor that is gone spares those that are
//! whole.

mod budgets;
mod search;

use crate::decide::Round;
use crate::holds::whole_second;
use crate::ledger::{Nominated, Nomination, Victim};
use crate::picture::{Bar, Fate, Object, Picture, short_uid};
use crate::plan::{Note, Plan, site};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeSet, HashSet};
use trellis_engine::{Claim, Hold, Outcome, order};

/// What is due about those that have to leave, and for whom.
pub(crate) fn decide(picture: &mut Picture<'_>, round: &mut Round, plan: &mut Plan) {
    for gang in 0..picture.gangs.len() {
        mark(picture, gang, round, plan);
    }
    let leaving = leaving_nodes(picture);
    for gang in 0..picture.gangs.len() {
        if is_over(picture, gang, round, &leaving) {
            round.drafts[gang].after.nominated = None;
        }
    }
    // Who is late was given room here that the next decision, which follows at once, may find elsewhere, and what is given up by a write
    // that is under way is free by then: nobody is evicted for that.
    if round.may_give && round.late.is_empty() && picture.given_up.is_empty() {
        nominate(picture, round, plan);
    }
}

/// Marks a gang that has to leave, or takes the mark off; deletes its pods once the mark is seen.
fn mark(picture: &Picture<'_>, gang: usize, round: &mut Round, plan: &mut Plan) {
    let who = &picture.whos[gang];
    if who.leaves_for.is_none() && who.ledger.preempted_by.is_none() || matches!(who.bar, Some(Bar::UnderWay)) {
        return;
    }
    let bound = || picture.gangs[gang].pods.iter().filter(|pod| pod.bound.is_some() && !who.is_begun(&pod.name));
    if picture.is_lone(gang) {
        plan.deletes.extend(bound().filter_map(|pod| picture.delete(gang, &pod.name, site::DELETE_PREEMPTED)));
        return;
    }
    let draft = &mut round.drafts[gang];
    draft.after.preempted_by.clone_from(&who.leaves_for);
    let Some(whom) = &who.leaves_for else {
        if !who.has_standing() {
            // All of it went: where it was is nobody's any more.
            draft.after.members.clear();
            draft.after.held.clear();
        }
        return;
    };
    if who.ledger.preempted_by.is_none() {
        draft.site = site::MARK_VICTIM;
        plan.notes.push(Note {
            about: who.target.clone(),
            uid: who.object.uid().to_owned(),
            warning: true,
            reason: "Preempted",
            message: format!("the gang makes room for `{whom}`, which has a higher priority"),
        });
        return;
    }
    let told = who.object.condition("DisruptionTarget");
    let is_told = told.is_some_and(|told| told.status == "True" && told.reason == "Preempted");
    if is_told || !matches!(who.object, Object::PodGang(_)) {
        plan.deletes.extend(bound().filter_map(|pod| picture.delete(gang, &pod.name, site::DELETE_PREEMPTED)));
    }
}

/// Nodes on which pods are on their way out.
fn leaving_nodes(picture: &Picture<'_>) -> HashSet<String> {
    if picture.whos.iter().all(|who| who.ledger.nominated.is_none()) {
        return HashSet::new();
    }
    let leaving = picture.seen.pods.values().filter(|pod| pod.metadata.deletion_timestamp.is_some());
    leaving.filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect()
}

/// Whether a nomination has come to its end: its time is up, the gang has what it needs or gives up, or the room that was made is gone.
fn is_over(picture: &Picture<'_>, gang: usize, round: &Round, leaving: &HashSet<String>) -> bool {
    let who = &picture.whos[gang];
    let Some(nomination) = &who.ledger.nominated else { return false };
    if matches!(who.bar, Some(Bar::UnderWay)) {
        return false;
    }
    if nomination.until <= picture.around.now || who.gives_up || picture.stands(gang) {
        return true;
    }
    let is_out = |victim: &Victim| match picture.by_target.get(&victim.target).map(|at| (*at, &picture.whos[*at])) {
        Some((at, whom)) if short_uid(whom.object.meta()) == victim.uid => {
            picture.gangs[at].pods.iter().all(|pod| pod.bound.is_none())
        }
        _ => true,
    };
    let is_free = |place: &Nominated| !leaving.contains(&place.spot.node);
    let outcome = &round.engine.decisions[gang].outcome;
    let has_no_room = who.bar.is_none() && *outcome != Outcome::Placed;
    has_no_room && nomination.victims.iter().all(is_out) && nomination.places.iter().all(is_free)
}

/// Nominates places for those that wait, may preempt, and find enough that is less important.
fn nominate(picture: &mut Picture<'_>, round: &mut Round, plan: &mut Plan) {
    let mut search = search::Search::new(picture);
    for gang in order(&picture.gangs) {
        if !is_preemptor(picture, gang, round) {
            continue;
        }
        let Some(found) = search.find(picture, gang, round) else { continue };
        let now = picture.around.now;
        let patience = SignedDuration::try_from(picture.around.settings.nomination).unwrap_or(SignedDuration::MAX);
        let until = whole_second(now.checked_add(patience).unwrap_or(Timestamp::MAX));
        let it = &picture.gangs[gang];
        let place = |(pod, place): &(usize, trellis_engine::Place)| Nominated {
            group: it.groups[it.pods[*pod].group].name.clone(),
            request: picture.request(&it.pods[*pod].request),
            spot: picture.spot(*place),
        };
        let victim = |victim: &usize| {
            let whom = &picture.whos[*victim];
            Victim { target: whom.target.clone(), uid: short_uid(whom.object.meta()).to_owned() }
        };
        let nomination = Nomination {
            until,
            places: found.places.iter().map(place).collect(),
            victims: found.victims.iter().map(victim).collect(),
        };
        plan.again(until);
        let draft = &mut round.drafts[gang];
        (draft.site, draft.after.nominated) = (site::NOMINATE, Some(nomination));
        plan.notes.push(Note {
            about: picture.whos[gang].target.clone(),
            uid: picture.whos[gang].object.uid().to_owned(),
            warning: false,
            reason: "Preempting",
            message: "gangs of lower priority have to make room".to_owned(),
        });
        // Others that are looked at in this round see what is held here.
        let holds = found.places.iter().map(|(pod, place)| {
            let pod = &it.pods[*pod];
            Hold { group: pod.group, place: *place, request: pod.request.clone() }
        });
        let holds: Vec<Hold> = holds.collect();
        picture.gangs[gang].holds.extend(holds);
        picture.gangs[gang].holds.sort_unstable();
    }
}

/// Whether a gang waits for room, and may have others make it.
fn is_preemptor(picture: &Picture<'_>, gang: usize, round: &Round) -> bool {
    let who = &picture.whos[gang];
    // Not knowing is no reason to evict anybody.
    let Outcome::CannotFit(claim) = &round.engine.decisions[gang].outcome else { return false };
    let is_about_room =
        !matches!(claim, Claim::Unready(_) | Claim::BaseWaits(_) | Claim::TooFewPods { .. } | Claim::BoundApart { .. });
    let draft = &round.drafts[gang];
    who.bar.is_none()
        && is_about_room
        && who.ledger.nominated.is_none()
        && !draft.after.is_undone
        && !search::is_polite(picture, gang)
}

/// Whether a gang could be made to leave: it has pods, and nothing of it is in motion.
fn is_evictable(picture: &Picture<'_>, gang: usize) -> bool {
    let (who, it) = (&picture.whos[gang], &picture.gangs[gang]);
    let is_protected = match who.object {
        Object::PodGroup(group) => group.spec.preemptibility.as_deref() == Some("non-preemptible"),
        _ => false,
    };
    let is_still = !matches!(who.bar, Some(Bar::UnderWay | Bar::Deleted | Bar::Undone | Bar::Preempted))
        && who.fates.iter().all(|fate| *fate != Fate::Begun);
    is_still && !who.gives_up && !is_protected && it.pods.iter().any(|pod| pod.bound.is_some())
}

/// Gangs by name, so that the same are told in the same order.
fn sorted(mut gangs: Vec<usize>) -> Vec<usize> {
    let unique: BTreeSet<usize> = gangs.drain(..).collect();
    unique.into_iter().collect()
}
