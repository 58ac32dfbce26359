//! Conversion of custom objects between versions by a webhook.

use std::time::Duration;

use serde_json::{Value, json};

use crate::admission;
use crate::api::Api;
use crate::resource::{Conversion, Origin, Resource};
use crate::status::Status;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Objects in another version, in the same order.
pub(crate) async fn convert(
    api: &Api,
    resource: &Resource,
    objects: Vec<Value>,
    to: &str,
) -> Result<Vec<Value>, Status> {
    let Origin::Custom { conversion: Conversion::Webhook(webhook), .. } = &resource.origin else {
        return Ok(objects
            .into_iter()
            .map(|mut object| {
                object["apiVersion"] = to.into();
                object
            })
            .collect());
    };
    if objects.iter().all(|object| object["apiVersion"] == to) {
        return Ok(objects);
    }
    let uid = api.entropy.uid();
    let review = json!({
        "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": uid, "desiredAPIVersion": to, "objects": objects},
    });
    let failed = |why: &dyn std::fmt::Display| {
        let kind = &resource.kind;
        let from = objects[0]["apiVersion"].as_str().unwrap_or_default();
        Status::other(500, "", format!("conversion webhook for {from}, Kind={kind} failed: {why}"))
    };
    let answer = admission::post(&api.services, &webhook["clientConfig"], &review, TIMEOUT).await;
    let answer = answer.map_err(|why| failed(&why))?;
    let response = &answer["response"];
    if response["result"]["status"] != "Success" {
        return Err(failed(&response["result"]["message"].as_str().unwrap_or("no reason given")));
    }
    match response["convertedObjects"].as_array() {
        Some(converted) if converted.len() == objects.len() => Ok(restore(&objects, converted)),
        Some(converted) => {
            Err(failed(&format!("webhook returned {} objects, expected {}", converted.len(), objects.len())))
        }
        None => Err(failed(&"webhook returned no objects")),
    }
}

/// A webhook may change labels and annotations and nothing else of the metadata.
fn restore(sent: &[Value], converted: &[Value]) -> Vec<Value> {
    let one = |(before, after): (&Value, &Value)| {
        let mut object = after.clone();
        let mut metadata = before["metadata"].clone();
        for field in ["labels", "annotations"] {
            match (after["metadata"].get(field), metadata.as_object_mut()) {
                (Some(value), Some(metadata)) => drop(metadata.insert(field.to_owned(), value.clone())),
                (None, Some(metadata)) => drop(metadata.remove(field)),
                _ => {}
            }
        }
        object["metadata"] = metadata;
        object
    };
    sent.iter().zip(converted).map(one).collect()
}
