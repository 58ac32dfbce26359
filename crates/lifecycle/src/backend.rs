//! What the schedulers that serve gangs ask for beside PodGangs and gated pods.

use crate::children;
use crate::diff;
use crate::picture::{Gang, Picture};
use crate::plan::{Kind, Plan, site};
use crate::pod::Pod;
use kube_core::DynamicObject;
use serde_json::{Map, Value};
use trellis_api::kinds::PodGang;
use trellis_api::names::{annotation, profile};
use trellis_lower::kai;

/// A scheduler that serves gangs.
pub trait Backend {
    /// Brings the scheduler's own object for a gang in line; whether it is. Pods wait until it is.
    fn sync_gang(&self, picture: &Picture<'_>, live: &PodGang, plan: &mut Plan) -> bool;

    /// Puts on a new pod what the scheduler looks for.
    fn prepare_pod(&self, _picture: &Picture<'_>, _pod: &mut DynamicObject) {}

    /// Whether an unbound pod has to be made anew, because the scheduler may have read from it what is no longer so.
    fn is_outdated(&self, _picture: &Picture<'_>, _pod: &Pod) -> bool {
        false
    }

    /// Deletes the scheduler's objects for gangs that nobody asks for any more.
    fn clean_up(&self, _picture: &Picture<'_>, _plan: &mut Plan) {}
}

/// The backend of a profile.
pub fn of(profile: &str) -> &'static dyn Backend {
    match profile {
        profile::KAI => &Kai,
        // Ours reads PodGangs; Kubernetes' own knows pods only.
        _ => &PodGangs,
    }
}

/// A scheduler that reads PodGangs, or nothing but pods.
struct PodGangs;

impl Backend for PodGangs {
    fn sync_gang(&self, _: &Picture<'_>, _: &PodGang, _: &mut Plan) -> bool {
        true
    }
}

/// KAI reads PodGroups, and learns a pod's group when the pod appears.
struct Kai;

/// What of a PodGroup's spec is ours; the rest is KAI's own.
const OURS: [&str; 5] = ["minMember", "minSubGroup", "priorityClassName", "subGroups", "topologyConstraint"];

impl Backend for Kai {
    fn sync_gang(&self, picture: &Picture<'_>, live: &PodGang, plan: &mut Plan) -> bool {
        let desired = kai::pod_group(picture.set, live, picture.around.topologies);
        let name = live.metadata.name.as_deref().unwrap_or_default();
        let Some(group) = picture.observed.kai_pod_groups.get(name) else {
            plan.writes.extend(children::create(site::BACKEND_GROUP, Kind::KaiPodGroup, &desired.metadata, &desired));
            return false;
        };
        if !crate::picture::is_child_of(&group.metadata, live.metadata.uid.as_deref()) {
            plan.delete(site::BACKEND_GROUP, Kind::KaiPodGroup, &group.metadata, false);
            return false;
        }
        let value = |spec: &trellis_api::kinds::kai::KaiPodGroupSpec| {
            let value = serde_json::to_value(spec).unwrap_or_default();
            let mut fields = value.as_object().cloned().unwrap_or_default();
            // Where KAI, or an administrator, has moved the group to another queue, it stays there.
            fields.retain(|key, _| OURS.contains(&key.as_str()) || (key == "queue" && group.spec.queue.is_none()));
            Value::Object(fields)
        };
        let spec = diff::merge(&value(&group.spec), &value(&desired.spec));
        let body: Map<String, Value> = spec.map(|spec| ("spec".to_owned(), spec)).into_iter().collect();
        let write = children::change(site::BACKEND_GROUP, Kind::KaiPodGroup, &group.metadata, &desired.metadata, body);
        let current = write.is_none();
        plan.writes.extend(write);
        current
    }

    fn prepare_pod(&self, picture: &Picture<'_>, pod: &mut DynamicObject) {
        if let Some(topology) = picture.translation.topology() {
            let annotations = pod.metadata.annotations.get_or_insert_default();
            annotations.insert(annotation::POD_TOPOLOGY.to_owned(), topology.to_owned());
        }
    }

    fn is_outdated(&self, picture: &Picture<'_>, pod: &Pod) -> bool {
        pod.annotation(annotation::POD_TOPOLOGY) != picture.translation.topology()
    }

    fn clean_up(&self, picture: &Picture<'_>, plan: &mut Plan) {
        let asked = |name: &str| picture.gangs.iter().any(|gang: &Gang<'_>| gang.name == name);
        for (_, group) in picture.observed.kai_pod_groups.iter().filter(|(name, _)| !asked(name)) {
            plan.delete(site::BACKEND_GROUP, Kind::KaiPodGroup, &group.metadata, false);
        }
    }
}
