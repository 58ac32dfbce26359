//! Kubernetes Events. One recorder for the process counts repetitions instead of writing new ones; saying things never holds up doing them.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};
use trellis_lifecycle::Note;

/// Who speaks.
const CONTROLLER: &str = "trellis-operator";
/// How many notes wait at most; what comes on top is dropped, and is in the log all the same.
const WAITING: usize = 1024;
/// How many objects the last note is remembered of.
const REMEMBERED: usize = 10_000;

/// Where notes go.
#[derive(Clone, Debug)]
pub struct Events(mpsc::Sender<(Note, Option<String>)>);

impl Events {
    /// A task that publishes notes until all who could send some are gone.
    pub fn start(client: Client, identity: String) -> Self {
        let (sender, mut receiver) = mpsc::channel::<(Note, Option<String>)>(WAITING);
        let reporter = Reporter { controller: CONTROLLER.to_owned(), instance: Some(identity) };
        let recorder = Recorder::new(client, reporter);
        tokio::spawn(async move {
            let mut last: HashMap<trellis_lifecycle::Target, (&'static str, String)> = HashMap::new();
            while let Some((note, uid)) = receiver.recv().await {
                let said = (note.reason, note.message.clone());
                // A decision that is made anew says the same again; people want to hear it once.
                if last.get(&note.about) == Some(&said) {
                    continue;
                }
                if last.len() >= REMEMBERED {
                    last.clear();
                }
                last.insert(note.about.clone(), said);
                publish(&recorder, &note, uid).await;
            }
        });
        Self(sender)
    }

    /// Publishes a note about an object of this uid.
    pub fn say(&self, note: Note, uid: Option<String>) {
        let (namespace, name) = (&note.about.namespace, &note.about.name);
        if note.warning {
            warn!(namespace, name, reason = note.reason, "{}", note.message);
        } else {
            info!(namespace, name, reason = note.reason, "{}", note.message);
        }
        if self.0.try_send((note, uid)).is_err() {
            debug!("too many events wait; one is dropped");
        }
    }
}

async fn publish(recorder: &Recorder, note: &Note, uid: Option<String>) {
    let (_, _, kind, _) = note.about.kind.names();
    let about = ObjectReference {
        api_version: Some(note.about.kind.api_version()),
        kind: Some(kind.to_owned()),
        namespace: Some(note.about.namespace.clone()).filter(|namespace| !namespace.is_empty()),
        name: Some(note.about.name.clone()),
        uid,
        ..ObjectReference::default()
    };
    let event = Event {
        type_: if note.warning { EventType::Warning } else { EventType::Normal },
        reason: note.reason.to_owned(),
        note: Some(note.message.clone()),
        action: note.reason.to_owned(),
        secondary: None,
    };
    if let Err(error) = recorder.publish(&event, &about).await {
        debug!(%error, reason = note.reason, "an event could not be published");
    }
}
