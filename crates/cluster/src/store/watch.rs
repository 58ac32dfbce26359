//! Following the changes of a shelf.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{Change, Shelf, Store};

/// How many changes are taken at once, so that the store is not held for long.
const BATCH: usize = 256;

/// A place in the history that is no longer, or not any more, known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// The revision that was asked for.
    pub asked: u64,
    /// The oldest one from which one can go on.
    pub oldest: u64,
}

/// Someone who follows the changes of a shelf.
#[derive(Debug)]
pub struct Watch {
    store: Arc<Store>,
    shelf: Shelf,
    namespace: Option<String>,
    /// Changes up to here are known to the follower.
    seen: u64,
    wake: Arc<Notify>,
}

impl Watch {
    pub(super) fn new(
        store: Arc<Store>,
        shelf: Shelf,
        namespace: Option<String>,
        seen: u64,
        wake: Arc<Notify>,
    ) -> Self {
        Self { store, shelf, namespace, seen, wake }
    }

    /// The next changes in order, at least one; waits for them.
    pub async fn next(&mut self) -> Result<Vec<Arc<Change>>, Expired> {
        loop {
            let changes = self.take()?;
            if !changes.is_empty() {
                return Ok(changes);
            }
            self.wake.notified().await;
        }
    }

    /// The next changes, if there are any.
    pub fn take(&mut self) -> Result<Vec<Arc<Change>>, Expired> {
        let inner = self.store.lock();
        let Some(rack) = inner.shelves.get(&self.shelf) else { return Ok(Vec::new()) };
        if self.seen < rack.floor {
            return Err(Expired { asked: self.seen, oldest: inner.revision + 1 });
        }
        let start = rack.changes.partition_point(|change| change.revision <= self.seen);
        let mut taken = Vec::new();
        for change in rack.changes.range(start..) {
            if taken.len() == BATCH {
                return Ok(taken);
            }
            self.seen = change.revision;
            if self.namespace.as_ref().is_none_or(|namespace| *namespace == change.key.namespace) {
                taken.push(change.clone());
            }
        }
        self.seen = self.seen.max(inner.revision);
        Ok(taken)
    }

    /// Everything up to this revision has been handed out.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}
