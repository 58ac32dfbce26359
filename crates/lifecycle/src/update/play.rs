//! The rest of the world in random order: whoever makes pods, lifts gates, schedules, runs and reports.

use super::toy::{World, turn};
use super::{current_replica, outdated};
use crate::picture::{Clique, Counts, Picture};
use crate::plan::{Action, Plan, site};
use crate::pod::Pod;
use crate::terminate::{is_breached, is_terminating};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::sync::Arc;

/// Random numbers from a seed.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// What the world is like.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules {
    /// New pods find room only where nothing of their gang has a node.
    pub tight: bool,
    /// New pods find no room at all.
    pub full: bool,
    /// Pods stop being ready, fail and vanish.
    pub loses: bool,
}

/// What becomes of a pod.
type Fate = (String, String, Option<char>);

/// As many seeds, times what `TRELLIS_CASES` asks for.
pub(crate) fn seeds(count: u64) -> std::ops::Range<u64> {
    let factor = std::env::var("TRELLIS_CASES").ok().and_then(|factor| factor.parse::<u64>().ok());
    0..count * factor.unwrap_or(1)
}

impl World {
    /// Plays until it is done, which it has to be within a thousand steps.
    pub fn play_until(&mut self, dice: &mut Dice, rules: &Rules, context: &str, is_done: impl Fn(&Self) -> bool) {
        for _ in 0..1000 {
            if is_done(self) {
                return;
            }
            (0..5).for_each(|_| drop(self.play(dice, rules)));
        }
        panic!("{context}: not done");
    }

    /// A pass of ours, some of whose writes are lost, and a while in which others do something. The plan is checked and handed back.
    pub fn play(&mut self, dice: &mut Dice, rules: &Rules) -> Plan {
        let plan = self.plan();
        self.look(|picture| judge(picture, &plan));
        for write in &plan.writes {
            if dice.percent(90) {
                self.apply(write);
            }
        }
        self.make_pods();
        let fates = self.look(|picture| fates(picture, dice, rules));
        let now = self.now;
        for (clique, name, state) in fates {
            self.change_pod(&clique, &name, |pod| {
                let Some(state) = state else { return false };
                let waits_already = state == 'u' && pod.unschedulable_since().is_some();
                if !waits_already {
                    turn(pod, state, now);
                }
                true
            });
        }
        if dice.percent(70) {
            self.report();
        }
        self.now += SignedDuration::from_secs(i64::try_from(dice.below(60)).unwrap());
        plan
    }

    /// Makes the pods that are missing and takes away those that are too many, outdated ones first.
    fn make_pods(&mut self) {
        let (mut missing, mut excess) = (Vec::new(), Vec::new());
        self.look(|picture| {
            for clique in &picture.cliques {
                let mut members: Vec<&Arc<Pod>> = clique.pods.iter().copied().filter(|pod| pod.is_member()).collect();
                members.sort_by_key(|pod| (!pod.is_at(&clique.instance.template_hash), pod.index()));
                let kept = &members[..members.len().min(clique.counts.replicas)];
                excess.extend(
                    members[kept.len()..].iter().map(|pod| (clique.instance.name.clone(), pod.name().to_owned())),
                );
                excess.extend(
                    clique
                        .pods
                        .iter()
                        .filter(|pod| pod.has_failed())
                        .map(|pod| (clique.instance.name.clone(), pod.name().to_owned())),
                );
                let free = (0..).filter(|index| kept.iter().all(|pod| pod.index() != Some(*index)));
                missing.extend(
                    free.take(clique.counts.replicas - kept.len()).map(|index| (clique.instance.name.clone(), index)),
                );
            }
        });
        for (clique, name) in excess {
            self.change_pod(&clique, &name, |_| false);
        }
        for (clique, index) in missing {
            let mut pod = self.new_pod(&clique, index, String::new());
            pod.metadata.name = Some(format!("{clique}-{index}-{}", pod.uid()));
            self.observed.pods.entry(clique).or_default().push(Arc::new(pod));
        }
    }

    /// Writes the status that our two modules read.
    fn report(&mut self) {
        let now = self.now;
        let (current, breached) = self.look(|picture| {
            let current = current_replica(picture);
            let breached: Vec<(String, &str)> = picture
                .cliques
                .iter()
                .map(|clique| {
                    let status = match is_breached(&clique.counts) {
                        _ if current == Some(clique.instance.set_index) => "Unknown",
                        true => "True",
                        false => "False",
                    };
                    (clique.instance.name.clone(), status)
                })
                .collect();
            (current, breached)
        });
        self.updating(current);
        for (clique, status) in breached {
            let clique = Arc::make_mut(self.observed.cliques.get_mut(&clique).unwrap());
            let conditions = &mut clique.status.get_or_insert_default().conditions;
            if conditions.iter().all(|condition| condition.status != status) {
                *conditions = vec![told(status, now)];
            }
        }
    }
}

fn told(status: &str, since: Timestamp) -> Condition {
    Condition {
        type_: "MinAvailableBreached".to_owned(),
        status: status.to_owned(),
        reason: "Told".to_owned(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(since),
    }
}

/// What happens to the pods while we look away.
fn fates(picture: &Picture<'_>, dice: &mut Dice, rules: &Rules) -> Vec<Fate> {
    let mut fates = Vec::new();
    for gang in &picture.gangs {
        let members = picture.members(gang);
        let base = gang.base.map(|base| &picture.gangs[base]);
        let base_stands = base.is_none_or(|base| {
            !is_terminating(base) && picture.members(base).iter().all(|clique| clique.counts.is_scheduled())
        });
        let gates_open = !is_terminating(gang) && base_stands;
        let bound = members.iter().any(|clique| clique.counts.scheduled > 0);
        let is_let_go =
            |clique: &Clique<'_>| clique.counts.gated == 0 && clique.counts.members == clique.counts.replicas;
        let complete = members.iter().all(is_let_go);
        let room = !rules.full && if rules.tight { !bound } else { true };
        let placed = room && (bound || complete) && dice.percent(50);
        for clique in members {
            for pod in &clique.pods {
                let state = match () {
                    () if pod.is_terminating() => dice.percent(50).then_some(None),
                    () if pod.is_gated() => (gates_open && dice.percent(70)).then_some(Some('p')),
                    () if !pod.is_scheduled() && placed => Some(Some('s')),
                    () if !pod.is_scheduled() => (!room).then_some(Some('u')),
                    () if rules.loses && dice.percent(4) => {
                        [Some(None), Some(Some('f')), Some(Some('F')), Some(Some('s'))]
                            [usize::try_from(dice.below(4)).unwrap()]
                    }
                    () if !pod.is_ready() => dice.percent(50).then_some(Some('R')),
                    () => None,
                };
                fates.extend(state.map(|state| (clique.instance.name.clone(), pod.name().to_owned(), state)));
            }
        }
    }
    fates
}

/// Holds what an update deletes against what it may.
fn judge(picture: &Picture<'_>, plan: &Plan) {
    let of_update = plan.writes.iter().filter(|write| write.site == site::DELETE_POD_UPDATED);
    let uids: Vec<&str> = of_update
        .map(|write| match &write.action {
            Action::Delete { uid, .. } => uid.as_str(),
            other => panic!("no deletion: {other:?}"),
        })
        .collect();
    let goes = |pod: &Pod| uids.contains(&pod.uid());
    let touched = |clique: &&Clique<'_>| clique.pods.iter().any(|pod| goes(pod));
    let mut replicas: Vec<usize> =
        picture.cliques.iter().filter(touched).map(|clique| clique.instance.set_index).collect();
    replicas.dedup();
    assert!(replicas.len() <= 1, "one replica of the set at a time: {replicas:?}");
    for clique in &picture.cliques {
        let going = || clique.pods.iter().filter(|pod| goes(pod));
        assert!(going().all(|pod| outdated(clique).any(|old| old.uid() == pod.uid())), "only outdated pods go");
        let ready = going().filter(|pod| pod.is_ready()).count();
        let Counts { ready: before, replicas, min, .. } = clique.counts;
        if clique.instance.group.is_none() && ready > 0 {
            assert!(ready == 1 && before == replicas, "{}", clique.instance.name);
            assert!(before > min || min == replicas, "{}", clique.instance.name);
        }
    }
    for group in &picture.groups {
        let is_available = |replica: &[usize]| replica.iter().all(|at| picture.cliques[*at].counts.is_available());
        let available = group.replicas.iter().filter(|replica| is_available(replica)).count();
        let hit = group
            .replicas
            .iter()
            .filter(|replica| is_available(replica) && replica.iter().any(|at| touched(&&picture.cliques[*at])));
        let hit = hit.count();
        assert!(hit <= 1, "one replica of a group at a time: {}", group.name());
        let min = group.min_available();
        assert!(hit == 0 || available > min || min == group.replicas.len(), "{}", group.name());
    }
}

/// What an update without any other trouble never goes below.
pub(crate) fn bounds(world: &World, context: &str) {
    world.look(|picture| {
        for clique in picture.cliques.iter().filter(|clique| clique.instance.group.is_none()) {
            assert!(clique.counts.ready + 1 >= clique.counts.replicas, "{context}: {}", clique.instance.name);
        }
        for group in &picture.groups {
            let is_available =
                |replica: &&Vec<usize>| replica.iter().all(|at| picture.cliques[*at].counts.is_available());
            let available = group.replicas.iter().filter(is_available).count();
            assert!(available + 1 >= group.replicas.len(), "{context}: {}", group.name());
        }
        let broken = |clique: &&Clique<'_>| !clique.counts.is_available() && clique.instance.group.is_none();
        let mut broken: Vec<usize> =
            picture.cliques.iter().filter(broken).map(|clique| clique.instance.set_index).collect();
        broken.dedup();
        assert!(broken.len() <= 1, "{context}: {broken:?}");
    });
}
