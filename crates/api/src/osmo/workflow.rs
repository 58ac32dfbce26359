//! A workflow file, once it is YAML: `version`, `workflow`, and `resources` inside it or beside it.

use super::Written;
use crate::field::{FieldError, Path};
use crate::names::{self, group};
use serde_json::{Map, Value, json};

/// A workflow as an object of ours.
#[derive(Clone, Debug)]
pub struct WorkflowFile {
    /// The object, for [`crate::admission::object::decode`].
    pub object: Value,
    /// Where its parts stand in the file.
    pub written: Written,
    /// What is wrong with the parts that have no place in the object, by where they stand.
    pub errors: Vec<FieldError>,
}

/// Makes an object of a workflow file. Whatever the value is, something comes out; what is wrong is said.
pub fn workflow(value: &Value) -> WorkflowFile {
    let mut errors = Vec::new();
    let empty = Map::new();
    let top = value.as_object().unwrap_or(&empty);
    for (key, field) in top.iter().filter(|(key, _)| !["version", "workflow", "resources"].contains(&key.as_str())) {
        let message = "unknown field; a workflow file has `version`, `workflow`, `resources` and `default-values`";
        let is_word = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let path = if is_word { Path::new(key) } else { Path::root().key(key) };
        errors.push(FieldError::invalid(&path, brief(field), message));
    }
    if let Some(version) = top.get("version").filter(|version| !is_two(version)) {
        errors.push(FieldError::not_supported(&Path::new("version"), version.clone(), &["2"]));
    }
    let path = Path::new("workflow");
    let mut spec = match top.get("workflow") {
        Some(Value::Object(fields)) => fields.clone(),
        Some(Value::Null) | None => {
            errors.push(FieldError::required(&path, "a workflow file needs a workflow"));
            Map::new()
        }
        Some(other) => {
            errors.push(FieldError::invalid(&path, brief(other), "must be of type object"));
            Map::new()
        }
    };
    let mut written = Written::default().at("metadata.name", "workflow.name").at("spec", "workflow");
    if let Some(resources) = top.get("resources").filter(|resources| !resources.is_null()) {
        written = merge_resources(resources, &mut spec, written, &mut errors);
    }
    let name = name(&mut spec, &mut errors);
    scalars_as_text(&mut spec);
    let mut metadata = Map::new();
    if let Some(name) = name {
        metadata.insert("name".to_owned(), names::osmo::legal(&name).into());
        if names::osmo::legal(&name) != name {
            spec.insert("name".to_owned(), name.into());
        }
    }
    let api_version = format!("{}/{}", group::TRELLIS, group::V1ALPHA1);
    let object = json!({"apiVersion": api_version, "kind": "Workflow", "metadata": metadata, "spec": spec});
    WorkflowFile { object, written, errors }
}

/// The name, taken out: the object is called so.
fn name(spec: &mut Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<String> {
    let path = Path::new("workflow.name");
    match spec.remove("name") {
        Some(Value::String(name)) => Some(name),
        Some(Value::Null) | None => {
            errors.push(FieldError::required(&path, "a workflow needs a name"));
            None
        }
        Some(other) => {
            errors.push(FieldError::invalid(&path, brief(&other), "must be of type string"));
            None
        }
    }
}

fn is_two(version: &Value) -> bool {
    version.as_f64().is_some_and(|number| (number - 2.0).abs() < f64::EPSILON) || version == "2"
}

/// What an error shows of a value: not whole documents.
fn brief(value: &Value) -> Value {
    match value {
        Value::Object(_) | Value::Array(_) => Value::Null,
        scalar => scalar.clone(),
    }
}

/// Takes in the resources that stand beside the workflow.
fn merge_resources(
    beside: &Value,
    spec: &mut Map<String, Value>,
    mut written: Written,
    errors: &mut Vec<FieldError>,
) -> Written {
    let path = Path::new("resources");
    let Value::Object(beside) = beside else {
        errors.push(FieldError::invalid(&path, brief(beside), "must be of type object"));
        return written;
    };
    let inside = spec.entry("resources").or_insert_with(|| Value::Object(Map::new()));
    if inside.is_null() {
        *inside = Value::Object(Map::new());
    }
    // What is wrong with those inside is told by their schema.
    let Value::Object(inside) = inside else { return written };
    if inside.is_empty() {
        written = written.at("spec.resources", "resources");
    }
    for (name, resource) in beside {
        if inside.contains_key(name) {
            let message = "stands inside `workflow` as well";
            let error = FieldError::duplicate(&path.key(name), name.as_str());
            errors.push(FieldError { message: message.to_owned(), ..error });
            continue;
        }
        written = written.at(&format!("spec.resources[{name}]"), &format!("resources[{name}]"));
        inside.insert(name.clone(), resource.clone());
    }
    written
}

/// OSMO takes numbers and truths for text where text is wanted: in commands, arguments, environments and labels.
fn scalars_as_text(spec: &mut Map<String, Value>) {
    let text = |value: &mut Value| match value {
        Value::Number(number) => *value = number.to_string().into(),
        Value::Bool(truth) => *value = truth.to_string().into(),
        _ => {}
    };
    if let Some(Value::Object(labels)) = spec.get_mut("labels") {
        labels.values_mut().for_each(text);
    }
    let of_task = |task: &mut Value| {
        for field in ["command", "args"] {
            task.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().for_each(text);
        }
        let environment = task.get_mut("environment").and_then(Value::as_object_mut);
        environment.into_iter().flat_map(|environment| environment.values_mut()).for_each(text);
    };
    spec.get_mut("tasks").and_then(Value::as_array_mut).into_iter().flatten().for_each(of_task);
    for group in spec.get_mut("groups").and_then(Value::as_array_mut).into_iter().flatten() {
        group.get_mut("tasks").and_then(Value::as_array_mut).into_iter().flatten().for_each(of_task);
    }
}
