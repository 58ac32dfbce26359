//! A controller as they are written with kube-rs: it brings the status in line with the spec, keeps a finalizer, and records events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::events::v1::Event as Recorded;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{self, finalizer};
use kube::runtime::watcher;
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;
use trellis_cluster::store::Change;

use crate::{NAMESPACE, Running, Steady, eventually, gauges, truth};

pub const FINALIZER: &str = "runtime.example.com/hold";
const COMPONENT: &str = "runtime.example.com/controller";

/// A controller at work.
pub struct Controlled {
    context: Arc<Context>,
    _task: Running,
}

struct Context {
    api: Api<DynamicObject>,
    recorder: Recorder,
    seen: Mutex<Seen>,
}

/// What the controller did.
struct Seen {
    last: Instant,
    /// Uids of the objects that it adopted, and how often it let go of which.
    adopted: BTreeSet<String>,
    cleaned: BTreeMap<String, usize>,
    /// How many events were acknowledged, by uid and reason.
    recorded: BTreeMap<(String, String), usize>,
    failures: usize,
}

pub fn run(client: Client) -> Controlled {
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), NAMESPACE, &gauges());
    let reporter = Reporter { controller: COMPONENT.to_owned(), instance: Some("one".to_owned()) };
    let seen = Seen {
        last: Instant::now(),
        adopted: BTreeSet::new(),
        cleaned: BTreeMap::new(),
        recorded: BTreeMap::new(),
        failures: 0,
    };
    let context =
        Arc::new(Context { api: api.clone(), recorder: Recorder::new(client, reporter), seen: Mutex::new(seen) });
    // One at a time: the fewer orders there are, the more a seed says.
    let controller = Controller::new_with(api, watcher::Config::default(), gauges())
        .trigger_backoff(Steady)
        .with_config(Config::default().concurrency(1));
    let shared = context.clone();
    let task = Running::spawn(async move {
        let again = |_, _: &_, _| Action::requeue(Duration::from_millis(50));
        let results = controller.run(reconcile, again, shared.clone());
        results
            .for_each(|result| {
                shared.seen().failures += usize::from(result.is_err());
                std::future::ready(())
            })
            .await;
    });
    Controlled { context, _task: task }
}

impl Context {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn record(&self, object: &DynamicObject, reason: &str) -> Result<(), kube::Error> {
        let event = Event {
            type_: EventType::Normal,
            reason: reason.to_owned(),
            note: Some(format!("{reason} {}", object.name_any())),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        self.recorder.publish(&event, &object.object_ref(&gauges())).await?;
        *self.seen().recorded.entry((object.uid().unwrap_or_default(), reason.to_owned())).or_default() += 1;
        Ok(())
    }
}

async fn reconcile(object: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, finalizer::Error<kube::Error>> {
    context.seen().last = Instant::now();
    finalizer(&context.api, FINALIZER, object, |event| async {
        match event {
            finalizer::Event::Apply(object) => apply(&object, &context).await,
            finalizer::Event::Cleanup(object) => clean_up(&object, &context).await,
        }
    })
    .await
}

async fn apply(object: &DynamicObject, context: &Context) -> Result<Action, kube::Error> {
    let uid = object.uid().unwrap_or_default();
    if !context.seen().adopted.contains(&uid) {
        context.record(object, "Adopted").await?;
        context.seen().adopted.insert(uid);
    }
    let size = &object.data["spec"]["size"];
    if object.data["status"]["size"] != *size {
        let patch = Patch::Merge(json!({"status": {"size": size}}));
        match context.api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await {
            // It was deleted meanwhile, which the next event says.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other?),
        }
        if size.as_i64().is_some_and(|size| size % 10 == 0) {
            context.record(object, "Resized").await?;
        }
    }
    Ok(Action::await_change())
}

async fn clean_up(object: &DynamicObject, context: &Context) -> Result<Action, kube::Error> {
    context.record(object, "Released").await?;
    *context.seen().cleaned.entry(object.uid().unwrap_or_default()).or_default() += 1;
    Ok(Action::await_change())
}

impl Controlled {
    /// Waits until the controller has had nothing to do for a while.
    pub async fn idle(&self) {
        eventually("the controller rests", async || self.context.seen().last.elapsed() > Duration::from_mins(1)).await;
    }

    /// Whoever had the finalizer was cleaned up before it went; events that were acknowledged are there.
    pub async fn check(&self, client: &Client, truth: &[Arc<Change>]) {
        let (acknowledged, failures, cleaned) = {
            let seen = self.context.seen();
            (seen.recorded.clone(), seen.failures, seen.cleaned.clone())
        };
        let mut gone = 0;
        // Names under which one object was let go twice: kube's `finalizer` takes the finalizer away by the name of the object, not by its
        // uid, so what was cleaned up again after a lost answer may have set free whoever bore the name by then.
        let mut twice = BTreeSet::new();
        for change in truth.iter().filter(|change| change.deleted) {
            let (name, uid) = (&change.key.name, change.after.index.uid.to_string());
            let held = truth.iter().any(|other| *other.after.index.uid == *uid && has_finalizer(other));
            let times = cleaned.get(&uid).copied().unwrap_or_default();
            assert!(
                held == (times > 0) || held && twice.contains(name),
                "{name} {uid} had the finalizer: {held}, was cleaned up: {times} times"
            );
            if times > 1 {
                twice.insert(name);
            }
            gone += 1;
        }
        let events = Api::<Recorded>::namespaced(client.clone(), NAMESPACE)
            .list(&ListParams::default())
            .await
            .expect("events")
            .items;
        let mut there: BTreeMap<(String, String), i32> = BTreeMap::new();
        for event in events {
            let uid = event.regarding.and_then(|regarding| regarding.uid).unwrap_or_default();
            let count = event.series.map_or(1, |series| series.count);
            *there.entry((uid, event.reason.unwrap_or_default())).or_default() += count;
        }
        for (what, times) in &acknowledged {
            let found = there.get(what).copied().unwrap_or_default();
            assert!(
                usize::try_from(found).is_ok_and(|found| found >= 1),
                "{what:?} was recorded {times} times and stands there {found} times"
            );
        }
        println!(
            "the controller let go of {gone} objects, recorded {} kinds of events, and failed {failures} times",
            acknowledged.len()
        );
        assert!(gone > 50 && failures > 50 && acknowledged.len() > 100);
    }
}

fn has_finalizer(change: &Change) -> bool {
    truth::after(change)["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|names| names.iter().any(|name| name == FINALIZER))
}
