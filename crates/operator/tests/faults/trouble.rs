//! What goes wrong by chance: requests and answers that get lost, servers that are busy, lists that are old, watches that break, stutter
//! and stall, and an operator that dies now and then.

use trellis_cluster::faults::{Fault, Seen};
use trellis_cluster::status::Status;
use trellis_testkit::mutate::Dice;

use crate::play::milliseconds;

/// What happens to a request, and whether the operator dies of it.
pub fn decide(seen: &Seen, dice: &mut Dice) -> (Fault, bool) {
    match (seen.watch, seen.list, seen.write) {
        (true, ..) => (watch(dice), false),
        // A list that a deletion rests on is never old, because it is read from the store; those of watches come in pages.
        (_, true, _) => (list(dice, seen.target.contains("limit=")), false),
        (_, _, Some(_)) => {
            let crash = dice.below(60) == 0;
            let fault = write(dice);
            match crash {
                true if fault == Fault::LoseAnswer => (fault, true),
                true => (Fault::LoseRequest, true),
                false => (fault, false),
            }
        }
        _ => (read(dice), false),
    }
}

fn watch(dice: &mut Dice) -> Fault {
    match dice.below(12) {
        0..=2 => Fault::BreakWatch(dice.below(6)),
        3 => Fault::ExpireWatch,
        4 | 5 => Fault::RepeatWatch,
        6..=8 => Fault::DelayWatch(milliseconds(dice, 400)),
        9 => Fault::LoseRequest,
        _ => Fault::None,
    }
}

fn list(dice: &mut Dice, may_be_old: bool) -> Fault {
    match dice.below(10) {
        0..=2 if may_be_old => Fault::StaleList(1 + dice.below(3)),
        3 => Fault::LoseAnswer,
        4 => Fault::Refuse(busy()),
        5 => Fault::Refuse(Status::internal("the store is away")),
        _ => Fault::None,
    }
}

fn read(dice: &mut Dice) -> Fault {
    match dice.below(10) {
        0 => Fault::LoseRequest,
        1 => Fault::Refuse(busy()),
        2 => Fault::TimeOut,
        3 => Fault::Delay(milliseconds(dice, 300)),
        _ => Fault::None,
    }
}

fn write(dice: &mut Dice) -> Fault {
    match dice.below(24) {
        0 | 1 => Fault::LoseRequest,
        2 | 3 => Fault::LoseAnswer,
        4 => Fault::TimeOut,
        5 => Fault::Refuse(busy()),
        6 => Fault::Refuse(Status::internal("the store is away")),
        7 => Fault::Refuse(Status::other(409, "Conflict", "somebody was faster")),
        8 | 9 => Fault::Delay(milliseconds(dice, 500)),
        _ => Fault::None,
    }
}

fn busy() -> Status {
    Status::too_many_requests("too many requests, please try again later")
}
