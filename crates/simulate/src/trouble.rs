//! What goes wrong on the way between a client and the API: requests and answers that get lost or come late, a server that is busy, lists
//! that are old, watches that break, stutter and stall.

use std::time::Duration;

use trellis_cluster::faults::{Fault, Seen};
use trellis_cluster::status::Status;

use crate::dice::Dice;

/// What happens to a request; to most, nothing.
pub fn decide(seen: &Seen, dice: &mut Dice) -> Fault {
    match (seen.watch, seen.list, seen.write) {
        (true, ..) => watch(dice),
        // A list that a deletion rests on is never old, because it is read from the store; those of watches come in pages.
        (_, true, _) => list(dice, seen.target.contains("limit=")),
        (_, _, Some(_)) => write(dice),
        _ => read(dice),
    }
}

fn watch(dice: &mut Dice) -> Fault {
    match dice.below(60) {
        0 | 1 => Fault::BreakWatch(usize::try_from(dice.below(6)).unwrap_or(0)),
        2 => Fault::ExpireWatch,
        3 | 4 => Fault::RepeatWatch,
        5..=9 => Fault::DelayWatch(milliseconds(dice, 800)),
        10 => Fault::LoseRequest,
        _ => Fault::None,
    }
}

fn list(dice: &mut Dice, may_be_old: bool) -> Fault {
    match dice.below(20) {
        0 | 1 if may_be_old => Fault::StaleList(usize::try_from(1 + dice.below(3)).unwrap_or(1)),
        2 => Fault::LoseAnswer,
        3 => Fault::Refuse(busy()),
        4 => Fault::Refuse(Status::internal("the store is away")),
        _ => Fault::None,
    }
}

fn read(dice: &mut Dice) -> Fault {
    match dice.below(40) {
        0 => Fault::LoseRequest,
        1 => Fault::Refuse(busy()),
        2 => Fault::TimeOut,
        3 => Fault::Delay(milliseconds(dice, 300)),
        _ => Fault::None,
    }
}

fn write(dice: &mut Dice) -> Fault {
    match dice.below(60) {
        0 | 1 => Fault::LoseRequest,
        2 | 3 => Fault::LoseAnswer,
        4 => Fault::TimeOut,
        5 => Fault::Refuse(busy()),
        6 => Fault::Refuse(Status::internal("the store is away")),
        7 => Fault::Refuse(Status::other(409, "Conflict", "somebody was faster")),
        _ => Fault::None,
    }
}

/// How long a write is on its way; it arrives then, whether or not the one who sent it still lives. Most arrive at once.
pub fn way(dice: &mut Dice) -> Option<Duration> {
    match dice.below(200) {
        0..=5 => Some(milliseconds(dice, 500)),
        6 | 7 => Some(milliseconds(dice, 8_000)),
        8 => Some(Duration::from_secs(8 + dice.below(25))),
        _ => None,
    }
}

fn milliseconds(dice: &mut Dice, below: u64) -> Duration {
    Duration::from_millis(dice.below(below))
}

fn busy() -> Status {
    Status::too_many_requests("too many requests, please try again later")
}
