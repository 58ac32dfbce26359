//! What is said when JSON does not fit the type of a built-in kind, in the words of a real server's decoder.

use jiff::Timestamp;
use serde_json::Value;

use super::quantity::{self, FORMAT};
use super::types::{self, Of};

/// Why an object is not of a type such as `io.k8s.api.core.v1.Pod`, if so. The words come after `cannot be handled as a Pod: `.
pub fn fault(name: &str, object: &Value) -> Option<String> {
    fault_in(&Of::Named(name.to_owned()), object, None)
}

/// A field on the way down to a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The type that has the field.
    owner: &'a str,
    key: &'a str,
    /// What the field's text is called: `v1.PullPolicy`.
    word: Option<&'a str>,
    up: Option<&'a Place<'a>>,
}

fn fault_in(of: &Of, value: &Value, at: Option<&Place<'_>>) -> Option<String> {
    if value.is_null() {
        return None;
    }
    let whole = |number: &serde_json::Number| number.as_i64().and_then(|number| i32::try_from(number).ok());
    match (of, value) {
        (Of::Named(name), _) => {
            let described = types::get(name)?;
            match (&described.of, value) {
                (Of::Fields, Value::Object(object)) => object.iter().find_map(|(key, value)| {
                    let field = described.fields.get(key)?;
                    let place = Place { owner: name, key, word: field.word.as_deref(), up: at };
                    fault_in(&field.of, value, Some(&place))
                }),
                (Of::Fields, _) => Some(wrong(value, of, at)),
                (leaf, _) => fault_in(leaf, value, at),
            }
        }
        (Of::List(member), Value::Array(list)) => list.iter().find_map(|value| fault_in(member, value, at)),
        (Of::Map(member), Value::Object(map)) => map.values().find_map(|value| fault_in(member, value, at)),
        (Of::Quantity, Value::String(text)) => quantity::canonical(text, false).err().map(ToOwned::to_owned),
        (Of::Quantity, Value::Number(number)) => {
            quantity::canonical(&number.to_string(), false).err().map(ToOwned::to_owned)
        }
        (Of::Quantity, _) => Some(FORMAT.to_owned()),
        (Of::Time, Value::String(text)) => time_fault(text, "2006-01-02T15:04:05Z07:00"),
        (Of::MicroTime, Value::String(text)) => time_fault(text, "2006-01-02T15:04:05.000000Z07:00"),
        (Of::Bytes, Value::String(text)) => base64_fault(text),
        (Of::Int32 | Of::IntOrString, Value::Number(number)) if whole(number).is_some() => None,
        (Of::Int64, Value::Number(number)) if number.is_i64() => None,
        (Of::String | Of::IntOrString, Value::String(_))
        | (Of::Boolean, Value::Bool(_))
        | (Of::Double, Value::Number(_))
        | (Of::Any | Of::Fields, _) => None,
        _ => Some(wrong(value, of, at)),
    }
}

/// The words for a value of a wrong kind.
fn wrong(value: &Value, of: &Of, at: Option<&Place<'_>>) -> String {
    let given = match (value, of) {
        (Value::Number(number), Of::Int32 | Of::Int64 | Of::IntOrString) => format!("number {number}"),
        (Value::Number(_), _) => "number".to_owned(),
        (Value::String(_), _) => "string".to_owned(),
        (Value::Bool(_), _) => "bool".to_owned(),
        (Value::Array(_), _) => "array".to_owned(),
        _ => "object".to_owned(),
    };
    let wanted = type_words(of, at.and_then(|at| at.word));
    match at {
        Some(place) => {
            let owner = short(place.owner);
            format!("json: cannot unmarshal {given} into Go struct field {owner}.{} of type {wanted}", path(place))
        }
        None => format!("json: cannot unmarshal {given} into Go value of type {wanted}"),
    }
}

/// From the object down, without indices, through the structs that are written as part of another.
fn path(place: &Place<'_>) -> String {
    let own = match embedded(short(place.owner), place.key) {
        Some(inner) => format!("{inner}.{}", place.key),
        None => place.key.to_owned(),
    };
    match place.up {
        Some(up) => format!("{}.{own}", path(up)),
        None => own,
    }
}

/// Which struct of its own a field is in, where a type is put together from several.
fn embedded(owner: &str, key: &str) -> Option<&'static str> {
    Some(match (owner, key) {
        ("Probe", "exec" | "httpGet" | "tcpSocket" | "grpc") => "ProbeHandler",
        ("Volume", "name") | ("RuleWithOperations", "operations") => return None,
        ("Volume", _) => "VolumeSource",
        ("RuleWithOperations", _) => "Rule",
        ("EphemeralContainer", key) if key != "targetContainerName" => "EphemeralContainerCommon",
        (
            "ConfigMapEnvSource"
            | "SecretEnvSource"
            | "ConfigMapKeySelector"
            | "SecretKeySelector"
            | "ConfigMapProjection"
            | "SecretProjection"
            | "ConfigMapVolumeSource",
            "name",
        ) => "LocalObjectReference",
        _ => return None,
    })
}

fn type_words(of: &Of, word: Option<&str>) -> String {
    match of {
        Of::String | Of::Time | Of::MicroTime => word.unwrap_or("string").to_owned(),
        Of::Bytes => "[]uint8".to_owned(),
        Of::Boolean => "bool".to_owned(),
        Of::Int32 | Of::IntOrString => "int32".to_owned(),
        Of::Int64 => "int64".to_owned(),
        Of::Double => "float64".to_owned(),
        Of::Quantity => "resource.Quantity".to_owned(),
        Of::Any | Of::Fields => "object".to_owned(),
        Of::Named(name) => {
            let mut parts = name.rsplit('.');
            let last = parts.next().unwrap_or_default();
            format!("{}.{last}", parts.next().unwrap_or_default())
        }
        Of::List(member) => format!("[]{}", type_words(member, word)),
        Of::Map(member) if matches!(&**member, Of::Named(name) if types::leaf(name) == Some(Of::Quantity)) => {
            "v1.ResourceList".to_owned()
        }
        Of::Map(member) => format!("map[string]{}", type_words(member, word)),
    }
}

/// Reads a moment part by part, as a layout has them, and tells the first part that does not fit.
fn time_fault(text: &str, layout: &str) -> Option<String> {
    let micro = layout.contains(".000000");
    let parts = [
        ("2006", 4),
        ("-", 0),
        ("01", 2),
        ("-", 0),
        ("02", 2),
        ("T", 0),
        ("15", 2),
        (":", 0),
        ("04", 2),
        (":", 0),
        ("05", 2),
    ];
    let mut rest = text;
    let cannot = |rest: &str, part: &str| {
        Some(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"))
    };
    for (part, digits) in parts {
        if digits == 0 {
            match rest.strip_prefix(part) {
                Some(after) => rest = after,
                None => return cannot(rest, part),
            }
        } else if rest.len() >= digits && rest.bytes().take(digits).all(|byte| byte.is_ascii_digit()) {
            rest = &rest[digits..];
        } else {
            return cannot(rest, part);
        }
    }
    let fraction = rest.strip_prefix('.').map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_digit).count());
    if micro && fraction < 6 {
        return cannot(rest, ".000000");
    }
    if fraction > 0 {
        rest = &rest[1 + if micro { 6 } else { fraction }..];
    }
    let zone = rest.strip_prefix(['+', '-']).is_some_and(|zone| {
        zone.len() == 5
            && zone.bytes().enumerate().all(|(at, byte)| if at == 2 { byte == b':' } else { byte.is_ascii_digit() })
    });
    if rest != "Z" && !zone {
        return cannot(rest, "Z07:00");
    }
    let month = text.get(5..7).and_then(|month| month.parse().ok()).unwrap_or(0);
    let what = if (1..=12).contains(&month) { "day" } else { "month" };
    text.parse::<Timestamp>().err().map(|_| format!("parsing time {text:?}: {what} out of range"))
}

fn base64_fault(text: &str) -> Option<String> {
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let end = text.trim_end_matches('=').len();
    let bad = text.bytes().take(end).position(|byte| !alphabet(byte));
    let at = match bad {
        Some(at) => at,
        None if text.len().is_multiple_of(4) && text.len() - end <= 2 => return None,
        None => text.len() / 4 * 4,
    };
    Some(format!("illegal base64 data at input byte {at}"))
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_values_are_told_in_a_servers_words() {
        let pod = |spec: Value| ("Pod", json!({"metadata": {"name": "a"}, "spec": spec}));
        let of_container = |container: Value| pod(json!({"containers": [container]}));
        let cases = [
            (
                pod(json!({"containers": "x"})),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
            ),
            (
                pod(json!({"containers": [[]]})),
                "json: cannot unmarshal array into Go struct field PodSpec.spec.containers of type v1.Container",
            ),
            (
                pod(json!({"hostNetwork": "yes"})),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
            ),
            (
                pod(json!({"securityContext": 3})),
                "json: cannot unmarshal number into Go struct field PodSpec.spec.securityContext of type v1.PodSecurityContext",
            ),
            (
                of_container(json!({"name": 1})),
                "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
            ),
            (
                of_container(json!({"imagePullPolicy": 3})),
                "json: cannot unmarshal number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
            ),
            (
                of_container(json!({"ports": [{"containerPort": "x"}]})),
                "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
            ),
            (
                of_container(json!({"ports": [{"containerPort": 1.5}]})),
                "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
            ),
            (
                of_container(json!({"ports": [{"containerPort": 3_000_000_000_i64}]})),
                "json: cannot unmarshal number 3000000000 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
            ),
            (of_container(json!({"resources": {"requests": {"cpu": "x"}}})), FORMAT),
            (of_container(json!({"resources": {"requests": {"cpu": []}}})), FORMAT),
            (
                of_container(json!({"livenessProbe": {"httpGet": {"port": true}}})),
                "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            ),
            (
                ("Pod", json!({"metadata": 3})),
                "json: cannot unmarshal number into Go struct field Pod.metadata of type v1.ObjectMeta",
            ),
            (
                ("Pod", json!({"metadata": {"labels": {"a": 1}}})),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                ("Pod", json!({"metadata": {"labels": ["a"]}})),
                "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                ("Pod", json!({"metadata": {"creationTimestamp": "x"}})),
                "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
            ),
            (
                ("Pod", json!({"metadata": {"creationTimestamp": 3}})),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            ),
            (
                ("Pod", json!({"metadata": {"creationTimestamp": "2026-01-02"}})),
                "parsing time \"2026-01-02\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"T\"",
            ),
            (
                ("Event", json!({"eventTime": "2026-01-01T00:00:00Z"})),
                "parsing time \"2026-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
            ),
            (
                ("Event", json!({"eventTime": "2026-01-01T00:00:00.1234567Z"})),
                "parsing time \"2026-01-01T00:00:00.1234567Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"7Z\" as \"Z07:00\"",
            ),
            (("Secret", json!({"data": {"a": "!!"}})), "illegal base64 data at input byte 0"),
            (
                ("Secret", json!({"data": {"a": 3}})),
                "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
            ),
        ];
        for ((kind, object), expected) in cases {
            assert_eq!(fault(&format!("io.k8s.api.core.v1.{kind}"), &object).as_deref(), Some(expected), "{object}");
        }
    }

    #[test]
    fn right_values_pass() {
        let object = json!({"metadata": {"name": "a", "labels": null, "creationTimestamp": "2026-01-02T03:04:05Z"}, "spec": {"containers": [{"name": "a"}]}});
        assert_eq!(fault("io.k8s.api.core.v1.Pod", &object), None);
    }
}
