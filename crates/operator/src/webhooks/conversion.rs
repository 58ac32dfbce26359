//! DynamoGraphDeployments in another version: what an API server asks when somebody wants one in a version that is not stored.
//!
//! Where to ask stands in the definition of the kind. It is written only if it differs, and only into a definition of ours; without it,
//! deployments are handed out in the shape that they were written in, and are read all the same.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use trellis_api::crd;
use trellis_api::dynamo::conversion_review;

use super::{Answer, Reach, path};

/// Answers a ConversionReview. Whatever is in the body, there is an answer.
pub fn answer(body: &[u8]) -> Answer {
    let review: Value = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) => return Answer::refusal(400, &format!("the body is no JSON: {error}")),
    };
    if review["kind"] != "ConversionReview" {
        return Answer::refusal(400, &format!("the body is {}, not a ConversionReview", review["kind"]));
    }
    Answer { code: 200, body: conversion_review(&review).to_string().into_bytes() }
}

/// Has API servers ask us. Returns whether anything was written; a cluster without the definition is left without.
pub async fn install_conversion(client: &Client, reach: &Reach, ca_bundle: Option<&[u8]>) -> Result<bool, kube::Error> {
    let wanted = json!({ "strategy": "Webhook", "webhook": {
        "clientConfig": reach.client(path::CONVERT_DEPLOYMENT, ca_bundle), "conversionReviewVersions": ["v1"],
    } });
    write(client, &wanted).await
}

/// Has them ask nobody.
pub async fn uninstall(client: &Client) -> Result<bool, kube::Error> {
    write(client, &json!({ "strategy": "None", "webhook": null })).await
}

async fn write(client: &Client, wanted: &Value) -> Result<bool, kube::Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let Some(live) = api.get_opt(crd::DYNAMO).await? else { return Ok(false) };
    let said = serde_json::to_value(&live.spec.conversion).unwrap_or_default();
    if !crd::is_ours(&live) || is_kept(&said, wanted) {
        return Ok(false);
    }
    let patch = json!({
        "metadata": { "resourceVersion": live.metadata.resource_version },
        "spec": { "conversion": wanted },
    });
    match api.patch(crd::DYNAMO, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(_) => {
            tracing::info!(name = crd::DYNAMO, strategy = %wanted["strategy"], "conversion written");
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// Whether what is said is what is wanted. Authorities that somebody else put there stay where we have none.
fn is_kept(said: &Value, wanted: &Value) -> bool {
    let mut said = said.clone();
    if wanted.pointer("/webhook/clientConfig/caBundle").is_none()
        && let Some(Value::Object(config)) = said.pointer_mut("/webhook/clientConfig")
    {
        config.remove("caBundle");
    }
    said["strategy"] == wanted["strategy"] && said.get("webhook").unwrap_or(&Value::Null) == &wanted["webhook"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_inject_is_no_difference() {
        let wanted = |bundle: Option<&str>| {
            let mut config = json!({ "url": "https://here" });
            if let Some(bundle) = bundle {
                config["caBundle"] = bundle.into();
            }
            json!({ "strategy": "Webhook", "webhook": { "clientConfig": config, "conversionReviewVersions": ["v1"] } })
        };
        let check =
            |said: &Value, wanted: &Value, kept: bool| assert_eq!(is_kept(said, wanted), kept, "{said} {wanted}");
        check(&wanted(None), &wanted(None), true);
        check(&wanted(Some("b3VycyE=")), &wanted(None), true);
        check(&wanted(Some("b3VycyE=")), &wanted(Some("b3VycyE=")), true);
        check(&wanted(Some("b3VycyE=")), &wanted(Some("b3RoZXI=")), false);
        let none = json!({ "strategy": "None", "webhook": null });
        check(&wanted(None), &none, false);
        check(&json!({ "strategy": "None" }), &none, true);
        check(&json!({ "strategy": "None" }), &wanted(None), false);
        check(&Value::Null, &wanted(None), false);
    }

    #[test]
    fn whatever_is_asked_is_answered() {
        assert_eq!(answer(b"{").code, 400);
        assert_eq!(answer(b"{\"kind\": \"AdmissionReview\"}").code, 400);
        assert_eq!(answer(b"{\"kind\": \"ConversionReview\"}").code, 200);
    }
}
