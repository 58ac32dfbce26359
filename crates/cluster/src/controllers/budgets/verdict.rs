//! What a budget's status says, from the pods that it selects and the number that there should be.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::{objects, scale};
use super::CONTROLLER;
use super::members::{Controller, Member};
use crate::api::Api;
use crate::clock;

/// How many pods there should be, and how many of them healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) pods: i64,
    pub(super) healthy: i64,
}

/// What a budget demands. Where it counts in shares or in missing pods, the controllers of the pods say how many there should be.
pub(super) async fn expected(
    api: &Api,
    namespace: &str,
    budget: &Value,
    pods: &[(&String, &Member)],
) -> Result<Expected, String> {
    let (most, least) = (&budget["spec"]["maxUnavailable"], &budget["spec"]["minAvailable"]);
    if !most.is_null() {
        let pods = scaled(api, namespace, pods).await?;
        return Ok(Expected { pods, healthy: (pods - share(most, pods)?).max(0) });
    }
    if least.is_string() {
        let pods = scaled(api, namespace, pods).await?;
        return Ok(Expected { pods, healthy: share(least, pods)? });
    }
    match least.as_i64() {
        Some(healthy) => Ok(Expected { pods: i64::try_from(pods.len()).unwrap_or(i64::MAX), healthy }),
        None => Ok(Expected { pods: 0, healthy: 0 }),
    }
}

/// A number, or a share of one, rounded up.
fn share(value: &Value, of: i64) -> Result<i64, String> {
    if let Some(number) = value.as_i64() {
        return Ok(number);
    }
    let text = value.as_str().unwrap_or_default();
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<i64>().ok());
    let percent = percent
        .ok_or_else(|| format!("invalid value for IntOrString: invalid type: string is not a percentage: {text:?}"))?;
    Ok((percent.saturating_mul(of).saturating_add(99)).div_euclid(100))
}

/// The replicas of all controllers of these pods together. Pods without a controller do not count.
async fn scaled(api: &Api, namespace: &str, pods: &[(&String, &Member)]) -> Result<i64, String> {
    let mut known: BTreeMap<&str, i64> = BTreeMap::new();
    for (name, member) in pods {
        let Some(controller) = &member.controller else { continue };
        if known.contains_key(controller.uid.as_str()) {
            continue;
        }
        let replicas = replicas(api, namespace, controller).await?;
        let replicas = replicas.ok_or_else(|| format!("found no controllers for pod {name:?}"))?;
        known.insert(&controller.uid, replicas);
    }
    Ok(known.values().sum())
}

/// The replicas of a controller; nothing if it is gone.
async fn replicas(api: &Api, namespace: &str, controller: &Controller) -> Result<Option<i64>, String> {
    let Controller { api_version, kind, name, uid } = controller;
    let (group, version) = scale::split(api_version);
    let place = scale::place(api, group, Some(version), kind, namespace, name)
        .ok_or_else(|| format!("no matches for kind {kind:?} in version {api_version:?}"))?;
    match scale::get(api, CONTROLLER, &place).await {
        Ok(scale) if scale["metadata"]["uid"] != uid.as_str() => Ok(None),
        Ok(scale) => Ok(Some(scale["spec"]["replicas"].as_i64().unwrap_or(0))),
        Err(failure) if failure.code == 404 && !place.exists => {
            Err(format!("{} does not implement the scale subresource", place.resource))
        }
        Err(failure) if failure.code == 404 => Ok(None),
        Err(failure) => Err(failure.message),
    }
}

/// The budget with its status as it should be, and when that changes by itself.
///
/// A pod whose eviction was granted counts as unhealthy until it is seen going, or for `timeout`.
pub(super) fn judge(
    budget: &Value,
    pods: &[(&String, &Member)],
    expected: Expected,
    now: Timestamp,
    timeout: Duration,
) -> (Value, Option<Timestamp>) {
    let (mut healthy, mut disrupted, mut again) = (0, Map::new(), None);
    for (name, member) in pods.iter().filter(|(_, member)| !member.going) {
        let granted = &budget["status"]["disruptedPods"][name.as_str()];
        let until = objects::time(granted).and_then(|time| time.checked_add(timeout).ok());
        match until.filter(|&until| until >= now) {
            Some(until) => {
                disrupted.insert((*name).clone(), granted.clone());
                again = Some(again.map_or(until, |again: Timestamp| again.min(until)));
            }
            None => healthy += i64::from(member.ready),
        }
    }
    let spare = healthy - expected.healthy;
    let allowed = if expected.pods <= 0 || spare <= 0 { 0 } else { spare };
    let mut changed = budget.clone();
    let generation = budget["metadata"]["generation"].clone();
    let mut status = json!({
        "observedGeneration": generation, "disruptionsAllowed": allowed, "currentHealthy": healthy,
        "desiredHealthy": expected.healthy, "expectedPods": expected.pods,
        "conditions": budget["status"]["conditions"].as_array().cloned().unwrap_or_default(),
    });
    if !disrupted.is_empty() {
        status["disruptedPods"] = disrupted.into();
    }
    changed["status"] = status;
    let (truth, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let condition = json!({
        "type": "DisruptionAllowed", "status": truth, "reason": reason, "message": "", "observedGeneration": generation,
    });
    set_condition(&mut changed, condition, now);
    // Just past the limit the pod counts again.
    (changed, again.and_then(|time| time.checked_add(Duration::from_secs(1)).ok()))
}

/// The budget with a status that says why nothing else can be said.
pub(super) fn failed(budget: &Value, why: &str, now: Timestamp) -> Value {
    let mut changed = budget.clone();
    if !changed["status"].is_object() {
        changed["status"] = json!({"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0});
    }
    changed["status"]["disruptionsAllowed"] = 0.into();
    let mut condition = json!({"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": why});
    if let Some(generation) = budget["status"].get("observedGeneration") {
        condition["observedGeneration"] = generation.clone();
    }
    set_condition(&mut changed, condition, now);
    changed
}

/// Puts a condition in place of one of the same type. Its time moves only with its status.
fn set_condition(budget: &mut Value, mut condition: Value, now: Timestamp) {
    let mut conditions = budget["status"]["conditions"].take().as_array().cloned().unwrap_or_default();
    let before = conditions.iter_mut().find(|before| before["type"] == condition["type"]);
    let same = before.as_ref().filter(|before| before["status"] == condition["status"]);
    let since = same.map_or_else(|| clock::stamp(now).into(), |before| before["lastTransitionTime"].clone());
    condition["lastTransitionTime"] = since;
    match before {
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
    budget["status"]["conditions"] = conditions.into();
}
