//! The store against a model that keeps everything: revisions rise, watchers see every later change in order or are told that they come
//! too late, and an earlier moment is shown as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use trellis_cluster::store::{Index, Key, Refused, Shelf, Store};

/// Few changes are kept, so that many watchers come too late.
const HISTORY: usize = 12;

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Replace(u8, bool),
    Remove(u8, bool),
    Watch(Option<u8>, u64),
    Read(usize),
    ListAt(u64),
    Compact,
}

/// What happened: revision, key, and what is there afterwards.
type Log = Vec<(u64, Key, Option<u64>)>;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..8_u8).prop_map(Step::Create),
        4 => (0..8_u8, any::<bool>()).prop_map(|(key, fresh)| Step::Replace(key, fresh)),
        2 => (0..8_u8, any::<bool>()).prop_map(|(key, fresh)| Step::Remove(key, fresh)),
        2 => (proptest::option::of(0..2_u8), 0..20_u64).prop_map(|(namespace, back)| Step::Watch(namespace, back)),
        3 => (0..6_usize).prop_map(Step::Read),
        1 => (0..20_u64).prop_map(Step::ListAt),
        1 => Just(Step::Compact),
    ]
}

fn key(number: u8) -> Key {
    Key { namespace: format!("n{}", number % 2), name: format!("o{number}") }
}

/// The objects at a revision, by the log.
fn state(log: &Log, revision: u64) -> BTreeMap<Key, u64> {
    let mut state = BTreeMap::new();
    for (_, key, after) in log.iter().filter(|(at, _, _)| *at <= revision) {
        match after {
            Some(version) => state.insert(key.clone(), *version),
            None => state.remove(key),
        };
    }
    state
}

struct Follower {
    watch: trellis_cluster::store::Watch,
    namespace: Option<String>,
    seen: u64,
    late: bool,
}

struct Model {
    store: Arc<Store>,
    shelf: Shelf,
    log: Log,
    followers: Vec<Follower>,
    compacted: u64,
}

impl Model {
    /// The oldest revision from which a watcher can still go on.
    fn floor(&self) -> u64 {
        let forgotten = self.log.iter().rev().filter(|(at, _, _)| *at > self.compacted).nth(HISTORY);
        forgotten.map_or(0, |(at, _, _)| *at).max(self.compacted)
    }

    fn write(
        &mut self,
        key: Key,
        removed: bool,
        result: Result<Arc<trellis_cluster::store::Object>, Refused>,
        expected: bool,
    ) {
        let last = self.log.last().map_or(0, |(at, _, _)| *at);
        match result {
            Ok(object) => {
                assert!(expected, "a write succeeded that should not: {key:?}");
                assert!(object.revision > last, "revisions rise");
                assert_eq!(self.store.revision(), object.revision);
                self.log.push((object.revision, key, (!removed).then_some(object.revision)));
            }
            Err(_) => assert!(!expected, "a write failed that should not: {key:?}"),
        }
    }

    fn apply(&mut self, step: &Step) {
        let now = state(&self.log, u64::MAX);
        let mut object = json!({"metadata": {}});
        match *step {
            Step::Create(number) => {
                let made = self.store.create(&self.shelf, key(number), &mut object, Index::default());
                self.write(key(number), false, made, !now.contains_key(&key(number)));
            }
            Step::Replace(number, fresh) => {
                let expected = now.get(&key(number)).copied().filter(|_| fresh);
                let made =
                    self.store.replace(&self.shelf, key(number), expected.unwrap_or(0), &mut object, Index::default());
                self.write(key(number), false, made, expected.is_some());
            }
            Step::Remove(number, fresh) => {
                let expected = now.get(&key(number)).copied().filter(|_| fresh);
                let gone =
                    self.store.remove(&self.shelf, key(number), expected.unwrap_or(0), &mut object, Index::default());
                self.write(key(number), true, gone, expected.is_some());
            }
            Step::Watch(namespace, back) => {
                let seen = self.store.revision().saturating_sub(back);
                let namespace = namespace.map(|namespace| format!("n{namespace}"));
                let watch = self.store.watch(&self.shelf, namespace.as_deref(), seen);
                self.followers.push(Follower { watch, namespace, seen, late: false });
            }
            Step::Read(which) => self.read(which),
            Step::ListAt(back) => self.list_at(self.store.revision().saturating_sub(back)),
            Step::Compact => {
                self.store.compact();
                self.compacted = self.store.revision();
            }
        }
    }

    fn read(&mut self, which: usize) {
        let floor = self.floor();
        let log = &self.log;
        let Some(follower) = self.followers.get_mut(which).filter(|follower| !follower.late) else { return };
        match follower.watch.take() {
            Ok(changes) => {
                let seen: Vec<(u64, Key, bool)> =
                    changes.iter().map(|change| (change.revision, change.key.clone(), change.deleted)).collect();
                let expected: Vec<(u64, Key, bool)> = log
                    .iter()
                    .filter(|(at, key, _)| {
                        *at > follower.seen && follower.namespace.as_ref().is_none_or(|n| *n == key.namespace)
                    })
                    .map(|(at, key, after)| (*at, key.clone(), after.is_none()))
                    .collect();
                assert_eq!(seen, expected, "a watcher after {} sees every later change in order", follower.seen);
                follower.seen = log.last().map_or(0, |(at, _, _)| *at).max(follower.seen);
            }
            Err(expired) => {
                assert!(follower.seen < floor, "{expired:?}: changes since {} are still known", follower.seen);
                follower.late = true;
            }
        }
    }

    fn list_at(&self, revision: u64) {
        match self.store.list_at(&self.shelf, None, revision) {
            Ok(snapshot) => {
                let shown: BTreeMap<Key, u64> =
                    snapshot.objects.into_iter().map(|(key, object)| (key, object.revision)).collect();
                assert_eq!(shown, state(&self.log, revision), "the moment {revision} is shown as it was");
            }
            Err(expired) => assert!(revision < self.floor(), "{expired:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(steps in proptest::collection::vec(step(), 1..120)) {
        let mut model = Model {
            store: Arc::new(Store::with_history(HISTORY)),
            shelf: "things".into(),
            log: Vec::new(),
            followers: Vec::new(),
            compacted: 0,
        };
        for step in &steps {
            model.apply(step);
        }
        for which in 0..model.followers.len() {
            model.read(which);
        }
    }
}
