//! What is refused of events. Those that come in the newer shape have to be complete.

use serde_json::Value;

use super::Findings;
use crate::builtin::events::as_core;
use crate::builtin::names;
use crate::builtin::reach::{number, text};

/// An event in the shape of a group, new or changed.
pub fn judge(group: &str, new: &Value, old: Option<&Value>, found: &mut Findings) {
    let event = as_core(new);
    lenient(group, &event, found);
    if group.is_empty() {
        return;
    }
    match old {
        None => strict(&event, found),
        Some(old) => unchanged(&event, &as_core(old), found),
    }
}

/// What holds in both shapes.
fn lenient(group: &str, event: &Value, found: &mut Findings) {
    let (about, own) = (text(event, "involvedObject.namespace"), text(event, "metadata.namespace"));
    let newer = event["eventTime"].is_string();
    let fits = match (newer, about) {
        (false, "") => own.is_empty() || own == "default",
        (false, about) => about == own,
        (true, "") => own == "default" || own == "kube-system",
        (true, _) => true,
    };
    if !fits {
        found.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
    if !newer {
        return;
    }
    let controller = text(event, "reportingComponent");
    let field = if group.is_empty() { "reportingComponent" } else { "reportingController" };
    if controller.is_empty() {
        found.required(field, "");
    }
    found.each(field, controller, names::qualified(controller));
    for (field, most, needed) in
        [("reportingInstance", 128, true), ("action", 128, true), ("reason", 128, true), ("message", 1024, false)]
    {
        let value = text(event, field);
        if needed && value.is_empty() {
            found.required(field, "");
        }
        if value.len() > most {
            found.invalid(field, "", format!("can have at most {most} characters"));
        }
    }
}

fn series(event: &Value, found: &mut Findings) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if number(series, "count") < 2 {
        found.invalid("series.count", "", "should be at least 2");
    }
    if !series["lastObservedTime"].is_string() {
        found.required("series.lastObservedTime", "");
    }
}

fn strict(event: &Value, found: &mut Findings) {
    series(event, found);
    if !event["eventTime"].is_string() {
        found.required("eventTime", "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        found.invalid("type", "", format!("has invalid value: {kind}"));
    }
    let source = ["source.component", "source.host"].iter().any(|part| !text(event, part).is_empty());
    for (field, set) in [
        ("firstTimestamp", event["firstTimestamp"].is_string()),
        ("lastTimestamp", event["lastTimestamp"].is_string()),
        ("count", number(event, "count") != 0),
        ("source", source),
    ] {
        if set {
            found.invalid(field, "", "needs to be unset");
        }
    }
}

/// Of an event that is there only the series goes on.
fn unchanged(event: &Value, old: &Value, found: &mut Findings) {
    if event["series"] != old["series"] {
        series(event, found);
    }
    let fields = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ];
    for field in fields {
        let told = if field == "reportingComponent" { "reportingController" } else { field };
        found.unchanged(told, &event[field], &old[field]);
    }
}
