//! Kubernetes Events. One recorder for the process counts repetitions instead of writing new ones; saying things never holds up doing them.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

/// How many notes wait at most; what comes on top is dropped, and is in the log all the same.
const WAITING: usize = 1024;
/// How many objects the last note is remembered of.
const REMEMBERED: usize = 10_000;

/// The object that something is said about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for objects without one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid, where that is known.
    pub uid: Option<String>,
}

/// Something that people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub about: About,
    /// Whether somebody ought to look into it.
    pub warning: bool,
    /// One word, for filters.
    pub reason: String,
    /// The sentence.
    pub message: String,
}

/// Where notes go. All clones are the same.
#[derive(Clone, Debug)]
pub struct Events(mpsc::Sender<Note>);

impl Events {
    /// A task that publishes notes of this controller until all who could send some are gone.
    pub fn start(client: Client, controller: &str, identity: String) -> Self {
        let (sender, mut receiver) = mpsc::channel::<Note>(WAITING);
        let reporter = Reporter { controller: controller.to_owned(), instance: Some(identity) };
        let recorder = Recorder::new(client, reporter);
        tokio::spawn(async move {
            let mut last: HashMap<About, (String, String)> = HashMap::new();
            while let Some(note) = receiver.recv().await {
                let said = (note.reason.clone(), note.message.clone());
                // A decision that is made anew says the same again; people want to hear it once.
                if last.get(&note.about) == Some(&said) {
                    continue;
                }
                if last.len() >= REMEMBERED {
                    last.clear();
                }
                last.insert(note.about.clone(), said);
                publish(&recorder, note).await;
            }
        });
        Self(sender)
    }

    /// Publishes a note.
    pub fn say(&self, note: Note) {
        let (namespace, name) = (&note.about.namespace, &note.about.name);
        if note.warning {
            warn!(namespace, name, reason = note.reason, "{}", note.message);
        } else {
            info!(namespace, name, reason = note.reason, "{}", note.message);
        }
        if self.0.try_send(note).is_err() {
            debug!("too many events wait; one is dropped");
        }
    }
}

async fn publish(recorder: &Recorder, note: Note) {
    let about = ObjectReference {
        api_version: Some(note.about.api_version),
        kind: Some(note.about.kind),
        namespace: Some(note.about.namespace).filter(|namespace| !namespace.is_empty()),
        name: Some(note.about.name),
        uid: note.about.uid,
        ..ObjectReference::default()
    };
    let event = Event {
        type_: if note.warning { EventType::Warning } else { EventType::Normal },
        action: note.reason.clone(),
        reason: note.reason,
        note: Some(note.message),
        secondary: None,
    };
    if let Err(error) = recorder.publish(&event, &about).await {
        debug!(%error, reason = event.reason, "an event could not be published");
    }
}
