//! Kinds that are answers: who am I, may I, a token for an account. Rights are not enforced here, so the answer to "may I" is yes.

use http::Response;
use jiff::ToSpan;
use serde_json::{Value, json};

use super::Call;
use super::metadata::text;
use crate::clock;
use crate::fields;
use crate::http::body::Body;
use crate::status::{Fault, Status, What};
use crate::user::User;

/// How long a token holds that is asked for without a time.
const TOKEN_SECONDS: i64 = 3_600;

/// The shortest time a token can be asked for.
const TOKEN_SECONDS_MIN: i64 = 600;

/// POST of a review.
pub(crate) async fn answer(call: &Call, bytes: &[u8]) -> Result<Response<Body>, Status> {
    let (mut review, twice) = call.object(bytes)?;
    call.take_in(&mut review, &twice)?;
    let author = call.author(false)?;
    fields::update(&call.version().schema, None, &mut review, &author.writer(call));
    if call.resource.plural == "bindings" {
        return super::pods::bind(call, &review).await;
    }
    if call.resource.kind.ends_with("SubjectAccessReview") {
        let given = ["resourceAttributes", "nonResourceAttributes"].map(|field| review["spec"].get(field).is_some());
        if given[0] == given[1] {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            let fault = Fault::of(
                What::Invalid,
                "spec.resourceAttributes",
                review["spec"]["resourceAttributes"].clone(),
                detail,
            );
            let about = crate::status::About { group: &call.resource.group, kind: "", name: "" };
            return Err(Status::invalid(about, &[fault]));
        }
    }
    review["status"] = match call.resource.kind.as_str() {
        "SelfSubjectReview" => json!({"userInfo": call.user.to_json()}),
        "TokenReview" => token_review(call, review["spec"]["token"].as_str().unwrap_or_default()),
        "SelfSubjectRulesReview" => json!({
            "incomplete": false,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }),
        _ => json!({"allowed": true}),
    };
    Ok(call.show(201, review))
}

fn token_review(call: &Call, token: &str) -> Value {
    match call.api.authenticate(token) {
        Some(user) => json!({"authenticated": true, "user": user.to_json()}),
        None => json!({"error": "invalid bearer token", "user": {}}),
    }
}

/// POST of a `TokenRequest` for a service account.
pub(crate) async fn token(call: &Call, request: &Value) -> Result<Response<Body>, Status> {
    let account = call.live().await?;
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(TOKEN_SECONDS);
    if seconds < TOKEN_SECONDS_MIN {
        let fault = Fault::of(
            What::Invalid,
            "spec.expirationSeconds",
            seconds.into(),
            "may not specify a duration less than 10 minutes",
        );
        let about = crate::status::About { group: "authentication.k8s.io", kind: "TokenRequest", name: "" };
        return Err(Status::invalid(about, &[fault]));
    }
    let now = call.api.clock.now();
    let until = now.checked_add(seconds.seconds()).unwrap_or(now);
    let user = User::service_account(text(&account, "namespace"), text(&account, "name"));
    let mut made = request.clone();
    if !made["spec"].is_object() {
        made["spec"] = json!({});
    }
    made["apiVersion"] = "authentication.k8s.io/v1".into();
    made["kind"] = "TokenRequest".into();
    made["spec"]["expirationSeconds"] = seconds.into();
    if made["spec"].get("boundObjectRef").is_none() {
        made["spec"]["boundObjectRef"] = Value::Null;
    }
    super::metadata::set(&mut made, "name", Some(call.name.clone().into()));
    super::metadata::set(&mut made, "namespace", call.namespace.clone().map(Into::into));
    super::metadata::set(&mut made, "creationTimestamp", Some(clock::stamp(now).into()));
    made["status"] = json!({
        "token": call.api.tokens.issue(&user, until), "expirationTimestamp": clock::stamp(until),
    });
    Ok(crate::http::answer::value(201, &made, call.form.encoding, &call.warnings()))
}
