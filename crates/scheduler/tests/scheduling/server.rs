//! The world's API server: writes with their preconditions.

use crate::world::{World, node_of};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use std::sync::Arc;
use trellis_api::names::annotation;
use trellis_scheduler::plan::{Bind, Kind, Plan, Target, Version};
use trellis_scheduler::seen::Key;

/// One request of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Annotate(usize),
    Bind(usize, usize),
    Delete(usize),
    Status(usize),
    Condition(usize),
}

/// The requests of a plan, in an order in which they may go.
pub fn writes(plan: &Plan) -> Vec<Write> {
    let mut writes = Vec::new();
    for (at, gang) in plan.gangs.iter().enumerate() {
        if !gang.annotations.is_empty() {
            writes.push(Write::Annotate(at));
        }
        writes.extend((0..gang.binds.len()).map(|bind| Write::Bind(at, bind)));
    }
    writes.extend((0..plan.deletes.len()).map(Write::Delete));
    writes.extend((0..plan.statuses.len()).map(Write::Status));
    writes.extend((0..plan.pod_conditions.len()).map(Write::Condition));
    writes
}

impl World {
    /// Carries out a plan, write by write. False if the scheduler died on the way.
    pub fn apply(&mut self, plan: &Plan) -> bool {
        for write in writes(plan) {
            if self.dies_at.is_some_and(|at| self.writes >= at) {
                return false;
            }
            self.writes += 1;
            let done = self.write(plan, &write);
            self.log.push(format!(
                "{} {} {write:?}: {}",
                self.identity,
                self.writes,
                if done { "done" } else { "refused" }
            ));
            self.operate();
            self.check();
        }
        true
    }

    /// Carries out a plan, and looks at nothing.
    pub fn apply_unchecked(&mut self, plan: &Plan) {
        for write in writes(plan) {
            self.write(plan, &write);
        }
    }

    /// One write, as an API server takes it. True if it took effect.
    pub fn write(&mut self, plan: &Plan, write: &Write) -> bool {
        match *write {
            Write::Annotate(gang) => self.annotate(plan, gang),
            Write::Bind(gang, bind) => {
                let gang = &plan.gangs[gang];
                // What was decided together with a write that was refused is not done.
                let is_stale = !gang.annotations.is_empty() && !self.is_written(gang);
                !is_stale && self.bind(&gang.binds[bind], gang.target.kind == Kind::Pod && !gang.annotations.is_empty())
            }
            Write::Delete(at) => {
                let delete = &plan.deletes[at];
                let pod = self.seen.pods.get(&Key::new(&delete.namespace, &delete.pod));
                let is_same = pod.is_some_and(|pod| Version::of(&pod.metadata) == delete.version);
                if is_same {
                    self.delete_pod(&delete.pod);
                }
                is_same
            }
            Write::Status(at) => self.apply_status(&plan.statuses[at].target.clone(), &plan.statuses[at].object),
            Write::Condition(at) => self.pod_condition(&plan.pod_conditions[at]),
        }
    }

    fn is_written(&self, gang: &trellis_scheduler::plan::GangPlan) -> bool {
        let meta = self.metadata(&gang.target);
        let annotations = meta.and_then(|meta| meta.annotations.clone()).unwrap_or_default();
        gang.annotations.iter().all(|(key, value)| annotations.get(*key) == value.as_ref())
    }

    fn metadata(&self, target: &Target) -> Option<ObjectMeta> {
        let key = Key::new(&target.namespace, &target.name);
        Some(match target.kind {
            Kind::PodGang => self.seen.pod_gangs.get(&key)?.metadata.clone(),
            Kind::PodGroup => self.seen.pod_groups.get(&key)?.metadata.clone(),
            Kind::Pod => self.seen.pods.get(&key)?.metadata.clone(),
        })
    }

    fn annotate(&mut self, plan: &Plan, gang: usize) -> bool {
        let gang = &plan.gangs[gang];
        let key = Key::new(&gang.target.namespace, &gang.target.name);
        self.version += 1;
        let version = self.version.to_string();
        let meta = match gang.target.kind {
            Kind::PodGang => self.seen.pod_gangs.get_mut(&key).map(|gang| &mut Arc::make_mut(gang).metadata),
            Kind::PodGroup => self.seen.pod_groups.get_mut(&key).map(|group| &mut Arc::make_mut(group).metadata),
            Kind::Pod => self.seen.pods.get_mut(&key).map(|pod| &mut Arc::make_mut(pod).metadata),
        };
        let Some(meta) = meta else { return false };
        let seen = (meta.uid.as_deref(), meta.resource_version.as_deref());
        if seen != (Some(&gang.version.uid), Some(&gang.version.resource_version)) {
            return false;
        }
        meta.resource_version = Some(version);
        let annotations = meta.annotations.get_or_insert_default();
        for (key, value) in &gang.annotations {
            match value {
                Some(value) => annotations.insert((*key).to_owned(), value.clone()),
                None => annotations.remove(*key),
            };
        }
        true
    }

    fn bind(&mut self, bind: &Bind, any_version: bool) -> bool {
        self.version += 1;
        let version = self.version.to_string();
        let Some(pod) = self.seen.pods.get_mut(&Key::new(&bind.namespace, &bind.pod)) else { return false };
        let is_same = pod.metadata.uid.as_deref() == Some(&bind.version.uid)
            && (any_version || pod.metadata.resource_version.as_deref() == Some(&bind.version.resource_version));
        if !is_same || node_of(pod).is_some() || pod.metadata.deletion_timestamp.is_some() {
            return false;
        }
        let pod = Arc::make_mut(pod);
        pod.metadata.resource_version = Some(version);
        pod.spec.get_or_insert_default().node_name = Some(bind.node.clone());
        if let Some(zone) = &bind.zone {
            pod.metadata.annotations.get_or_insert_default().insert(annotation::NUMA_ZONE.to_owned(), zone.clone());
        }
        pod.status.get_or_insert_default().phase = Some("Running".to_owned());
        true
    }

    fn apply_status(&mut self, target: &Target, object: &serde_json::Value) -> bool {
        self.version += 1;
        let version = self.version.to_string();
        let Some(gang) = self.seen.pod_gangs.get_mut(&Key::new(&target.namespace, &target.name)) else { return false };
        let gang = Arc::make_mut(gang);
        if gang.metadata.uid.as_deref() != object["metadata"]["uid"].as_str() {
            return false;
        }
        let is_stale = |named: &str| gang.metadata.resource_version.as_deref() != Some(named);
        if object["metadata"]["resourceVersion"].as_str().is_some_and(is_stale) {
            return false;
        }
        gang.metadata.resource_version = Some(version);
        let status = gang.status.get_or_insert_default();
        let ours: Vec<Condition> = serde_json::from_value(object["status"]["conditions"].clone()).expect("conditions");
        let is_applied = |known: &Condition| ours.iter().any(|condition| condition.type_ == known.type_);
        // What somebody else has a part in cannot be taken away.
        let is_ours = |known: &Condition| ["Preempted", "PreemptionOver"].contains(&known.reason.as_str());
        assert!(!status.conditions.iter().any(|known| is_ours(known) && !is_applied(known)), "{object}");
        status.conditions.retain(|known| !is_applied(known));
        status.conditions.extend(ours);
        status.phase = serde_json::from_value(object["status"]["phase"].clone()).expect("a phase");
        status.placement_score = object["status"]["placementScore"].as_f64();
        true
    }

    fn pod_condition(&mut self, write: &trellis_scheduler::plan::PodCondition) -> bool {
        self.version += 1;
        let version = self.version.to_string();
        let Some(pod) = self.seen.pods.get_mut(&Key::new(&write.namespace, &write.pod)) else { return false };
        let pod = Arc::make_mut(pod);
        if pod.metadata.uid.as_deref() != Some(&write.uid) {
            return false;
        }
        pod.metadata.resource_version = Some(version);
        let new = serde_json::from_value(write.patch["status"]["conditions"].clone()).expect("conditions");
        pod.status.get_or_insert_default().conditions = Some(new);
        true
    }
}
