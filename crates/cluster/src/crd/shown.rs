//! Parts of definitions as messages show them: the way the real server has them inside, every field in its order, given or not.

use serde_json::Value;

use super::spec::Shared;
use crate::schema::compile::expressions::shown as rule;
use crate::schema::compile::text;
use crate::schema::validate::words;

/// What stands where nothing is given.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Other,
    /// A schema, schemas in a list, schemas by name.
    Schema,
    Schemas,
    Named,
    Rules,
    /// A schema or a flag (`additionalProperties`).
    SchemaOrFlag,
    Items,
}

const SCHEMA: [(&str, &str, Kind); 41] = [
    ("id", "ID", Kind::Text),
    ("$schema", "Schema", Kind::Text),
    ("$ref", "Ref", Kind::Other),
    ("description", "Description", Kind::Text),
    ("type", "Type", Kind::Text),
    ("nullable", "Nullable", Kind::Flag),
    ("format", "Format", Kind::Text),
    ("title", "Title", Kind::Text),
    ("default", "Default", Kind::Other),
    ("maximum", "Maximum", Kind::Other),
    ("exclusiveMaximum", "ExclusiveMaximum", Kind::Flag),
    ("minimum", "Minimum", Kind::Other),
    ("exclusiveMinimum", "ExclusiveMinimum", Kind::Flag),
    ("maxLength", "MaxLength", Kind::Other),
    ("minLength", "MinLength", Kind::Other),
    ("pattern", "Pattern", Kind::Text),
    ("maxItems", "MaxItems", Kind::Other),
    ("minItems", "MinItems", Kind::Other),
    ("uniqueItems", "UniqueItems", Kind::Flag),
    ("multipleOf", "MultipleOf", Kind::Other),
    ("enum", "Enum", Kind::Other),
    ("maxProperties", "MaxProperties", Kind::Other),
    ("minProperties", "MinProperties", Kind::Other),
    ("required", "Required", Kind::Other),
    ("items", "Items", Kind::Items),
    ("allOf", "AllOf", Kind::Schemas),
    ("oneOf", "OneOf", Kind::Schemas),
    ("anyOf", "AnyOf", Kind::Schemas),
    ("not", "Not", Kind::Schema),
    ("properties", "Properties", Kind::Named),
    ("additionalProperties", "AdditionalProperties", Kind::SchemaOrFlag),
    ("patternProperties", "PatternProperties", Kind::Named),
    ("dependencies", "Dependencies", Kind::Other),
    ("additionalItems", "AdditionalItems", Kind::SchemaOrFlag),
    ("definitions", "Definitions", Kind::Named),
    ("externalDocs", "ExternalDocs", Kind::Other),
    ("example", "Example", Kind::Other),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", Kind::Other),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", Kind::Flag),
    ("x-kubernetes-int-or-string", "XIntOrString", Kind::Flag),
    ("x-kubernetes-list-map-keys", "XListMapKeys", Kind::Other),
];

/// A schema.
pub(super) fn schema(openapi: &Value) -> String {
    let mut parts: Vec<String> = SCHEMA
        .iter()
        .map(|(field, name, kind)| format!("\"{name}\":{}", part(openapi.get(*field).unwrap_or(&Value::Null), *kind)))
        .collect();
    for (field, name, kind) in [
        ("x-kubernetes-list-type", "XListType", Kind::Other),
        ("x-kubernetes-map-type", "XMapType", Kind::Other),
        ("x-kubernetes-validations", "XValidations", Kind::Rules),
    ] {
        parts.push(format!("\"{name}\":{}", part(openapi.get(field).unwrap_or(&Value::Null), kind)));
    }
    format!("{{{}}}", parts.join(","))
}

fn part(value: &Value, kind: Kind) -> String {
    match (kind, value) {
        (Kind::Text, Value::Null) => "\"\"".to_owned(),
        (Kind::Flag, Value::Null) => "false".to_owned(),
        (_, Value::Null) => "null".to_owned(),
        (Kind::Schema, _) => schema(value),
        (Kind::Items, _) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        (Kind::SchemaOrFlag, Value::Bool(flag)) => format!("{{\"Allows\":{flag},\"Schema\":null}}"),
        (Kind::SchemaOrFlag, _) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)),
        (Kind::Schemas, Value::Array(schemas)) => {
            format!("[{}]", schemas.iter().map(schema).collect::<Vec<_>>().join(","))
        }
        (Kind::Named, Value::Object(schemas)) => {
            let named =
                schemas.iter().map(|(name, value)| format!("{}:{}", words::json(&name.as_str().into()), schema(value)));
            format!("{{{}}}", named.collect::<Vec<_>>().join(","))
        }
        (Kind::Rules, Value::Array(rules)) => format!("[{}]", rules.iter().map(rule).collect::<Vec<_>>().join(",")),
        _ => words::json(value),
    }
}

/// The versions of a definition, without what all of them share.
pub(super) fn versions(versions: Option<&Value>, shared: &Shared) -> String {
    let Some(Value::Array(versions)) = versions else { return "null".to_owned() };
    let shown = versions.iter().map(|version| {
        let json = |field: &str| version.get(field).map_or_else(|| "null".to_owned(), words::json);
        let flag = |field: &str| version.get(field).and_then(Value::as_bool).unwrap_or_default();
        let own = |shared: bool, text: String| if shared { "null".to_owned() } else { text };
        let openapi = version["schema"].get("openAPIV3Schema");
        let schema =
            openapi.map_or_else(|| "null".to_owned(), |openapi| format!("{{\"OpenAPIV3Schema\":{}}}", schema(openapi)));
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
             \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            json("name"),
            flag("served"),
            flag("storage"),
            flag("deprecated"),
            json("deprecationWarning"),
            own(shared.has("schema"), schema),
            own(shared.has("subresources"), subresources(version.get("subresources"))),
            own(shared.has("additionalPrinterColumns"), columns(version.get("additionalPrinterColumns"))),
            own(shared.has("selectableFields"), json("selectableFields")),
        )
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(","))
}

fn subresources(subresources: Option<&Value>) -> String {
    let Some(subresources) = subresources.filter(|value| !value.is_null()) else { return "null".to_owned() };
    let status = if subresources.get("status").is_some() { "{}" } else { "null" };
    let scale = subresources.get("scale").map_or_else(
        || "null".to_owned(),
        |scale| {
            let word = |field: &str| words::json(&text(scale, field).into());
            let selector = scale.get("labelSelectorPath").map_or_else(|| "null".to_owned(), words::json);
            format!(
                "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{selector}}}",
                word("specReplicasPath"),
                word("statusReplicasPath")
            )
        },
    );
    format!("{{\"Status\":{status},\"Scale\":{scale}}}")
}

fn columns(columns: Option<&Value>) -> String {
    let Some(Value::Array(columns)) = columns else { return "null".to_owned() };
    let shown = columns.iter().map(|column| {
        let word = |field: &str| words::json(&text(column, field).into());
        format!(
            "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{},\"JSONPath\":{}}}",
            word("name"),
            word("type"),
            word("format"),
            word("description"),
            column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            word("jsonPath"),
        )
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(","))
}
