//! What follows from a write and is done afterwards, by whoever runs [`controllers`](crate::controllers): dependents of owners that
//! went, contents of namespaces and of definitions that go.
//!
//! Chores are a set: noting one twice is noting it once, so there are never more of them than there are objects.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::store::{Key, Shelf};

/// Something to look at. Looking is harmless: what is to be done follows from what is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chore {
    /// An object that has owners, or waits to be deleted.
    Object(Shelf, Key),
    /// The dependents of an owner that went, by its uid.
    Dependents(String),
    /// A namespace that goes.
    Namespace(String),
    /// A custom resource definition that goes.
    Definition(String),
}

/// The chores that are noted and not yet done.
#[derive(Debug, Default)]
pub(crate) struct Chores {
    noted: Mutex<Option<BTreeSet<Chore>>>,
    wake: Notify,
}

impl Chores {
    /// From now on chores are noted: someone does them.
    pub(crate) fn open(&self) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// Notes a chore, if anyone does them.
    pub(crate) fn note(&self, chore: Chore) {
        if let Some(noted) = self.noted.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
            && noted.insert(chore)
        {
            self.wake.notify_one();
        }
    }

    /// Waits for chores and takes them all.
    pub(crate) async fn next(&self) -> BTreeSet<Chore> {
        loop {
            let taken = self.take();
            if !taken.is_empty() {
                return taken;
            }
            self.wake.notified().await;
        }
    }

    fn take(&self) -> BTreeSet<Chore> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(std::mem::take).unwrap_or_default()
    }
}
