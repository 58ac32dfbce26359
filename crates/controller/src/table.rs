//! The objects of one kind, as the API was last seen to hold them.
//!
//! A table is fed by a watch and by the answers to our own writes, whichever comes first: of two versions of an object the newer counts,
//! and what went does not come back because an event or an answer is late. So a decision after a write sees that write. That is a
//! courtesy, not a promise: every write has to be safe on any view.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// An object by namespace and name; the namespace is empty where there is none.
pub type Name = (String, String);

/// The name of an object.
pub fn name_of(metadata: &ObjectMeta) -> Name {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

/// Objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    objects: BTreeMap<Name, Entry<T>>,
    /// Uids that we saw go, until the watch says so too.
    gone: HashSet<String>,
    /// The newest version that the watch has told of. It tells everything in order: what is older and not there has gone since.
    watched: u64,
    /// While a list comes in: what it has named, and what we wrote meanwhile.
    listing: Option<HashSet<Name>>,
    listed: bool,
}

#[derive(Debug)]
struct Entry<T> {
    object: Arc<T>,
    uid: String,
    version: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), gone: HashSet::new(), watched: 0, listing: None, listed: false }
    }
}

/// What became of a version of an object that was put into a table.
#[derive(Debug, PartialEq, Eq)]
pub enum Put<T> {
    /// It is no news: a newer one is known, or the object is gone.
    Old,
    /// It counts from now on, instead of this one.
    New(Option<Arc<T>>),
}

/// The version of something that was seen last, whatever version it has.
const LAST: u64 = u64::MAX;

/// Versions are compared as numbers. One that is none is taken to be the newest, so that what is seen last counts.
fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(LAST)
}

impl<T> Table<T> {
    /// Takes a version of an object that a watch or a list has told of.
    pub fn put(&mut self, metadata: &ObjectMeta, object: impl FnOnce() -> T) -> Put<T> {
        self.has_watched(metadata);
        self.take_in(metadata, object)
    }

    /// Takes a version of an object that an answer to a request of ours has told of.
    pub fn answered(&mut self, metadata: &ObjectMeta, object: impl FnOnce() -> T) -> Put<T> {
        let uid = metadata.uid.as_deref().unwrap_or_default();
        let is_there = self.objects.get(&name_of(metadata)).is_some_and(|known| known.uid == uid);
        if !is_there && version_of(metadata) <= self.watched {
            return Put::Old;
        }
        self.take_in(metadata, object)
    }

    fn has_watched(&mut self, metadata: &ObjectMeta) {
        let version = version_of(metadata);
        if version != LAST {
            self.watched = self.watched.max(version);
        }
    }

    fn take_in(&mut self, metadata: &ObjectMeta, object: impl FnOnce() -> T) -> Put<T> {
        let name = name_of(metadata);
        if let Some(listing) = &mut self.listing {
            listing.insert(name.clone());
        }
        let uid = metadata.uid.clone().unwrap_or_default();
        let version = version_of(metadata);
        let is_old = |known: &Entry<T>| known.version >= version && version != LAST;
        if self.gone.contains(&uid) || self.objects.get(&name).is_some_and(is_old) {
            return Put::Old;
        }
        let former = self.objects.insert(name, Entry { object: Arc::new(object()), uid, version });
        Put::New(former.map(|entry| entry.object))
    }

    /// Forgets the object with this name and uid, if it is there; returns it. For what a watch says.
    pub fn remove(&mut self, metadata: &ObjectMeta) -> Option<Arc<T>> {
        self.has_watched(metadata);
        let uid = metadata.uid.as_deref().unwrap_or_default();
        self.gone.remove(uid);
        self.take(&name_of(metadata), uid)
    }

    /// Forgets the object, if it is the one with this uid; returns it. For what we found out ourselves: until the watch says so too,
    /// what it says of this object is late.
    pub fn forget(&mut self, name: &Name, uid: &str) -> Option<Arc<T>> {
        let forgotten = self.take(name, uid)?;
        self.gone.insert(uid.to_owned());
        Some(forgotten)
    }

    fn take(&mut self, name: &Name, uid: &str) -> Option<Arc<T>> {
        self.objects.get(name).filter(|known| known.uid == uid)?;
        self.objects.remove(name).map(|entry| entry.object)
    }

    /// Changes what is known of an object, if it is the one with this uid, because we know more than its version shows; whether it is.
    /// Any later version counts all the same.
    pub fn amend(&mut self, name: &Name, uid: &str, change: impl FnOnce(&mut T)) -> bool
    where
        T: Clone,
    {
        let entry = self.objects.get_mut(name).filter(|known| known.uid == uid);
        entry.map(|entry| change(Arc::make_mut(&mut entry.object))).is_some()
    }

    /// An object by namespace and name.
    pub fn get(&self, name: &Name) -> Option<&Arc<T>> {
        self.objects.get(name).map(|entry| &entry.object)
    }

    /// All objects, by name.
    pub fn all(&self) -> impl Iterator<Item = (&Name, &Arc<T>)> {
        self.objects.iter().map(|(name, entry)| (name, &entry.object))
    }

    /// Whether a list has come in whole.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// A list begins to come in.
    pub fn begin_list(&mut self) {
        self.listing = Some(HashSet::new());
    }

    /// A list has come in whole; what it has not named is forgotten, and returned.
    pub fn end_list(&mut self) -> Vec<Arc<T>> {
        self.listed = true;
        self.gone.clear();
        let Some(named) = self.listing.take() else { return Vec::new() };
        self.objects.extract_if(.., |name, _| !named.contains(name)).map(|(_, entry)| entry.object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, uid: &str, version: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        }
    }

    fn name(name: &str) -> Name {
        (String::new(), name.to_owned())
    }

    /// Plays a script of `+name/uid/version` (seen), `=name/uid/version` (answered), `-name/uid/version` (the watch saw it go), `!name/uid`
    /// (we did), `~name/uid` (amended), `[` and `]` (a list), and looks at what is left, as `name/uid/version`.
    fn check(script: &str, expected: &str) {
        let mut table: Table<String> = Table::default();
        for word in script.split_whitespace() {
            let (verb, rest) = word.split_at(1);
            let parts: Vec<&str> = rest.split('/').collect();
            match (verb, parts.as_slice()) {
                ("+", [object, uid, version]) => {
                    table.put(&metadata(object, uid, version), || rest.to_owned());
                }
                ("=", [object, uid, version]) => {
                    table.answered(&metadata(object, uid, version), || rest.to_owned());
                }
                ("-", [object, uid, version]) => drop(table.remove(&metadata(object, uid, version))),
                ("!", [object, uid]) => drop(table.forget(&name(object), uid)),
                ("~", [object, uid]) => drop(table.amend(&name(object), uid, |known| known.push('~'))),
                ("[", _) => table.begin_list(),
                ("]", _) => drop(table.end_list()),
                _ => panic!("{word}"),
            }
        }
        let mut left: Vec<String> = table.all().map(|(_, object)| object.to_string()).collect();
        left.sort();
        assert_eq!(left.join(" "), expected, "{script}");
    }

    #[test]
    fn of_two_versions_the_newer_counts() {
        check("+a/1/5 +a/1/3", "a/1/5");
        check("+a/1/9 +a/1/10", "a/1/10");
        check("+a/1/5 +a/2/7 +a/1/6", "a/2/7");
        check("+a/1/x +a/1/y", "a/1/y");
    }

    #[test]
    fn what_we_saw_go_does_not_come_back() {
        check("+a/1/5 !a/1 +a/1/6", "");
        check("+a/1/5 !a/1 +a/1/6 -a/1/7 +a/2/8", "a/2/8");
        check("+a/1/5 !a/1 =a/2/8 -a/1/7", "a/2/8");
        // Who did not know it did not see it go.
        check("!a/1 +a/1/6", "a/1/6");
        check("+a/2/7 -a/1/6", "a/2/7");
    }

    #[test]
    fn what_the_watch_saw_go_does_not_come_back_with_a_late_answer() {
        // A deletion that only marks it; it is gone before the answer is here.
        check("+a/1/5 +a/1/6 -a/1/7 =a/1/6", "");
        // A creation.
        check("+a/1/5 -a/1/6 =a/1/5", "");
        check("+a/1/5 -a/1/7 +a/2/8 =a/1/6", "a/2/8");
        // Nothing is known of it yet; or what is known is older.
        check("+b/2/4 =a/1/5", "a/1/5 b/2/4");
        check("+a/1/5 +b/2/9 =a/1/7", "a/1/7 b/2/9");
        check("+a/1/5 -a/1/7 =a/2/8", "a/2/8");
        // Versions that are no numbers tell nothing.
        check("+b/2/x =a/1/5", "a/1/5 b/2/x");
    }

    #[test]
    fn what_is_amended_stands_until_a_later_version() {
        check("+a/1/5 ~a/1 +a/1/5", "a/1/5~");
        check("+a/1/5 ~a/1 +a/1/6", "a/1/6");
        check("+a/1/5 ~a/2", "a/1/5");
    }

    #[test]
    fn a_list_ends_what_it_does_not_name() {
        check("+a/1/5 +b/2/6 [ +a/1/5 ]", "a/1/5");
        // Written by us while the list came in.
        check("+a/1/5 [ +c/3/9 +a/1/5 ]", "a/1/5 c/3/9");
        // A list may be older than what was seen; the watch that follows tells what came after it.
        check("+a/1/5 +b/2/9 [ +b/2/9 ] =a/1/5", "b/2/9");
        check("+a/1/5 +b/2/9 [ +b/2/9 ] =a/1/5 +a/1/5", "a/1/5 b/2/9");
        check("+a/1/5 [", "a/1/5");
    }
}
