//! What happened in a run, in the order in which it happened: events, and the writes of operator and scheduler with what became of them.
//!
//! It is written to a file when something is found, a line of JSON for each entry, and a run can be played again from it.

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trellis_cluster::clock::Clock;
use trellis_cluster::faults::{Fault, Seen};

use crate::check::Violation;
use crate::events::Event;

/// How many requests are kept: the last ones tell what went wrong.
const REQUESTS: usize = 20_000;

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// What the run was.
    Run {
        /// The seed.
        seed: u64,
        /// How many events there were to be.
        events: usize,
    },
    /// An event.
    Event(Event),
    /// A write of operator or scheduler.
    Request {
        /// Which event came before it.
        event: usize,
        /// When it was sent.
        at: Timestamp,
        /// By whom, with the number of its life.
        by: String,
        /// Method, path and parameters.
        what: String,
        /// What became of it on its way.
        fault: String,
    },
    /// What was found.
    Violation(Violation),
    /// A change of a node, a gang or a pod.
    Change {
        /// The revision of the store.
        revision: u64,
        /// When it was made.
        at: Timestamp,
        /// Where the object is kept: plural and group of its kind.
        shelf: String,
        /// Whether it went.
        gone: bool,
        /// What it says since then.
        object: Value,
    },
}

/// What a file has to say about a run.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The seed.
    pub seed: u64,
    /// How many events there were to be.
    pub count: usize,
    /// The events, up to the one at which something was found.
    pub events: Vec<Event>,
    /// What was found.
    pub violation: Option<Violation>,
}

#[derive(Debug)]
struct Kept {
    clock: Clock,
    event: usize,
    events: Vec<Event>,
    requests: VecDeque<Line>,
    changes: Vec<Line>,
}

/// The journal of a run. All clones are the same.
#[derive(Clone, Debug)]
pub struct Journal(Arc<Mutex<Kept>>);

impl Journal {
    /// An empty one.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Mutex::new(Kept {
            clock,
            event: 0,
            events: Vec::new(),
            requests: VecDeque::new(),
            changes: Vec::new(),
        })))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes down an event.
    pub fn event(&self, event: &Event) {
        let mut kept = self.kept();
        kept.event = event.number;
        kept.events.push(event.clone());
    }

    /// Takes down a write.
    pub fn request(&self, by: &str, life: usize, seen: &Seen, fault: &Fault) {
        let mut kept = self.kept();
        let (event, at) = (kept.event, kept.clock.now());
        if kept.requests.len() >= REQUESTS {
            kept.requests.pop_front();
        }
        let what = format!("{} {}", seen.method, seen.target);
        kept.requests.push_back(Line::Request {
            event,
            at,
            by: format!("{by}-{life}"),
            what,
            fault: format!("{fault:?}"),
        });
    }

    /// Takes down what changed last before something was found.
    pub fn last_changes(&self, changes: Vec<Line>) {
        self.kept().changes = changes;
    }

    /// Writes all of it, in order.
    pub fn write(&self, seed: u64, events: usize, found: &[Violation], out: &mut impl Write) -> io::Result<()> {
        let kept = self.kept();
        let mut requests = kept.requests.iter().peekable();
        let mut line = |line: &Line| -> io::Result<()> {
            serde_json::to_writer(&mut *out, line)?;
            out.write_all(b"\n")
        };
        line(&Line::Run { seed, events })?;
        for event in &kept.events {
            let number = event.number;
            while let Some(request) =
                requests.next_if(|line| matches!(line, Line::Request { event, .. } if *event < number))
            {
                line(request)?;
            }
            line(&Line::Event(event.clone()))?;
        }
        for request in requests {
            line(request)?;
        }
        found.iter().try_for_each(|violation| line(&Line::Violation(violation.clone())))?;
        kept.changes.iter().try_for_each(line)
    }
}

/// Reads what [`Journal::write`] wrote.
pub fn read(input: impl BufRead) -> io::Result<Replay> {
    let mut run = None;
    let mut events = Vec::new();
    let mut violation = None;
    for (number, text) in (1..).zip(input.lines()) {
        let wrong = |error| io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {error}"));
        match serde_json::from_str(&text?).map_err(wrong)? {
            Line::Run { seed, events } => run = Some((seed, events)),
            Line::Event(event) => events.push(event),
            Line::Violation(found) => violation = violation.or(Some(found)),
            Line::Request { .. } | Line::Change { .. } => {}
        }
    }
    let missing = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "no line says which run it was\nhint: the first line of a journal does",
        )
    };
    let (seed, count) = run.ok_or_else(missing)?;
    Ok(Replay { seed, count, events, violation })
}
