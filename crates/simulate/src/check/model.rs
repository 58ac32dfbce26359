//! The cluster as the checker knows it: nodes, pods and gangs, read from raw JSON and from nothing else.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::amounts::{self, Amounts};
use super::record::Record;

/// The annotation with the plan record.
pub const RECORD: &str = "trellis.dev/placement";

/// Namespace and name.
pub type Name = (String, String);

/// A node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub labels: BTreeMap<String, String>,
    pub allocatable: Amounts,
    /// Whether new pods may go there.
    pub is_open: bool,
    /// Since when they may not.
    pub closed_at: Option<Timestamp>,
    /// When its labels last changed.
    pub labelled_at: Option<Timestamp>,
}

/// A pod.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact that stands in the object by itself")]
pub struct Pod {
    pub uid: String,
    pub version: String,
    pub node: Option<String>,
    pub phase: String,
    pub is_deleting: bool,
    pub is_gated: bool,
    /// Whether somebody makes it anew.
    pub is_owned: bool,
    pub priority: i64,
    /// Whether it waits for our scheduler.
    pub is_served: bool,
    pub gang: Option<GangName>,
    pub leaf: String,
    pub request: Amounts,
}

/// Which gang: the kind of its object, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GangName {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
}

/// A gang.
#[derive(Clone, Debug, Default)]
pub struct Gang {
    pub uid: String,
    /// The gang that it is scaled from.
    pub base: Option<String>,
    pub class: Option<String>,
    pub leaves: BTreeMap<String, Leaf>,
    /// Levels that all pods of some leaves have to share.
    pub scopes: Vec<Scope>,
    pub record: Option<Record>,
    pub is_deleting: bool,
    /// Whether it is marked as having to leave, and why.
    pub disrupted: Option<String>,
    /// Whether it says that all of it is there.
    pub is_initialized: bool,
    /// When all of it was last made anew by the operator.
    pub recreated_at: Option<Timestamp>,
    pub conditions: BTreeMap<String, Condition>,
}

/// A condition, as far as it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub status: String,
    /// Since when it is so, as it says.
    pub since: String,
}

impl Gang {
    /// Its record, unless it gives up its place.
    pub fn kept(&self) -> Option<&Record> {
        let is_kept = |record: &&Record| !record.undone && record.preempted_by.is_none();
        self.record.as_ref().filter(|_| !self.is_deleting && self.disrupted.is_none()).filter(is_kept)
    }
}

/// A leaf of a gang.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// So many pods at once, or none.
    pub min: usize,
    /// How many pods it names; none if it names none.
    pub named: Option<usize>,
}

/// A level that pods have to share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The leaves; all if there are none.
    pub leaves: Option<BTreeSet<String>>,
    /// Key of the node label.
    pub key: String,
}

impl Scope {
    pub fn covers(&self, leaf: &str) -> bool {
        self.leaves.as_ref().is_none_or(|leaves| leaves.contains(leaf))
    }
}

impl std::fmt::Display for GangName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

impl Pod {
    pub fn is_finished(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it takes up room on its node.
    pub fn is_charged(&self) -> bool {
        self.node.is_some() && !self.is_finished()
    }

    /// Whether it has a node and stays there.
    pub fn stands(&self) -> bool {
        self.is_charged() && !self.is_deleting
    }

    /// Whether it has done its work; one that ends well because it is told to go has not.
    pub fn has_succeeded(&self) -> bool {
        self.phase == "Succeeded" && !self.is_deleting
    }

    /// Whether it counts towards a minimum.
    pub fn counts(&self) -> bool {
        self.stands() || self.has_succeeded()
    }

    /// Whether it wants a node.
    pub fn waits(&self) -> bool {
        self.node.is_none() && !self.is_deleting && !self.is_finished()
    }

    /// Whether our scheduler may give it one.
    pub fn may_go(&self) -> bool {
        self.waits() && !self.is_gated && self.is_served
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn has_condition(object: &Value, kind: &str) -> Option<String> {
    let found = list(&object["status"]["conditions"]).find(|it| it["type"] == kind && it["status"] == "True")?;
    Some(text(&found["reason"]))
}

/// Reads a node.
pub fn node(object: &Value) -> Node {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let is_tainted = list(&object["spec"]["taints"]).any(|taint| taint["effect"] != "PreferNoSchedule");
    let is_ready = has_condition(object, "Ready").is_some();
    Node {
        labels: labels.map(|(key, value)| (key.clone(), text(value))).collect(),
        allocatable: amounts::quantities(&object["status"]["allocatable"]),
        is_open: is_ready && !is_tainted && object["spec"]["unschedulable"] != true,
        closed_at: None,
        labelled_at: None,
    }
}

/// Reads a pod.
pub fn pod(namespace: &str, object: &Value) -> Pod {
    let (metadata, spec) = (&object["metadata"], &object["spec"]);
    let gang = |kind, value: &Value| {
        Some(GangName { kind, namespace: namespace.to_owned(), name: value.as_str()?.to_owned() })
    };
    let of_set = gang("PodGang", &metadata["labels"]["grove.io/podgang"]);
    let of_group = gang("PodGroup", &metadata["annotations"]["pod-group-name"]);
    let leaf = match &of_set {
        Some(_) => text(&metadata["labels"]["grove.io/podclique"]),
        None => metadata["labels"]["kai.scheduler/subgroup-name"].as_str().unwrap_or("default").to_owned(),
    };
    Pod {
        uid: text(&metadata["uid"]),
        version: text(&metadata["resourceVersion"]),
        node: spec["nodeName"].as_str().filter(|node| !node.is_empty()).map(ToOwned::to_owned),
        phase: text(&object["status"]["phase"]),
        is_deleting: metadata["deletionTimestamp"].is_string(),
        is_gated: list(&spec["schedulingGates"]).next().is_some(),
        is_owned: list(&metadata["ownerReferences"]).any(|owner| owner["controller"] == true),
        priority: spec["priority"].as_i64().unwrap_or(0),
        is_served: spec["schedulerName"] == "trellis",
        gang: of_set.or(of_group),
        leaf,
        request: amounts::of_pod(spec),
    }
}

/// What PodGangs and PodGroups have in common.
fn gang(object: &Value) -> Gang {
    let metadata = &object["metadata"];
    let condition = |it: &Value| {
        (text(&it["type"]), Condition { status: text(&it["status"]), since: text(&it["lastTransitionTime"]) })
    };
    let is_recreated = |it: &&Value| it["type"] == "DisruptionTarget" && it["reason"] == "GangRecreated";
    let recreated = list(&object["status"]["conditions"]).find(is_recreated);
    Gang {
        uid: text(&metadata["uid"]),
        base: metadata["labels"]["grove.io/base-podgang"].as_str().map(ToOwned::to_owned),
        class: object["spec"]["priorityClassName"].as_str().map(ToOwned::to_owned),
        record: metadata["annotations"][RECORD].as_str().and_then(Record::read),
        is_deleting: metadata["deletionTimestamp"].is_string(),
        disrupted: has_condition(object, "DisruptionTarget"),
        is_initialized: has_condition(object, "Initialized").is_some(),
        recreated_at: recreated.and_then(|it| it["lastTransitionTime"].as_str()?.parse().ok()),
        conditions: list(&object["status"]["conditions"]).map(condition).collect(),
        ..Gang::default()
    }
}

/// Reads a PodGang.
pub fn pod_gang(object: &Value) -> Gang {
    let spec = &object["spec"];
    let required = |of: &Value| of["topologyConstraint"]["packConstraint"]["required"].as_str().map(ToOwned::to_owned);
    let mut gang = gang(object);
    let scope = |leaves, key: Option<String>| key.map(|key| Scope { leaves, key });
    gang.scopes.extend(scope(None, required(spec)));
    for config in list(&spec["topologyConstraintGroupConfigs"]) {
        let leaves = list(&config["podGroupNames"]).map(text).collect();
        gang.scopes.extend(scope(Some(leaves), required(config)));
    }
    for group in list(&spec["podgroups"]).chain(list(&spec["podGroups"])) {
        let name = text(&group["name"]);
        gang.scopes.extend(scope(Some(BTreeSet::from([name.clone()])), required(group)));
        let min = group["minReplicas"].as_u64().and_then(|min| usize::try_from(min).ok()).unwrap_or(0);
        gang.leaves.insert(name, Leaf { min, named: Some(list(&group["podReferences"]).count()) });
    }
    gang
}

/// Reads a PodGroup. Its levels are keys here; a tree of subgroups is read as what each of them spans.
pub fn pod_group(object: &Value) -> Gang {
    let spec = &object["spec"];
    let required = |of: &Value| of["topologyConstraint"]["requiredTopologyLevel"].as_str().map(ToOwned::to_owned);
    let mut gang = gang(object);
    gang.scopes.extend(required(spec).map(|key| Scope { leaves: None, key }));
    let min = |of: &Value| of["minMember"].as_u64().and_then(|min| usize::try_from(min).ok()).unwrap_or(1).max(1);
    let groups: Vec<&Value> = list(&spec["subGroups"]).collect();
    if groups.is_empty() {
        gang.leaves.insert("default".to_owned(), Leaf { min: min(spec), named: None });
    }
    let is_parent = |name: &str| groups.iter().any(|group| group["parent"] == name);
    for group in &groups {
        let name = text(&group["name"]);
        if !is_parent(&name) {
            gang.leaves.insert(name, Leaf { min: min(group), named: None });
        }
    }
    let parent = |name: &str| groups.iter().find(|group| group["name"] == name).map(|group| text(&group["parent"]));
    let is_under = |leaf: &str, above: &str| {
        let mut at = leaf.to_owned();
        (0..=groups.len()).any(|_| {
            let found = at == above;
            at = parent(&at).unwrap_or_default();
            found
        })
    };
    for group in &groups {
        let name = text(&group["name"]);
        let leaves = gang.leaves.keys().filter(|leaf| is_under(leaf, &name)).cloned().collect();
        gang.scopes.extend(required(group).map(|key| Scope { leaves: Some(leaves), key }));
    }
    gang
}
