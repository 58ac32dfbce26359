//! Gangs as text, one line for each node of their tree, so that a PodGang and KAI's PodGroup can be held against one drawing.
//!
//! ```text
//! wl-0 block~hostname                   whole gang: must share a block, should share a host
//!   wl-0-sg-0 rack~hostname             a replica of a scaling group
//!     wl-0-sg-0-worker 2 hostname       a clique with its minimum
//! ```

use std::collections::BTreeMap;

use serde_json::Value;

use crate::view::text;

/// The last word of a label key.
fn level(key: &Value) -> &str {
    text(key).rsplit('/').next().unwrap_or_default()
}

/// `required~preferred`, as far as there are such levels, after a space.
fn levels(required: &Value, preferred: &Value) -> String {
    match (level(required), level(preferred)) {
        ("", "") => String::new(),
        (required, "") => format!(" {required}"),
        (required, preferred) => format!(" {required}~{preferred}"),
    }
}

/// A node with its children, sorted by name.
fn draw(lines: &mut Vec<String>, depth: usize, parent: &str, nodes: &BTreeMap<String, (String, String)>) {
    for (name, (above, rest)) in nodes.iter().filter(|(_, (above, _))| above == parent) {
        debug_assert_eq!(above, parent);
        lines.push(format!("{:width$}{name}{rest}", "", width = depth * 2));
        draw(lines, depth + 1, name, nodes);
    }
}

fn drawn(root: String, nodes: &BTreeMap<String, (String, String)>) -> String {
    let mut lines = vec![root];
    draw(&mut lines, 1, "", nodes);
    lines.join("\n")
}

/// A PodGang.
pub fn of_gang(gang: &Value) -> String {
    let pack = |holder: &Value| {
        let pack = &holder["topologyConstraint"]["packConstraint"];
        levels(&pack["required"], &pack["preferred"])
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let spec = &gang["spec"];
    let mut nodes = BTreeMap::new();
    let mut parents: BTreeMap<String, String> = BTreeMap::new();
    for config in list(&spec["topologyConstraintGroupConfigs"]) {
        let name = text(&config["name"]).to_owned();
        for group in list(&config["podGroupNames"]) {
            parents.insert(text(&group).to_owned(), name.clone());
        }
        nodes.insert(name, (String::new(), pack(&config)));
    }
    for group in list(&spec["podgroups"]) {
        let name = text(&group["name"]).to_owned();
        let parent = parents.get(&name).cloned().unwrap_or_default();
        let rest = format!(" {}{}", group["minReplicas"], pack(&group));
        nodes.insert(name, (parent, rest));
    }
    drawn(format!("{}{}", text(&gang["metadata"]["name"]), pack(spec)), &nodes)
}

/// KAI's PodGroup.
pub fn of_kai(group: &Value) -> String {
    let pack = |holder: &Value| {
        let constraint = &holder["topologyConstraint"];
        levels(&constraint["requiredTopologyLevel"], &constraint["preferredTopologyLevel"])
    };
    let spec = &group["spec"];
    let mut nodes = BTreeMap::new();
    for sub in spec["subGroups"].as_array().into_iter().flatten() {
        let min = sub["minMember"].as_i64().map(|min| format!(" {min}")).unwrap_or_default();
        let rest = format!("{min}{}", pack(sub));
        nodes.insert(text(&sub["name"]).to_owned(), (text(&sub["parent"]).to_owned(), rest));
    }
    drawn(format!("{}{}", text(&group["metadata"]["name"]), pack(spec)), &nodes)
}
