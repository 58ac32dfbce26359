//! What really happened, from the store itself.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use trellis_cluster::api::Api;
use trellis_cluster::store::Change;

use crate::Running;

/// Writes down all changes of a shelf.
pub struct Truth {
    changes: Arc<Mutex<Vec<Arc<Change>>>>,
    _task: Running,
}

impl Truth {
    /// From now on.
    pub fn follow(api: &Api, shelf: &str) -> Self {
        let changes: Arc<Mutex<Vec<Arc<Change>>>> = Arc::default();
        let mut watch = api.store().watch(&shelf.into(), None, api.store().revision());
        let log = changes.clone();
        let task = Running::spawn(async move {
            loop {
                let more = watch.next().await.expect("nobody who sits so near is late");
                log.lock().unwrap_or_else(PoisonError::into_inner).extend(more);
            }
        });
        Self { changes, _task: task }
    }

    /// How much has happened so far.
    pub fn len(&self) -> usize {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// All that happened.
    pub fn stop(self) -> Vec<Arc<Change>> {
        std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The word that a watch has for a change.
pub fn word(change: &Change) -> &'static str {
    match (&change.before, change.deleted) {
        (_, true) => "DELETED",
        (None, false) => "ADDED",
        (Some(_), false) => "MODIFIED",
    }
}

/// The object after a change.
pub fn after(change: &Change) -> Value {
    serde_json::from_slice(&change.after.text).expect("JSON")
}
