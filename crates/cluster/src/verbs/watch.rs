//! Watches: the changes of a resource as they happen, filtered as the client wants them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::Response;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Call;
use super::list::{Selection, revision};
use super::read::with_head;
use crate::fields;
use crate::http::answer;
use crate::http::body::{self, Body};
use crate::http::media::View;
use crate::status::{About, Fault, Status, What};
use crate::store::{Change, Expired, Key, Object, Watch};
use crate::table;

/// How long a watch lasts whose client does not say.
const DEFAULT_SECONDS: u64 = 1_800;

/// No watch lasts longer than a year.
const LONGEST_SECONDS: u64 = 31_536_000;

/// How often a client that wants bookmarks gets one.
const BOOKMARK: Duration = Duration::from_mins(1);

/// A watch under way.
struct Stream {
    call: Call,
    selection: Selection,
    watch: Watch,
    /// What is there at the start, still to be sent.
    initial: VecDeque<(Key, Arc<Object>)>,
    /// A bookmark ends the initial events, if the client asked for them.
    end_of_initial: Option<u64>,
    marked: bool,
    ready: VecDeque<Bytes>,
    ends: Instant,
    bookmark: Instant,
    over: bool,
    /// Tables repeat their headings only in the first event.
    headers: bool,
}

enum Kind {
    Added,
    Modified,
    Deleted,
}

impl Kind {
    fn word(&self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

impl Call {
    /// GET with `watch=true`.
    pub(crate) fn watch(&self) -> Result<Response<Body>, Status> {
        let selection = self.selection()?;
        let faults = self.watch_faults();
        if !faults.is_empty() {
            return Err(Status::invalid(About { group: "meta.k8s.io", kind: "ListOptions", name: "" }, &faults));
        }
        let asked = self.query.resource_version.as_deref().map(revision).transpose();
        let asked = asked.map_err(|status| {
            let message = status.message.trim_start_matches("invalid resource version: ").to_owned();
            Status::other(500, "", message)
        })?;
        let asked = asked.unwrap_or(0);
        let store = &self.api.store;
        let wanted = self.query.initial_events == Some(true) || asked == 0 && self.query.initial_events.is_none();
        let (initial, from) = if wanted {
            let snapshot = store.list(&self.shelf(), self.namespace.as_deref());
            let chosen = snapshot.objects.into_iter().filter(|(key, object)| selection.holds(key, object));
            (chosen.collect(), snapshot.revision)
        } else {
            (VecDeque::new(), if asked == 0 { store.revision() } else { asked })
        };
        let watch = store.watch(&self.shelf(), self.namespace.as_deref(), from);
        let asked = self.query.timeout_seconds.filter(|&seconds| seconds > 0);
        let seconds = asked.unwrap_or(DEFAULT_SECONDS).min(LONGEST_SECONDS);
        let now = Instant::now();
        let marked = wanted && self.query.bookmarks;
        let stream = Stream {
            call: self.again(),
            selection,
            watch,
            initial,
            end_of_initial: marked.then_some(from),
            marked,
            ready: VecDeque::new(),
            ends: now + Duration::from_secs(seconds),
            bookmark: now + BOOKMARK,
            over: false,
            headers: true,
        };
        let pieces = stream::unfold(stream, |mut stream| async { stream.next().await.map(|piece| (piece, stream)) });
        Ok(answer::finish(200, body::stream(pieces), answer::JSON, &self.warnings()))
    }

    fn watch_faults(&self) -> Vec<Fault> {
        let query = &self.query;
        let mut faults = Vec::new();
        match (query.initial_events, query.resource_version_match.as_deref()) {
            (None, Some(_)) => faults.push(Fault::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            (Some(_), None) => faults.push(Fault::forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (Some(_), Some(matched)) if matched != "NotOlderThan" => {
                let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                faults.push(Fault::forbidden("resourceVersionMatch", detail));
                let supported = "supported values: \"NotOlderThan\"";
                faults.push(Fault::of(What::NotSupported, "resourceVersionMatch", matched.into(), supported));
            }
            _ => {}
        }
        faults
    }

    fn again(&self) -> Self {
        let on = Self::on(
            &self.api,
            &self.user,
            self.resource.clone(),
            &self.version,
            self.namespace.clone(),
            self.name.clone(),
        );
        Self { query: self.query.clone(), form: self.form, ..on }
    }
}

impl Stream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if self.over {
                return None;
            }
            if let Some((_, object)) = self.initial.pop_front() {
                self.send(&Kind::Added, &object).await;
                continue;
            }
            if let Some(revision) = self.end_of_initial.take() {
                self.send_bookmark(revision, true);
                continue;
            }
            self.wait().await;
        }
    }

    /// Waits for changes, for the next bookmark, or for the end.
    async fn wait(&mut self) {
        let bookmarks = self.call.query.bookmarks;
        tokio::select! {
            biased;
            changes = self.watch.next() => match changes {
                Ok(changes) => self.take(changes).await,
                Err(expired) => self.send_expired(expired),
            },
            () = tokio::time::sleep_until(self.ends) => {
                if bookmarks {
                    self.send_bookmark(self.watch.seen(), false);
                }
                self.over = true;
            }
            () = tokio::time::sleep_until(self.bookmark), if bookmarks => {
                self.bookmark += BOOKMARK;
                self.send_bookmark(self.watch.seen(), false);
            }
        }
    }

    async fn take(&mut self, changes: Vec<Arc<Change>>) {
        for change in changes {
            let was = change.before.as_ref().filter(|before| self.selection.holds(&change.key, before));
            let is = !change.deleted && self.selection.holds(&change.key, &change.after);
            match (was, is) {
                (None, true) => self.send(&Kind::Added, &change.after).await,
                (Some(_), true) => self.send(&Kind::Modified, &change.after).await,
                (Some(_), false) if change.deleted => self.send(&Kind::Deleted, &change.after).await,
                (Some(before), false) => {
                    // It left the selection: the client sees what it knew, at the moment of leaving.
                    let mut value = before.value("", "");
                    let left = Object::seal(&mut value, change.revision, before.index.clone());
                    self.send(&Kind::Deleted, &left).await;
                }
                (None, false) => {}
            }
        }
    }

    async fn send(&mut self, kind: &Kind, object: &Object) {
        let word = kind.word();
        if self.call.form.view == View::Whole && !self.call.is_foreign(object) {
            let start = format!("{{\"type\":\"{word}\",\"object\":{}", self.call.head());
            let mut piece = with_head(&start, &object.text).to_vec();
            piece.extend_from_slice(b"}\n");
            self.ready.push_back(piece.into());
            return;
        }
        match self.call.value(object).await {
            Ok(value) => {
                let shown = self.shown(value);
                self.push(word, &shown);
            }
            Err(status) => {
                self.push("ERROR", &status.to_json());
                self.over = true;
            }
        }
    }

    fn shown(&mut self, value: Value) -> Value {
        match self.call.form.view {
            View::Whole => value,
            View::Metadata | View::MetadataList => table::partial(&value),
            View::Table => {
                let headers = std::mem::take(&mut self.headers);
                let metadata = json!({"resourceVersion": value["metadata"]["resourceVersion"]});
                self.call.table(std::slice::from_ref(&value), &metadata, headers)
            }
        }
    }

    fn send_bookmark(&mut self, revision: u64, end_of_initial: bool) {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        // Once they were asked for, the end of the initial events is told with every bookmark.
        if end_of_initial || self.marked {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let bookmark = match self.call.form.view {
            View::Whole => {
                let custom = self.call.resource.is_custom();
                let mut bookmark = if custom { json!({}) } else { fields::empty_object(&self.call.version().schema) };
                bookmark["kind"] = self.call.resource.kind.clone().into();
                bookmark["apiVersion"] = self.call.api_version().into();
                bookmark["metadata"] = metadata;
                bookmark
            }
            View::Metadata | View::MetadataList => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
            View::Table => {
                let value = json!({"kind": self.call.resource.kind, "apiVersion": self.call.api_version(), "metadata": metadata});
                self.shown(value)
            }
        };
        self.push("BOOKMARK", &bookmark);
    }

    fn send_expired(&mut self, expired: Expired) {
        let status = Status::expired(format!("too old resource version: {} ({})", expired.asked, expired.oldest));
        self.push("ERROR", &status.to_json());
        self.over = true;
    }

    fn push(&mut self, kind: &str, object: &Value) {
        self.ready.push_back(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into());
    }
}
