//! Kubernetes Events. One recorder for the process counts repetitions instead of writing new ones; saying things never holds up doing them.

use std::collections::HashMap;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use crate::Now;

/// How many notes wait at most; what comes on top is dropped, and is in the log all the same.
const WAITING: usize = 1024;
/// How many objects the last note is remembered of.
const REMEMBERED: usize = 10_000;
/// How long after the last time the same counts as said again, and not anew. Servers forget an Event an hour after its last change.
const REPEATED: SignedDuration = SignedDuration::from_mins(6);

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
    pub fn start(client: Client, controller: &str, identity: String, now: Now) -> Self {
        let (sender, mut receiver) = mpsc::channel::<Note>(WAITING);
        let mut recorder =
            Recorder { client, controller: controller.to_owned(), identity, now, stamp: 0, said: HashMap::new() };
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
                if let Err(error) = recorder.publish(&note).await {
                    debug!(%error, reason = note.reason, "an event could not be published");
                }
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

/// Writes Events. The time is an argument, as everywhere, and so are the names, which come from the time.
struct Recorder {
    client: Client,
    controller: String,
    identity: String,
    now: Now,
    /// What the name of the last Event ended with.
    stamp: i128,
    /// What was said of late, by what it was about and its reason.
    said: HashMap<(About, String), Event>,
}

impl Recorder {
    async fn publish(&mut self, note: &Note) -> Result<(), kube::Error> {
        let now = (self.now)();
        self.said.retain(|_, event| {
            let last = event.series.as_ref().map(|series| &series.last_observed_time).or(event.event_time.as_ref());
            last.is_none_or(|last| now.duration_since(last.0) < REPEATED)
        });
        let key = (note.about.clone(), note.reason.clone());
        // Events about what has no namespace are in this one, as kubectl expects.
        let namespace = Some(note.about.namespace.as_str()).filter(|it| !it.is_empty()).unwrap_or("default");
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let event = match self.said.get(&key) {
            Some(event) => {
                let count = event.series.as_ref().map_or(1, |series| series.count).saturating_add(1);
                let series = Some(EventSeries { count, last_observed_time: MicroTime(now) });
                let again = Event { series, note: Some(note.message.clone()), ..event.clone() };
                events.patch(&again.name_any(), &PatchParams::default(), &Patch::Merge(&again)).await?;
                again
            }
            None => {
                let event = self.event(note, namespace);
                events.create(&PostParams::default(), &event).await?;
                event
            }
        };
        self.said.insert(key, event);
        Ok(())
    }

    fn event(&mut self, note: &Note, namespace: &str) -> Event {
        let now = (self.now)();
        // Objects of several kinds may have one name, and something may be said of all of them at once.
        self.stamp = now.as_nanosecond().max(self.stamp + 1);
        let about = &note.about;
        let metadata = ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(format!("{}.{:x}", about.name, self.stamp)),
            ..ObjectMeta::default()
        };
        let regarding = ObjectReference {
            api_version: Some(about.api_version.clone()),
            kind: Some(about.kind.clone()),
            namespace: Some(about.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            name: Some(about.name.clone()),
            uid: about.uid.clone(),
            ..ObjectReference::default()
        };
        Event {
            metadata,
            event_time: Some(MicroTime(now)),
            type_: Some(if note.warning { "Warning" } else { "Normal" }.to_owned()),
            action: Some(note.reason.clone()),
            reason: Some(note.reason.clone()),
            note: Some(note.message.clone()),
            regarding: Some(regarding),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.identity.clone()),
            ..Event::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// A log that can be read.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics here").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Document 003: information when constraints are applied, a warning when levels become unavailable.
    #[test]
    fn s003_logging_what_people_are_told_is_in_the_log() {
        let check = |warning: bool, level: &str| {
            let (log, (sender, mut receiver)) = (Log::default(), mpsc::channel(1));
            let writer = log.clone();
            let subscriber =
                tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone()).finish();
            let about = About {
                api_version: "nvidia.com/v1beta1".to_owned(),
                kind: "DynamoGraphDeployment".to_owned(),
                namespace: "serving".to_owned(),
                name: "llama".to_owned(),
                uid: None,
            };
            let (reason, message) = ("TopologyLevelsUnavailable".to_owned(), "rack is gone".to_owned());
            let note = Note { about, warning, reason, message };
            tracing::subscriber::with_default(subscriber, || Events(sender).say(note.clone()));
            let text = String::from_utf8(log.0.lock().expect("nobody panics here").clone()).expect("text");
            let mut parts = vec!["rack is gone", r#"namespace="serving""#, r#"name="llama""#];
            parts.extend([level, r#"reason="TopologyLevelsUnavailable""#]);
            assert!(text.lines().count() == 1 && parts.iter().all(|part| text.contains(part)), "{text}");
            assert_eq!(receiver.try_recv().ok(), Some(note));
        };
        check(false, "INFO");
        check(true, "WARN");
    }
}
