//! A follower that wants to see every single change: it watches, and goes on from the last version that it saw when the watch ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use trellis_cluster::store::Change;

use crate::{NAMESPACE, Running, eventually, gauges, truth};

/// What the follower saw.
#[derive(Debug, Clone)]
enum Saw {
    /// A list: its version, and the versions of the objects by name.
    List(u64, BTreeMap<String, u64>),
    /// A change: its word, the name, the version and the size.
    Change(&'static str, String, u64, i64),
    /// The same again.
    Again,
    /// A version without a change.
    Bookmark(u64),
}

/// A follower at work.
pub struct Follower {
    saw: Arc<Mutex<Vec<Saw>>>,
    _task: Running,
}

pub fn run(client: Client) -> Follower {
    let saw: Arc<Mutex<Vec<Saw>>> = Arc::default();
    let log = saw.clone();
    let api = Api::<DynamicObject>::namespaced_with(client, NAMESPACE, &gauges());
    let task = Running::spawn(async move {
        let note = |saw: Saw| log.lock().unwrap_or_else(PoisonError::into_inner).push(saw);
        loop {
            let Ok(list) = api.list(&ListParams::default()).await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let mut version = number(list.metadata.resource_version.as_deref());
            note(Saw::List(version, list.items.iter().map(|object| (object.name_any(), at(object))).collect()));
            // Until the version is too old to go on from.
            while let Ok(last) = watch(&api, version, &note).await {
                version = last;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    Follower { saw, _task: task }
}

/// The versions are too old.
struct Expired;

/// Watches until the watch ends, and returns the last version seen.
async fn watch(api: &Api<DynamicObject>, mut version: u64, note: &(dyn Fn(Saw) + Sync)) -> Result<u64, Expired> {
    // Short, so that there are many watches.
    let parameters = WatchParams::default().timeout(1);
    let events = match api.watch(&parameters, &version.to_string()).await {
        Ok(events) => events,
        Err(kube::Error::Api(status)) if status.code == 410 => return Err(Expired),
        Err(_) => return Ok(version),
    };
    let mut events = std::pin::pin!(events);
    while let Ok(Some(event)) = events.try_next().await {
        let (word, object) = match event {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            WatchEvent::Bookmark(bookmark) => {
                version = number(Some(&bookmark.metadata.resource_version));
                note(Saw::Bookmark(version));
                continue;
            }
            WatchEvent::Error(status) if status.code == 410 => return Err(Expired),
            WatchEvent::Error(status) => panic!("the watch of the follower fails: {status}"),
        };
        if at(&object) == version {
            note(Saw::Again);
            continue;
        }
        version = at(&object);
        note(Saw::Change(word, object.name_any(), version, object.data["spec"]["size"].as_i64().unwrap_or(-1)));
    }
    Ok(version)
}

fn number(version: Option<&str>) -> u64 {
    version.and_then(|text| text.parse().ok()).expect("a version is a number")
}

fn at(object: &DynamicObject) -> u64 {
    number(object.resource_version().as_deref())
}

impl Follower {
    /// Waits until the follower is there, and compares what it saw with what happened.
    pub async fn check(&self, truth: &[Arc<Change>], version: u64) {
        let log = || self.saw.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let end = truth.last().map_or(version, |change| change.revision);
        eventually("the follower sees the last change", async || {
            log().iter().any(|saw| matches!(saw, Saw::Change(_, _, at, _) | Saw::List(at, _) if *at >= end))
        })
        .await;
        let mut counts = [0; 4];
        let mut next = 0;
        for saw in log() {
            match saw {
                Saw::List(version, objects) => {
                    counts[0] += 1;
                    next = truth.partition_point(|change| change.revision <= version);
                    assert_eq!(objects, model(&truth[..next]), "the list at version {version}");
                }
                Saw::Change(word, name, version, size) => {
                    counts[1] += 1;
                    let change = truth.get(next).unwrap_or_else(|| panic!("{word} {name} at {version} never happened"));
                    let happened = (truth::word(change), change.key.name.as_str(), change.revision);
                    assert_eq!((word, name.as_str(), version), happened, "seen, and happened");
                    assert_eq!(
                        size,
                        truth::after(change)["spec"]["size"].as_i64().unwrap_or(-1),
                        "{name} at {version}"
                    );
                    next += 1;
                }
                Saw::Again => counts[2] += 1,
                Saw::Bookmark(version) => {
                    counts[3] += 1;
                    let known = truth.partition_point(|change| change.revision <= version);
                    assert!(known <= next, "a bookmark at {version} passes over a change at {}", truth[next].revision);
                }
            }
        }
        assert_eq!(next, truth.len(), "changes at the end are missing");
        println!(
            "the follower saw {} lists, {} changes, {} of them twice, and {} bookmarks",
            counts[0], counts[1], counts[2], counts[3]
        );
        assert!(counts[0] > 1 && counts[1] > truth.len() / 10 && counts[2] > 0, "{counts:?}");
    }
}

/// Versions by name after these changes.
fn model(changes: &[Arc<Change>]) -> BTreeMap<String, u64> {
    let mut model = BTreeMap::new();
    for change in changes {
        match change.deleted {
            true => drop(model.remove(&change.key.name)),
            false => drop(model.insert(change.key.name.clone(), change.revision)),
        }
    }
    model
}
