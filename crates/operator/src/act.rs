//! Carries out writes. Nothing is chosen here: a write takes effect as it was decided, or not at all.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::core::Status;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tracing::debug;
use trellis_controller::lease::Leadership;
use trellis_lifecycle::{Action, Confirm, FIELD_MANAGER, Failure, Kind, Target, Write, site};

use crate::index::Index;
use crate::metrics::Metrics;
use crate::queue::{Key, Queue};

/// How many writes are under way at once, of all workers together.
const IN_FLIGHT: usize = 32;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a server that is too busy is asked again before the write counts as failed.
const ASKED_AGAIN: u32 = 5;

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It took effect.
    Done,
    /// It was decided on what is no longer so. What is so now is in the index.
    Stale,
    /// It could not be carried out.
    Failed(Failure),
    /// We no longer lead, so it was not even tried.
    Deposed,
}

/// Who carries out writes.
#[derive(Clone)]
pub struct Actor {
    client: Client,
    index: Arc<Index>,
    queue: Arc<Queue>,
    leadership: Leadership,
    metrics: Metrics,
    slots: Arc<Semaphore>,
}

impl Actor {
    /// Writes through this client as long as we lead, and feeds the answers into the index.
    pub fn new(client: Client, index: Arc<Index>, queue: Arc<Queue>, leadership: Leadership, metrics: Metrics) -> Self {
        Self { client, index, queue, leadership, metrics, slots: Arc::new(Semaphore::new(IN_FLIGHT)) }
    }

    /// Takes an answer into the index. Whoever acts looks again by itself, but a set and the deployment that it was made for look at each
    /// other's objects, and the watch will have nothing new to tell.
    fn heard(&self, kind: Kind, text: &str, for_deployment: bool) {
        // An answer that cannot be read is no reason to doubt that the write took effect; the watch will show it.
        let Ok(keys) = self.index.answered(kind, text) else { return };
        for key in keys {
            match key {
                Key::Set(..) if for_deployment => self.queue.add(key),
                Key::Deployment(..) if !for_deployment => self.queue.add(key),
                Key::Set(..) | Key::Deployment(..) | Key::Topology(_) | Key::Pool(_) | Key::Workflow(..) => {}
            }
        }
    }

    /// Takes note that an object is not there. Whoever acts looks again by itself; all others who look at it are told, since a watch that
    /// has to list anew will not.
    fn gone(&self, write: &Write, uid: &str) {
        for key in self.index.absent(&write.target, uid) {
            let is_own = match key {
                Key::Set(..) => !is_for_deployment(write),
                Key::Deployment(..) => is_for_deployment(write),
                Key::Workflow(..) => true,
                Key::Topology(_) | Key::Pool(_) => false,
            };
            if !is_own {
                self.queue.add(key);
            }
        }
    }

    /// Carries out writes, many at once.
    pub async fn all(&self, writes: Vec<Write>) -> Vec<Outcome> {
        let tasks = writes.into_iter().map(|write| async move {
            let Ok(_slot) = self.slots.acquire().await else { return Outcome::Deposed };
            let outcome = self.one(&write).await;
            let result = match &outcome {
                Outcome::Done => "done",
                Outcome::Stale => "stale",
                Outcome::Failed(_) => "failed",
                Outcome::Deposed => "deposed",
            };
            self.metrics.write(write.site, result);
            debug!(site = write.site, namespace = write.target.namespace, name = write.target.name, result, "write");
            outcome
        });
        futures::future::join_all(tasks).await
    }

    /// Waits until what is under way has ended, and begins nothing any more.
    pub async fn drain(&self) {
        let all = u32::try_from(IN_FLIGHT).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(PATIENCE, self.slots.acquire_many(all)).await;
        self.slots.close();
    }

    async fn one(&self, write: &Write) -> Outcome {
        let mut tries = 0;
        loop {
            // The last look before anything leaves: a process that slept through its lease must not go on as if nothing had been.
            if !self.leadership.holds() {
                return Outcome::Deposed;
            }
            let Ok(request) = request(write) else {
                return Outcome::Failed(failure(write, "the request cannot be written"));
            };
            match self.send(request).await {
                // What a scale answers is not the object.
                Ok(_) if matches!(write.action, Action::Scale(_)) => return self.scaled(write).await,
                Ok(text) => return self.took_effect(write, &text),
                Err(Refusal::Busy(wait)) if tries < ASKED_AGAIN => {
                    tries += 1;
                    tokio::time::sleep(wait * tries).await;
                }
                Err(Refusal::Busy(_)) => {
                    return Outcome::Failed(failure(write, "the API server is too busy"));
                }
                Err(Refusal::Lost(error)) => return Outcome::Failed(failure(write, &error)),
                Err(Refusal::Status(status)) => return self.refused(write, &status).await,
            }
        }
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<String, Refusal> {
        match tokio::time::timeout(PATIENCE, self.client.request_text(request)).await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 429 | 503) => {
                let wait = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                Err(Refusal::Busy(Duration::from_secs(u64::from(wait.clamp(1, 10)))))
            }
            Ok(Err(kube::Error::Api(status))) => Err(Refusal::Status(status)),
            Ok(Err(error)) => Err(Refusal::Lost(error.to_string())),
            Err(_) => Err(Refusal::Lost(format!("no answer within {} seconds", PATIENCE.as_secs()))),
        }
    }

    fn took_effect(&self, write: &Write, text: &str) -> Outcome {
        if let Action::Delete { uid, .. } = &write.action {
            // The answer is the object if it has only been marked, else a Status.
            let still_there = serde_json::from_str::<Value>(text)
                .is_ok_and(|answer| answer["kind"] != "Status" && answer["metadata"]["uid"] == uid.as_str());
            if !still_there || !is_marked(write.target.kind, text) {
                self.gone(write, uid);
                return Outcome::Done;
            }
        }
        self.heard(write.target.kind, text, is_for_deployment(write));
        Outcome::Done
    }

    /// Reads what was scaled, so that the next decision knows it.
    async fn scaled(&self, write: &Write) -> Outcome {
        match self.read(&write.target).await {
            Ok(Some(text)) => self.heard(write.target.kind, &text, true),
            Ok(None) => {}
            Err(error) => return Outcome::Failed(failure(write, &error)),
        }
        Outcome::Done
    }

    async fn refused(&self, write: &Write, status: &Status) -> Outcome {
        match (&write.action, status.reason.as_str()) {
            (_, "Conflict") | (Action::Create(_), "AlreadyExists") => self.look_again(write).await,
            (Action::Delete { uid, .. }, "NotFound") => {
                self.gone(write, uid);
                Outcome::Done
            }
            (
                Action::Patch(patch) | Action::Scale(patch) | Action::PatchStatus(patch) | Action::ApplyStatus(patch),
                "NotFound",
            ) => {
                let uid = patch["metadata"]["uid"].as_str().unwrap_or_default();
                self.gone(write, uid);
                Outcome::Stale
            }
            _ => Outcome::Failed(failure(write, &status.message)),
        }
    }

    /// Reads what stands in the way of a write, so that the next decision knows it.
    async fn look_again(&self, write: &Write) -> Outcome {
        match self.read(&write.target).await {
            Ok(Some(text)) => {
                self.heard(write.target.kind, &text, is_for_deployment(write));
                let Ok(found) = serde_json::from_str::<Value>(&text) else { return Outcome::Stale };
                match &write.action {
                    Action::Create(wanted) if !is_same_child(&found, wanted) => {
                        Outcome::Failed(failure(write, &in_the_way(&found)))
                    }
                    Action::Delete { uid, .. } if found["metadata"]["uid"] != uid.as_str() => {
                        self.gone(write, uid);
                        Outcome::Done
                    }
                    _ => Outcome::Stale,
                }
            }
            Ok(None) => {
                if let Some(uid) = known_uid(&write.action) {
                    self.gone(write, uid);
                }
                Outcome::Stale
            }
            Err(error) => Outcome::Failed(failure(write, &error)),
        }
    }

    /// An object as it is now; none if it is not there.
    async fn read(&self, target: &Target) -> Result<Option<String>, String> {
        let request = Request::get(path(target, true)).body(Vec::new()).map_err(|error| error.to_string())?;
        match self.send(request).await {
            Ok(text) => Ok(Some(text)),
            Err(Refusal::Status(status)) if status.code == 404 => Ok(None),
            Err(Refusal::Status(status)) => Err(status.message),
            Err(Refusal::Lost(error)) => Err(error),
            Err(Refusal::Busy(_)) => Err("the API server is too busy".to_owned()),
        }
    }

    /// Reads an object that decisions rest on, so that the next one knows it as it is. If it cannot be read, its watch will tell.
    pub async fn look_at(&self, target: &Target) {
        let Some(uid) = self.index.uid(target) else { return };
        match self.read(target).await {
            Ok(Some(text)) => self.heard(target.kind, &text, target.kind == Kind::DynamoGraphDeployment),
            Ok(None) => self.index.absent(target, &uid).into_iter().for_each(|key| self.queue.add(key)),
            Err(error) => debug!(error, name = target.name, "cannot look at what decisions rest on"),
        }
    }

    /// Whether what deletions rest on is still so, by a fresh look. What is not so any more is in the index afterwards.
    pub async fn confirmed(&self, confirm: &[Confirm]) -> Result<bool, Failure> {
        let looks = confirm.iter().map(|confirm| async move {
            let (Confirm::Version(target, _) | Confirm::Gone(target, _)) = confirm;
            let text = self.read(target).await.map_err(|description| Failure {
                code: "ERR_READ".to_owned(),
                description: format!("{} {}: {description}", target.kind.names().2, target.name),
            })?;
            let found = text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let holds = match (confirm, &found) {
                (Confirm::Version(_, version), Some(found)) => found["metadata"]["resourceVersion"] == version.as_str(),
                (Confirm::Version(..), None) => false,
                (Confirm::Gone(_, uid), Some(found)) => found["metadata"]["uid"] != uid.as_str(),
                (Confirm::Gone(..), None) => true,
            };
            if !holds && let Some(text) = &text {
                self.heard(target.kind, text, target.kind == Kind::DynamoGraphDeployment);
            }
            Ok(holds)
        });
        let answers: Result<Vec<bool>, Failure> = futures::future::join_all(looks).await.into_iter().collect();
        Ok(answers?.into_iter().all(|holds| holds))
    }
}

/// Whether the answer to a deletion shows an object that stays for a while. A server answers with the object as it last was when it is
/// gone at once, and then without a finalizer or a grace period to wait for.
fn is_marked(kind: Kind, text: &str) -> bool {
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return false };
    let metadata = &answer["metadata"];
    let held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    metadata["deletionTimestamp"].is_string() && (held || (kind == Kind::Pod && grace > 0))
}

/// Whether a write follows from a deployment, and not from its set.
fn is_for_deployment(write: &Write) -> bool {
    [site::CREATE_SET, site::CHANGE_SET, site::DELETE_SET, site::SCALE_COMPONENT, site::DEPLOYMENT_STATUS]
        .contains(&write.site)
}

enum Refusal {
    Busy(Duration),
    Status(Box<Status>),
    Lost(String),
}

fn known_uid(action: &Action) -> Option<&str> {
    match action {
        Action::Create(_) => None,
        Action::Patch(patch) | Action::Scale(patch) | Action::PatchStatus(patch) | Action::ApplyStatus(patch) => {
            patch["metadata"]["uid"].as_str()
        }
        Action::Delete { uid, .. } => Some(uid),
    }
}

/// Whether an object that is there already is what we were about to make: managed by us, for the same set. Whose it is exactly, the next
/// decision finds out.
fn is_same_child(found: &Value, wanted: &Value) -> bool {
    use trellis_api::names::label::{MANAGED_BY, PART_OF};
    let labels = |object: &Value| {
        let labels = &object["metadata"]["labels"];
        (labels[MANAGED_BY].clone(), labels[PART_OF].clone())
    };
    labels(found) == labels(wanted)
}

/// What is said of an object that has the name which another was to have.
fn in_the_way(found: &Value) -> String {
    let owners = found["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let text = |owner: &Value, field: &str| owner[field].as_str().map(str::to_owned);
    let mut owners = owners.filter_map(|owner| Some(format!("{} {:?}", text(owner, "kind")?, text(owner, "name")?)));
    let whose = owners.next().map(|owner| format!(": it belongs to {owner}")).unwrap_or_default();
    format!("an object of this name exists and is not ours{whose}")
}

fn failure(write: &Write, reason: &str) -> Failure {
    let (_, _, kind, _) = write.target.kind.names();
    Failure {
        code: format!("ERR_{}", write.site.to_uppercase().replace([' ', ':', '\''], "_").replace("__", "_")),
        description: format!("{}: {kind} {}: {reason}", write.site, write.target.name),
    }
}

fn path(target: &Target, named: bool) -> String {
    let (group, version, _, plural) = target.kind.names();
    let mut path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    if target.kind.is_namespaced() {
        path.push_str(&format!("/namespaces/{}", target.namespace));
    }
    path.push_str(&format!("/{plural}"));
    if named {
        path.push_str(&format!("/{}", target.name));
    }
    path
}

fn request(write: &Write) -> Result<Request<Vec<u8>>, http::Error> {
    let target = &write.target;
    let manager = format!("fieldManager={FIELD_MANAGER}");
    let (method, uri, media, body) = match &write.action {
        Action::Create(object) => {
            (Method::POST, format!("{}?{manager}", path(target, false)), "application/json", object.to_string())
        }
        Action::Patch(patch) => {
            let uri = format!("{}?{manager}", path(target, true));
            (Method::PATCH, uri, "application/merge-patch+json", patch.to_string())
        }
        Action::Scale(patch) => {
            let uri = format!("{}/scale?{manager}", path(target, true));
            (Method::PATCH, uri, "application/merge-patch+json", patch.to_string())
        }
        Action::PatchStatus(patch) => {
            let uri = format!("{}/status?{manager}", path(target, true));
            (Method::PATCH, uri, "application/merge-patch+json", patch.to_string())
        }
        Action::ApplyStatus(fields) => {
            let uri = format!("{}/status?{manager}&force=true", path(target, true));
            (Method::PATCH, uri, "application/apply-patch+yaml", fields.to_string())
        }
        Action::Delete { uid, version } => {
            let mut preconditions = json!({ "uid": uid });
            if let Some(version) = version {
                preconditions["resourceVersion"] = json!(version);
            }
            let options = json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": preconditions,
                "propagationPolicy": "Background",
            });
            (Method::DELETE, path(target, true), "application/json", options.to_string())
        }
    };
    Request::builder().method(method).uri(uri).header("content-type", media).body(body.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_in_the_way_is_said_to_be_whose_it_is() {
        let check = |owners: Value, expected: &str| {
            let said = in_the_way(&json!({"metadata": {"ownerReferences": owners}}));
            assert_eq!(said, format!("an object of this name exists and is not ours{expected}"));
        };
        check(json!([{"kind": "Workflow", "name": "exp"}]), ": it belongs to Workflow \"exp\"");
        check(json!([]), "");
        check(Value::Null, "");
    }
}
