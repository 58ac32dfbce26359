//! What may stand in the spec of a definition.

use std::sync::Arc;

use serde_json::{Value, json};

use super::shown;
use super::webhook;
use crate::schema::Schema;
use crate::schema::Shape;
use crate::schema::compile::{self, flag, list, text};
use crate::schema::rules::field_path;
use crate::schema::validate::names::{DNS_1035, DNS_SUBDOMAIN, is_dns1035, is_subdomain};
use crate::schema::validate::words;
use crate::status::{Fault, What};

/// The fields of versions that are the same in all of them and so belong to the definition.
pub(super) struct Shared(Vec<&'static str>);

impl Shared {
    pub(super) fn of(versions: &[Value]) -> Self {
        let same = |field: &&str| {
            let first = versions.first().and_then(|version| version.get(*field));
            first.is_some_and(|first| !is_empty(first)) && versions.iter().all(|version| version.get(*field) == first)
        };
        let fields = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];
        Shared(fields.into_iter().filter(same).collect())
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.0.contains(&field)
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// What is wrong with a spec.
pub(super) fn check(spec: &Value, faults: &mut Vec<Fault>) {
    group(text(spec, "group"), faults);
    one_of("spec.scope", text(spec, "scope"), &["Cluster", "Namespaced"], faults);
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if version["schema"].get("openAPIV3Schema").is_none_or(Value::is_null) {
            faults.push(Fault::required(format!("spec.versions[{index}].schema.openAPIV3Schema"), ""));
        }
    }
    let shared = Shared::of(versions);
    for (index, version) in versions.iter().enumerate() {
        self::version(version, &format!("spec.versions[{index}]"), &shared, faults);
    }
    storage(spec, versions, &shared, faults);
    names(&spec["names"], faults);
    if let Some(version) = versions.first() {
        if shared.has("schema") {
            schema(&version["schema"]["openAPIV3Schema"], version, "spec.validation", faults);
        }
        if shared.has("subresources") {
            subresources(&version["subresources"], "spec.subresources", faults);
        }
        if shared.has("additionalPrinterColumns") {
            columns(version, "spec.additionalPrinterColumns", faults);
        }
        if shared.has("selectableFields") {
            selectable(version, "spec.selectableFields", faults);
        }
    }
    webhook::check(&spec["conversion"], faults);
}

fn group(group: &str, faults: &mut Vec<Fault>) {
    if group.is_empty() {
        faults.push(Fault::required("spec.group", ""));
    } else if !is_subdomain(group) {
        faults.push(words::fault(What::Invalid, "spec.group", &group.into(), DNS_SUBDOMAIN));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        faults.push(words::fault(What::Invalid, "spec.group", &group.into(), detail));
    }
}

pub(super) fn one_of(field: &str, value: &str, accepted: &[&str], faults: &mut Vec<Fault>) {
    if value.is_empty() {
        faults.push(Fault::required(field, ""));
    } else if !accepted.contains(&value) {
        faults.push(words::not_supported(field, &value.into(), accepted.iter().copied()));
    }
}

fn label(field: String, value: &str, faults: &mut Vec<Fault>) {
    if !is_dns1035(value) {
        faults.push(words::fault(What::Invalid, field, &value.into(), DNS_1035));
    }
}

fn version(version: &Value, path: &str, shared: &Shared, faults: &mut Vec<Fault>) {
    label(format!("{path}.name"), text(version, "name"), faults);
    deprecation(version, path, faults);
    if !shared.has("schema")
        && let Some(openapi) = version["schema"].get("openAPIV3Schema").filter(|openapi| !openapi.is_null())
    {
        schema(openapi, version, &format!("{path}.schema"), faults);
    }
    if !shared.has("subresources") {
        subresources(&version["subresources"], &format!("{path}.subresources"), faults);
    }
    if !shared.has("additionalPrinterColumns") {
        columns(version, &format!("{path}.additionalPrinterColumns"), faults);
    }
    if !shared.has("selectableFields") {
        selectable(version, &format!("{path}.selectableFields"), faults);
    }
}

fn deprecation(version: &Value, path: &str, faults: &mut Vec<Fault>) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return };
    let mut say = |detail: &str| {
        faults.push(words::fault(What::Invalid, format!("{path}.deprecationWarning"), &warning.into(), detail));
    };
    if !flag(version, "deprecated") {
        return say("can only be set for deprecated versions");
    }
    if warning.len() > 256 {
        say("must be <= 256 characters long");
    }
    if warning.is_empty() {
        say("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, char)| char.is_control()) {
        say(&format!("must only contain printable UTF-8 characters; non-printable character found at index {index}"));
    }
}

/// What may stand at the root of a schema if the status is a subresource, so that it can be cut out.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

fn schema(openapi: &Value, version: &Value, path: &str, faults: &mut Vec<Fault>) {
    let path = format!("{path}.openAPIV3Schema");
    if version["subresources"].get("status").is_some_and(|status| !status.is_null()) {
        let kind = text(openapi, "type");
        if !kind.is_empty() && kind != "object" {
            let detail =
                "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            faults.push(words::fault(What::Invalid, format!("{path}.type"), &kind.into(), detail));
        } else if openapi.as_object().into_iter().flatten().any(|(name, value)| {
            !AT_ROOT.iter().any(|(allowed, _)| allowed == name) && !matches!(value, Value::Null | Value::Bool(false))
        }) {
            let allowed: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
            let detail = format!(
                "{}: only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                shown::schema(openapi),
                allowed.join(" ")
            );
            faults.push(Fault { what: What::Invalid, field: path.clone(), value: None, detail });
        }
    }
    if flag(openapi, "nullable") {
        faults.push(Fault::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    faults.extend(compile::faults(openapi, &path));
}

fn subresources(subresources: &Value, path: &str, faults: &mut Vec<Fault>) {
    let Some(scale) = subresources.get("scale").filter(|scale| !scale.is_null()) else { return };
    for (field, prefix) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let at = format!("{path}.scale.{field}");
        let value = text(scale, field);
        if value.is_empty() {
            faults.push(Fault::required(at, ""));
        } else if let Some(fault) = simple_path(&at, value) {
            faults.push(fault);
        } else if !value.starts_with(&format!("{prefix}.")) {
            let detail = format!("should be a json path under {prefix}");
            faults.push(words::fault(What::Invalid, at, &value.into(), &detail));
        }
    }
    let (at, value) = (format!("{path}.scale.labelSelectorPath"), text(scale, "labelSelectorPath"));
    if value.is_empty() {
        return;
    }
    if let Some(fault) = simple_path(&at, value) {
        faults.push(fault);
    } else if !value.starts_with(".spec.") && !value.starts_with(".status.") {
        let detail = "should be a json path under either .spec or .status";
        faults.push(words::fault(What::Invalid, at, &value.into(), detail));
    }
}

fn simple_path(field: &str, path: &str) -> Option<Fault> {
    let detail = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| words::fault(What::Invalid, field, &path.into(), detail))
}

fn columns(version: &Value, path: &str, faults: &mut Vec<Fault>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        if text(column, "name").is_empty() {
            faults.push(Fault::required(at("name"), ""));
        }
        let (kind, types) = (text(column, "type"), format!("must be one of {}", TYPES.join(",")));
        if kind.is_empty() {
            faults.push(Fault::required(at("type"), types));
        } else if !TYPES.contains(&kind) {
            faults.push(words::fault(What::Invalid, at("type"), &kind.into(), &types));
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            faults.push(words::fault(What::Invalid, at("format"), &format.into(), &detail));
        }
        let json_path = text(column, "jsonPath");
        if json_path.is_empty() {
            faults.push(Fault::required(at("JSONPath"), ""));
        } else {
            faults.extend(simple_path(&at("JSONPath"), json_path));
        }
    }
}

fn selectable(version: &Value, path: &str, faults: &mut Vec<Fault>) {
    let fields = list(version, "selectableFields");
    if fields.is_empty() {
        return;
    }
    let schema: Arc<Schema> = Arc::new(compile::compile(&version["schema"]["openAPIV3Schema"]));
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let json_path = text(field, "jsonPath");
        let mut invalid =
            |detail: &str| faults.push(words::fault(What::Invalid, at.clone(), &json_path.into(), detail));
        if json_path.is_empty() {
            faults.push(Fault::required(at, ""));
            continue;
        }
        let (name, place) = match field_path(json_path, &schema, false) {
            Ok(found) => found,
            Err(error) => {
                invalid(&format!("is an invalid path: {error}"));
                continue;
            }
        };
        if name.split(['.', '[']).next() == Some("metadata") {
            invalid("must not point to fields in metadata");
        }
        if !matches!(place.shape, Shape::String | Shape::Boolean | Shape::Integer) {
            invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            );
        }
        if seen.contains(&name) {
            faults.push(words::fault(What::Duplicate, at, &json_path.into(), ""));
        } else {
            seen.push(name);
        }
    }
    if seen.len() > 8 {
        faults.push(Fault::of(What::TooMany, path, json!(seen.len()), "must have at most 8 items"));
    }
}

fn storage(spec: &Value, versions: &[Value], shared: &Shared, faults: &mut Vec<Fault>) {
    let all = || shown::versions(spec.get("versions"), shared);
    let mut invalid = |detail: &str| {
        let detail = format!("{}: {detail}", all());
        faults.push(Fault { what: What::Invalid, field: "spec.versions".to_owned(), value: None, detail });
    };
    let name = |version: &Value| text(version, "name").to_owned();
    let twice = |(index, version): (usize, &Value)| versions[..index].iter().any(|other| name(other) == name(version));
    if versions.iter().enumerate().any(twice) {
        invalid("must contain unique version names");
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        invalid("must have exactly one version marked as storage version");
    }
    if let Some(first) = versions.first() {
        label("spec.version".to_owned(), &name(first), faults);
    }
}

fn names(names: &Value, faults: &mut Vec<Fault>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(names, field).is_empty() {
            faults.push(Fault::required(format!("spec.names.{field}"), ""));
        }
    }
    check_names(names, "spec.names", faults);
}

/// What names may look like, wanted or accepted.
pub(super) fn check_names(names: &Value, path: &str, faults: &mut Vec<Fault>) {
    for field in ["plural", "singular"] {
        let name = text(names, field);
        if !name.is_empty() {
            label(format!("{path}.{field}"), name, faults);
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(names, field);
        if !name.is_empty() && !is_dns1035(&name.to_lowercase()) {
            let detail = format!("may have mixed case, but should otherwise match: {DNS_1035}");
            faults.push(words::fault(What::Invalid, format!("{path}.{field}"), &name.into(), &detail));
        }
    }
    for (index, name) in list(names, "shortNames").iter().enumerate() {
        label(format!("{path}.shortNames[{index}]"), name.as_str().unwrap_or_default(), faults);
    }
    let list_kind = text(names, "listKind");
    if !list_kind.is_empty() && list_kind == text(names, "kind") {
        let detail = "kind and listKind may not be the same";
        faults.push(words::fault(What::Invalid, format!("{path}.listKind"), &list_kind.into(), detail));
    }
    for (index, name) in list(names, "categories").iter().enumerate() {
        label(format!("{path}.categories[{index}]"), name.as_str().unwrap_or_default(), faults);
    }
}
