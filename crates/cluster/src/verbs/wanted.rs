//! What a client wants an object to be: the patch in a body, and what it makes of the live object.

use std::sync::Arc;

use serde_json::Value;

use super::Call;
use super::metadata::{self, text};
use crate::builtin;
use crate::fields::{self, Writer};
use crate::http::media::essence;
use crate::json::words;
use crate::patch;
use crate::schema::Schema;
use crate::status::{Fault, Status, What};
use crate::yaml;

/// Kinds of patches that are known, if not for every kind of object.
const KNOWN_PATCHES: [&str; 5] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
];

/// What is to be made of a live object.
#[derive(Debug)]
pub(crate) enum Rewrite {
    /// This, as a whole.
    Put(Value),
    /// What a JSON patch makes of it.
    Json(Value),
    /// What a merge patch makes of it.
    Merge(Value),
    /// What a strategic merge patch makes of it.
    Strategic(Value),
    /// What an applied configuration makes of it.
    Apply(Value),
    /// This, as a whole; who owns which fields is recorded in it already.
    Recorded(Value),
}

/// What a [`Writer`] is made of.
pub(crate) struct Author {
    manager: String,
    api_version: String,
    time: String,
    versions: Vec<(String, Arc<Schema>)>,
    empty: Option<Value>,
}

impl Author {
    pub(crate) fn writer<'a>(&'a self, call: &'a Call) -> Writer<'a> {
        let has_status = call.version().subresources.status;
        let (kind, subresource) = (call.resource.kind.as_str(), call.subresource.as_str());
        Writer {
            manager: &self.manager,
            api_version: &self.api_version,
            kind,
            subresource,
            time: &self.time,
            reset: fields::reset::fields(kind, subresource, call.resource.is_custom(), has_status),
            empty: self.empty.as_ref(),
            versions: &self.versions,
        }
    }
}

impl Call {
    /// The patch in a body.
    pub(crate) fn read_patch(&self, bytes: &[u8]) -> Result<Rewrite, Status> {
        let kind = essence(Some(&self.content_type));
        let custom = self.resource.is_custom();
        let yaml = || {
            let value = match serde_json::from_slice(bytes) {
                Ok(value) => value,
                Err(_) => yaml::read(bytes, self.strictness == super::intake::Strictness::Strict)
                    .map_err(Status::bad_request)?,
            };
            if value.is_object() {
                return Ok(value);
            }
            Err(Status::bad_request(format!(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type \
                 map[string]interface {{}}",
                words::type_of(&value)
            )))
        };
        match kind {
            "application/json-patch+json" => Ok(Rewrite::Json(read_json(bytes)?)),
            "application/merge-patch+json" => Ok(Rewrite::Merge(read_json(bytes)?)),
            "application/strategic-merge-patch+json" if !custom => {
                // This one alone is refused without a preface.
                let read = serde_json::from_slice(bytes);
                let said = |error: serde_json::Error| words::fault(bytes).unwrap_or_else(|| error.to_string());
                Ok(Rewrite::Strategic(read.map_err(|error| Status::bad_request(said(error)))?))
            }
            "application/apply-patch+yaml" => Ok(Rewrite::Apply(yaml()?)),
            _ => {
                let mut known = vec!["application/json-patch+json", "application/merge-patch+json"];
                if !custom {
                    known.push("application/strategic-merge-patch+json");
                }
                known.push("application/apply-patch+yaml");
                if !custom && !KNOWN_PATCHES.contains(&kind) {
                    let status = Status::unsupported_media_type("415: Unsupported Media Type");
                    return Err(Status { details: Some(serde_json::json!({})), ..status });
                }
                Err(Status::unsupported_media_type(format!(
                    "the body of the request was in an unknown format - accepted media types include: {}",
                    known.join(", ")
                )))
            }
        }
    }

    /// What the client wants the object to be.
    pub(super) fn proposed(&self, rewrite: &Rewrite, live: &Value) -> Result<Value, Status> {
        let schema = &self.version().schema;
        let mut new = match rewrite {
            Rewrite::Put(object) => return self.proposed_put(object, live),
            Rewrite::Recorded(object) => return Ok(object.clone()),
            Rewrite::Json(patch) => patch::json(live, patch)?,
            Rewrite::Merge(patch) => patch::merge(live, patch)?,
            Rewrite::Strategic(patch) => patch::strategic(schema, live, patch)?,
            Rewrite::Apply(config) => {
                let author = self.author(true)?;
                self.same_name(config)?;
                self.place(&mut config.clone())?;
                let mut new = fields::apply(schema, Some(live), config, &author.writer(self), self.force())?;
                self.take_in_applied(&mut new)?;
                return Ok(new);
            }
        };
        if !new.is_object() {
            return Err(patch::unreadable(&new.to_string(), "the patch leaves no object"));
        }
        self.same_kind(&mut new)?;
        match rewrite {
            Rewrite::Strategic(patch) => self.take_in_patched(&mut new, &|_| patch::shown(patch)).map_err(restored)?,
            _ => self.take_in_patched(&mut new, &ToString::to_string)?,
        }
        if text(&new, "name").is_empty() {
            let why = format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                self.name
            );
            return Err(Status::bad_request(why));
        }
        self.same_name(&new)?;
        self.place(&mut new)?;
        Ok(new)
    }

    /// A patch may not make another kind of an object.
    fn same_kind(&self, object: &mut Value) -> Result<(), Status> {
        let (api_version, kind) = (self.api_version(), &self.resource.kind);
        if !self.resource.is_custom()
            && let Some(fields) = object.as_object_mut()
        {
            fields.entry("apiVersion").or_insert_with(|| api_version.clone().into());
            fields.entry("kind").or_insert_with(|| kind.clone().into());
        }
        let (given, version) =
            (object["kind"].as_str().unwrap_or_default(), object["apiVersion"].as_str().unwrap_or_default());
        if given == kind && version == api_version {
            return Ok(());
        }
        if self.resource.is_custom() && version == api_version {
            let fault = Fault::of(What::Invalid, "kind", given.into(), format!("must be {kind}"));
            let about = crate::status::About { group: &self.resource.group, kind: given, name: &self.name };
            return Err(Status::invalid(about, &[fault]));
        }
        if self.resource.is_custom() {
            let message = format!(
                "the API version in the data ({version}) does not match the expected API version ({api_version})"
            );
            return Err(Status::bad_request(message));
        }
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let unknown = || format!("converting (v1.{given}) to (core.{kind}): unknown conversion");
        // It is read as what it says it is, and only then found to be something else.
        let why = builtin::unreadable(given, group, object).unwrap_or_else(unknown);
        Err(patch::unreadable(&object.to_string(), &why))
    }

    fn proposed_put(&self, object: &Value, live: &Value) -> Result<Value, Status> {
        let mut new = object.clone();
        if text(&new, "resourceVersion").is_empty() {
            if !builtin::updates_unconditionally(&self.resource.kind, &self.resource.group) || self.resource.is_custom()
            {
                let detail = "must be specified for an update";
                let fault = Fault::of(What::Invalid, "metadata.resourceVersion", 0.into(), detail);
                return Err(Status::invalid(self.resource.about(&self.name), &[fault]));
            }
            metadata::set(&mut new, "resourceVersion", live["metadata"].get("resourceVersion").cloned());
        }
        Ok(new)
    }

    /// Who writes, for the managed fields.
    pub(crate) fn author(&self, applied: bool) -> Result<Author, Status> {
        let manager = match &self.query.field_manager {
            Some(manager) => manager.clone(),
            None if applied => {
                let fault = Fault::required("fieldManager", "is required for apply patch");
                let about = crate::status::About { group: "meta.k8s.io", kind: "PatchOptions", name: "" };
                return Err(Status::invalid(about, &[fault]));
            }
            None => fields::manager_of_user_agent(&self.agent),
        };
        let versions = self.resource.versions.iter();
        let versions =
            versions.map(|version| (self.resource.api_version(&version.name), version.schema.clone())).collect();
        let empty = (!self.resource.is_custom()).then(|| fields::empty_object(&self.version().schema));
        Ok(Author { manager, api_version: self.api_version(), time: self.api.clock.stamp(), versions, empty })
    }

    pub(crate) fn force(&self) -> bool {
        self.query.force == Some(true)
    }

    pub(super) fn same_name(&self, object: &Value) -> Result<(), Status> {
        let name = text(object, "name");
        if name.is_empty() || name == self.name {
            return Ok(());
        }
        let message = format!("the name of the object ({name}) does not match the name on the URL ({})", self.name);
        Err(Status::bad_request(message))
    }
}

/// A patch as data.
fn read_json(bytes: &[u8]) -> Result<Value, Status> {
    let said = |error: serde_json::Error| words::fault(bytes).unwrap_or_else(|| error.to_string());
    serde_json::from_slice(bytes).map_err(|error| Status::bad_request(format!("error decoding patch: {}", said(error))))
}

/// A strategic patch is not read as JSON again, and what cannot be read is told in other words.
fn restored(mut status: Status) -> Status {
    const SAID: &str = "json: cannot unmarshal object into Go struct field ";
    if let (Some(at), true) = (status.message.find(SAID), status.message.contains(" of type []")) {
        let rest = status.message.split_off(at);
        status.message.push_str("cannot restore slice from map");
        if let Some(cause) =
            status.details.as_mut().and_then(|details| details["causes"][0]["message"].as_str().map(ToOwned::to_owned))
        {
            let cause = cause.replace(&rest, "cannot restore slice from map");
            if let Some(details) = status.details.as_mut() {
                details["causes"][0]["message"] = cause.into();
            }
        }
    }
    status
}
