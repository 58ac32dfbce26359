//! From a definition to what is served.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde_json::Value;

use super::published::published;
use crate::resource::{Column, Conversion, Origin, Resource, Scale, Source, Subresources, Version};
use crate::schema::compile::{self, flag, list, text, texts};
use crate::schema::rules::Rules;
use crate::table;

/// What a definition describes. Names are the accepted ones where there are any.
pub fn resource(definition: &Value) -> Resource {
    let spec = &definition["spec"];
    let accepted = &definition["status"]["acceptedNames"];
    let names = if text(accepted, "plural").is_empty() { &spec["names"] } else { accepted };
    let word = |field: &str| text(names, field).to_owned();
    let mut versions: Vec<Version> = list(spec, "versions").iter().map(|it| version(it, spec)).collect();
    versions.sort_by(|one, other| other.served.cmp(&one.served).then_with(|| compare_versions(&one.name, &other.name)));
    let storage = list(spec, "versions").iter().find(|version| flag(version, "storage"));
    let conversion = match text(&spec["conversion"], "strategy") {
        "Webhook" => Conversion::Webhook(spec["conversion"]["webhook"].clone()),
        _ => Conversion::None,
    };
    Resource {
        group: text(spec, "group").to_owned(),
        plural: word("plural"),
        singular: word("singular"),
        kind: word("kind"),
        list_kind: word("listKind"),
        short_names: texts(names, "shortNames"),
        categories: texts(names, "categories"),
        namespaced: text(spec, "scope") == "Namespaced",
        versions,
        storage: storage.map(|version| text(version, "name").to_owned()).unwrap_or_default(),
        origin: Origin::Custom {
            uid: text(&definition["metadata"], "uid").to_owned(),
            conversion,
            generation: definition["metadata"]["generation"].as_u64().unwrap_or(0),
        },
    }
}

fn version(version: &Value, spec: &Value) -> Version {
    let openapi = &version["schema"]["openAPIV3Schema"];
    let schema = Arc::new(compile::custom_root(openapi));
    let rules = Arc::new(Rules::of(&schema));
    Version {
        name: text(version, "name").to_owned(),
        served: flag(version, "served"),
        deprecation: deprecation(version, spec),
        schema,
        rules,
        published: Arc::new(published(version, spec)),
        subresources: subresources(&version["subresources"]),
        columns: columns(version),
        selectable: list(version, "selectableFields")
            .iter()
            .map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned())
            .collect(),
    }
}

/// The warning, which names the best version that is not deprecated if the author of the definition does not say anything.
fn deprecation(version: &Value, spec: &Value) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let (group, kind, name) = (text(spec, "group"), text(&spec["names"], "kind"), text(version, "name"));
    let mut better: Vec<&str> = list(spec, "versions")
        .iter()
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| compare_versions(other, name) == Ordering::Less)
        .collect();
    better.sort_by(|one, other| compare_versions(one, other));
    let instead = better.first().map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

fn subresources(subresources: &Value) -> Subresources {
    let scale = subresources.get("scale").filter(|scale| scale.is_object()).map(|scale| Scale {
        spec: text(scale, "specReplicasPath").to_owned(),
        status: text(scale, "statusReplicasPath").to_owned(),
        selector: Some(text(scale, "labelSelectorPath").to_owned()).filter(|path| !path.is_empty()),
    });
    Subresources { status: subresources.get("status").is_some_and(Value::is_object), scale, others: Vec::new() }
}

fn columns(version: &Value) -> Vec<Column> {
    let columns = list(version, "additionalPrinterColumns");
    if columns.is_empty() {
        return table::default_columns();
    }
    let column = |column: &Value| {
        let path = text(column, "jsonPath");
        let described = format!("Custom resource definition column (in JSONPath format): {path}");
        Column {
            name: text(column, "name").to_owned(),
            kind: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: Some(text(column, "description"))
                .filter(|text| !text.is_empty())
                .map_or(described, str::to_owned),
            priority: column
                .get("priority")
                .and_then(Value::as_i64)
                .and_then(|it| i32::try_from(it).ok())
                .unwrap_or_default(),
            source: Source::Path(path.to_owned()),
        }
    };
    columns.iter().map(column).collect()
}

/// The order of versions in discovery, the best first: stable ones before beta before alpha, the newest first in each; then all others
/// by the alphabet.
pub(super) fn compare_versions(one: &str, other: &str) -> Ordering {
    match (rank(one), rank(other)) {
        (Some(one), Some(other)) => Reverse(one).cmp(&Reverse(other)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Stability, major and minor of `v2beta1`.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let major = rest[..digits].parse().ok()?;
    let (stability, minor) = match &rest[digits..] {
        "" => (2, 0),
        beta if beta.starts_with("beta") => (1, beta["beta".len()..].parse().ok()?),
        alpha if alpha.starts_with("alpha") => (0, alpha["alpha".len()..].parse().ok()?),
        _ => return None,
    };
    Some((stability, major, minor))
}
