//! What is looked at when the world is at rest: nothing is half, nothing begun is left lying, and whoever waits has nowhere to go.

use super::model::{GangName, Pod};
use super::{Checker, Rule};

impl Checker {
    /// The world is at rest. In the end all nodes are back and nothing goes wrong any more.
    pub fn at_rest(&mut self) {
        let gangs: Vec<GangName> = self.gangs.keys().cloned().collect();
        for id in &gangs {
            self.check_whole(id);
            self.check_begun(id);
            self.check_waiting(id);
        }
        self.check_alone();
        self.check_evicted();
    }

    /// A gang that stands somewhere stands with its minimum, unless members were lost after that.
    fn check_whole(&mut self, id: &GangName) {
        let Some(gang) = self.gangs.get(id) else { return };
        let story = self.stories.get(&gang.uid).cloned().unwrap_or_default();
        let stands = self.members(id).any(|(_, pod)| pod.stands());
        if !stands
            || gang.is_deleting
            || gang.disrupted.is_some()
            || self.is_whole(id)
            || story.was_whole
            || story.has_lost
        {
            return;
        }
        // Pods that nobody makes anew are never deleted to undo a plan: then the gang waits, if there is nowhere to go.
        let is_owned = self.members(id).all(|(_, pod)| pod.is_owned);
        if is_owned || self.finds_place(id).is_some() {
            let counts =
                gang.leaves.iter().map(|(leaf, it)| format!("{leaf} {} of {}", self.counted(id, leaf), it.min));
            let what = format!("{id} stays in halves: {}", counts.collect::<Vec<_>>().join(", "));
            self.report(Rule::HalfGang, what, vec![id.to_string()]);
        }
    }

    /// A plan that was begun is finished or undone.
    fn check_begun(&mut self, id: &GangName) {
        let Some(gang) = self.gangs.get(id) else { return };
        let Some(record) = &gang.record else { return };
        let begun: Vec<&super::record::Place> =
            record.members.iter().filter(|place| self.is_begun(id, place)).collect();
        let Some(first) = begun.first() else { return };
        let pods = begun.iter().map(|place| self.pods.get(&(id.namespace.clone(), place.pod.clone())));
        let is_owned = pods.flatten().all(|pod| pod.is_owned);
        // Where nobody makes pods anew nothing is undone; then what was begun may lie where there is no room any more.
        if is_owned || self.has_room(id, &first.node, &first.request) || self.finds_place(id).is_some() {
            let what = format!("{id} was begun and is left lying: {} was to go to {}", first.pod, first.node);
            let objects = begun.iter().map(|place| format!("Pod {}/{}", id.namespace, place.pod));
            let objects = std::iter::once(id.to_string()).chain(objects).collect();
            self.report(Rule::OrphanPlan, what, objects);
        }
    }

    /// A gang waits only where it has no place.
    fn check_waiting(&mut self, id: &GangName) {
        if let Some(places) = self.finds_place(id) {
            let shown: Vec<String> = places.iter().map(|(pod, node)| format!("{pod} on {node}")).collect();
            let what = format!("{id} waits, and there is a place for it: {}", shown.join(", "));
            self.report(Rule::NotPlaced, what, vec![id.to_string()]);
        }
    }

    /// The same for pods that are in no gang.
    fn check_alone(&mut self) {
        let waits = |pod: &Pod| pod.gang.is_none() && pod.may_go();
        let waiting: Vec<_> =
            self.pods.iter().filter(|(_, pod)| waits(pod)).map(|(name, pod)| (name.clone(), pod.clone())).collect();
        for ((namespace, name), pod) in waiting {
            if let Some(node) = self.finds_node(&pod) {
                let title = format!("Pod {namespace}/{name}");
                let what = format!("{title} waits, and there is a place for it on {node}");
                self.report(Rule::NotPlaced, what, vec![title]);
            }
        }
    }

    /// A gang that had to leave has left whole, unless the one that it left for is gone.
    fn check_evicted(&mut self) {
        for (id, stood) in std::mem::take(&mut self.evicted) {
            let left = stood
                .iter()
                .filter(|(name, uid)| self.pods.get(name).is_some_and(|pod| pod.uid == *uid && pod.stands()));
            let left: Vec<String> = left.map(|((namespace, name), _)| format!("Pod {namespace}/{name}")).collect();
            let record = self.gangs.get(&id).and_then(|gang| gang.record.as_ref());
            let is_spared = record.is_none_or(|record| record.preempted_by.is_none());
            if !left.is_empty() && left.len() < stood.len() && !is_spared {
                let what = format!("{id} had to leave, and {} of {} members stay", left.len(), stood.len());
                self.report(Rule::FragmentEvicted, what, left);
            }
        }
    }
}
