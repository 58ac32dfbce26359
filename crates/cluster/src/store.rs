//! Where objects live: one revision counter, a shelf for each resource, and the changes of late, from which watches and older
//! snapshots are read.
//!
//! Objects rest as JSON text without `apiVersion` and `kind`: small, ready to be sent, and the same in every version that needs no
//! conversion.
//!
//! *Invariant:* revisions strictly rise; every change has a revision of its own; a watcher sees every later change of its shelf in
//! order, or is told that it comes too late.

mod object;
mod watch;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::clock::Clock;
use crate::journal::{Entry, Journal};
pub use object::{Index, Object};
pub use watch::{Expired, Watch};

/// How many changes of a resource are kept for watchers that come late and for lists that go on.
pub const HISTORY: usize = 16_384;

/// The name of a shelf: group and plural, as in `pods` or `gangs.example.com`.
pub type Shelf = Arc<str>;

/// A change as it comes out of a tap: when it was made, and on which shelf.
pub type Tapped = (Timestamp, Shelf, Arc<Change>);

/// The name of an object on its shelf. Cluster-wide objects have an empty namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// One change of an object.
#[derive(Debug)]
pub struct Change {
    /// When: no other change has the same revision.
    pub revision: u64,
    /// Which object.
    pub key: Key,
    /// As it was; `None` for a new one.
    pub before: Option<Arc<Object>>,
    /// As it is, or, if it is gone, as it was when it went, with the revision of the deletion.
    pub after: Arc<Object>,
    /// Whether it is gone.
    pub deleted: bool,
}

/// Why a write did not happen.
#[derive(Debug)]
pub enum Refused {
    /// There is an object of that name.
    Taken,
    /// The object changed or went since it was read.
    Moved,
    /// The disk said no. Nothing was changed.
    Disk(io::Error),
}

/// What a list sees: the objects at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// The moment.
    pub revision: u64,
    /// In the order of their keys.
    pub objects: Vec<(Key, Arc<Object>)>,
}

/// The store. Cheap to share behind an `Arc`.
#[derive(Debug, Default)]
pub struct Store {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    revision: u64,
    shelves: HashMap<Shelf, Rack>,
    /// Uids of living objects, for owner references.
    living: HashMap<Box<str>, (Shelf, Key)>,
    /// Objects by the uid of an owner.
    owned: HashMap<Box<str>, HashSet<(Shelf, Key)>>,
    journal: Option<Journal>,
    /// Who is told of every change.
    tap: Option<(Clock, mpsc::UnboundedSender<Tapped>)>,
    history: Option<usize>,
    /// Nothing is known of changes up to here: the store began, or was compacted, at this revision.
    start: u64,
}

/// The contents of one shelf.
#[derive(Debug, Default)]
struct Rack {
    objects: BTreeMap<Key, Arc<Object>>,
    changes: VecDeque<Arc<Change>>,
    /// Changes up to this revision are forgotten.
    floor: u64,
    /// How many changes there were.
    recorded: usize,
    /// Those who wait for changes, with the namespace that they look at.
    waiting: Vec<(Option<String>, std::sync::Weak<Notify>)>,
}

impl Store {
    /// A store that keeps this many changes of each resource; tests keep few.
    pub fn with_history(changes: usize) -> Self {
        let store = Self::default();
        store.lock().history = Some(changes);
        store
    }

    /// A store with what a journal holds, that writes to it from now on.
    pub fn open(journal: Journal, entries: impl IntoIterator<Item = Entry>) -> Self {
        let store = Self::default();
        let mut inner = store.lock();
        for entry in entries {
            inner.revision = inner.revision.max(entry.revision);
            let shelf: Shelf = entry.shelf.into();
            match entry.object {
                Some(object) => inner.put(&shelf, &entry.key, Arc::new(object)),
                None => drop(inner.take(&shelf, &entry.key)),
            }
        }
        let revision = inner.revision;
        inner.shelves.values_mut().for_each(|rack| rack.floor = revision);
        inner.start = revision;
        inner.journal = Some(journal);
        drop(inner);
        store
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock was held would be a fault of ours; what is there is still whole, since writes end with an insert.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision of the latest change.
    pub fn revision(&self) -> u64 {
        self.lock().revision
    }

    /// One object.
    pub fn get(&self, shelf: &Shelf, key: &Key) -> Option<Arc<Object>> {
        self.lock().shelves.get(shelf)?.objects.get(key).cloned()
    }

    /// All objects of a namespace, or of all, as they are now.
    pub fn list(&self, shelf: &Shelf, namespace: Option<&str>) -> Snapshot {
        let inner = self.lock();
        let objects = inner.shelves.get(shelf).map(|rack| rack.range(namespace)).unwrap_or_default();
        Snapshot { revision: inner.revision, objects }
    }

    /// As [`Store::list`], at an earlier moment: later changes are undone from the history.
    pub fn list_at(&self, shelf: &Shelf, namespace: Option<&str>, revision: u64) -> Result<Snapshot, Expired> {
        let inner = self.lock();
        let Some(rack) = inner.shelves.get(shelf) else {
            return Ok(Snapshot { revision, objects: Vec::new() });
        };
        if revision < rack.floor {
            return Err(Expired { asked: revision, oldest: rack.floor });
        }
        let mut objects: BTreeMap<Key, Arc<Object>> = rack.range(namespace).into_iter().collect();
        let later = rack.changes.iter().rev().take_while(|change| change.revision > revision);
        for change in later.filter(|change| namespace.is_none_or(|namespace| change.key.namespace == namespace)) {
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), before.clone()),
                None => objects.remove(&change.key),
            };
        }
        Ok(Snapshot { revision, objects: objects.into_iter().collect() })
    }

    /// How many objects there are of a resource.
    pub fn count(&self, shelf: &Shelf) -> usize {
        self.lock().shelves.get(shelf).map_or(0, |rack| rack.objects.len())
    }

    /// Makes a new object; its `resourceVersion` is set here.
    pub fn create(&self, shelf: &Shelf, key: Key, object: &mut Value, index: Index) -> Result<Arc<Object>, Refused> {
        let mut inner = self.lock();
        if inner.shelves.get(shelf).is_some_and(|rack| rack.objects.contains_key(&key)) {
            return Err(Refused::Taken);
        }
        inner.write(shelf, key, None, object, index, false)
    }

    /// Puts a new form in the place of the one with revision `expected`.
    pub fn replace(
        &self,
        shelf: &Shelf,
        key: Key,
        expected: u64,
        object: &mut Value,
        index: Index,
    ) -> Result<Arc<Object>, Refused> {
        let mut inner = self.lock();
        let before = inner.expect(shelf, &key, expected)?;
        inner.write(shelf, key, Some(before), object, index, false)
    }

    /// Removes the object with revision `expected`; `last` is what watchers see of it.
    pub fn remove(
        &self,
        shelf: &Shelf,
        key: Key,
        expected: u64,
        last: &mut Value,
        index: Index,
    ) -> Result<Arc<Object>, Refused> {
        let mut inner = self.lock();
        let before = inner.expect(shelf, &key, expected)?;
        inner.write(shelf, key, Some(before), last, index, true)
    }

    /// Where the living object with this uid is.
    pub fn find_uid(&self, uid: &str) -> Option<(Shelf, Key)> {
        self.lock().living.get(uid).cloned()
    }

    /// The objects that name the owner with this uid.
    pub fn owned_by(&self, uid: &str) -> Vec<(Shelf, Key)> {
        let mut owned: Vec<_> = self.lock().owned.get(uid).into_iter().flatten().cloned().collect();
        owned.sort();
        owned
    }

    /// Where every object is, in order.
    pub fn everything(&self) -> Vec<(Shelf, Key)> {
        let inner = self.lock();
        let places = |(shelf, rack): (&Shelf, &Rack)| {
            rack.objects.keys().map(|key| (shelf.clone(), key.clone())).collect::<Vec<_>>()
        };
        let mut all: Vec<(Shelf, Key)> = inner.shelves.iter().flat_map(places).collect();
        all.sort();
        all
    }

    /// Names of the shelves that hold anything in this namespace.
    pub fn shelves_in(&self, namespace: &str) -> Vec<Shelf> {
        let inner = self.lock();
        let mut shelves: Vec<Shelf> = inner
            .shelves
            .iter()
            .filter(|(_, rack)| !rack.range(Some(namespace)).is_empty())
            .map(|(shelf, _)| shelf.clone())
            .collect();
        shelves.sort();
        shelves
    }

    /// Forgets the changes so far, so that whoever wants to go on from an older revision is told that it expired.
    pub fn compact(&self) {
        let mut inner = self.lock();
        let revision = inner.revision;
        inner.start = revision;
        for rack in inner.shelves.values_mut() {
            rack.changes.clear();
            rack.floor = revision;
        }
    }

    /// Every change of every shelf from now on, in the order of revisions and none left out, for one who takes them in time: what is not
    /// taken is kept. Each comes with the moment that it was made, by this clock, so that it does not matter when it is taken. A later
    /// caller takes the place of an earlier one.
    pub fn tap(&self, clock: Clock) -> mpsc::UnboundedReceiver<Tapped> {
        let (sender, changes) = mpsc::unbounded_channel();
        self.lock().tap = Some((clock, sender));
        changes
    }

    /// Follows the changes of a shelf after a revision.
    pub fn watch(self: &Arc<Self>, shelf: &Shelf, namespace: Option<&str>, after: u64) -> Watch {
        let wake = Arc::new(Notify::new());
        let mut inner = self.lock();
        let start = inner.start;
        let rack = inner.shelves.entry(shelf.clone()).or_insert_with(|| Rack::new(start));
        rack.waiting.retain(|(_, waiting)| waiting.strong_count() > 0);
        rack.waiting.push((namespace.map(ToOwned::to_owned), Arc::downgrade(&wake)));
        drop(inner);
        Watch::new(self.clone(), shelf.clone(), namespace.map(ToOwned::to_owned), after, wake)
    }
}

impl Inner {
    /// Writes the journal anew, without what has been overwritten since.
    fn tidy(&mut self) -> io::Result<()> {
        let Self { journal: Some(journal), shelves, revision, .. } = self else { return Ok(()) };
        let objects = shelves.iter().flat_map(|(shelf, rack)| {
            rack.objects.iter().map(move |(key, object)| (shelf.as_ref(), key, object.as_ref()))
        });
        journal.rewrite(*revision, objects)
    }

    fn expect(&self, shelf: &Shelf, key: &Key, expected: u64) -> Result<Arc<Object>, Refused> {
        let current = self.shelves.get(shelf).and_then(|rack| rack.objects.get(key));
        match current {
            Some(object) if object.revision == expected => Ok(object.clone()),
            _ => Err(Refused::Moved),
        }
    }

    fn write(
        &mut self,
        shelf: &Shelf,
        key: Key,
        before: Option<Arc<Object>>,
        value: &mut Value,
        index: Index,
        deleted: bool,
    ) -> Result<Arc<Object>, Refused> {
        let revision = self.revision + 1;
        let object = Arc::new(Object::seal(value, revision, index));
        if let Some(journal) = &mut self.journal {
            journal.append(revision, shelf, &key, (!deleted).then_some(&object)).map_err(Refused::Disk)?;
        }
        self.revision = revision;
        if deleted {
            self.take(shelf, &key);
        } else {
            self.put(shelf, &key, object.clone());
        }
        let change = Arc::new(Change { revision, key, before, after: object.clone(), deleted });
        if let Some((clock, tap)) = &self.tap
            && tap.send((clock.now(), shelf.clone(), change.clone())).is_err()
        {
            self.tap = None;
        }
        let (history, start) = (self.history.unwrap_or(HISTORY), self.start);
        self.shelves.entry(shelf.clone()).or_insert_with(|| Rack::new(start)).record(change, history);
        if self.journal.as_ref().is_some_and(Journal::is_untidy)
            && let Err(error) = self.tidy()
        {
            // The old file is still whole; the next write tries again.
            tracing::warn!(%error, "the journal could not be written anew");
        }
        Ok(object)
    }

    fn put(&mut self, shelf: &Shelf, key: &Key, object: Arc<Object>) {
        self.take(shelf, key);
        let place = (shelf.clone(), key.clone());
        for owner in &object.index.owners {
            self.owned.entry(owner.clone()).or_default().insert(place.clone());
        }
        self.living.insert(object.index.uid.clone(), place);
        let start = self.start;
        let rack = self.shelves.entry(shelf.clone()).or_insert_with(|| Rack::new(start));
        rack.objects.insert(key.clone(), object);
    }

    fn take(&mut self, shelf: &Shelf, key: &Key) -> Option<Arc<Object>> {
        let object = self.shelves.get_mut(shelf)?.objects.remove(key)?;
        self.living.remove(&object.index.uid);
        for owner in &object.index.owners {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(&(shelf.clone(), key.clone()));
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
        Some(object)
    }
}

impl Rack {
    fn new(floor: u64) -> Self {
        Self { floor, ..Self::default() }
    }

    fn range(&self, namespace: Option<&str>) -> Vec<(Key, Arc<Object>)> {
        let pair = |(key, object): (&Key, &Arc<Object>)| (key.clone(), object.clone());
        match namespace {
            None => self.objects.iter().map(pair).collect(),
            Some(namespace) => {
                let first = Key { namespace: namespace.to_owned(), name: String::new() };
                self.objects.range(first..).take_while(|(key, _)| key.namespace == namespace).map(pair).collect()
            }
        }
    }

    fn record(&mut self, change: Arc<Change>, history: usize) {
        let mut gone = false;
        self.recorded += 1;
        // Who looks at a quiet namespace is woken now and then, or the history would pass by unseen.
        let all = self.recorded.is_multiple_of((history / 4).max(1));
        for (namespace, waiting) in &self.waiting {
            if all || namespace.as_ref().is_none_or(|namespace| *namespace == change.key.namespace) {
                match waiting.upgrade() {
                    Some(waiting) => waiting.notify_one(),
                    None => gone = true,
                }
            }
        }
        if gone {
            self.waiting.retain(|(_, waiting)| waiting.strong_count() > 0);
        }
        self.changes.push_back(change);
        while self.changes.len() > history {
            if let Some(oldest) = self.changes.pop_front() {
                self.floor = oldest.revision;
            }
        }
    }
}
