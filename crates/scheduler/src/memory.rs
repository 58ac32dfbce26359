//! What one decision leaves for the next.

use std::collections::BTreeSet;

use crate::ledger::Readings;
use crate::plan::Target;
use crate::say::Explained;

/// What was worked out and need not be worked out again as long as nothing changes. Nothing rests on it: a decision without it is the
/// same, and only costs more.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Ledgers that were read.
    pub(crate) readings: Readings,
    pub(crate) explained: Explained,
    /// Objects that are left out and what is wrong with them: that is told once.
    pub(crate) faults: BTreeSet<(Target, String)>,
}
