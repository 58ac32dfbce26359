//! What is looked at when a pod gets its node, and when the scheduler deletes one.

use super::amounts::{self, Amounts};
use super::model::{GangName, Name, Pod};
use super::{Checker, ON_ITS_WAY, Rule};

impl Checker {
    /// A pod got its node.
    pub(super) fn check_bind(&mut self, name: &Name, pod: &Pod) {
        let Some(node) = pod.node.clone() else { return };
        self.check_open(name, &node);
        self.check_room(name, pod, &node);
        self.check_holds(name, pod, &node);
        self.check_nominated(name, pod, &node);
        if let Some(gang) = &pod.gang {
            self.check_record(name, pod, gang, &node);
            self.check_levels(name, pod, gang, &node);
        }
    }

    /// What is on a node.
    pub(super) fn charged(&self, node: &str) -> Amounts {
        let mut sum = Amounts::new();
        let there = self.pods.values().filter(|pod| pod.is_charged() && pod.node.as_deref() == Some(node));
        there.for_each(|pod| amounts::add(&mut sum, &pod.request));
        sum
    }

    /// A bind that was decided before a node was closed may still arrive.
    fn check_open(&mut self, name: &Name, node: &str) {
        let closed_at = self.nodes.get(node).and_then(|node| node.closed_at);
        if closed_at.is_some_and(|at| self.now.duration_since(at) >= ON_ITS_WAY) {
            let pod = format!("Pod {}/{}", name.0, name.1);
            let what = format!("{pod} is bound to {node}, which takes no pods");
            self.report(Rule::ClosedNode, what, vec![pod]);
        }
    }

    fn check_room(&mut self, name: &Name, pod: &Pod, node: &str) {
        let sum = self.charged(node);
        let Some(known) = self.nodes.get(node) else { return };
        // Of what the pod does not ask for there may be too much for other reasons.
        let asked: Amounts =
            sum.into_iter().filter(|(name, _)| pod.request.get(name).is_some_and(|it| *it > 0)).collect();
        if let Some(lacking) = amounts::lacks(&known.allocatable, &asked) {
            let there = self.pods.iter().filter(|(_, pod)| pod.is_charged() && pod.node.as_deref() == Some(node));
            let objects = there.map(|((namespace, name), _)| format!("Pod {namespace}/{name}")).collect();
            let what = format!("Pod {}/{} is bound to {node}, which has no {lacking} left for it", name.0, name.1);
            self.report(Rule::DoubleBooking, what, objects);
        }
    }

    fn check_record(&mut self, name: &Name, pod: &Pod, gang: &GangName, node: &str) {
        let record = self.gangs.get(gang).and_then(|gang| gang.record.as_ref());
        let place = record.and_then(|record| record.place_of(&name.1, &pod.uid));
        let what = match place {
            Some(place) if place.node == node => return self.check_begun_plan(name, gang),
            Some(place) => format!("the plan record says {}", place.node),
            None if record.is_some() => "the plan record does not name it".to_owned(),
            None => "there is no plan record".to_owned(),
        };
        let what = format!("Pod {}/{} of {gang} is bound to {node}, and {what}", name.0, name.1);
        self.report(Rule::HalfGang, what, vec![format!("Pod {}/{}", name.0, name.1), gang.to_string()]);
    }

    /// What is wrong with a plan for a gang that stood nowhere shows when the first of it is bound.
    fn check_begun_plan(&mut self, name: &Name, gang: &GangName) {
        let story = self.gangs.get(gang).and_then(|gang| self.stories.get_mut(&gang.uid));
        if let Some((rule, why)) = story.and_then(|story| story.flaw.take()) {
            let what = format!("Pod {}/{} of {gang} is bound, and {why}", name.0, name.1);
            self.report(rule, what, vec![format!("Pod {}/{}", name.0, name.1), gang.to_string()]);
        }
    }

    /// Held room is closed to gangs of equal or lower priority. What a gang of higher priority takes of it afterwards is its own affair:
    /// whoever comes then is judged as if that were not there.
    fn check_holds(&mut self, name: &Name, pod: &Pod, node: &str) {
        let Some(known) = self.nodes.get(node) else { return };
        let priority = self.priority_of(pod);
        for owner in self.gangs.keys() {
            if pod.gang.as_ref() == Some(owner) || self.priority(owner) < priority {
                continue;
            }
            let held: Vec<_> = self.held(owner).into_iter().filter(|place| place.node == node).collect();
            let since = held.iter().filter_map(|place| self.held_since.get(&(owner.clone(), place.uid.clone()))).min();
            let mut sum = Amounts::new();
            let there = self.pods.iter().filter(|(_, pod)| pod.is_charged() && pod.node.as_deref() == Some(node));
            let takes_it = |(name, pod): &(&Name, &Pod)| {
                let is_above = self.priority_of(pod) > self.priority(owner);
                is_above && self.bound_at.get(*name) > since
            };
            there.filter(|one| !takes_it(one)).for_each(|(_, pod)| amounts::add(&mut sum, &pod.request));
            let mut is_there = false;
            for place in held {
                let was = self.pods.get(&(owner.namespace.clone(), place.pod.clone()));
                // One who is still on the way out takes up the room itself.
                if !was.is_some_and(|was| was.uid.starts_with(&place.uid) && was.is_charged()) {
                    is_there = true;
                    amounts::add(&mut sum, &place.request);
                }
            }
            let asked: Amounts =
                sum.into_iter().filter(|(name, _)| pod.request.get(name).is_some_and(|it| *it > 0)).collect();
            if is_there && let Some(lacking) = amounts::lacks(&known.allocatable, &asked) {
                let pod = format!("Pod {}/{}", name.0, name.1);
                let what = format!("{pod} is bound to {node}, where {lacking} is held for {owner}");
                let objects = vec![pod, owner.to_string()];
                self.report(Rule::LostHold, what, objects);
                return;
            }
        }
    }

    /// The same for room that is being made free: those who have to leave it are still there, and do not count unless they came after
    /// that; nor do others that are on their way out.
    fn check_nominated(&mut self, name: &Name, pod: &Pod, node: &str) {
        let Some(known) = self.nodes.get(node) else { return };
        for (owner, gang) in &self.gangs {
            let is_open = pod.gang.as_ref() == Some(owner) || self.priority(owner) < self.priority_of(pod);
            let Some(record) = gang.kept().filter(|_| !is_open) else { continue };
            let places = record.nominated.iter().filter(|(until, on, _)| *until > self.now && on == node);
            let places: Vec<&Amounts> = places.map(|(_, _, request)| request).collect();
            let since = self.held_since.get(&(owner.clone(), super::NOMINATED.to_owned()));
            let makes_room = |(name, pod): &(&Name, &Pod)| {
                let title = match &pod.gang {
                    Some(gang) => format!("{}/{}/{}", gang.kind, gang.namespace, gang.name),
                    None => format!("Pod/{}/{}", name.0, name.1),
                };
                let is_above = self.priority_of(pod) > self.priority(owner);
                let is_later = self.bound_at.get(*name) > since;
                pod.is_deleting || is_later && is_above || !is_later && record.victims.contains(&title)
            };
            let mut sum = Amounts::new();
            let there = self.pods.iter().filter(|(_, pod)| pod.is_charged() && pod.node.as_deref() == Some(node));
            there.filter(|one| !makes_room(one)).for_each(|(_, pod)| amounts::add(&mut sum, &pod.request));
            places.iter().for_each(|request| amounts::add(&mut sum, request));
            let asked: Amounts =
                sum.into_iter().filter(|(name, _)| pod.request.get(name).is_some_and(|it| *it > 0)).collect();
            if !places.is_empty()
                && let Some(lacking) = amounts::lacks(&known.allocatable, &asked)
            {
                let pod = format!("Pod {}/{}", name.0, name.1);
                let what = format!("{pod} is bound to {node}, where {lacking} is being made free for {owner}");
                let objects = vec![pod, owner.to_string()];
                self.report(Rule::LostHold, what, objects);
                return;
            }
        }
    }

    /// All others that a level binds the pod to, with their nodes: members that stand, and places that are held.
    fn tied(&self, gang: &GangName, leaf: &str) -> Vec<(String, Vec<(String, String)>)> {
        let Some(it) = self.gangs.get(gang) else { return Vec::new() };
        let places = |of: &GangName, covers: &dyn Fn(&str) -> bool| {
            let standing = self.members(of).filter(|(_, pod)| pod.stands() && covers(&pod.leaf));
            let standing = standing.map(|((namespace, name), pod)| {
                (format!("Pod {namespace}/{name}"), pod.node.clone().unwrap_or_default())
            });
            let held = self.held(of).into_iter().filter(|place| covers(&place.leaf));
            let held = held.map(|place| (format!("the place held for {} in {of}", place.pod), place.node.clone()));
            standing.chain(held).collect::<Vec<_>>()
        };
        let own = it.scopes.iter().filter(|scope| scope.covers(leaf));
        let mut tied: Vec<_> = own.map(|scope| (scope.key.clone(), places(gang, &|leaf| scope.covers(leaf)))).collect();
        // What the base requires of all of itself binds what is scaled from it too.
        if let Some(base) = &it.base {
            let base = GangName { name: base.clone(), ..gang.clone() };
            let of_base = self.gangs.get(&base).into_iter().flat_map(|base| &base.scopes);
            for scope in of_base.filter(|scope| scope.leaves.is_none()) {
                tied.push((scope.key.clone(), places(&base, &|_| true)));
            }
        }
        tied
    }

    fn check_levels(&mut self, name: &Name, pod: &Pod, gang: &GangName, node: &str) {
        for (key, others) in self.tied(gang, &pod.leaf) {
            let here = self.domain(node, &key);
            let apart = others.iter().find(|(_, other)| self.domain(other, &key) != here || here.is_none());
            let Some((whom, other)) = apart else { continue };
            let changed = |node: &str| {
                let at = self.nodes.get(node).map(|node| node.labelled_at);
                at.is_none_or(|at| at.is_some_and(|at| self.now.duration_since(at) < ON_ITS_WAY))
            };
            if changed(node) || others.iter().any(|(_, other)| changed(other)) {
                self.counts.excused += 1;
                return;
            }
            let pod = format!("Pod {}/{}", name.0, name.1);
            let what = format!(
                "{pod} of {gang} is bound to {node} in {here:?}, and {whom} is on {other} in {:?}: `{key}` is required",
                self.domain(other, &key)
            );
            let objects = vec![pod, gang.to_string(), whom.clone()];
            self.report(Rule::WrongRack, what, objects);
            return;
        }
    }

    /// The scheduler is about to delete a pod: its gang has to be marked, or to be undone and its pods made anew by somebody.
    /// What names a uid and a version is refused for another pod of the name, and for one that has changed.
    pub(super) fn check_deletion(&mut self, namespace: &str, name: &str, uid: Option<&str>, version: Option<&str>) {
        let key = (namespace.to_owned(), name.to_owned());
        // One that is on its way out already may be deleted once more by a request that was not answered.
        let is_seen = |pod: &Pod| uid.is_none_or(|uid| pod.uid == uid) && version.is_none_or(|it| pod.version == it);
        let is_meant = |pod: &&Pod| !pod.is_deleting && is_seen(pod);
        let Some(pod) = self.pods.get(&key).filter(is_meant) else { return };
        let Some(id) = pod.gang.clone() else {
            let title = format!("Pod/{namespace}/{name}");
            let mut records = self.gangs.values().filter_map(|gang| gang.record.as_ref());
            // A pod that is alone keeps its record on itself, where the checker does not look.
            if !records.any(|record| record.victims.contains(&title)) {
                self.counts.excused += 1;
            }
            return;
        };
        let Some(gang) = self.gangs.get(&id) else { return };
        let Some(record) = &gang.record else {
            return self.unmarked(&key, &id, "has no plan record");
        };
        if record.undone {
            if !pod.is_owned {
                self.unmarked(&key, &id, "is undone, but nobody would make the pod anew");
            }
            return;
        }
        let is_told = id.kind != "PodGang" || gang.disrupted.as_deref() == Some("Preempted");
        if record.preempted_by.is_none() || !is_told {
            return self.unmarked(&key, &id, "is neither undone nor marked as having to leave");
        }
        let standing = self.members(&id).filter(|(_, pod)| pod.stands());
        let standing = standing.map(|(name, pod)| (name.clone(), pod.uid.clone())).collect();
        self.evicted.entry(id).or_insert(standing);
    }

    fn unmarked(&mut self, (namespace, name): &Name, gang: &GangName, why: &str) {
        let pod = format!("Pod {namespace}/{name}");
        let what = format!("the scheduler deletes {pod}, and {gang} {why}");
        let objects = vec![pod, gang.to_string()];
        self.report(Rule::UnmarkedDeletion, what, objects);
    }
}
