//! What the scheduler goes by, beside the objects.

use jiff::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;
use trellis_api::names::profile;

/// Options of the scheduler: `config` of profile `trellis`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Names of schedulers whose pods we serve.
    pub served: BTreeSet<String>,
    /// How long the places of vanished members are held.
    pub hold: Duration,
    /// After which time of waiting room is reserved for a gang; none: never, unless it asks for it.
    pub reserve_after: Option<Duration>,
    /// How long nominated places are held for a gang while those that have to leave do so.
    pub nomination: Duration,
    /// Steps that the decision of one gang may take.
    pub budget: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            served: BTreeSet::from([profile::TRELLIS.to_owned()]),
            hold: Duration::from_mins(5),
            reserve_after: Some(Duration::from_mins(10)),
            nomination: Duration::from_mins(5),
            budget: trellis_engine::Options::default().budget,
        }
    }
}

/// Who decides, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Around<'a> {
    /// What the scheduler goes by.
    pub settings: &'a Settings,
    /// Who we are: another name for every process that ever leads, also after a restart.
    pub identity: &'a str,
    /// Since when we lead; none where nobody else can. What is older may be in the hands of whoever led before, and is
    /// written to before it is given anything.
    pub leads_since: Option<Timestamp>,
    /// The time.
    pub now: Timestamp,
}
