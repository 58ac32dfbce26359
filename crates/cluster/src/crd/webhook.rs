//! How versions are converted, and by whom.

use serde_json::{Value, json};

use super::spec::one_of;
use crate::schema::compile::{list, text};
use crate::schema::validate::names::{DNS_1035, DNS_SUBDOMAIN, is_dns1035, is_subdomain};
use crate::schema::validate::words;
use crate::status::{Fault, What};

/// What is wrong with `spec.conversion`. A real server speaks of an older form of it.
pub(super) fn check(conversion: &Value, faults: &mut Vec<Fault>) {
    if conversion.is_null() {
        return;
    }
    let strategy = text(conversion, "strategy");
    one_of("spec.conversion.strategy", strategy, &["None", "Webhook"], faults);
    let webhook = &conversion["webhook"];
    let config = webhook.get("clientConfig").filter(|config| !config.is_null());
    let versions = list(webhook, "conversionReviewVersions");
    if strategy == "Webhook" {
        client(config, faults);
        review_versions(versions, faults);
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if config.is_some() {
        faults.push(Fault::forbidden("spec.conversion.webhookClientConfig", detail));
    }
    if !versions.is_empty() {
        faults.push(Fault::forbidden("spec.conversion.conversionReviewVersions", detail));
    }
}

fn client(config: Option<&Value>, faults: &mut Vec<Fault>) {
    let at = "spec.conversion.webhookClientConfig";
    let Some(config) = config else {
        faults.push(Fault::required(at, "required when strategy is set to Webhook"));
        return;
    };
    let given = |field: &str| config.get(field).filter(|value| !value.is_null());
    match (given("url"), given("service")) {
        (Some(url), None) => self::url(url.as_str().unwrap_or_default(), &format!("{at}.url"), faults),
        (None, Some(service)) => self::service(service, &format!("{at}.service"), faults),
        _ => faults.push(Fault::required(at, "exactly one of url or service is required")),
    }
}

fn url(url: &str, at: &str, faults: &mut Vec<Fault>) {
    let form = "desired format: https://host[/path]";
    let mut invalid = |value: &str, detail: &str| {
        faults.push(words::fault(What::Invalid, at, &value.into(), &format!("{detail}; {form}")));
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        invalid(scheme, "'https' is the only allowed URL scheme");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, query) = (&rest[..end], &rest[end..]);
    if host.is_empty() {
        invalid(host, "host must be specified");
    }
    if let Some((user, _)) = host.split_once('@') {
        invalid(user, "user information is not permitted in the URL");
    }
    let (query, fragment) = query.split_once('#').unwrap_or((query, ""));
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL");
    }
    if let Some((_, query)) = query.split_once('?').filter(|(_, query)| !query.is_empty()) {
        invalid(query, "query parameters not permitted in the URL");
    }
}

fn service(service: &Value, at: &str, faults: &mut Vec<Fault>) {
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            faults.push(Fault::required(format!("{at}.{field}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        faults.push(Fault::of(What::Invalid, format!("{at}.port"), port.into(), detail));
    }
    let Some(path) = service.get("path").and_then(Value::as_str) else { return };
    let mut invalid =
        |detail: &str| faults.push(words::fault(What::Invalid, format!("{at}.path"), &path.into(), detail));
    if path == "/" || path.is_empty() {
        return;
    }
    if path == "//" {
        return invalid("segment[0] may not be empty");
    }
    if !path.starts_with('/') {
        invalid("must start with a '/'");
    }
    let inside = path.get(1..).unwrap_or_default();
    let steps: Vec<&str> = inside.strip_suffix('/').unwrap_or(inside).split('/').collect();
    for (index, step) in steps.iter().enumerate() {
        if step.is_empty() {
            invalid(&format!("segment[{index}] may not be empty"));
        } else if !is_subdomain(step) {
            invalid(&format!("segment[{index}]: {DNS_SUBDOMAIN}"));
        }
    }
}

fn review_versions(versions: &[Value], faults: &mut Vec<Fault>) {
    let at = "spec.conversion.conversionReviewVersions";
    if versions.is_empty() {
        faults.push(Fault::required(at, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        if versions[..index].contains(version) {
            faults.push(words::fault(What::Invalid, format!("{at}[{index}]"), version, "duplicate version"));
        } else if !version.as_str().is_some_and(is_dns1035) {
            faults.push(words::fault(What::Invalid, format!("{at}[{index}]"), version, DNS_1035));
        }
    }
    if !versions.iter().any(|version| matches!(version.as_str(), Some("v1" | "v1beta1"))) {
        let detail = "must include at least one of v1, v1beta1";
        faults.push(words::fault(What::Invalid, at, &json!(versions), detail));
    }
}
