//! The taints of a node follow from its conditions and from whether it takes pods.

use serde_json::{Value, json};

use super::super::objects;

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Conditions, what they are when something is wrong, and the taints that say so.
const MEANINGS: [(&str, &str, &str); 6] = [
    ("Ready", "False", "node.kubernetes.io/not-ready"),
    ("Ready", "Unknown", "node.kubernetes.io/unreachable"),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// Gives a node the taints that it should have, and takes those away that it should not; whether that changed anything. Taints
/// that others put on it stay.
pub(super) fn follow(node: &mut Value, now: &str) -> bool {
    let before = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let wanted = wanted(node);
    let spoke = objects::condition(node, "Ready").is_some();
    let is_wanted =
        |taint: &Value| wanted.iter().any(|(key, effect)| taint["key"] == *key && taint["effect"] == *effect);
    let mut taints = before.clone();
    taints.retain(|taint| is_wanted(taint) || !is_ours(taint, spoke));
    for (key, effect) in &wanted {
        if !taints.iter().any(|taint| taint["key"] == *key && taint["effect"] == *effect) {
            taints.push(json!({"key": key, "effect": effect, "timeAdded": now}));
        }
    }
    if taints == before {
        return false;
    }
    if let Some(spec) = node["spec"].as_object_mut() {
        spec.remove("taints");
        if !taints.is_empty() {
            spec.insert("taints".to_owned(), taints.into());
        }
    } else {
        node["spec"] = json!({"taints": taints});
    }
    true
}

/// The taints that a node should have.
fn wanted(node: &Value) -> Vec<(&'static str, &'static str)> {
    let mut wanted = Vec::new();
    for (kind, status, taint) in MEANINGS {
        if objects::condition(node, kind).is_some_and(|condition| condition["status"] == status) {
            wanted.push((taint, "NoSchedule"));
            if kind == "Ready" {
                wanted.push((taint, "NoExecute"));
            }
        }
    }
    if node["spec"]["unschedulable"] == true {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    wanted
}

/// Whether a taint is one that follows from the node. Of one that never spoke only whether it takes pods is known.
fn is_ours(taint: &Value, spoke: bool) -> bool {
    let is = |key: &str, effect: &str| taint["key"] == key && taint["effect"] == effect;
    let told = |&(kind, _, key): &(&str, &str, &str)| is(key, "NoSchedule") || kind == "Ready" && is(key, "NoExecute");
    is(UNSCHEDULABLE, "NoSchedule") || spoke && MEANINGS.iter().any(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";

    /// The taints, as `key:effect` without the common prefix, of a node with these conditions and taints.
    fn check(conditions: &[(&str, &str)], unschedulable: bool, taints: &[&str], expected: &[&str]) {
        let split = |taint: &&str| {
            let (key, effect) = taint.split_once(':').unwrap();
            json!({"key": format!("node.kubernetes.io/{key}"), "effect": effect})
        };
        let conditions: Vec<Value> =
            conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
        let taints: Vec<Value> = taints.iter().map(split).collect();
        let mut node = json!({
            "spec": {"unschedulable": unschedulable, "taints": taints}, "status": {"conditions": conditions},
        });
        let changed = follow(&mut node, NOW);
        let after = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        assert_eq!(changed, after != taints);
        let shown = |taint: &Value| {
            let key = taint["key"].as_str().unwrap().trim_start_matches("node.kubernetes.io/").to_owned();
            format!("{key}:{}", taint["effect"].as_str().unwrap())
        };
        assert_eq!(after.iter().map(shown).collect::<Vec<_>>(), expected, "{conditions:?}");
        for taint in after.iter().filter(|taint| !taints.contains(taint)) {
            assert_eq!(taint["timeAdded"], NOW);
        }
    }

    #[test]
    fn taints_follow_from_conditions() {
        check(&[], false, &[], &[]);
        check(&[], false, &["not-ready:NoSchedule", "own:NoExecute"], &["not-ready:NoSchedule", "own:NoExecute"]);
        check(&[], true, &[], &["unschedulable:NoSchedule"]);
        check(&[], false, &["unschedulable:NoSchedule", "unschedulable:NoExecute"], &["unschedulable:NoExecute"]);
        check(
            &[("Ready", "True")],
            false,
            &["not-ready:NoSchedule", "unreachable:NoExecute", "own:NoSchedule"],
            &["own:NoSchedule"],
        );
        check(
            &[("Ready", "Unknown")],
            false,
            &["own:NoSchedule"],
            &["own:NoSchedule", "unreachable:NoSchedule", "unreachable:NoExecute"],
        );
        check(
            &[("Ready", "False")],
            false,
            &["unreachable:NoSchedule", "unreachable:NoExecute"],
            &["not-ready:NoSchedule", "not-ready:NoExecute"],
        );
        let pressed = [("Ready", "True"), ("MemoryPressure", "True"), ("PIDPressure", "Unknown")];
        check(
            &pressed,
            false,
            &["memory-pressure:NoExecute"],
            &["memory-pressure:NoExecute", "memory-pressure:NoSchedule"],
        );
        check(&pressed, false, &["memory-pressure:NoSchedule"], &["memory-pressure:NoSchedule"]);
    }
}
