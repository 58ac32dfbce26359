//! What is to be done now, in the order of business: who may still be under way elsewhere, what was begun, who waits, who has to make
//! room, what is held, what is said.

use crate::ledger::{Entry, Ledger};
use crate::memory::Memory;
use crate::picture::{Bar, Fate, Object, Picture};
use crate::plan::{Bind, GangPlan, Kind, Note, Plan, Target, Version, site};
use crate::preempt;
use crate::say;
use crate::seen::Seen;
use crate::settings::Around;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trellis_api::names::annotation;
use trellis_engine::{Decision, Gang, GangName, Hold, NodeId, Options, Outcome, Place, Snapshot, order, plan_on};
use trellis_lower::problem::passed_over;

/// What is to be done now. Pure, and level-driven: nothing that matters is remembered from call to call but what stands in the objects.
pub fn decide(seen: &Seen, around: &Around<'_>, memory: &mut Memory) -> Plan {
    memory.readings.turn();
    let mut picture = Picture::of(seen, around, &mut memory.readings);
    let mut plan = Plan::default();
    picture.reserve(&mut plan);
    let mut round = Round::new(&picture);
    round.draft_all(&picture, &mut plan);
    preempt::decide(&mut picture, &mut round, &mut plan);
    say::decide(&picture, &mut round, memory, &mut plan);
    round.write(&picture, &mut plan);
    picture.wake(&mut plan);
    plan
}

/// One decision in the making.
pub(crate) struct Round {
    /// The cluster as the engine's plan leaves it.
    pub snapshot: Snapshot,
    /// The engine's decisions, one for each gang.
    pub engine: trellis_engine::Plan,
    pub options: Options,
    /// Whether anything new may be given away: not before every waiting gang is ours.
    pub may_give: bool,
    /// Gangs that are given nothing now: they are decided again at once, beside what others were given.
    pub late: BTreeSet<usize>,
    /// What becomes of each gang.
    pub drafts: Vec<Draft>,
}

/// What becomes of a gang.
#[derive(Default)]
pub(crate) struct Draft {
    pub site: &'static str,
    /// Its ledger as it should be.
    pub after: Ledger,
    pub binds: Vec<Bind>,
    /// Other annotations.
    pub annotations: BTreeMap<&'static str, Option<String>>,
    /// Whether it gets places in this round.
    pub is_placed: bool,
    /// Whether its ledger says all there is to say, or is being written; then `after` is not filled in.
    pub is_quiet: bool,
}

impl Round {
    /// Has the engine plan all that waits.
    fn new(picture: &Picture<'_>) -> Self {
        let options = Options { budget: picture.around.settings.budget, ..Options::default() };
        let mut snapshot = Snapshot::with_gangs(picture.cluster.clone(), &picture.gangs);
        for leaving in &picture.leaving {
            snapshot.add(Place { node: leaving.node, zone: None }, &leaving.request);
        }
        for (place, request) in &picture.given_up {
            snapshot.add(*place, request);
        }
        let relevant = relevant(&picture.gangs);
        // Where a base goes depends on those that will follow it; of those it is enough to know them.
        let coming = coming(&picture.gangs, &relevant);
        let some: Vec<Gang> = relevant.iter().chain(&coming).map(|gang| picture.gangs[*gang].clone()).collect();
        let planned = plan_on(&mut snapshot, &some, options);
        let idle = Decision { outcome: Outcome::Placed, placed: Vec::new(), reserved: Vec::new(), steps: 0 };
        let mut decisions = vec![idle; picture.gangs.len()];
        for (gang, decision) in relevant.into_iter().zip(planned.decisions) {
            decisions[gang] = decision;
        }
        let mut late = picture.ties.late(&order(&picture.gangs), |gang| !decisions[gang].placed.is_empty());
        late.extend(too_early(&picture.gangs, &decisions));
        late.extend(squeezed_in(picture, &decisions));
        Self {
            snapshot,
            engine: trellis_engine::Plan { decisions },
            options,
            late,
            may_give: !picture.has_unfenced,
            drafts: Vec::with_capacity(picture.gangs.len()),
        }
    }

    fn draft_all(&mut self, picture: &Picture<'_>, plan: &mut Plan) {
        let by_name: HashMap<&GangName, usize> = picture.gangs.iter().zip(0..).map(|(it, at)| (&it.id, at)).collect();
        for gang in 0..picture.gangs.len() {
            let base = picture.gangs[gang].base.as_ref().and_then(|base| by_name.get(base)).copied();
            let draft = self.draft(picture, gang, base, plan);
            self.drafts.push(draft);
        }
        for key in &picture.touches {
            let Some(pod) = picture.seen.pods.get(key) else { continue };
            let target = Target::of(Kind::Pod, &pod.metadata);
            if !picture.seen.under_way.contains_key(&target) {
                plan.gangs.push(GangPlan {
                    site: site::TOUCH,
                    target,
                    version: Version::of(&pod.metadata),
                    annotations: fence(picture),
                    binds: Vec::new(),
                    assumed: String::new(),
                });
            }
        }
    }

    /// What becomes of one gang by what was begun, and by the engine's decision.
    fn draft(&self, picture: &Picture<'_>, gang: usize, base: Option<usize>, plan: &mut Plan) -> Draft {
        let who = &picture.whos[gang];
        let decision = &self.engine.decisions[gang];
        if matches!(who.bar, Some(Bar::UnderWay)) {
            return Draft { is_quiet: true, ..Draft::default() };
        }
        if who.bar == Some(Bar::Undone) {
            let is_done = picture.go_on_undoing(gang, plan);
            let after = if is_done { Ledger::default() } else { Ledger::clone(&who.ledger) };
            return Draft { site: site::UNDO, after, ..Draft::default() };
        }
        if picture.has_to_be_undone(gang, &decision.outcome) {
            if picture.without_owner(gang).is_none() {
                let after = Ledger { is_undone: true, ..Ledger::clone(&who.ledger) };
                return Draft { site: site::UNDO, after, ..Draft::default() };
            }
            // Nobody would make anew what has no owner: then it stays as it is.
            let after = Ledger { score: who.ledger.score, ..picture.after(gang, &[], &|_| true) };
            return Draft { site: site::FINISH, after, binds: picture.finish(gang), ..Draft::default() };
        }
        if picture.is_quiet(gang) {
            return Draft { site: site::KEEP, is_quiet: true, ..Draft::default() };
        }
        let mut draft = Draft { site: site::KEEP, binds: picture.finish(gang), ..Draft::default() };
        if !draft.binds.is_empty() {
            draft.site = site::FINISH;
        }
        // What is scaled from a base follows what is seen of it, not what is meant to be.
        let base_stands = base.is_none_or(|base| picture.stands(base));
        let placed: &[(usize, Place)] = match (&who.bar, &decision.outcome) {
            (None, Outcome::Placed) if self.may_give && base_stands && !self.late.contains(&gang) => &decision.placed,
            _ => &[],
        };
        draft.is_placed = !placed.is_empty();
        // Members that have to move stay written down until they are given another place, or are found to have none.
        let is_later = |pod: &str| decision.placed.iter().any(|(at, _)| picture.gangs[gang].pods[*at].name == pod);
        let is_open = |pod: &str| match decision.outcome {
            Outcome::Placed => who.bar.is_some() || is_later(pod),
            _ => false,
        };
        let stays = |pod: &str| placed.is_empty() && (!picture.given_up.is_empty() || is_open(pod));
        draft.after = picture.after(gang, placed, &stays);
        draft.after.score = self.score(picture, gang, placed);
        if draft.is_placed {
            plan.notes.extend(picture.passed_over(gang, placed));
            plan.notes.extend(picture.is_given(gang));
            draft.site = site::PLACE;
            draft.binds.extend(placed.iter().filter_map(|(pod, place)| picture.bind(gang, *pod, *place)));
        }
        if who.bar == Some(Bar::Unfenced) {
            draft.site = site::FENCE;
            draft.annotations = fence(picture);
        }
        draft
    }

    /// How well a gang is placed; worked out when members get places, or nobody has done so yet.
    fn score(&self, picture: &Picture<'_>, gang: usize, placed: &[(usize, Place)]) -> Option<u16> {
        let (who, it) = (&picture.whos[gang], &picture.gangs[gang]);
        if picture.is_lone(gang) || placed.is_empty() && who.ledger.score.is_some() {
            return who.ledger.score;
        }
        let bound = it.pods.iter().enumerate().filter_map(|(pod, it)| Some((pod, it.bound?)));
        let places: Vec<(usize, Place)> = bound.chain(placed.iter().copied()).collect();
        (!places.is_empty()).then(|| crate::score::of(picture, gang, &places, self.options))
    }

    /// Puts what has become of the gangs into the plan.
    fn write(&mut self, picture: &Picture<'_>, plan: &mut Plan) {
        for (gang, draft) in self.drafts.iter_mut().enumerate() {
            let who = &picture.whos[gang];
            if matches!(who.bar, Some(Bar::UnderWay | Bar::Deleted)) {
                continue;
            }
            let at = who.written_at(picture.around.now);
            let mut annotations = std::mem::take(&mut draft.annotations);
            // A pod alone needs no ledger to be bound: the bind itself is good for one version only.
            let is_kept = !picture.is_lone(gang) || draft.after.nominated.is_some() || who.is_written;
            let lone = Ledger { nominated: draft.after.nominated.clone(), ..Ledger::default() };
            let after = if picture.is_lone(gang) { &lone } else { &draft.after };
            if is_kept && !draft.is_quiet && (who.is_scribble || !after.says_same(&who.ledger)) {
                let text = Ledger { at, by: picture.writer(gang), ..after.clone() }.write();
                if text.is_some() || who.is_written {
                    annotations.insert(annotation::PLACEMENT, text);
                }
            }
            if annotations.is_empty() && draft.binds.is_empty() {
                continue;
            }
            let assumed = Ledger { at, by: picture.writer(gang), ..draft.after.clone() };
            plan.gangs.push(GangPlan {
                site: draft.site,
                target: who.target.clone(),
                version: Version::of(who.object.meta()),
                annotations,
                binds: std::mem::take(&mut draft.binds),
                assumed: assumed.write().unwrap_or_default(),
            });
        }
    }
}

/// Gangs that the engine has to look at: those that wait or hold, and their bases. The others are charged, and that is all.
fn relevant(gangs: &[Gang]) -> Vec<usize> {
    let mut is_relevant = vec![false; gangs.len()];
    for (at, gang) in gangs.iter().enumerate() {
        if !gang.holds.is_empty() || gang.pods.iter().any(|pod| pod.bound.is_none()) {
            is_relevant[at] = true;
            let base = gang.base.as_ref().and_then(|base| gangs.binary_search_by(|other| other.id.cmp(base)).ok());
            if let Some(base) = base {
                is_relevant[base] = true;
            }
        }
    }
    (0..gangs.len()).filter(|at| is_relevant[*at]).collect()
}

/// What is held for a gang and not filled, as it stands, by members that are given places.
fn unfilled<'g>(gang: &'g Gang, decision: &Decision) -> Vec<&'g Hold> {
    let mut taken: Vec<(usize, Place, &[i64])> =
        decision.placed.iter().map(|(pod, place)| (gang.pods[*pod].group, *place, &*gang.pods[*pod].request)).collect();
    let is_unfilled = |hold: &&Hold| {
        let at = taken.iter().position(|taken| *taken == (hold.group, hold.place, &*hold.request));
        at.map(|at| taken.swap_remove(at)).is_none()
    };
    gang.holds.iter().filter(is_unfilled).collect()
}

/// Gangs that are given room which is still held for another, because that one finds its place elsewhere in the same plan: until this is
/// written, the room is held.
fn too_early(gangs: &[Gang], decisions: &[Decision]) -> Vec<usize> {
    let mut given_back: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (gang, (it, decision)) in gangs.iter().zip(decisions).enumerate() {
        if decision.placed.is_empty() {
            continue;
        }
        for hold in unfilled(it, decision) {
            given_back.entry(hold.place.node).or_default().push(gang);
        }
    }
    let is_early = |gang: usize| {
        let holders = decisions[gang].placed.iter().filter_map(|(_, place)| given_back.get(&place.node)).flatten();
        holders.into_iter().any(|holder| *holder != gang && gangs[*holder].priority >= gangs[gang].priority)
    };
    if given_back.is_empty() { Vec::new() } else { (0..gangs.len()).filter(|gang| is_early(*gang)).collect() }
}

/// Gangs that are given room beside what is held for others of their own or a higher priority, on nodes where all of it together is too
/// much: members above the minimum of still higher ones were given what is held after that. They are decided again beside these.
fn squeezed_in(picture: &Picture<'_>, decisions: &[Decision]) -> Vec<usize> {
    let gangs = &picture.gangs;
    let mut held: BTreeMap<NodeId, Vec<(usize, &Hold)>> = BTreeMap::new();
    for (gang, (it, decision)) in gangs.iter().zip(decisions).enumerate().filter(|(_, (it, _))| !it.holds.is_empty()) {
        unfilled(it, decision).into_iter().for_each(|hold| held.entry(hold.place.node).or_default().push((gang, hold)));
    }
    if held.is_empty() {
        return Vec::new();
    }
    let allocatable = |node: &NodeId| picture.cluster.nodes[crate::picture::index(*node)].allocatable.clone();
    let mut free: BTreeMap<NodeId, Vec<i64>> = held.keys().map(|node| (*node, allocatable(node))).collect();
    let mut charge = |node: NodeId, request: &[i64]| {
        if let Some(free) = free.get_mut(&node) {
            free.iter_mut().zip(request).for_each(|(free, amount)| *free -= amount);
        }
    };
    picture.cluster.occupants.iter().chain(&picture.leaving).for_each(|it| charge(it.node, &it.request));
    picture.given_up.iter().for_each(|(place, request)| charge(place.node, request));
    for (it, decision) in gangs.iter().zip(decisions) {
        let bound = it.pods.iter().filter_map(|pod| Some((pod.bound?, &pod.request)));
        let placed = decision.placed.iter().map(|(pod, place)| (*place, &it.pods[*pod].request));
        bound.chain(placed).for_each(|(place, request)| charge(place.node, request));
    }
    held.iter()
        .flat_map(|(node, holds)| holds.iter().map(move |hold| (node, hold.1)))
        .for_each(|(node, hold)| charge(*node, &hold.request));
    held.retain(|node, _| free[node].iter().any(|free| *free < 0));
    // What was short before is no reason: nobody who asks for that is given room there, and others need none of it.
    let asks = |gang: usize, pod: usize, node: NodeId| {
        gangs[gang].pods[pod].request.iter().zip(&free[&node]).any(|(amount, free)| *amount > 0 && *free < 0)
    };
    let is_squeezed_in = |gang: &usize| {
        let placed = decisions[*gang].placed.iter().map(|(pod, place)| (*pod, place.node));
        let nodes = placed.filter_map(|(pod, node)| held.get(&node).filter(|_| asks(*gang, pod, node)));
        nodes.flatten().any(|(holder, _)| holder != gang && gangs[*holder].priority >= gangs[*gang].priority)
    };
    (0..gangs.len()).filter(is_squeezed_in).collect()
}

/// Gangs that are held back until their base has a place, and these bases, as far as they are not looked at anyway.
fn coming(gangs: &[Gang], relevant: &[usize]) -> Vec<usize> {
    let mut coming = BTreeSet::new();
    for (at, gang) in gangs.iter().enumerate().filter(|(_, gang)| !gang.coming.is_empty()) {
        let base = gang.base.as_ref().and_then(|base| gangs.binary_search_by(|other| other.id.cmp(base)).ok());
        coming.extend([at].into_iter().chain(base));
    }
    coming.retain(|at| relevant.binary_search(at).is_err());
    coming.into_iter().collect()
}

fn fence(picture: &Picture<'_>) -> BTreeMap<&'static str, Option<String>> {
    BTreeMap::from([(annotation::SCHEDULER, Some(picture.around.identity.to_owned()))])
}

impl Picture<'_> {
    /// Whether the minimum of a gang is bound, as far as was seen.
    pub fn stands(&self, gang: usize) -> bool {
        let (who, it) = (&self.whos[gang], &self.gangs[gang]);
        it.has_minimum(it.pods.iter().filter(|pod| pod.bound.is_some() && !who.is_begun(&pod.name)))
    }

    /// Whether nothing waits and the ledger says where all members are; most gangs are like this most of the time.
    fn is_quiet(&self, gang: usize) -> bool {
        let (who, it) = (&self.whos[gang], &self.gangs[gang]);
        let is_waiting = it.pods.iter().any(|pod| pod.bound.is_none());
        if who.bar.is_some() || is_waiting || who.leaves_for.is_some() || who.is_scribble {
            return false;
        }
        if self.is_lone(gang) {
            return !who.is_written && !who.has_begun();
        }
        let ledger = &who.ledger;
        let members = ledger.members.iter().zip(&who.fates);
        it.pods.len() == ledger.members.len()
            && ledger.score.is_some()
            && ledger.held.is_empty()
            && ledger.nominated.is_none()
            && ledger.preempted_by.is_none()
            && members.into_iter().all(|(entry, fate)| matches!(fate, Fate::Standing(spot) if *spot == entry.spot))
    }

    /// Whose binds may be under way once the ledger is written.
    fn writer(&self, gang: usize) -> String {
        let who = &self.whos[gang];
        let is_theirs = |pod: &String| !self.is_settled(gang, pod);
        if who.begun.iter().any(is_theirs) { who.ledger.by.clone() } else { self.around.identity.to_owned() }
    }

    /// The ledger of a gang once these members have got their places: those that stand, those that were begun, the new ones; and what
    /// is held for others. `stays` tells of members that have to move whether they are written down where they were all the same.
    fn after(&self, gang: usize, placed: &[(usize, Place)], stays: &dyn Fn(&str) -> bool) -> Ledger {
        let (who, it) = (&self.whos[gang], &self.gangs[gang]);
        let mut members = Vec::with_capacity(it.pods.len());
        let mut known: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for (entry, fate) in who.ledger.members.iter().zip(&who.fates) {
            let spot = match fate {
                Fate::Standing(spot) => spot,
                Fate::Begun if !who.moving.contains(&entry.pod) || stays(&entry.pod) => &entry.spot,
                _ => continue,
            };
            known.insert(&entry.pod);
            members.push(Entry { spot: spot.clone(), ..entry.clone() });
        }
        let is_new = |pod: &&trellis_engine::Pod| !known.contains(pod.name.as_str()) && !who.is_begun(&pod.name);
        let bound = it.pods.iter().filter(is_new).filter_map(|pod| Some((pod, pod.bound?)));
        let given = placed.iter().map(|(pod, place)| (&it.pods[*pod], *place));
        members.extend(bound.chain(given).filter_map(|(pod, place)| self.entry(gang, pod, place)));
        let mut held = self.held(gang);
        if !placed.is_empty() {
            // Where a node was that is gone, nobody can come back to: the gang is where its members are given places now.
            held.retain(|held| self.place(&held.was.spot).is_some());
        }
        for (pod, place) in placed {
            use_up(&mut held, &it.groups[it.pods[*pod].group].name, &self.spot(*place).node);
        }
        let is_first = !who.has_standing() && !who.has_begun() && it.pods.iter().all(|pod| pod.bound.is_none());
        let is_fresh = match placed.is_empty() {
            true => who.ledger.is_fresh,
            false => is_first && who.ledger.held.is_empty() || who.ledger.is_fresh && who.has_begun(),
        };
        Ledger {
            by: who.ledger.by.clone(),
            at: who.ledger.at,
            members,
            held,
            nominated: self.still_nominated(gang).filter(|_| placed.is_empty()),
            is_fresh,
            is_undone: false,
            preempted_by: None,
            score: None,
        }
    }

    fn entry(&self, gang: usize, pod: &trellis_engine::Pod, place: Place) -> Option<Entry> {
        let object = self.pod(gang, &pod.name)?;
        Some(Entry {
            group: self.gangs[gang].groups[pod.group].name.clone(),
            request: self.request(&pod.request),
            spot: self.spot(place),
            pod: pod.name.clone(),
            uid: crate::picture::short_uid(&object.metadata).to_owned(),
        })
    }

    /// That a PodGroup gets its places. Of a PodGang its status tells, and an event when that changes; the status of a PodGroup is KAI's.
    fn is_given(&self, gang: usize) -> Option<Note> {
        let who = &self.whos[gang];
        let is_told = !matches!(who.object, Object::PodGroup(_)) || self.stands(gang);
        (!is_told).then(|| Note {
            about: who.target.clone(),
            uid: who.object.uid().to_owned(),
            warning: false,
            reason: "MinimumScheduled",
            message: "the minimum of every group is given nodes".to_owned(),
        })
    }

    /// What members that get a place only wished for, where nobody looked at it.
    fn passed_over(&self, gang: usize, placed: &[(usize, Place)]) -> Option<Note> {
        let who = &self.whos[gang];
        let mut objects = placed.iter().filter_map(|(pod, _)| self.pod(gang, &self.gangs[gang].pods[*pod].name));
        let message = objects.find_map(|pod| passed_over(pod))?;
        let (about, uid) = (who.target.clone(), who.object.uid().to_owned());
        Some(Note { about, uid, warning: true, reason: "PassedOver", message })
    }

    fn bind(&self, gang: usize, pod: usize, place: Place) -> Option<Bind> {
        let it = &self.gangs[gang].pods[pod];
        let spot = self.spot(place);
        Some(Bind {
            namespace: self.gangs[gang].id.namespace.clone(),
            pod: it.name.clone(),
            version: Version::of(&self.pod(gang, &it.name)?.metadata),
            node: spot.node,
            zone: spot.zone,
        })
    }
}

/// A member that gets a place uses up one that was held for its group: on the same node if there is one.
fn use_up(held: &mut Vec<crate::ledger::Held>, group: &str, node: &str) {
    let same = |held: &crate::ledger::Held| held.was.group == group;
    let there = held.iter().position(|held| same(held) && held.was.spot.node == node);
    if let Some(at) = there.or_else(|| held.iter().position(same)) {
        held.remove(at);
    }
}
