//! Horizontal autoscalers where nothing is measured: replicas are brought between the least and the most through the target's
//! scale, and the status says that there are no metrics, as a cluster without a metrics API does.
//!
//! Like there, each autoscaler is looked at once in a period and not when its target changes.

mod metrics;
mod selectors;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Options;
use super::agenda::Agenda;
use super::follow::{Follow, each};
use super::tell::tell;
use super::{objects, scale};
use crate::api::Api;
use crate::selector::Labels;
use crate::status::Status;
use crate::store::Key;
use selectors::Selectors;

const CONTROLLER: &str = "horizontal-pod-autoscaler";

pub(super) async fn run(api: Api, options: Options) {
    let period: Duration = options.autoscaler_period;
    let mut autoscalers = Follow::new(&api.store, objects::AUTOSCALERS);
    let mut agenda: Agenda<Key> = Agenda::new();
    let mut selectors = Selectors::default();
    loop {
        tokio::select! {
            biased;
            due = agenda.due() => for key in due {
                match look_at(&api, &key, &mut selectors).await {
                    Ok(true) => {
                        agenda.note(key.clone(), Ok(()));
                        agenda.by(key, Instant::now() + period);
                    }
                    Ok(false) => selectors.forget(&key),
                    Err(status) => agenda.note(key, Err(status)),
                }
            },
            news = autoscalers.next() => for (key, autoscaler) in each(news) {
                if autoscaler.is_none() {
                    agenda.cancel(&key);
                    selectors.forget(&key);
                } else if !agenda.has(&key) {
                    agenda.at(key, Instant::now() + period);
                }
            },
        }
    }
}

/// Looks at one autoscaler; whether it is there.
async fn look_at(api: &Api, key: &Key, selectors: &mut Selectors) -> Result<bool, Status> {
    let Some(call) = objects::call(api, CONTROLLER, objects::AUTOSCALERS, key) else { return Ok(false) };
    let Some(autoscaler) = call.found().await? else { return Ok(false) };
    let mut changed = autoscaler.clone();
    reconcile(api, key, &mut changed, selectors).await;
    if changed["status"] != autoscaler["status"] {
        objects::put(&call.through("status"), changed).await?;
    }
    Ok(true)
}

/// Does what an autoscaler is for, and writes into its status how that went.
async fn reconcile(api: &Api, key: &Key, autoscaler: &mut Value, selectors: &mut Selectors) {
    let now = api.clock.stamp();
    if !autoscaler["status"].is_object() {
        autoscaler["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
    }
    let (place, mut target) = match target(api, &key.namespace, &autoscaler["spec"]["scaleTargetRef"]).await {
        Ok(found) => found,
        Err(why) => {
            let message = format!("the HPA controller was unable to get the target's current scale: {why}");
            set_condition(autoscaler, "AbleToScale", "False", "FailedGetScale", &message, &now);
            return;
        }
    };
    let message = "the HPA controller was able to get the target's current scale";
    set_condition(autoscaler, "AbleToScale", "True", "SucceededGetScale", message, &now);
    let current = target["spec"]["replicas"].as_i64().unwrap_or(0);
    let least = autoscaler["spec"]["minReplicas"].as_i64().unwrap_or(1);
    let most = autoscaler["spec"]["maxReplicas"].as_i64().unwrap_or(i64::MAX);
    if current == 0 && least != 0 {
        let message = "scaling is disabled since the replica count of the target is zero";
        set_condition(autoscaler, "ScalingActive", "False", "ScalingDisabled", message, &now);
        set_status(autoscaler, current, 0, &Value::Null);
        return;
    }
    let desired = current.min(most).max(least.min(most));
    if desired == current {
        let unmeasured = match selectors.check(api, key, target["status"]["selector"].as_str().unwrap_or_default()) {
            Err((reason, message)) => {
                set_condition(autoscaler, "ScalingActive", "False", reason, &message, &now);
                Value::Null
            }
            Ok(()) => no_metrics(autoscaler, &key.namespace, &now),
        };
        let desired = autoscaler["status"]["desiredReplicas"].as_i64().unwrap_or(0);
        set_status(autoscaler, current, desired, &unmeasured);
        return;
    }
    target["spec"]["replicas"] = desired.into();
    match scale::put(api, CONTROLLER, &place, &target).await {
        Ok(_) => {
            let message = format!("the HPA controller was able to update the target scale to {desired}");
            set_condition(autoscaler, "AbleToScale", "True", "SucceededRescale", &message, &now);
            set_status(autoscaler, current, desired, &Value::Null);
            autoscaler["status"]["lastScaleTime"] = now.into();
            let limit = if desired < current { "above Spec.MaxReplicas" } else { "below Spec.MinReplicas" };
            let message = format!("New size: {desired}; reason: Current number of replicas {limit}");
            tell(api, CONTROLLER, autoscaler, "Normal", "SuccessfulRescale", &message).await;
        }
        Err(failure) => {
            let message = format!("the HPA controller was unable to update the target scale: {}", failure.message);
            set_condition(autoscaler, "AbleToScale", "False", "FailedUpdateScale", &message, &now);
            let desired = autoscaler["status"]["desiredReplicas"].as_i64().unwrap_or(0);
            set_status(autoscaler, current, desired, &Value::Null);
        }
    }
}

/// The scale of a target, and where it is.
async fn target(api: &Api, namespace: &str, reference: &Value) -> Result<(scale::Place, Value), String> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (group, _) = scale::split(text("apiVersion"));
    let (kind, name) = (text("kind"), text("name"));
    let place = scale::place(api, group, None, kind, namespace, name)
        .ok_or_else(|| format!("no matches for kind {kind:?} in group {group:?}"))?;
    let found = scale::get(api, CONTROLLER, &place).await.map_err(|failure| failure.message)?;
    let selector = found["status"]["selector"].as_str().unwrap_or_default();
    if let Err(status) = Labels::parse(selector) {
        return Err(format!(
            "received an object from a /scale endpoint which was not convertible to autoscaling Scale: failed to parse target \
             selector: couldn't parse the selector string {selector:?}: {}",
            status.message
        ));
    }
    Ok((place, found))
}

/// Says why nothing is known of the metrics that are asked for; the status of each of them.
fn no_metrics(autoscaler: &mut Value, namespace: &str, now: &str) -> Value {
    let metrics = autoscaler["spec"]["metrics"].as_array().cloned().unwrap_or_default();
    if let Some((reason, why)) = metrics.first().map(|metric| metrics::missing(metric, namespace)) {
        let message = format!("the HPA was unable to compute the replica count: {why}");
        set_condition(autoscaler, "ScalingActive", "False", reason, &message, now);
    }
    metrics.iter().map(|_| json!({"type": ""})).collect()
}

fn set_status(autoscaler: &mut Value, current: i64, desired: i64, metrics: &Value) {
    let before = autoscaler["status"].take();
    let mut status = json!({"desiredReplicas": desired, "currentMetrics": metrics});
    if current != 0 {
        status["currentReplicas"] = current.into();
    }
    for kept in ["lastScaleTime", "conditions"] {
        if let Some(value) = before.get(kept) {
            status[kept] = value.clone();
        }
    }
    autoscaler["status"] = status;
}

/// Puts a condition in place of one of the same type. Its time moves only with its status.
fn set_condition(autoscaler: &mut Value, kind: &str, truth: &str, reason: &str, message: &str, now: &str) {
    let mut conditions = autoscaler["status"]["conditions"].take().as_array().cloned().unwrap_or_default();
    let mut condition = json!({
        "type": kind, "status": truth, "lastTransitionTime": now, "reason": reason, "message": message,
    });
    match conditions.iter_mut().find(|before| before["type"] == kind) {
        Some(before) => {
            if before["status"] == truth {
                condition["lastTransitionTime"] = before["lastTransitionTime"].clone();
            }
            *before = condition;
        }
        None => conditions.push(condition),
    }
    autoscaler["status"]["conditions"] = conditions.into();
}
