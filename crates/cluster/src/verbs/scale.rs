//! The scale subresource: the number of replicas of any kind that has one, seen and changed alike.

use http::{Method, Response};
use serde_json::{Value, json};

use super::Call;
use super::metadata::{self, text};
use super::wanted::Rewrite;
use crate::builtin;
use crate::fields::{self, Writer, scale as owners};
use crate::http::body::Body;
use crate::jsonpath::Path;
use crate::patch;
use crate::status::{Fault, Status, What};

const ATTEMPTS: usize = 50;

/// Answers a request for `/scale`.
pub(crate) async fn answer(call: &Call, method: &Method, body: &[u8]) -> Result<Response<Body>, Status> {
    match *method {
        Method::GET => {
            let live = call.live().await?;
            Ok(call.show_scale(200, &scale(call, &live)?))
        }
        Method::PUT | Method::PATCH => {
            let changed = change(call, method, body).await?;
            Ok(call.show_scale(200, &changed))
        }
        _ => Err(Status::method_not_allowed()),
    }
}

impl Call {
    /// The object as it is, in the version asked for.
    pub(crate) async fn live(&self) -> Result<Value, Status> {
        let stored = self.api.store.get(&self.shelf(), &self.key()).ok_or_else(|| self.not_found())?;
        self.value(&stored).await
    }

    fn show_scale(&self, code: u16, scale: &Value) -> Response<Body> {
        crate::http::answer::value(code, scale, self.form.encoding, &self.warnings())
    }
}

fn paths(call: &Call) -> Result<(Path, Path, Option<Path>), Status> {
    let paths = call.version().subresources.scale.clone().ok_or_else(Status::no_such_path)?;
    let path = |text: &str| Path::parse(text).map_err(Status::internal);
    Ok((path(&paths.spec)?, path(&paths.status)?, paths.selector.as_deref().map(path).transpose()?))
}

/// What is wrong with the numbers that `/scale` shows.
pub(crate) fn faults(call: &Call, object: &Value) -> Vec<Fault> {
    let Some(place) = &call.version().subresources.scale else { return Vec::new() };
    let mut faults = Vec::new();
    for path in [&place.spec, &place.status] {
        let Some(value) = reached(object, path, &mut faults) else { continue };
        match value.as_i64() {
            Some(number) if number < 0 => {
                faults.push(Fault::of(What::Invalid, path, value, "should be a non-negative integer"));
            }
            Some(number) if number > i64::from(i32::MAX) => {
                faults.push(Fault::of(
                    What::Invalid,
                    path,
                    value,
                    format!("should be less than or equal to {}", i32::MAX),
                ));
            }
            Some(_) => {}
            None => {
                let (shown, kind) = go_type(&value);
                let detail = format!("{path} accessor error: {shown} is of the type {kind}, expected int64");
                faults.push(Fault::of(What::Invalid, path, 0.into(), detail));
            }
        }
    }
    faults
}

/// The value at a path; a fault where something on the way has no fields.
fn reached(object: &Value, path: &str, faults: &mut Vec<Fault>) -> Option<Value> {
    let mut value = object;
    for field in path.split('.').filter(|field| !field.is_empty()) {
        if !value.is_object() {
            let (shown, kind) = go_type(value);
            let detail =
                format!("{path} accessor error: {shown} is of the type {kind}, expected map[string]interface{{}}");
            faults.push(Fault::of(What::Invalid, path, 0.into(), detail));
            return None;
        }
        value = value.get(field)?;
    }
    Some(value.clone())
}

/// A value and its type as a real server names them.
fn go_type(value: &Value) -> (String, &'static str) {
    match value {
        Value::String(text) => (text.clone(), "string"),
        Value::Number(number) => (number.as_f64().unwrap_or_default().to_string(), "float64"),
        Value::Bool(truth) => (truth.to_string(), "bool"),
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Array(_) => (patch::shown(value), "[]interface {}"),
        Value::Object(_) => (patch::shown(value), "map[string]interface {}"),
    }
}

/// The `Scale` of an object.
fn scale(call: &Call, object: &Value) -> Result<Value, Status> {
    let (spec, status, selector) = paths(call)?;
    let Some(replicas) = spec.get(object).and_then(Value::as_i64) else {
        let name = &call.name;
        let path = call.version().subresources.scale.as_ref().map(|scale| scale.spec.clone()).unwrap_or_default();
        return Err(Status::internal(format!("the spec replicas field {path:?} does not exist in {name:?}")));
    };
    let mut seen = json!({"replicas": status.get(object).and_then(Value::as_i64).unwrap_or(0)});
    if let Some(selector) =
        selector.and_then(|path| path.get(object).cloned()).filter(|value| value.as_str() != Some(""))
    {
        seen["selector"] = selector;
    }
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    Ok(json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": seen}))
}

async fn change(call: &Call, method: &Method, body: &[u8]) -> Result<Value, Status> {
    let place = call.version().subresources.scale.clone().ok_or_else(Status::no_such_path)?.spec;
    for _ in 0..ATTEMPTS {
        let live = call.live().await?;
        let mut seen = scale(call, &live)?;
        metadata::set(&mut seen, "managedFields", owners::to_scale(&live, &place));
        let wanted = wanted(call, method, body, &seen)?;
        let asked = text(&wanted, "resourceVersion");
        let conditional = *method == Method::PUT && !asked.is_empty();
        if !asked.is_empty() && asked != text(&live, "resourceVersion") {
            return Err(Status::modified(call.resource.about(&call.name)));
        }
        let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or(0);
        let mut object = live.clone();
        paths(call)?.0.set(&mut object, replicas.into());
        metadata::set(&mut object, "managedFields", owners::to_object(&live, &wanted, &place, &call.api_version()));
        match call.rewrite(&Rewrite::Recorded(object)).await {
            Ok((_, object)) => return scale(call, &object),
            Err(status) if status.reason == "Conflict" && !conditional => {}
            Err(status) => return Err(status),
        }
    }
    Err(Status::modified(call.resource.about(&call.name)))
}

/// The `Scale` that a request asks for, with its managed fields.
fn wanted(call: &Call, method: &Method, body: &[u8], seen: &Value) -> Result<Value, Status> {
    let rewrite = if *method == Method::PUT { Rewrite::Put(put(call, body)?) } else { call.read_patch(body)? };
    let author = call.author(matches!(rewrite, Rewrite::Apply(_)))?;
    let empty = owners::empty_scale();
    let writer = Writer {
        api_version: "autoscaling/v1",
        kind: "Scale",
        reset: &[],
        empty: Some(&empty),
        versions: &[],
        ..author.writer(call)
    };
    let mut wanted = match rewrite {
        Rewrite::Put(whole) | Rewrite::Recorded(whole) => whole,
        Rewrite::Json(patch) => patch::json(seen, &patch)?,
        // A Scale has no lists, so a strategic merge is a plain one.
        Rewrite::Merge(patch) | Rewrite::Strategic(patch) => patch::merge(seen, &patch)?,
        Rewrite::Apply(_) if call.resource.is_custom() => {
            // A real server stumbles over it as well.
            let why = "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to \
                       proper version: request to convert CR to an invalid group/version: autoscaling/v1";
            return Err(Status::other(500, "", why));
        }
        Rewrite::Apply(config) => return fields::apply(owners::schema(), Some(seen), &config, &writer, call.force()),
    };
    if let Some(why) = builtin::unreadable("Scale", "autoscaling", &wanted) {
        return Err(patch::unreadable(&wanted.to_string(), &why));
    }
    if let (Some(0), Some(spec)) = (wanted["spec"]["replicas"].as_i64(), wanted["spec"].as_object_mut()) {
        // Nothing is what is written of none.
        spec.remove("replicas");
    }
    fields::update(owners::schema(), Some(seen), &mut wanted, &writer);
    Ok(wanted)
}

fn put(call: &Call, body: &[u8]) -> Result<Value, Status> {
    let wanted = call.object_of_any_kind(body)?;
    if wanted["kind"].as_str().is_some_and(|kind| kind != "Scale") {
        let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";
        return Err(Status::bad_request(why));
    }
    let name = text(&wanted, "name");
    if !name.is_empty() && name != call.name {
        let message = format!("the name of the object ({name}) does not match the name on the URL ({})", call.name);
        return Err(Status::bad_request(message));
    }
    Ok(wanted)
}
