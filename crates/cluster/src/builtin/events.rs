//! Events have two shapes, one in the core group and one in `events.k8s.io`; they rest in the older one.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Fields that have another name in the other shape: core first.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The newer shape of an event of the core group.
pub fn from_core(event: &Value) -> Value {
    reshape(event, "events.k8s.io", |name| RENAMED.iter().find(|(core, _)| *core == name).map(|(_, new)| *new))
}

/// The shape of the core group of a newer event.
pub fn to_core(event: &Value) -> Value {
    reshape(event, "", |name| RENAMED.iter().find(|(_, new)| *new == name).map(|(core, _)| *core))
}

/// An event in the shape of the core group, whichever it has.
pub fn as_core(event: &Value) -> Cow<'_, Value> {
    let newer = event["apiVersion"].as_str().is_some_and(|version| version.starts_with("events.k8s.io/"));
    if newer { Cow::Owned(to_core(event)) } else { Cow::Borrowed(event) }
}

fn reshape(event: &Value, group: &str, renamed: impl Fn(&str) -> Option<&'static str>) -> Value {
    let fields = event.as_object().into_iter().flatten();
    let mut shaped: Map<String, Value> =
        fields.map(|(name, value)| (renamed(name).unwrap_or(name).to_owned(), value.clone())).collect();
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    shaped.insert("apiVersion".to_owned(), version.into());
    let mut shaped = Value::Object(shaped);
    // What is shown of empty fields differs between the shapes.
    super::default("Event", group, &mut shaped);
    shaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_shape_becomes_the_other() {
        let new = json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "a", "namespace": "b"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"},
            "reportingController": "a.b/c", "reportingInstance": "x", "action": "A", "reason": "R",
            "regarding": {"kind": "Pod", "namespace": "b", "name": "x"}, "related": {"kind": "Node", "name": "n"},
            "note": " n ", "type": "Normal", "deprecatedSource": {}, "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null,
        });
        let core = json!({
            "kind": "Event", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "b"},
            "involvedObject": {"kind": "Pod", "namespace": "b", "name": "x"}, "reason": "R", "message": " n ",
            "source": {}, "firstTimestamp": null, "lastTimestamp": null, "type": "Normal",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}, "action": "A",
            "related": {"kind": "Node", "name": "n"}, "reportingComponent": "a.b/c", "reportingInstance": "x",
        });
        assert_eq!(to_core(&new), core);
        assert_eq!(from_core(&core), new);

        let core = json!({
            "kind": "Event", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "b"},
            "involvedObject": {"kind": "Pod", "namespace": "b", "name": "x"}, "reason": "R", "message": "m",
            "source": {"component": "c", "host": "h"}, "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:01Z", "count": 3, "type": "Normal", "eventTime": null,
            "reportingComponent": "", "reportingInstance": "",
        });
        let new = json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "a", "namespace": "b"},
            "eventTime": null, "reason": "R", "regarding": {"kind": "Pod", "namespace": "b", "name": "x"}, "note": "m",
            "type": "Normal", "deprecatedSource": {"component": "c", "host": "h"},
            "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z", "deprecatedLastTimestamp": "2026-01-01T00:00:01Z",
            "deprecatedCount": 3,
        });
        assert_eq!(from_core(&core), new);
        assert_eq!(to_core(&new), core);
    }
}
