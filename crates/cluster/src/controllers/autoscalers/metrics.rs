//! What a real autoscaler says of metrics in a cluster that has no metrics API.

use serde_json::Value;

const NO_RESOURCE_API: &str = "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
const NO_CUSTOM_API: &str =
    "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";

/// The reason and the words for a metric that is not there.
pub(super) fn missing(metric: &Value, namespace: &str) -> (&'static str, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let resource = |source: &Value| {
        let name = text(&source["name"]);
        let what = if source["target"]["type"] == "Utilization" { "utilization" } else { "usage" };
        format!("failed to get {name} {what}: unable to get metrics for resource {name}: {NO_RESOURCE_API}")
    };
    match metric["type"].as_str().unwrap_or_default() {
        "Resource" => ("FailedGetResourceMetric", resource(&metric["resource"])),
        "ContainerResource" => ("FailedGetContainerResourceMetric", resource(&metric["containerResource"])),
        "Pods" => {
            let name = text(&metric["pods"]["metric"]["name"]);
            ("FailedGetPodsMetric", format!("unable to get metric {name}: {NO_CUSTOM_API}"))
        }
        "Object" => {
            let source = &metric["object"];
            let (name, described) = (text(&source["metric"]["name"]), &source["describedObject"]);
            let (kind, object) = (text(&described["kind"]), text(&described["name"]));
            (
                "FailedGetObjectMetric",
                format!("unable to get metric {name}: {kind} on {namespace} {object}/{NO_CUSTOM_API}"),
            )
        }
        "External" => {
            let source = &metric["external"]["metric"];
            let (name, selector) = (text(&source["name"]), selector(&source["selector"]));
            let why = format!(
                "unable to get external metric {namespace}/{name}/{selector}: unable to fetch metrics from external metrics API: the \
                 server could not find the requested resource (get {name}.external.metrics.k8s.io)"
            );
            ("FailedGetExternalMetric", why)
        }
        other => ("InvalidMetricSourceType", format!("unknown metric source type {other:?}")),
    }
}

/// A selector as it is printed there.
fn selector(selector: &Value) -> String {
    if selector.is_null() {
        return "nil".to_owned();
    }
    let mut labels = String::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        labels.push_str(&format!("{key}: {},", value.as_str().unwrap_or_default()));
    }
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{}},}}"
    )
}
