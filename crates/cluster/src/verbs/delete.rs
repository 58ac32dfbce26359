//! Deletion: at once, or marked and awaited by finalizers, dependents or a kubelet.

use std::sync::Arc;

use http::Response;
use jiff::ToSpan;
use serde_json::{Value, json};

use super::Call;
use super::metadata::{self, text};
use crate::admission::{self, Operation};
use crate::builtin;
use crate::chores::Chore;
use crate::clock;
use crate::http::body::{self, Body};
use crate::http::media::Content;
use crate::json::words;
use crate::status::{About, Fault, Status, What};
use crate::store::{Object, Refused};

const ATTEMPTS: usize = 50;

/// Namespaces without which a cluster is none.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// The finalizer that waits for dependents to go first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer that waits for dependents to be set free.
pub(crate) const ORPHAN: &str = "orphan";

/// How something is to be deleted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) propagation: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) dry_run: bool,
}

/// What became of the object.
pub(crate) enum Deleted {
    /// It is gone; this is what it was.
    Gone(Value),
    /// It waits; this is what it is.
    Marked(Value),
}

impl Call {
    /// DELETE of one object.
    pub(crate) async fn delete(&self, bytes: &[u8]) -> Result<Response<Body>, Status> {
        let options = self.delete_options(bytes)?;
        let deleted = self.erase(&options).await?;
        super::definitions::emptied(self).await?;
        Ok(match deleted {
            Deleted::Marked(object) => self.show(200, object),
            Deleted::Gone(object) if self.returns_deleted() => self.show(200, object),
            Deleted::Gone(object) => {
                let mut details = json!({"name": self.name, "kind": self.resource.plural, "uid": text(&object, "uid")});
                if !self.resource.group.is_empty() {
                    details["group"] = self.resource.group.clone().into();
                }
                let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
                self.show(200, status)
            }
        })
    }

    /// DELETE of all objects that are selected.
    pub(crate) async fn delete_collection(&self, bytes: &[u8]) -> Result<Response<Body>, Status> {
        if self.resource.namespaced && self.namespace.is_none() || self.is_namespace() {
            return Err(Status::method_not_allowed());
        }
        let options = self.delete_options(bytes)?;
        let selection = self.selection()?;
        let snapshot = self.api.store.list(&self.shelf(), self.namespace.as_deref());
        let mut items = Vec::new();
        for (key, object) in snapshot.objects.iter().filter(|(key, object)| selection.holds(key, object)) {
            let mut item = self.value(object).await?;
            let on = |name| {
                Self::on(&self.api, &self.user, self.resource.clone(), &self.version, self.namespace.clone(), name)
            };
            let one = Self { query: self.query.clone(), options: self.options, ..on(key.name.clone()) };
            match one.erase(&options).await {
                Ok(Deleted::Gone(_) | Deleted::Marked(_)) => {
                    if let (false, Some(item)) = (self.resource.is_custom(), item.as_object_mut()) {
                        item.remove("apiVersion");
                        item.remove("kind");
                    }
                    items.push(item);
                }
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        let list = json!({
            "kind": self.resource.list_kind, "apiVersion": self.api_version(),
            "metadata": self.list_metadata(snapshot.revision), "items": items,
        });
        Ok(crate::http::answer::value(200, &list, self.form.encoding, &self.warnings()))
    }

    /// Deletes the object of this call.
    pub(crate) async fn erase(&self, options: &Options) -> Result<Deleted, Status> {
        for _ in 0..ATTEMPTS {
            let stored = self.api.store.get(&self.shelf(), &self.key()).ok_or_else(|| self.not_found())?;
            let live = self.value(&stored).await?;
            if self.is_namespace() && IMMORTAL.contains(&self.name.as_str()) {
                return Err(Status::forbidden(self.resource.about(&self.name), "this namespace may not be deleted"));
            }
            self.preconditions(options, &live, stored.revision)?;
            admission::mutate(self, Operation::Delete, None, Some(&live)).await?;
            admission::validate(self, Operation::Delete, None, Some(&live)).await?;
            let grace = self.grace(options, &live);
            let marked = self.marked(options, &live, grace);
            let waits = grace > 0 || !metadata::finalizers(&marked).is_empty() || self.has_other_finalizers(&marked);
            if options.dry_run {
                return Ok(if waits { Deleted::Marked(marked) } else { Deleted::Gone(live) });
            }
            let done = if waits {
                self.mark(&stored, &live, marked).await?.map(|(_, object)| Deleted::Marked(object))
            } else if self.has_grace() {
                // A pod is always seen to be on its way out before it is gone.
                match self.mark(&stored, &live, marked).await? {
                    Some((Some(sealed), object)) => self.remove(&sealed, object.clone()).await?.map(Deleted::Gone),
                    Some((None, _)) => self.remove(&stored, live).await?.map(Deleted::Gone),
                    None => None,
                }
            } else {
                self.remove(&stored, live).await?.map(Deleted::Gone)
            };
            if let Some(done) = done {
                return Ok(done);
            }
        }
        Err(Status::modified(self.resource.about(&self.name)))
    }

    pub(crate) fn preconditions(&self, options: &Options, live: &Value, revision: u64) -> Result<(), Status> {
        let about = self.resource.about_kind(&self.name);
        if let Some(uid) = &options.uid
            && uid != text(live, "uid")
        {
            let why = format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and \
                 then recreated",
                text(live, "uid")
            );
            return Err(Status::conflict(about, &why));
        }
        if let Some(version) = &options.resource_version
            && *version != revision.to_string()
        {
            let why = format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({revision}). The \
                 object might have been modified"
            );
            return Err(Status::conflict(about, &why));
        }
        Ok(())
    }

    /// Whether objects of this kind are ended by a kubelet.
    fn has_grace(&self) -> bool {
        self.resource.kind == "Pod" && self.resource.group.is_empty()
    }

    /// How long a kubelet has to end a pod; every other kind goes at once.
    fn grace(&self, options: &Options, live: &Value) -> i64 {
        if !self.has_grace() {
            return 0;
        }
        let unbound = live["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
        let finished = matches!(live["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let own = live["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        let asked = options.grace_seconds.unwrap_or(own);
        let asked = if asked < 0 { 1 } else { asked };
        let asked = if unbound || finished { 0 } else { asked };
        // Who is on the way out can be hurried, not slowed down.
        match live["metadata"]["deletionGracePeriodSeconds"].as_i64() {
            Some(running) if metadata::is_deleting(live) => asked.min(running),
            _ => asked,
        }
    }

    /// The object with the marks of its deletion.
    fn marked(&self, options: &Options, live: &Value, grace: i64) -> Value {
        let mut object = live.clone();
        let already = metadata::is_deleting(live);
        let running = live["metadata"]["deletionGracePeriodSeconds"].as_i64();
        if !already || running.is_some_and(|running| grace < running) {
            let at = self.api.clock.now().checked_add(grace.seconds()).unwrap_or_else(|_| self.api.clock.now());
            metadata::set(&mut object, "deletionTimestamp", Some(clock::stamp(at).into()));
            if !self.is_namespace() {
                metadata::set(&mut object, "deletionGracePeriodSeconds", Some(grace.into()));
            }
        }
        if !already {
            if let Some(generation) = live["metadata"]["generation"].as_i64().filter(|&generation| generation > 0) {
                metadata::set(&mut object, "generation", Some((generation + 1).into()));
            }
            builtin::terminating(&self.resource.kind, &self.resource.group, &mut object);
            super::definitions::terminating(self, &mut object);
        }
        let mut finalizers = metadata::finalizers(&object);
        let wanted = match (options.propagation.as_deref(), options.orphan_dependents) {
            (Some("Foreground"), _) => Some(FOREGROUND),
            (Some("Orphan"), _) | (None, Some(true)) => Some(ORPHAN),
            (Some(_), _) | (None, Some(false)) => None,
            // Nothing said: what stands there already decides.
            (None, None) => return object,
        };
        finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
        finalizers.extend(wanted.map(ToOwned::to_owned));
        metadata::set(&mut object, "finalizers", (!finalizers.is_empty()).then(|| finalizers.into()));
        object
    }

    /// Stores the marks; `None` if the object moved meanwhile.
    async fn mark(
        &self,
        stored: &Object,
        live: &Value,
        mut marked: Value,
    ) -> Result<Option<(Option<Arc<Object>>, Value)>, Status> {
        if marked == *live {
            return Ok(Some((None, marked)));
        }
        let mut rest = self.for_storage(marked.clone()).await?;
        let index = metadata::index(self, &rest);
        match self.api.store.replace(&self.shelf(), self.key(), stored.revision, &mut rest, index) {
            Ok(sealed) => {
                metadata::set(&mut marked, "resourceVersion", Some(sealed.revision.to_string().into()));
                self.written(&rest);
                Ok(Some((Some(sealed), marked)))
            }
            Err(Refused::Disk(error)) => Err(Status::internal(error)),
            Err(_) => Ok(None),
        }
    }

    /// Removes the object and returns its last form; `None` if it moved meanwhile.
    async fn remove(&self, stored: &Object, mut live: Value) -> Result<Option<Value>, Status> {
        let mut last = self.for_storage(live.clone()).await?;
        match self.api.store.remove(&self.shelf(), self.key(), stored.revision, &mut last, stored.index.clone()) {
            Ok(sealed) => {
                self.removed(&last);
                metadata::set(&mut live, "resourceVersion", Some(sealed.revision.to_string().into()));
                Ok(Some(live))
            }
            Err(Refused::Disk(error)) => Err(Status::internal(error)),
            Err(_) => Ok(None),
        }
    }

    /// What the server itself has to do when an object is gone.
    pub(crate) fn removed(&self, last: &Value) {
        super::definitions::removed(self, last);
        let chores = &self.api.chores;
        chores.note(Chore::Dependents(text(last, "uid").to_owned()));
        // An owner that waits for its dependents, and whatever contained this, may be next.
        let owners = last["metadata"]["ownerReferences"].as_array();
        for uid in owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str()) {
            if let Some((shelf, key)) = self.api.store.find_uid(uid) {
                chores.note(Chore::Object(shelf, key));
            }
        }
        if let Some(namespace) = &self.namespace {
            chores.note(Chore::Namespace(namespace.clone()));
        }
        if self.resource.is_custom() {
            chores.note(Chore::Definition(self.shelf().to_string()));
        }
    }

    fn returns_deleted(&self) -> bool {
        builtin::returns_deleted(&self.resource.kind, &self.resource.group)
    }

    fn delete_options(&self, bytes: &[u8]) -> Result<Options, Status> {
        let query = &self.query;
        if bytes.is_empty() {
            let options = Options {
                grace_seconds: query.grace_seconds,
                propagation: query.propagation.clone(),
                orphan_dependents: query.orphan_dependents,
                dry_run: self.dry_run()?,
                ..Options::default()
            };
            return check(options);
        }
        let content = Content::of(Some(&self.content_type))?;
        let (given, _) =
            body::decode(bytes, content, "v1", "DeleteOptions").map_err(|status| match words::fault(bytes) {
                Some(why) if content == Content::Json => {
                    Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
                }
                _ => status,
            })?;
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        if let Some(kind) = given["kind"].as_str().filter(|kind| *kind != "DeleteOptions") {
            let version = given["apiVersion"].as_str().unwrap_or_default();
            let why = format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            );
            return Err(Status::bad_request(why));
        }
        let listed: Vec<String> = given["dryRun"].as_array().into_iter().flatten().filter_map(text).collect();
        check(Options {
            grace_seconds: given["gracePeriodSeconds"].as_i64(),
            uid: text(&given["preconditions"]["uid"]),
            resource_version: text(&given["preconditions"]["resourceVersion"]),
            propagation: text(&given["propagationPolicy"]),
            orphan_dependents: given["orphanDependents"].as_bool(),
            dry_run: super::intake::dry_run(&listed, "DeleteOptions")? || self.dry_run()?,
        })
    }
}

fn check(options: Options) -> Result<Options, Status> {
    let mut faults = Vec::new();
    if options.propagation.is_some() && options.orphan_dependents.is_some() {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        faults.push(Fault::of(What::Invalid, "propagationPolicy", options.propagation.clone().into(), detail));
    }
    if let Some(policy) = &options.propagation
        && !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan")
    {
        let detail = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        faults.push(Fault::of(What::NotSupported, "propagationPolicy", policy.clone().into(), detail));
    }
    if faults.is_empty() {
        return Ok(options);
    }
    Err(Status::invalid(About { group: "meta.k8s.io", kind: "DeleteOptions", name: "" }, &faults))
}
