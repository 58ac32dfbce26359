//! Events are kept for a while after their last change.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::Options;
use super::follow::{Follow, News};
use super::objects;
use crate::api::Api;
use crate::store::{Key, Object, Shelf};

/// An event in the form in which it was written last, and when that one has had its time.
struct Kept {
    until: Instant,
    key: Key,
    revision: u64,
}

pub(super) async fn run(api: Api, options: Options) {
    let mut events = Follow::new(&api.store, objects::EVENTS);
    // In the order of their times: everything written later ends later.
    let mut kept: VecDeque<Kept> = VecDeque::new();
    loop {
        let first = kept.front().map(|kept| kept.until);
        tokio::select! {
            biased;
            () = wait(first) => {
                while let Some(old) = kept.pop_front_if(|kept| kept.until <= Instant::now()) {
                    expire(&api, &old);
                }
            }
            news = events.next() => match news {
                News::All(all) => {
                    let age = |event: &Object| written(&api, event).checked_add(options.event_age);
                    let keep = |(key, event): (Key, std::sync::Arc<Object>)| {
                        let until = age(&event).map_or_else(|_| Instant::now(), |time| objects::instant(api.clock, time));
                        Kept { until, key, revision: event.revision }
                    };
                    kept = all.into_iter().map(keep).collect();
                    kept.make_contiguous().sort_by_key(|kept| kept.until);
                }
                News::Changes(changes) => {
                    let until = Instant::now() + options.event_age;
                    let living = changes.iter().filter(|change| !change.deleted);
                    kept.extend(living.map(|change| Kept { until, key: change.key.clone(), revision: change.revision }));
                }
            },
        }
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// When an event was written last, as far as it tells.
fn written(api: &Api, event: &Object) -> Timestamp {
    let event = objects::read(event);
    let times: [&Value; 4] = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["eventTime"],
        &event["metadata"]["creationTimestamp"],
    ];
    times.into_iter().filter_map(objects::time).max().unwrap_or_else(|| api.clock.now())
}

/// Removes an event that was not written again. Nobody is asked: its time is up.
fn expire(api: &Api, old: &Kept) {
    let shelf: Shelf = objects::EVENTS.into();
    let Some(event) = api.store.get(&shelf, &old.key).filter(|event| event.revision == old.revision) else { return };
    let Some(call) = objects::call(api, "event-ttl", objects::EVENTS, &old.key) else { return };
    let mut last = event.value("v1", "Event");
    match api.store.remove(&shelf, old.key.clone(), event.revision, &mut last, event.index.clone()) {
        Ok(_) => call.removed(&last),
        // Written again this moment, or the disk is full: then it stays until it is seen again.
        Err(refused) => tracing::debug!(?refused, "an old event stays"),
    }
}
