//! What one decision leaves for the next.

use crate::say::Explained;

/// What was worked out and need not be worked out again as long as nothing changes. Nothing rests on it: a decision without it is the
/// same, and only costs more.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) explained: Explained,
}
