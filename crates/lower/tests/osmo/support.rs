//! Groups in a few words: `zone=a! rack=b?` is a task that must share zone `a` and should share rack `b`.

use serde_json::{Value, json};
use trellis_api::admission::object::{Kind, decode};
use trellis_api::kinds::osmo::{Pool, TaskGroup, Workflow};

/// Levels of the pool, widest first.
pub const KEYS: [&str; 4] = ["zone", "spine", "rack", "host"];

/// A pool with these levels, whose Topology is there; labels are `l/<key>`.
pub fn pool() -> Pool {
    let keys: Vec<Value> = KEYS.iter().map(|key| json!({"key": key, "label": format!("l/{key}")})).collect();
    let spec = json!({"topology_keys": keys, "scheduler_settings": {"scheduler_type": "trellis"}});
    let in_sync = json!({
        "type": "TopologyInSync", "status": "True", "reason": "InSync", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let metadata = json!({"name": "p", "generation": 1});
    object(Kind::Pool, json!({"metadata": metadata, "spec": spec, "status": {"conditions": [in_sync]}}))
}

/// An object from JSON that has nothing wrong with it.
#[track_caller]
pub fn object<T: serde::de::DeserializeOwned>(kind: Kind, value: Value) -> T {
    let text = value.to_string();
    decode(kind, value).whole().unwrap_or_else(|| panic!("not whole: {text}"))
}

/// One requirement of a task: level, group, whether it must.
pub type Requirement = (String, String, bool);

/// Reads `zone=a! rack=b?`.
pub fn requirements(text: &str) -> Vec<Requirement> {
    text.split_whitespace()
        .map(|word| {
            let (key, rest) = word.split_once('=').expect("level=group");
            let group = rest.trim_end_matches(['!', '?']);
            (key.to_owned(), group.to_owned(), rest.ends_with('!'))
        })
        .collect()
}

/// A workflow with one group, `g`, whose tasks `t0`, `t1` … have these requirements.
pub fn workflow(tasks: &[Vec<Requirement>]) -> Workflow {
    let mut resources = serde_json::Map::new();
    let mut written = Vec::new();
    for (i, requirements) in tasks.iter().enumerate() {
        let topology: Vec<Value> = requirements
            .iter()
            .map(|(key, group, must)| {
                json!({"key": key, "group": group, "requirementType": if *must { "required" } else { "preferred" }})
            })
            .collect();
        resources.insert(format!("r{i}"), json!({"gpu": 1, "topology": topology}));
        written.push(json!({"name": format!("t{i}"), "image": "i", "command": ["c"], "resource": format!("r{i}")}));
    }
    let spec = json!({"groups": [{"name": "g", "tasks": written}], "resources": resources});
    object(Kind::Workflow, json!({"metadata": {"name": "w", "namespace": "ns"}, "spec": spec}))
}

/// The first group of a workflow.
pub fn first_group(workflow: &Workflow) -> &TaskGroup {
    workflow.spec.groups.first().expect("a group")
}
