//! Tests of what a ledger gives up.

use super::given_up;
use crate::ledger::{Entry, Held, Ledger, Nominated, Nomination, Request, Spot};
use k8s_openapi::jiff::Timestamp;
use std::sync::Arc;

fn spot(node: &str) -> Spot {
    Spot { node: node.to_owned(), zone: None }
}

fn request() -> Request {
    Arc::new([("nvidia.com/gpu".to_owned(), 8)].into())
}

fn entry(pod: &str, node: &str) -> Entry {
    let (pod, uid) = (pod.to_owned(), format!("{pod}-uid"));
    Entry { group: "workers".to_owned(), request: request(), spot: spot(node), pod, uid }
}

/// A ledger by its members, what it holds for members that vanished (`pod@node`), and the nodes that it makes free.
fn ledger(members: &[&str], held: &[&str], nominated: &[&str]) -> Ledger {
    let read = |it: &&str| it.split_once('@').map_or_else(|| entry("", it), |(pod, node)| entry(pod, node));
    let until = Timestamp::UNIX_EPOCH;
    let place = |node: &&str| Nominated { group: "workers".to_owned(), request: request(), spot: spot(node) };
    let places: Vec<_> = nominated.iter().map(place).collect();
    Ledger {
        members: members.iter().map(read).collect(),
        held: held.iter().map(|it| Held { until, was: read(it) }).collect(),
        nominated: (!places.is_empty()).then(|| Nomination { until, places, victims: Vec::new() }),
        ..Ledger::default()
    }
}

#[track_caller]
fn check(what: &str, written: &Ledger, next: &Ledger, nodes: &[&str]) {
    let held = given_up(written, next);
    let found: Vec<&str> = held.iter().map(|held| held.was.spot.node.as_str()).collect();
    assert_eq!(found, nodes, "{what}");
}

#[test]
fn a_hold_is_given_up_unless_somebody_new_fills_it() {
    let written = ledger(&["p@n0"], &["q@n0"], &[]);
    check("nothing changes", &written, &written.clone(), &[]);
    check("it is filled by the one that came back", &written, &ledger(&["p@n0", "r@n0"], &[], &[]), &[]);
    check("it is let go", &written, &ledger(&["p@n0"], &[], &[]), &["n0"]);
    check("it is filled elsewhere", &written, &ledger(&["p@n0", "r@n1"], &[], &[]), &["n0"]);
    check("it goes on as a place that is made free", &written, &ledger(&["p@n0"], &[], &["n0"]), &[]);

    let two = ledger(&[], &["q@n0", "r@n0"], &[]);
    check("one of two is filled", &two, &ledger(&["s@n0"], &[], &[]), &["n0"]);
}

#[test]
fn a_place_that_is_made_free_is_given_up_unless_somebody_new_takes_it() {
    let written = ledger(&["p@n0"], &[], &["n0", "n1"]);
    check("both are taken", &written, &ledger(&["p@n0", "q@n0", "r@n1"], &[], &[]), &[]);
    check("one is left", &written, &ledger(&["p@n0"], &[], &["n1"]), &["n0"]);
    check("both are left", &written, &ledger(&["p@n0"], &[], &[]), &["n0", "n1"]);
}
