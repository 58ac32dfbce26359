//! The form in which objects are kept. A server reads JSON into its types and writes it again; on the way empty fields vanish, others
//! appear with their zero values, amounts and moments take one form, and defaults are filled in.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::types::{self, Empty, Field, Of, Type};
use super::{defaults, quantity};

/// Brings a value of a type such as `io.k8s.api.core.v1.Pod` into the form in which it is kept. Unknown fields go.
pub fn settle(name: &str, value: &mut Value) {
    if let Some(described) = types::get(name) {
        settle_type(name, described, value);
    }
}

fn settle_type(name: &str, described: &Type, value: &mut Value) {
    if described.of != Of::Fields {
        return settle_value(&described.of, value);
    }
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(object) = value else { return };
    object.retain(|name, value| !value.is_null() && described.fields.contains_key(name));
    for (key, field) in &described.fields {
        match object.get_mut(key) {
            Some(value) => {
                settle_value(&field.of, value);
                if is_empty(value) && (field.empty == Empty::Dropped || vanishes(name, field)) {
                    object.remove(key);
                    fill(object, key, field);
                }
            }
            None => fill(object, key, field),
        }
    }
    defaults::complete(name, object);
}

/// Whether an empty list is no list, as it is for everything that is stored in the binary form. Definitions are stored as JSON.
fn vanishes(owner: &str, field: &Field) -> bool {
    field.empty == Empty::Shown && matches!(field.of, Of::List(_) | Of::Map(_)) && !owner.starts_with(types::EXTENSIONS)
}

/// Puts into an empty field what stands there when nothing was given.
fn fill(object: &mut Map<String, Value>, key: &str, field: &Field) {
    let given = field.filled.clone().map(|mut value| {
        settle_value(&field.of, &mut value);
        value
    });
    if let Some(value) = given.or_else(|| nothing(field)) {
        object.insert(key.to_owned(), value);
    }
}

/// What is shown of a field with nothing in it.
fn nothing(field: &Field) -> Option<Value> {
    match field.empty {
        Empty::Dropped | Empty::Kept => None,
        Empty::Null => Some(Value::Null),
        Empty::Shown => {
            let mut value = Value::Null;
            if !matches!(field.of, Of::List(_) | Of::Map(_)) {
                settle_value(&field.of, &mut value);
            }
            Some(value)
        }
    }
}

/// A given `null` is the zero value here, as it is for members of lists and maps.
fn settle_value(of: &Of, value: &mut Value) {
    match of {
        Of::Named(name) => settle(name, value),
        Of::List(member) => value.as_array_mut().into_iter().flatten().for_each(|value| settle_value(member, value)),
        Of::Map(member) => {
            for value in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
                match value {
                    // Lists of resources are the only maps of amounts.
                    value if **member == Of::Named(QUANTITY.to_owned()) => settle_quantity(value, true),
                    value => settle_value(member, value),
                }
            }
        }
        Of::Quantity => settle_quantity(value, false),
        Of::Time => settle_time(value, 0),
        Of::MicroTime => settle_time(value, 6),
        Of::String | Of::Bytes if value.is_null() => *value = "".into(),
        Of::Boolean if value.is_null() => *value = false.into(),
        Of::Int32 | Of::Int64 | Of::Double | Of::IntOrString if value.is_null() => *value = 0.into(),
        Of::String
        | Of::Bytes
        | Of::Boolean
        | Of::Int32
        | Of::Int64
        | Of::Double
        | Of::IntOrString
        | Of::Any
        | Of::Fields => {}
    }
}

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

fn settle_quantity(value: &mut Value, milli: bool) {
    let text = match &*value {
        Value::Null => "0".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    if let Ok(canonical) = quantity::canonical(&text, milli) {
        *value = canonical.into();
    }
}

fn settle_time(value: &mut Value, precision: usize) {
    let moment = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    if let Some(moment) = moment {
        *value = if precision == 0 {
            // Fractions are cut off, not rounded.
            moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
        } else {
            moment.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into()
        };
    }
}

/// Whether a value is the zero value of its type.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, mut given: Value, expected: &Value) {
        settle(name, &mut given);
        assert_eq!(&given, expected, "{name}");
    }

    #[test]
    fn objects_take_the_form_in_which_they_are_kept() {
        check(
            "io.k8s.api.core.v1.Pod",
            json!({
                "metadata": {"name": "a", "labels": {}, "creationTimestamp": null},
                "spec": {
                    "hostNetwork": false, "nodeSelector": {}, "terminationGracePeriodSeconds": 0, "unknown": 1,
                    "securityContext": {},
                    "containers": [{"name": "a", "resources": {"requests": {"cpu": 0.5}}, "args": []}],
                },
            }),
            &json!({
                "metadata": {"name": "a"},
                "spec": {
                    "terminationGracePeriodSeconds": 0, "securityContext": {}, "dnsPolicy": "ClusterFirst",
                    "restartPolicy": "Always", "schedulerName": "default-scheduler", "enableServiceLinks": true,
                    "containers": [{
                        "name": "a", "resources": {"requests": {"cpu": "500m"}}, "imagePullPolicy": "IfNotPresent",
                        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                    }],
                },
                "status": {},
            }),
        );
        check(
            "io.k8s.api.core.v1.Event",
            json!({"metadata": {"name": "a"}, "eventTime": "2026-01-02T03:04:05.5+01:00"}),
            &json!({
                "metadata": {"name": "a"}, "eventTime": "2026-01-02T02:04:05.500000Z", "firstTimestamp": null,
                "lastTimestamp": null, "source": {}, "involvedObject": {}, "reportingComponent": "", "reportingInstance": "",
            }),
        );
        check(
            "io.k8s.api.rbac.v1.Role",
            json!({"metadata": {"name": "a"}}),
            &json!({"metadata": {"name": "a"}, "rules": null}),
        );
        check("io.k8s.api.rbac.v1.Role", json!({"rules": []}), &json!({"metadata": {}, "rules": null}));
        check(
            "io.k8s.api.core.v1.ConfigMap",
            json!({"data": {"a": null}, "immutable": false}),
            &json!({"metadata": {}, "data": {"a": ""}, "immutable": false}),
        );
    }
}
