//! Where the time comes from. Waiting is `tokio::time`'s, so a paused runtime and [`Clock::Virtual`] go together.

use jiff::Timestamp;
use tokio::time::Instant;

/// A source of time stamps.
#[derive(Debug, Clone, Copy, Default)]
pub enum Clock {
    /// The machine's.
    #[default]
    System,
    /// Stands at `base` when the runtime's clock stands at `start`, and moves with it.
    Virtual {
        /// The time at the start.
        base: Timestamp,
        /// What the runtime's clock said then.
        start: Instant,
    },
}

impl Clock {
    /// A clock that begins at `base` now and moves with the runtime's.
    pub fn starting_at(base: Timestamp) -> Self {
        Self::Virtual { base, start: Instant::now() }
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Virtual { base, start } => *base + start.elapsed(),
        }
    }

    /// The time as it stands in metadata: whole seconds.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }
}

/// A time as `metav1.Time` writes it.
pub fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
