//! What tables show of events, in either shape. The name comes last.

use serde_json::Value;

use super::{column, wide};
use crate::builtin::events::as_core;
use crate::builtin::reach::{number, text};
use crate::resource::Column;
use crate::table::age_of;

/// The columns of events.
pub fn columns() -> Vec<Column> {
    let name = wide("Name", "", |event, _| text(event, "metadata.name").into());
    vec![
        column("Last Seen", "How long ago it happened last.", |event, now| last_seen(&as_core(event), now).into()),
        column("Type", "Normal, or a warning.", |event, _| text(event, "type").into()),
        column("Reason", "What happened, in a word.", |event, _| text(event, "reason").into()),
        column("Object", "What it happened to.", |event, _| {
            let event = as_core(event);
            let kind = text(&event, "involvedObject.kind").to_lowercase();
            match text(&event, "involvedObject.name") {
                "" => kind.into(),
                name => format!("{kind}/{name}").into(),
            }
        }),
        wide("Subobject", "Which part it happened to.", |event, _| {
            text(&as_core(event), "involvedObject.fieldPath").into()
        }),
        wide("Source", "Who tells it.", |event, _| source(&as_core(event)).into()),
        column("Message", "What happened.", |event, _| text(&as_core(event), "message").trim().into()),
        wide("First Seen", "How long ago it happened first.", |event, now| first_seen(&as_core(event), now).into()),
        wide("Count", "How often it happened.", |event, _| {
            let event = as_core(event);
            match (&event["series"], number(&event, "count")) {
                (Value::Null, 0) => 1.into(),
                (Value::Null, count) => count.into(),
                (series, _) => number(series, "count").into(),
            }
        }),
        Column { format: "name".to_owned(), ..name },
    ]
}

fn first_seen(event: &Value, now: i64) -> String {
    match text(event, "firstTimestamp") {
        "" => age_of(text(event, "eventTime"), now),
        first => age_of(first, now),
    }
}

fn last_seen(event: &Value, now: i64) -> String {
    if !event["series"].is_null() {
        return age_of(text(event, "series.lastObservedTime"), now);
    }
    match text(event, "lastTimestamp") {
        "" => first_seen(event, now),
        last => age_of(last, now),
    }
}

fn source(event: &Value) -> String {
    let first = |own: &str, other: &str| match text(event, own) {
        "" => text(event, other).to_owned(),
        own => own.to_owned(),
    };
    let component = first("source.component", "reportingComponent");
    let instance = first("source.host", "reportingInstance");
    if instance.is_empty() { component } else { format!("{component}, {instance}") }
}
