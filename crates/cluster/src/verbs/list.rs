//! Lists: all objects of a resource at one moment, whole or page by page.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::BytesMut;
use http::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Call;
use super::read::with_head;
use crate::http::answer;
use crate::http::body::Body;
use crate::http::media::{Encoding, View};
use crate::json::words;
use crate::selector::{Fields, Labels};
use crate::status::{About, Fault, Status, What};
use crate::store::{Key, Object, Snapshot};
use crate::table;

/// Which objects a request is about.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    labels: Option<Labels>,
    /// Path, whether it has to be equal, value.
    fields: Vec<(String, bool, String)>,
    name: Option<String>,
}

/// Where a list that was cut off goes on.
#[derive(Serialize, Deserialize)]
struct Continue {
    v: String,
    rv: u64,
    namespace: String,
    name: String,
}

impl Selection {
    /// Whether an object is meant.
    pub(crate) fn holds(&self, key: &Key, object: &Object) -> bool {
        self.name.as_ref().is_none_or(|name| *name == key.name)
            && self.labels.as_ref().is_none_or(|labels| labels.matches(|name| object.index.label(name)))
            && self.fields.iter().all(|(path, equal, value)| {
                let found = match path.as_str() {
                    "metadata.name" => &key.name,
                    "metadata.namespace" => &key.namespace,
                    path => object.index.field(path),
                };
                (found == value) == *equal
            })
    }

    /// Whether every object is meant.
    pub(crate) fn is_all(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty() && self.name.is_none()
    }
}

impl Call {
    /// What the selectors of the request ask for.
    pub(crate) fn selection(&self) -> Result<Selection, Status> {
        let labels = self.query.label_selector.as_deref().map(Labels::parse).transpose()?;
        let fields = self.query.field_selector.as_deref().map(Fields::parse).transpose()?;
        if let Some(fields) = &fields {
            fields.check(&self.version().selectable, self.resource.is_custom(), self.resource.namespaced)?;
        }
        let fields = fields.map(|fields| fields.requirements().to_vec()).unwrap_or_default();
        let stored = |(path, equal, value): (String, bool, String)| (stored_path(&path), equal, value);
        let fields = fields.into_iter().map(stored).collect();
        let name = (!self.name.is_empty()).then(|| self.name.clone());
        Ok(Selection { labels, fields, name })
    }

    /// GET of all objects.
    pub(crate) async fn list(&self) -> Result<Response<Body>, Status> {
        let selection = self.selection()?;
        let token = self.query.continue_token.as_deref().map(read_token).transpose()?;
        let snapshot = self.snapshot(token.as_ref())?;
        let after = token.map(|token| Key { namespace: token.namespace, name: token.name });
        let mut chosen = snapshot
            .objects
            .into_iter()
            .filter(|(key, object)| after.as_ref().is_none_or(|after| key > after) && selection.holds(key, object));
        let page: Vec<(Key, Arc<Object>)> = chosen.by_ref().take(self.query.limit.unwrap_or(usize::MAX)).collect();
        let left = chosen.count();
        let mut metadata = self.list_metadata(snapshot.revision);
        if let (1.., Some((last, _))) = (left, page.last()) {
            metadata["continue"] = write_token(snapshot.revision, last).into();
            if selection.is_all() {
                metadata["remainingItemCount"] = left.into();
            }
        }
        self.show_list(&metadata, &page).await
    }

    /// The metadata of a list without more pages; those of custom kinds say so.
    pub(crate) fn list_metadata(&self, revision: u64) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if self.resource.is_custom() && self.form.view == View::Whole {
            metadata["continue"] = "".into();
        }
        metadata
    }

    /// The moment that the list shows.
    fn snapshot(&self, token: Option<&Continue>) -> Result<Snapshot, Status> {
        let (shelf, namespace) = (self.shelf(), self.namespace.as_deref());
        if let Some(token) = token {
            if self.query.resource_version.as_deref().is_some_and(|version| version != "0") {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            return self.api.store.list_at(&shelf, namespace, token.rv).map_err(|_| {
                Status::expired(
                    "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
                     the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
                     Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
                     deleted between the time the first chunk was returned and now may show up in the list.",
                )
            });
        }
        let exact = self.query.resource_version_match.as_deref();
        let faults = list_faults(self);
        if !faults.is_empty() {
            return Err(Status::invalid(About { group: "meta.k8s.io", kind: "ListOptions", name: "" }, &faults));
        }
        let asked = self.query.resource_version.as_deref().map(revision).transpose()?;
        match (asked, exact) {
            (Some(asked), Some("Exact")) => self.api.store.list_at(&shelf, namespace, asked).map_err(|expired| {
                Status::expired(format!(
                    "The resourceVersion for the provided list is too old. ({} < {})",
                    expired.asked, expired.oldest
                ))
            }),
            (asked, _) => {
                let snapshot = self.api.store.list(&shelf, namespace);
                match asked {
                    Some(asked) if asked > snapshot.revision => Err(too_large(asked, snapshot.revision)),
                    _ => Ok(snapshot),
                }
            }
        }
    }

    async fn show_list(&self, metadata: &Value, page: &[(Key, Arc<Object>)]) -> Result<Response<Body>, Status> {
        let plain = self.form.view == View::Whole && self.form.encoding == Encoding::Json;
        if plain && !page.iter().any(|(_, object)| self.is_foreign(object)) {
            return Ok(answer::text(200, self.list_text(metadata, page), answer::JSON, &self.warnings()));
        }
        let mut values = Vec::with_capacity(page.len());
        for (_, object) in page {
            values.push(self.value(object).await?);
        }
        let list = match self.form.view {
            View::Table => self.table(&values, metadata, true),
            View::Metadata => return Err(self.misfit_view("PartialObjectMetadata", "a list", "List")),
            View::MetadataList => table::partial_list(&values, metadata),
            View::Whole => {
                if !self.resource.is_custom() {
                    values.iter_mut().filter_map(Value::as_object_mut).for_each(|object| {
                        object.remove("apiVersion");
                        object.remove("kind");
                    });
                }
                json!({
                    "kind": self.resource.list_kind, "apiVersion": self.api_version(), "metadata": metadata, "items": values,
                })
            }
        };
        Ok(answer::value(200, &list, self.form.encoding, &self.warnings()))
    }

    /// A list put together from texts at rest. Items of built-in kinds carry neither `apiVersion` nor `kind`, as on a real server.
    fn list_text(&self, metadata: &Value, page: &[(Key, Arc<Object>)]) -> BytesMut {
        let head = self.head();
        let size: usize = page.iter().map(|(_, object)| object.text.len() + head.len() + 1).sum();
        let mut text = BytesMut::with_capacity(size + 256);
        let start = format!(
            "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
            self.resource.list_kind,
            self.api_version()
        );
        text.extend_from_slice(start.as_bytes());
        for (at, (_, object)) in page.iter().enumerate() {
            if at > 0 {
                text.extend_from_slice(b",");
            }
            if self.resource.is_custom() {
                text.extend_from_slice(&with_head(&head, &object.text));
            } else {
                text.extend_from_slice(&object.text);
            }
        }
        text.extend_from_slice(b"]}");
        text
    }

    /// Objects as a table.
    pub(crate) fn table(&self, objects: &[Value], metadata: &Value, headers: bool) -> Value {
        let now = self.api.clock.now().as_second();
        table::table(&self.version().columns, objects, metadata, now, self.include, headers)
    }
}

/// A revision that a client names.
pub(crate) fn revision(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        let detail = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        let fault = Fault::of(What::Invalid, "resourceVersion", text.into(), detail);
        Status::bad_request(format!("invalid resource version: {fault}"))
    })
}

/// Someone asks for a revision that is yet to come.
pub(crate) fn too_large(asked: u64, current: u64) -> Status {
    let mut status = Status::timeout(format!("Too large resource version: {asked}, current: {current}"));
    status.details = Some(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }));
    status
}

fn list_faults(call: &Call) -> Vec<Fault> {
    let (query, mut faults) = (&call.query, Vec::new());
    let matched = query.resource_version_match.as_deref();
    if let Some(matched) = matched {
        if query.resource_version.is_none() && !(query.watch && query.initial_events == Some(true)) {
            faults.push(Fault::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !matches!(matched, "Exact" | "NotOlderThan") {
            faults.push(Fault::of(
                What::NotSupported,
                "resourceVersionMatch",
                matched.into(),
                "supported values: \"Exact\", \"NotOlderThan\", \"\"",
            ));
        }
        if query.initial_events.is_some() {
            faults.push(Fault::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        if matched == "Exact" && query.resource_version.as_deref() == Some("0") {
            faults.push(Fault::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ));
        }
    }
    faults
}

/// Where events rest, their fields have the names of the older shape.
fn stored_path(path: &str) -> String {
    match path.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if path == "reportingController" => "reportingComponent".to_owned(),
        None => path.to_owned(),
    }
}

fn write_token(revision: u64, last: &Key) -> String {
    let token = Continue {
        v: "meta.k8s.io/v1".to_owned(),
        rv: revision,
        namespace: last.namespace.clone(),
        name: last.name.clone(),
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

fn read_token(text: &str) -> Result<Continue, Status> {
    let invalid = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid("illegal base64 data at input byte 0"))?;
    serde_json::from_slice(&bytes).map_err(|error| invalid(&words::fault(&bytes).unwrap_or_else(|| error.to_string())))
}
