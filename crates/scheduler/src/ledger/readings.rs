//! Ledgers by their text, so that one that stays the same is read once.

use super::Ledger;
use std::collections::HashMap;
use std::sync::Arc;

/// What was read in this decision and in the one before.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    now: HashMap<Box<str>, Option<Arc<Ledger>>>,
    before: HashMap<Box<str>, Option<Arc<Ledger>>>,
}

impl Readings {
    /// Another decision begins: what nobody has asked for in the last one is forgotten.
    pub fn turn(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// The ledger that a text is; none if it is not one of ours.
    pub fn read(&mut self, text: &str) -> Option<Arc<Ledger>> {
        if let Some(known) = self.now.get(text) {
            return known.clone();
        }
        let (text, read) =
            self.before.remove_entry(text).unwrap_or_else(|| (text.into(), Ledger::read(text).map(Arc::new)));
        self.now.insert(text, read.clone());
        read
    }
}
