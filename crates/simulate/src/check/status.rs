//! What is looked at when conditions of a gang are written: they say what was so, and their time moves only when their truth does.

use super::model::{Gang, GangName};
use super::{Checker, ON_ITS_WAY, Rule};

impl Checker {
    /// A gang was written.
    pub(super) fn check_conditions(&mut self, id: &GangName, before: Option<&Gang>) {
        let Some(gang) = self.gangs.get(id).cloned() else { return };
        for (kind, now) in &gang.conditions {
            let known = before.and_then(|gang| gang.conditions.get(kind));
            if known == Some(now) {
                continue;
            }
            let story = self.stories.entry(gang.uid.clone()).or_default();
            let told_at = story.told_at.insert(kind.clone(), self.now);
            let is_true = now.status == "True" && known.is_none_or(|known| known.status != "True");
            if kind == "Scheduled" && is_true && !story.was_ever_whole {
                let what = format!("{id} says `Scheduled`, and its minimum never had nodes");
                self.report(Rule::FalseStatus, what, vec![id.to_string()]);
            }
            let Some(known) = known.filter(|known| known.status == now.status) else { continue };
            // Statuses are applied whatever the version. One who has not yet seen what another said, or whose word comes late, may say
            // it once more with a time of its own.
            if told_at.is_some_and(|at| self.now.duration_since(at) < ON_ITS_WAY) {
                self.counts.excused += 1;
                continue;
            }
            let what = format!(
                "`{kind}` of {id} stays {}, and its time moves from {} to {}",
                now.status, known.since, now.since
            );
            self.report(Rule::FalseStatus, what, vec![id.to_string()]);
        }
    }
}
