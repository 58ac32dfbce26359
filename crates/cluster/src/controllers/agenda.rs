//! What is to be looked at, and when: at once, after a while, or again because it failed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::status::Status;

/// How soon something that failed is tried again; each failure doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// How many times that is doubled: up to about a minute.
const DOUBLINGS: u32 = 6;

/// Keys with the time at which they are due; each at most once.
#[derive(Debug)]
pub(super) struct Agenda<K> {
    order: BTreeSet<(Instant, K)>,
    times: BTreeMap<K, Instant>,
    failures: BTreeMap<K, u32>,
}

impl<K: Ord + Clone> Agenda<K> {
    pub(super) fn new() -> Self {
        Self { order: BTreeSet::new(), times: BTreeMap::new(), failures: BTreeMap::new() }
    }

    /// Looks at a key at this time, whatever was planned for it.
    pub(super) fn at(&mut self, key: K, when: Instant) {
        self.cancel(&key);
        self.order.insert((when, key.clone()));
        self.times.insert(key, when);
    }

    /// Looks at a key at this time, unless it is looked at earlier anyway.
    pub(super) fn by(&mut self, key: K, when: Instant) {
        if self.times.get(&key).is_none_or(|&planned| planned > when) {
            self.at(key, when);
        }
    }

    /// Looks at a key as soon as possible.
    pub(super) fn now(&mut self, key: K) {
        self.by(key, Instant::now());
    }

    /// Does not look at a key; whether that was planned.
    pub(super) fn cancel(&mut self, key: &K) -> bool {
        match self.times.remove(key) {
            Some(when) => self.order.remove(&(when, key.clone())),
            None => false,
        }
    }

    /// Whether a key is to be looked at.
    pub(super) fn has(&self, key: &K) -> bool {
        self.times.contains_key(key)
    }

    /// Waits until something is due and takes all that is; forever if nothing is planned.
    pub(super) async fn due(&mut self) -> Vec<K> {
        match self.order.first() {
            Some(&(first, _)) => sleep_until(first).await,
            None => std::future::pending().await,
        }
        let now = Instant::now();
        let mut due = Vec::new();
        while let Some((when, key)) = self.order.pop_first() {
            if when > now {
                self.order.insert((when, key));
                break;
            }
            self.times.remove(&key);
            due.push(key);
        }
        due
    }

    /// Notes how it went: what failed is tried again, later every time.
    pub(super) fn note(&mut self, key: K, result: Result<(), Status>) {
        let Err(status) = result else {
            self.failures.remove(&key);
            return;
        };
        let failures = self.failures.entry(key.clone()).or_insert(0);
        tracing::warn!(%status, failures = *failures, "a controller's write failed");
        let wait = FIRST_RETRY * 2_u32.pow((*failures).min(DOUBLINGS));
        *failures += 1;
        self.by(key, Instant::now() + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keys_come_in_the_order_of_their_times_and_once() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut agenda = Agenda::new();
        agenda.at("late", after(9));
        agenda.at("moved", after(1));
        agenda.at("moved", after(5));
        agenda.by("early", after(4));
        agenda.by("early", after(7));
        agenda.at("gone", after(2));
        assert!(agenda.cancel(&"gone") && !agenda.cancel(&"gone"));
        agenda.now("first");
        let mut seen = Vec::new();
        for _ in 0..4 {
            let due = agenda.due().await;
            seen.push((due, start.elapsed().as_secs()));
        }
        assert_eq!(seen, [(vec!["first"], 0), (vec!["early"], 4), (vec!["moved"], 5), (vec!["late"], 9)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_later_and_later() {
        let start = Instant::now();
        let mut agenda = Agenda::new();
        let mut seen = Vec::new();
        for _ in 0..3 {
            agenda.note("key", Err(Status::internal("no")));
            agenda.due().await;
            seen.push(start.elapsed().as_secs());
        }
        agenda.note("key", Ok(()));
        agenda.note("key", Err(Status::internal("no")));
        agenda.due().await;
        seen.push(start.elapsed().as_secs());
        assert_eq!(seen, [1, 3, 7, 8]);
    }
}
