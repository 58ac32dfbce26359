//! Creates, updates and patches: one way for all of them, from what the client sent to what is stored.
//!
//! The order is that of a real server: read and default, record who owns which fields, mutating admission, fit to what the verb may
//! touch, validate, validating admission, store. Updates start from the live object, and start again when it moved meanwhile, unless
//! the client said which version it means.

use serde_json::Value;

use super::Call;
use super::intake::Strictness;
use super::metadata::{self, text};
use super::wanted::Rewrite;
use crate::admission::{self, Operation};
use crate::builtin::{self, Verb};
use crate::chores::Chore;
use crate::fields;
use crate::patch;
use crate::status::{Fault, Status};
use crate::store::{Object, Refused};

/// How often an update is tried on a live object that keeps moving.
const ATTEMPTS: usize = 50;

/// How often a generated name is tried.
const NAMES: usize = 8;

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
        if !text(&object, "generateName").is_empty() {
            for _ in 0..NAMES {
                match self.store_new(object.clone()).await {
                    Err(status) if status.reason == "AlreadyExists" => self.generate_name(&mut object),
                    other => return other,
                }
            }
        }
        self.store_new(object).await
    }

    async fn store_new(&self, object: Value) -> Result<Value, Status> {
        let name = text(&object, "name").to_owned();
        let mut stored = self.for_storage(object).await?;
        let index = metadata::index(self, &stored);
        let key = crate::store::Key { name: name.clone(), ..self.key() };
        match self.api.store.create(&self.shelf(), key, &mut stored, index) {
            Ok(sealed) => {
                self.written(&stored);
                self.as_written(stored, &sealed).await
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
        if let (Rewrite::Json(patch), Strictness::Warn) = (&rewrite, self.strictness) {
            patch::unknown_fields(patch).into_iter().for_each(|warning| self.warn(warning));
        }
        if self.query.force.is_some() && !matches!(rewrite, Rewrite::Apply(_)) {
            let fault = Fault::forbidden("force", "may not be specified for non-apply patch");
            let about = crate::status::About { group: "meta.k8s.io", kind: "PatchOptions", name: "" };
            return Err(Status::invalid(about, &[fault]));
        }
        self.rewrite(&rewrite).await
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
        if self.is_finished(&new) {
            let mut last = self.for_storage(live.clone()).await?;
            let gone = self.api.store.remove(&shelf, key, stored.revision, &mut last, stored.index.clone());
            return Self::attempted(gone.map(|_| self.removed(&last)).map(|()| new));
        }
        let mut rest = self.for_storage(new).await?;
        let index = metadata::index(self, &rest);
        match self.api.store.replace(&shelf, key, stored.revision, &mut rest, index) {
            Ok(sealed) => {
                self.written(&rest);
                Ok(Attempt::Done(self.as_written(rest, &sealed).await?))
            }
            Err(refused) => Self::attempted(Err(refused)),
        }
    }

    fn attempted(result: Result<Value, Refused>) -> Result<Attempt, Status> {
        match result {
            Ok(object) => Ok(Attempt::Done(object)),
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

    /// What the server itself has to do after a write.
    pub(crate) fn written(&self, stored: &Value) {
        super::definitions::written(self, stored);
        let owned = stored["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        if owned || metadata::is_deleting(stored) {
            let key = crate::store::Key { name: text(stored, "name").to_owned(), ..self.key() };
            self.api.chores.note(Chore::Object(self.shelf(), key));
        }
    }
}
