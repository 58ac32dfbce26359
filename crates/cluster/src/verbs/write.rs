//! Creates, updates and patches: one way for all of them, from what the client sent to what is stored.
//!
//! The order is that of a real server: read and default, record who owns which fields, mutating admission, fit to what the verb may
//! touch, validate, validating admission, store. Updates start from the live object, and start again when it moved meanwhile, unless
//! the client said which version it means.

use std::sync::Arc;

use serde_json::Value;

use super::Call;
use super::metadata::{self, text};
use crate::admission::{self, Operation};
use crate::builtin::{self, Verb};
use crate::chores::Chore;
use crate::fields::{self, Writer};
use crate::http::media::essence;
use crate::json::words;
use crate::patch;
use crate::schema::{Schema, validate};
use crate::status::{Fault, Status, What};
use crate::store::{Object, Refused};
use crate::yaml;

/// Kinds of patches that are known, if not for every kind of object.
const KNOWN_PATCHES: [&str; 5] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
];

/// How often an update is tried on a live object that keeps moving.
const ATTEMPTS: usize = 50;

/// How often a generated name is tried.
const NAMES: usize = 8;

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

/// What became of an attempt.
enum Attempt {
    Done(Value),
    Moved,
}

impl Call {
    /// POST
    pub(crate) async fn create(&self, mut object: Value, twice: Vec<String>) -> Result<Value, Status> {
        self.place(&mut object)?;
        self.take_in(&mut object, &twice)?;
        self.begin(&mut object);
        let author = self.author(false)?;
        fields::update(&self.version().schema, None, &mut object, &author.writer(self));
        self.create_prepared(object).await
    }

    /// Makes an object whose managed fields are recorded already.
    async fn create_prepared(&self, mut object: Value) -> Result<Value, Status> {
        if !text(&object, "resourceVersion").is_empty() {
            return Err(Status::other(500, "", "resourceVersion should not be set on objects to be created"));
        }
        let dry_run = self.dry_run()?;
        self.namespace_takes(&object)?;
        self.plug_in(&mut object)?;
        admission::mutate(self, Operation::Create, Some(&mut object), None).await?;
        self.prepare(Verb::Create, &mut object, None);
        self.judge(&mut object, None)?;
        admission::validate(self, Operation::Create, Some(&object), None).await?;
        if dry_run {
            return Ok(object);
        }
        let generated = !text(&object, "generateName").is_empty();
        let mut names = 0;
        loop {
            match self.store_new(&object).await {
                Err(status) if generated && status.reason == "AlreadyExists" && names < NAMES => {
                    names += 1;
                    self.generate_name(&mut object);
                }
                other => return other,
            }
        }
    }

    async fn store_new(&self, object: &Value) -> Result<Value, Status> {
        let name = text(object, "name").to_owned();
        let mut stored = self.for_storage(object.clone()).await?;
        let index = metadata::index(self, &stored);
        let key = crate::store::Key { name: name.clone(), ..self.key() };
        match self.api.store.create(&self.shelf(), key, &mut stored, index) {
            Ok(sealed) => {
                self.written(&stored, None);
                self.as_written(object.clone(), &sealed).await
            }
            Err(Refused::Taken | Refused::Moved) => Err(self.name_taken(&name)),
            Err(Refused::Disk(error)) => Err(Status::internal(error)),
        }
    }

    fn name_taken(&self, name: &str) -> Status {
        let mut status = Status::already_exists(self.resource.about(name));
        let key = crate::store::Key { name: name.to_owned(), ..self.key() };
        let going =
            self.api.store.get(&self.shelf(), &key).is_some_and(|object| metadata::is_deleting(&object.value("", "")));
        if going {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    }

    /// PUT
    pub(crate) async fn put(&self, mut object: Value, twice: Vec<String>) -> Result<(u16, Value), Status> {
        self.same_name(&object)?;
        self.place(&mut object)?;
        self.take_in(&mut object, &twice)?;
        self.rewrite(&Rewrite::Put(object)).await
    }

    /// PATCH
    pub(crate) async fn patch(&self, bytes: &[u8]) -> Result<(u16, Value), Status> {
        let rewrite = self.read_patch(bytes)?;
        if self.query.force.is_some() && !matches!(rewrite, Rewrite::Apply(_)) {
            let fault = Fault::forbidden("force", "may not be specified for non-apply patch");
            let about = crate::status::About { group: "meta.k8s.io", kind: "PatchOptions", name: "" };
            return Err(Status::invalid(about, &[fault]));
        }
        self.rewrite(&rewrite).await
    }

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

    /// Makes something new of a live object.
    pub(crate) async fn rewrite(&self, rewrite: &Rewrite) -> Result<(u16, Value), Status> {
        for _ in 0..ATTEMPTS {
            let Some(stored) = self.api.store.get(&self.shelf(), &self.key()) else {
                return self.rewrite_nothing(rewrite).await;
            };
            let live = self.value(&stored).await?;
            let new = self.proposed(rewrite, &live)?;
            match self.settle(&stored, live, new, rewrite).await? {
                Attempt::Done(object) => return Ok((200, object)),
                Attempt::Moved => {}
            }
        }
        Err(Status::modified(self.resource.about(&self.name)))
    }

    /// An update of what is not there: an applied configuration makes it, and so do updates of a few kinds.
    async fn rewrite_nothing(&self, rewrite: &Rewrite) -> Result<(u16, Value), Status> {
        let main = self.subresource.is_empty();
        match rewrite {
            Rewrite::Apply(config) if main => {
                let author = self.author(true)?;
                let mut config = config.clone();
                let uid = text(&config, "uid");
                if !uid.is_empty() {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    return Err(Status::conflict(self.resource.about(&self.name), &why));
                }
                metadata::set(&mut config, "resourceVersion", None);
                self.same_name(&config)?;
                self.place(&mut config.clone())?;
                if text(&config, "name").is_empty() {
                    metadata::set(&mut config, "name", Some(self.name.clone().into()));
                }
                let writer = author.writer(self);
                let mut object = fields::apply(&self.version().schema, None, &config, &writer, self.force())?;
                self.place(&mut object)?;
                self.take_in_applied(&mut object)?;
                self.begin(&mut object);
                Ok((201, self.create_prepared(object).await?))
            }
            Rewrite::Put(object) if main && builtin::creates_on_update(&self.resource.kind, &self.resource.group) => {
                let mut object = object.clone();
                let uid = text(&object, "uid");
                if !uid.is_empty() {
                    return Err(self.precondition_failed(&format!("UID in precondition: {uid}, UID in object meta: ")));
                }
                metadata::set(&mut object, "resourceVersion", None);
                Ok((201, self.create(object, Vec::new()).await?))
            }
            _ => Err(self.not_found()),
        }
    }

    /// What the client wants the object to be.
    fn proposed(&self, rewrite: &Rewrite, live: &Value) -> Result<Value, Status> {
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

    /// Brings what the client wants through all stations, and stores it.
    async fn settle(&self, stored: &Object, live: Value, mut new: Value, rewrite: &Rewrite) -> Result<Attempt, Status> {
        let put = matches!(rewrite, Rewrite::Put(_));
        let recorded = matches!(rewrite, Rewrite::Apply(_) | Rewrite::Recorded(_));
        let asked = text(&new, "resourceVersion").to_owned();
        let uid = text(&new, "uid").to_owned();
        if put && !uid.is_empty() && uid != text(&live, "uid") {
            let why = format!("UID in precondition: {uid}, UID in object meta: {}", text(&live, "uid"));
            return Err(self.precondition_failed(&why));
        }
        if !asked.is_empty() && asked != stored.revision.to_string() {
            return Err(Status::modified(self.resource.about(&self.name)));
        }
        Self::carry_over(&live, &mut new);
        if !recorded {
            let author = self.author(false)?;
            fields::update(&self.version().schema, Some(&live), &mut new, &author.writer(self));
        }
        self.plug_in_update(&mut new);
        admission::mutate(self, Operation::Update, Some(&mut new), Some(&live)).await?;
        let verb = if self.subresource == "status" { Verb::UpdateStatus } else { Verb::Update };
        self.prepare(verb, &mut new, Some(&live));
        self.judge(&mut new, Some(&live))?;
        admission::validate(self, Operation::Update, Some(&new), Some(&live)).await?;
        metadata::set(&mut new, "resourceVersion", live["metadata"].get("resourceVersion").cloned());
        fields::keep_times(&live, &mut new);
        if new == live || self.dry_run()? {
            return Ok(Attempt::Done(new));
        }
        self.store_changed(stored, &live, new).await
    }

    /// Stores a changed object; one that is being deleted and lost its last finalizer goes.
    async fn store_changed(&self, stored: &Object, live: &Value, new: Value) -> Result<Attempt, Status> {
        let (shelf, key) = (self.shelf(), self.key());
        let mut rest = self.for_storage(new.clone()).await?;
        let gone = self.is_finished(&new);
        let written = if gone {
            let mut last = self.for_storage(live.clone()).await?;
            self.api.store.remove(&shelf, key, stored.revision, &mut last, stored.index.clone())
        } else {
            let index = metadata::index(self, &rest);
            self.api.store.replace(&shelf, key, stored.revision, &mut rest, index)
        };
        match written {
            Ok(sealed) => {
                if gone {
                    self.removed(&rest);
                    return Ok(Attempt::Done(new));
                }
                self.written(&rest, Some(live));
                Ok(Attempt::Done(self.as_written(new, &sealed).await?))
            }
            Err(Refused::Moved | Refused::Taken) => Ok(Attempt::Moved),
            Err(Refused::Disk(error)) => Err(Status::internal(error)),
        }
    }

    /// Whether an object that is being deleted has nothing left to wait for.
    fn is_finished(&self, object: &Value) -> bool {
        metadata::is_deleting(object)
            && metadata::finalizers(object).is_empty()
            && object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
            && !self.has_other_finalizers(object)
    }

    /// What a real server says of an object that is not the one meant.
    pub(crate) fn precondition_failed(&self, why: &str) -> Status {
        let group = if self.resource.is_custom() { format!("{}/", self.resource.group) } else { String::new() };
        let place = self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let key = format!("/registry/{group}{}/{place}{}", self.resource.plural, self.name);
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {why}"
        );
        Status::conflict(self.resource.about(&self.name), &why)
    }

    /// Whether this is about namespaces, which differ from other kinds in how they go.
    pub(crate) fn is_namespace(&self) -> bool {
        self.resource.kind == "Namespace" && self.resource.group.is_empty()
    }

    /// Namespaces have finalizers of their own in the spec.
    pub(crate) fn has_other_finalizers(&self, object: &Value) -> bool {
        self.is_namespace() && object["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
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

    fn same_name(&self, object: &Value) -> Result<(), Status> {
        let name = text(object, "name");
        if name.is_empty() || name == self.name {
            return Ok(());
        }
        let message = format!("the name of the object ({name}) does not match the name on the URL ({})", self.name);
        Err(Status::bad_request(message))
    }

    /// Fits an object to what the verb may touch.
    fn prepare(&self, verb: Verb, object: &mut Value, live: Option<&Value>) {
        if !self.resource.is_custom() {
            let wanted_finalizers = object["spec"].get("finalizers").cloned();
            builtin::prepare(&self.resource.kind, &self.resource.group, verb, object, live);
            if self.subresource == "finalize" {
                set_in(object, "spec", "finalizers", wanted_finalizers);
            }
            super::definitions::prepare(self, verb, object, live);
            if self.resource.kind == "Service" && verb != Verb::UpdateStatus {
                self.give_address(object, live);
            }
            return;
        }
        let status = self.version().subresources.status;
        match (verb, live) {
            (Verb::Create, _) | (_, None) => {
                if status && let Some(object) = object.as_object_mut() {
                    object.remove("status");
                }
                metadata::set(object, "generation", Some(1.into()));
            }
            (Verb::UpdateStatus, Some(live)) => {
                let managed = object["metadata"].get("managedFields").cloned();
                let status = object.get("status").cloned();
                *object = live.clone();
                metadata::set(object, "managedFields", managed);
                set(object, "status", status);
            }
            (Verb::Update, Some(live)) => {
                if status {
                    set(object, "status", live.get("status").cloned());
                }
                if !same_but_metadata(object, live) {
                    let generation = live["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
                    metadata::set(object, "generation", Some(generation.into()));
                }
            }
        }
    }

    /// Refuses what breaks the rules of its kind.
    fn judge(&self, object: &mut Value, live: Option<&Value>) -> Result<(), Status> {
        let name = text(object, "name").to_owned();
        let mut faults = builtin::metadata_faults(&self.resource, object, live, &self.subresource);
        if self.resource.is_custom() {
            faults = self.judge_custom(object, live, faults);
            whole_numbers(object);
        } else {
            let (kind, group) = (&self.resource.kind, &self.resource.group);
            faults.extend(builtin::validate(kind, group, object, live, &self.subresource));
            faults.extend(super::definitions::faults(self, object, live));
        }
        if faults.is_empty() {
            self.single_owners(object);
            self.warn_of_finalizers(object, live);
            return Ok(());
        }
        let about = self.resource.about_kind(&name);
        // Faults of events are told of the older shape, in which they are judged.
        let group = if super::read::is_other_event(&self.resource) { "" } else { about.group };
        Err(Status::invalid(crate::status::About { group, ..about }, &faults))
    }

    fn judge_custom(&self, object: &Value, live: Option<&Value>, known: Vec<Fault>) -> Vec<Fault> {
        let version = self.version();
        let scale = super::scale::faults(self, object);
        let status = version.schema.properties.get("status").filter(|_| self.subresource == "status");
        let verdict = match status {
            None => validate::judge(object, live, &version.schema, &version.rules, known, scale),
            Some(status) => {
                // Who writes a status hears of it alone, as if it were an object of its own.
                let nothing = Value::Null;
                let (new, old) = (object.get("status").unwrap_or(&nothing), live.and_then(|live| live.get("status")));
                let placed = |mut fault: Fault| {
                    fault.field =
                        if fault.field.is_empty() { "status".to_owned() } else { format!("status.{}", fault.field) };
                    fault
                };
                let found = if new.is_null() { Vec::new() } else { validate::validate_status(new, old, status) };
                let known = known.into_iter().chain(found.into_iter().map(placed)).chain(scale).collect();
                validate::judge_by_rules(object, live, &version.rules, known)
            }
        };
        verdict.warnings.into_iter().for_each(|warning| self.warn(warning));
        verdict.faults
    }

    /// What the server itself has to do after a write.
    pub(crate) fn written(&self, stored: &Value, _live: Option<&Value>) {
        super::definitions::written(self, stored);
        let owned = stored["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        if owned || metadata::is_deleting(stored) {
            let key = crate::store::Key { name: text(stored, "name").to_owned(), ..self.key() };
            self.api.chores.note(Chore::Object(self.shelf(), key));
        }
    }
}

/// A patch as data.
fn read_json(bytes: &[u8]) -> Result<Value, Status> {
    let said = |error: serde_json::Error| words::fault(bytes).unwrap_or_else(|| error.to_string());
    serde_json::from_slice(bytes).map_err(|error| Status::bad_request(format!("error decoding patch: {}", said(error))))
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match value {
        Some(value) => drop(object.insert(field.to_owned(), value)),
        None => drop(object.remove(field)),
    }
}

fn set_in(object: &mut Value, part: &str, field: &str, value: Option<Value>) {
    let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) else { return };
    match value.filter(|value| value.as_array().is_none_or(|list| !list.is_empty())) {
        Some(value) => drop(part.insert(field.to_owned(), value)),
        None => drop(part.remove(field)),
    }
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

/// A number that is whole is written as one, whatever the client wrote.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            // Beyond this, floats have gaps.
            if float.fract() == 0.0 && float.abs() < 9e15 {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Whether two objects say the same, whatever their metadata say.
fn same_but_metadata(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return one == other };
    let relevant = |key: &&String| *key != "metadata" && *key != "apiVersion" && *key != "kind";
    one.keys().filter(relevant).all(|key| one.get(key) == other.get(key))
        && other.keys().filter(relevant).all(|key| one.contains_key(key))
}
