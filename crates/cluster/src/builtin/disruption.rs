//! Binding and evicting pods: what changes in a pod that gets its node, and what a disruption budget says to an eviction.

use serde_json::{Value, json};

use super::reach::{list, map_mut, number, text};
use crate::status::{About, Status};

/// Puts a pod on the node of a binding: annotations and labels of the binding go over, a nomination ends, and the pod is scheduled.
pub fn bound(pod: &mut Value, binding: &Value, now: &str) {
    if let Some(spec) = map_mut(pod, "spec") {
        spec.insert("nodeName".to_owned(), binding["target"]["name"].clone());
    }
    for field in ["annotations", "labels"] {
        let given = binding["metadata"][field].as_object().into_iter().flatten();
        for (key, value) in given {
            if let Some(own) = map_mut(pod, &format!("metadata.{field}")) {
                own.insert(key.clone(), value.clone());
            }
        }
    }
    if let Some(status) = map_mut(pod, "status") {
        status.remove("nominatedNodeName");
    }
    set_condition(pod, json!({"type": "PodScheduled", "status": "True"}), now);
}

/// Puts a condition into a pod's status in place of one of the same type. Its time moves only with its status.
pub fn set_condition(pod: &mut Value, mut condition: Value, now: &str) {
    let kind = text(&condition, "type").to_owned();
    let before = list(pod, "status.conditions").iter().find(|before| text(before, "type") == kind);
    let same = before.filter(|before| before["status"] == condition["status"]);
    condition["lastTransitionTime"] = same.map_or_else(|| now.into(), |before| before["lastTransitionTime"].clone());
    condition["lastProbeTime"] = Value::Null;
    let Some(status) = map_mut(pod, "status") else { return };
    let Some(conditions) = status.entry("conditions").or_insert_with(|| json!([])).as_array_mut() else { return };
    match conditions.iter_mut().find(|before| text(before, "type") == kind) {
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
}

/// Whether a budget does not stand in the way of evicting a pod that is not ready.
pub fn budget_ignores(budget: &Value, pod: &Value) -> bool {
    let ready = list(pod, "status.conditions")
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    if ready {
        return false;
    }
    let (healthy, desired) = (number(budget, "status.currentHealthy"), number(budget, "status.desiredHealthy"));
    text(budget, "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow" || (healthy >= desired && desired > 0)
}

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// How many evictions may wait for the budget's controller.
const MOST_WAITING: usize = 2000;

/// The budget with one disruption less, for the eviction of a pod, or why there is none to be had.
pub fn spend(budget: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let name = text(budget, "metadata.name");
    let about = About { group: "policy", kind: "poddisruptionbudget", name };
    if number(budget, "status.observedGeneration") < number(budget, "metadata.generation") {
        return Err(refusal(
            &format!("The disruption budget {name} is still being processed by the server."),
            Some(10),
        ));
    }
    let allowed = number(budget, "status.disruptionsAllowed");
    if allowed < 0 {
        return Err(Status::forbidden(about, "pdb disruptions allowed is negative"));
    }
    if budget["status"]["disruptedPods"].as_object().is_some_and(|waiting| waiting.len() > MOST_WAITING) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Status::forbidden(about, why));
    }
    if allowed == 0 {
        return Err(refusal(&why_not(budget, name), None));
    }
    let mut budget = budget.clone();
    if let Some(status) = map_mut(&mut budget, "status") {
        status.insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
    }
    if let Some(waiting) = map_mut(&mut budget, "status.disruptedPods") {
        waiting.insert(pod.to_owned(), now.into());
    }
    if allowed == 1 {
        no_more(&mut budget, now);
    }
    Ok(budget)
}

fn why_not(budget: &Value, name: &str) -> String {
    let condition = list(budget, "status.conditions").iter().find(|condition| {
        condition["type"] == "DisruptionAllowed"
            && condition["status"] == "False"
            && !text(condition, "message").is_empty()
    });
    let (healthy, desired) = (number(budget, "status.currentHealthy"), number(budget, "status.desiredHealthy"));
    match condition {
        Some(condition) if condition["reason"] == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            text(condition, "message")
        ),
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some(condition) => format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            text(condition, "reason"),
            text(condition, "message")
        ),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

fn refusal(cause: &str, retry_after: Option<i64>) -> Status {
    let mut status = Status::too_many_requests(REFUSED);
    status.set_causes(vec![json!({"reason": "DisruptionBudget", "message": cause})]);
    if let (Some(seconds), Some(details)) = (retry_after, status.details.as_mut()) {
        details["retryAfterSeconds"] = seconds.into();
    }
    status
}

/// The condition of a budget whose last disruption was spent.
fn no_more(budget: &mut Value, now: &str) {
    let generation = budget["metadata"]["generation"].clone();
    let Some(status) = map_mut(budget, "status") else { return };
    let Some(conditions) = status.entry("conditions").or_insert_with(|| json!([])).as_array_mut() else { return };
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": generation, "lastTransitionTime": now,
    });
    match conditions.iter_mut().find(|before| before["type"] == "DisruptionAllowed") {
        Some(before) => {
            if before["status"] == "False" {
                condition["lastTransitionTime"] = before["lastTransitionTime"].clone();
            }
            *before = condition;
        }
        None => conditions.push(condition),
    }
}
