//! The plan record of a gang: the annotation in which the scheduler says, before it binds anything, which member goes where, and what it
//! holds. Read here from its text alone.

use jiff::Timestamp;
use serde_json::Value;

use super::amounts::{self, Amounts};

/// What stands on a gang.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Members and where they are, or are going.
    pub members: Vec<Place>,
    /// What is held for members that vanished, and until when.
    pub held: Vec<(Timestamp, Place)>,
    /// Whether what was begun is being undone.
    pub undone: bool,
    /// For whom the gang has to leave: `namespace/name`.
    pub preempted_by: Option<String>,
    /// Places that are being made free for the gang: node and request, and until when they are held.
    pub nominated: Vec<(Timestamp, String, Amounts)>,
    /// Gangs that have to leave for this one: `Kind/namespace/name`.
    pub victims: Vec<String>,
}

/// A member's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its leaf.
    pub leaf: String,
    /// Name of the pod.
    pub pod: String,
    /// Beginning of its uid.
    pub uid: String,
    /// The node.
    pub node: String,
    /// What it asks for.
    pub request: Amounts,
}

impl Record {
    /// Reads the annotation.
    pub fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let list = |key: &str| value[key].as_array().cloned().unwrap_or_default();
        let mut held = Vec::new();
        for entry in list("held") {
            let until: Timestamp = entry["until"].as_str()?.parse().ok()?;
            held.extend(places(&entry).into_iter().map(|place| (until, place)));
        }
        let mut nominated = Vec::new();
        for entry in value["nominated"]["places"].as_array().into_iter().flatten() {
            let until: Timestamp = value["nominated"]["until"].as_str()?.parse().ok()?;
            let request = amounts::recorded(&entry["request"]);
            for (spot, count) in entry["nodes"].as_object().into_iter().flatten() {
                let node = spot.split('/').next().unwrap_or_default();
                for _ in 0..count.as_u64().unwrap_or(0) {
                    nominated.push((until, node.to_owned(), request.clone()));
                }
            }
        }
        let victim = |victim: &Value| Some(victim.as_str()?.rsplit_once(':')?.0.to_owned());
        Some(Self {
            at: value["at"].as_str().and_then(|at| at.parse().ok()),
            members: list("members").iter().flat_map(places).collect(),
            held,
            undone: value["undone"] == true,
            preempted_by: value["preemptedBy"].as_str().map(ToOwned::to_owned),
            nominated,
            victims: value["nominated"]["victims"].as_array().into_iter().flatten().filter_map(victim).collect(),
        })
    }

    /// Where a pod is written down to go.
    pub fn place_of(&self, pod: &str, uid: &str) -> Option<&Place> {
        self.members.iter().find(|place| place.pod == pod && uid.starts_with(&place.uid))
    }
}

/// Pods of one leaf, by node: `name:uid name:uid`, where a name that begins with `-` follows the leaf's.
fn places(entry: &Value) -> Vec<Place> {
    let leaf = entry["group"].as_str().unwrap_or_default();
    let request = amounts::recorded(&entry["request"]);
    let mut found = Vec::new();
    for (spot, pods) in entry["nodes"].as_object().into_iter().flatten() {
        let node = spot.split('/').next().unwrap_or_default();
        for text in pods.as_str().unwrap_or_default().split(' ') {
            let Some((name, uid)) = text.split_once(':') else { continue };
            let pod = if name.starts_with('-') { format!("{leaf}{name}") } else { name.to_owned() };
            let (leaf, node, uid) = (leaf.to_owned(), node.to_owned(), uid.to_owned());
            found.push(Place { leaf, pod, uid, node, request: request.clone() });
        }
    }
    found
}
