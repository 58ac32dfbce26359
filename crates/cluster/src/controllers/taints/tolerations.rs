//! How long a pod may stay on a node with taints.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::super::objects;
use super::Taint;

/// How long a pod may stay.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stay {
    No,
    Until(Timestamp),
    Forever,
}

/// How long a pod may stay on a node with these taints: for each taint its first toleration that fits counts.
pub(super) fn stay(pod: &Value, taints: &[Taint]) -> Stay {
    let tolerations = pod["spec"]["tolerations"].as_array().map_or(&[][..], Vec::as_slice);
    let mut until = None;
    for taint in taints {
        let Some(toleration) = tolerations.iter().find(|toleration| tolerates(toleration, taint)) else {
            return Stay::No;
        };
        let Some(seconds) = toleration["tolerationSeconds"].as_i64() else { continue };
        let from = arrival(pod).map_or(taint.added, |arrival| arrival.max(taint.added));
        let ends = from.checked_add(SignedDuration::from_secs(seconds.max(0))).unwrap_or(Timestamp::MAX);
        until = Some(until.map_or(ends, |until: Timestamp| until.min(ends)));
    }
    until.map_or(Stay::Forever, Stay::Until)
}

/// When a pod came to its node, as far as it tells.
fn arrival(pod: &Value) -> Option<Timestamp> {
    let bound = objects::condition(pod, "PodScheduled").filter(|condition| condition["status"] == "True");
    let bound = bound.and_then(|condition| objects::time(&condition["lastTransitionTime"]));
    bound.or_else(|| objects::time(&pod["metadata"]["creationTimestamp"]))
}

fn tolerates(toleration: &Value, taint: &Taint) -> bool {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    let (key, effect) = (text("key"), text("effect"));
    if !effect.is_empty() && effect != "NoExecute" || !key.is_empty() && key != taint.key {
        return false;
    }
    match text("operator") {
        "" | "Equal" => text("value") == taint.value,
        "Exists" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    /// A pod that came to its node at 100, on a node with taints `key=value@added`.
    fn check(tolerations: &Value, taints: &[&str], expected: &Stay) {
        let pod = json!({
            "metadata": {"creationTimestamp": crate::clock::stamp(at(50))},
            "spec": {"tolerations": tolerations},
            "status": {"conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": crate::clock::stamp(at(100))},
            ]},
        });
        let taint = |text: &&str| {
            let (key, rest) = text.split_once('=').unwrap();
            let (value, added) = rest.split_once('@').unwrap();
            Taint { key: key.to_owned(), value: value.to_owned(), added: at(added.parse().unwrap()) }
        };
        let taints: Vec<Taint> = taints.iter().map(taint).collect();
        assert_eq!(stay(&pod, &taints), *expected, "{tolerations} {taints:?}");
    }

    #[test]
    fn the_first_toleration_that_fits_each_taint_counts() {
        let until = |seconds| Stay::Until(at(seconds));
        let exists = |seconds: i64| json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        check(&json!(null), &[], &Stay::Forever);
        check(&json!(null), &["a=@200"], &Stay::No);
        check(&json!([exists(30)]), &["a=@200"], &until(230));
        check(&json!([exists(30)]), &["a=@0"], &until(130));
        check(&json!([exists(-5)]), &["a=@200"], &until(200));
        check(&json!([exists(30), exists(10)]), &["a=x@200"], &until(230));
        check(&json!([exists(30)]), &["a=@200", "b=@200"], &Stay::No);
        check(&json!([{"operator": "Exists"}]), &["a=@200", "b=x@200"], &Stay::Forever);
        check(&json!([{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]), &["a=@200"], &Stay::No);
        check(&json!([{"key": "a", "value": "x"}]), &["a=x@200"], &Stay::Forever);
        check(&json!([{"key": "a", "value": "x"}]), &["a=y@200"], &Stay::No);
        let two = json!([exists(30), {"key": "b", "operator": "Exists", "tolerationSeconds": 5}]);
        check(&two, &["a=@200", "b=@210"], &until(215));
        check(&json!([{"key": "a", "operator": "Gt", "value": "1"}]), &["a=2@200"], &Stay::No);
    }
}
