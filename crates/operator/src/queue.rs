//! What has been touched and has to be looked at. A key is in here once, however often it is touched, and with one worker at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// What is looked at as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A PodCliqueSet with everything of it, by namespace and name.
    Set(String, String),
    /// A DynamoGraphDeployment with its set, by namespace and name.
    Deployment(String, String),
    /// A ClusterTopology, by name.
    Topology(String),
    /// A pool, by name.
    Pool(String),
    /// A workflow with everything of it, by namespace and name.
    Workflow(String, String),
}

/// Keys that wait for a worker, now or later.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    work: Notify,
    idle: Notify,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<Key>,
    waiting: HashSet<Key>,
    running: HashSet<Key>,
    /// Touched while a worker had them.
    again: HashSet<Key>,
    later: BTreeMap<Instant, BTreeSet<Key>>,
    due: HashMap<Key, Instant>,
}

impl State {
    fn add(&mut self, key: Key) -> bool {
        if self.running.contains(&key) {
            self.again.insert(key);
            return false;
        }
        if !self.waiting.insert(key.clone()) {
            return false;
        }
        self.ready.push_back(key);
        true
    }

    fn forget(&mut self, key: &Key) {
        if let Some(time) = self.due.remove(key)
            && let Some(keys) = self.later.get_mut(&time)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.later.remove(&time);
            }
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a key looked at.
    pub fn add(&self, key: Key) {
        if self.state().add(key) {
            self.work.notify_one();
        }
    }

    /// Has a key looked at when `time` comes; of two times the earlier counts.
    pub fn add_at(&self, key: Key, time: Instant) {
        let mut state = self.state();
        if state.due.get(&key).is_some_and(|earlier| *earlier <= time) {
            return;
        }
        state.forget(&key);
        state.later.entry(time).or_default().insert(key.clone());
        state.due.insert(key, time);
        drop(state);
        self.work.notify_one();
    }

    /// The next key; the caller has to say when it is [`Queue::done`].
    pub async fn take(&self) -> Key {
        loop {
            let notified = self.work.notified();
            let next = {
                let mut state = self.state();
                let now = Instant::now();
                while let Some(due) = state.later.first_entry().filter(|entry| *entry.key() <= now) {
                    for key in due.remove() {
                        state.due.remove(&key);
                        state.add(key);
                    }
                }
                if let Some(key) = state.ready.pop_front() {
                    state.waiting.remove(&key);
                    state.running.insert(key.clone());
                    if !state.ready.is_empty() {
                        self.work.notify_one();
                    }
                    return key;
                }
                state.later.keys().next().copied()
            };
            match next {
                Some(time) => {
                    tokio::select! {
                        biased;
                        () = notified => {}
                        () = tokio::time::sleep_until(time) => {}
                    }
                }
                None => notified.await,
            }
        }
    }

    /// Gives a key back. Touched meanwhile, it waits again.
    pub fn done(&self, key: &Key) {
        let mut state = self.state();
        state.running.remove(key);
        if state.again.remove(key) {
            state.add(key.clone());
            self.work.notify_one();
        }
        if state.ready.is_empty() && state.running.is_empty() {
            self.idle.notify_waiters();
        }
    }

    /// How many keys wait for a worker now.
    pub fn depth(&self) -> usize {
        self.state().ready.len()
    }

    /// Waits until no key waits and no worker has one. Keys that are due later do not count.
    pub async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            {
                let state = self.state();
                if state.ready.is_empty() && state.running.is_empty() {
                    return;
                }
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(name: &str) -> Key {
        Key::Topology(name.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_there_once_and_with_one_worker() {
        let queue = Queue::default();
        queue.add(key("a"));
        queue.add(key("a"));
        queue.add(key("b"));
        assert_eq!(queue.depth(), 2);
        assert_eq!(queue.take().await, key("a"));
        // Touched while a worker has it: it comes again, but not before it is given back.
        queue.add(key("a"));
        assert_eq!(queue.take().await, key("b"));
        assert_eq!(queue.depth(), 0);
        queue.done(&key("b"));
        queue.done(&key("a"));
        assert_eq!(queue.take().await, key("a"));
        queue.done(&key("a"));
        queue.idle().await;
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_times_the_earlier_counts() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.add_at(key("a"), start + Duration::from_secs(9));
        queue.add_at(key("a"), start + Duration::from_secs(3));
        queue.add_at(key("a"), start + Duration::from_secs(5));
        assert_eq!(queue.take().await, key("a"));
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        queue.done(&key("a"));
        queue.idle().await;
    }
}
