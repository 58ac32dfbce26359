use crate::plan::site;
use crate::update::play::{Dice, Rules, seeds};
use crate::update::toy::{World, check};
use std::collections::BTreeSet;

const NOTHING: &[&str] = &[];

#[test]
fn a_gang_is_marked_once_all_its_minima_have_nodes() {
    let one = |facts: &str, expected: &[&str]| check("1 a=3/2 d=1/1 x:2/1 x.b=1/1", facts, expected);
    one("s-0 new", &["mark s-0"]);
    one("s-0 new; s-0-a: s s p", &["mark s-0"]);
    one("s-0 new; s-0-a: s p p", NOTHING);
    one("s-0 new; s-0-d: -", NOTHING);
    one("s-0 new; s-0-d: S", &["mark s-0"]);
    one("s-0 new; s-0-x-0-b: t", NOTHING);
    one("s-0-x-0 new", &["mark s-0-x-0"]);
    one("s-0-x-0 recreated", &["mark s-0-x-0"]);
    one("s-0 preempted; s-0-a: p p p", NOTHING);
}

/// Replicas that equal the minimum, as in GT1 and GT2.
#[test]
fn a_gang_without_spare_pods_is_taken_down_after_the_delay() {
    let one = |facts: &str, expected: &[&str]| check("2 a=2/2 x:2/2 x.b=1/1 x.c=3/3", facts, expected);
    one("s-0-a: R p", &["wake 600"]);
    one("s-0-a: R p; s-0-a! 599", &["wake 1"]);
    one("s-0-a: R p; s-0-a! 600", &["begin s-0"]);
    one("s-1-x-1-c: R R p; s-1-x-1-c! 600", &["begin s-1"]);
    one("s-1-x-1-c: R R f; s-1-x-1-c! 600", &["begin s-1"]);
    // Sound again, whatever the status still says.
    one("s-0-a! 600", NOTHING);
    one("s-0-a: R S; s-0-a! 600", NOTHING);
    // Never placed, or placed only after it had been broken.
    one("s-0-a: R p; s-0-a! 600; s-0 new", NOTHING);
    one("s-0-a: R p; s-0-a! 9000", &["begin s-0"]);
    one("delay 2h; s-0-a: R p; s-0-a! 9000", &["wake 3600"]);
    // A scheduler is at it.
    one("s-0-a: R p; s-0-a! 600; s-0 preempted", NOTHING);
    // Being updated.
    one("s-0-a: R p; s-0-a! 600; s-0-x-0-b: Ro", &["update s-0-x-0-b-0"]);
}

/// A minimum below the replicas, as in GT3 to GT6.
#[test]
fn only_what_is_broken_is_taken_down() {
    let one = |facts: &str, expected: &[&str]| check("1 a=2/1 x:3/1 x.b=1/1 x.c=3/1", facts, expected);
    one("s-0-a: R p; s-0-a! 600", NOTHING);
    let all = ["begin s-0", "begin s-0-x-0", "begin s-0-x-1"];
    one("s-0-a: p p; s-0-a! 600", &all);
    // A scaled gang goes alone, and not for a pod above its minimum.
    one("s-0-x-1-c: R p p", NOTHING);
    one("s-0-x-1-c: p p p; s-0-x-1-c! 600", &["begin s-0-x-0"]);
    one("s-0-x-1-c: p p p; s-0-x-1-c! 600; s-0-x-0 new", NOTHING);
    // A replica in the base gang that can be spared: its pods alone, as far as they have a node.
    let pods = ["terminate s-0-x-0-c-0", "terminate s-0-x-0-c-2"];
    one("s-0-x-0-b: p; s-0-x-0-b! 600; s-0-x-0-c: R p s", &pods);
    one("s-0-x-0-b: p; s-0-x-0-b! 599; s-0-x-0-c: R p s", &["wake 1"]);
    // Those made anew have the same time.
    one("s-0-x-0-b: p; s-0-x-0-b! 700; s-0-x-0-c: R@60 p s@50", &["wake 540"]);
    one("s-0-x-0-b: p; s-0-x-0-b! 700; s-0-x-0-c: R@600 p s@50", &pods);
    one("s-0-x-0-b: p; s-0-x-0-b! 600; s-0-x-0-c: p p p; s-0-x-0-c! 600", NOTHING);
    // It cannot be spared from the moment that too few others are sound.
    let two = "s-0-x-0-b: p; s-0-x-0-b! 5000; s-0-x-1-b: p; s-0-x-1-b! 650; s-0-x-2-b: p;";
    one(&format!("{two} s-0-x-2-b! 590"), &["begin s-0-x-0", "wake 10"]);
    one(&format!("{two} s-0-x-2-b! 600"), &all);
    let never = "s-0-x-1-b: p; s-0-x-2-b: p; s-0-x-0 new; s-0-x-1 new;";
    one(&format!("{never} s-0-x-0-b: p; s-0-x-0-b! 599"), &["wake 1"]);
    one(&format!("{never} s-0-x-0-b: p; s-0-x-0-b! 600"), &all);
}

#[test]
fn a_gang_on_its_way_down_goes_on_where_it_was() {
    let one = |facts: &str, expected: &[&str]| check("1 a=2/1 x:2/1 x.b=1/1", facts, expected);
    // The scaled gang has yet to begin.
    let first = ["begin s-0-x-0", "terminate s-0-a-0", "terminate s-0-a-1", "terminate s-0-x-0-b-0"];
    one("s-0 down", &first);
    let both = ["terminate s-0-a-0", "terminate s-0-a-1", "terminate s-0-x-0-b-0", "terminate s-0-x-1-b-0"];
    one("s-0 down; s-0-x-0 down", &both);
    one("s-0 down; s-0-x-0 down; s-0-a: g p; s-0-x-0-b: t; s-0-x-1-b: g", &["terminate s-0-a-1", "unmark s-0-x-0"]);
    let gated = "s-0-a: g g; s-0-x-0-b: g; s-0-x-1-b: g;";
    one(&format!("{gated} s-0 down; s-0-x-0 down"), &["unmark s-0", "unmark s-0-x-0"]);
    // The base ends first, but not before the scaled one has begun.
    one(&format!("{gated} s-0 unmarked; s-0-x-0 unmarked"), &["end s-0"]);
    one(&format!("{gated} s-0 recreated; s-0-x-0 unmarked"), &["end s-0-x-0"]);
    one(&format!("{gated} s-0 unmarked; s-0-x-0 placed"), &["begin s-0-x-0"]);
    one(&format!("{gated} s-0 unmarked; s-0-x-0 new"), &["end s-0"]);
    one(&format!("{gated} s-0 unmarked; s-0-x-0 new; s-0-x-1-b: p"), &["begin s-0-x-0"]);
    one(&format!("{gated} s-0 recreated; s-0-x-0 recreated"), NOTHING);
    // What has succeeded stays.
    one(&format!("{gated} s-0-a: S g; s-0 unmarked; s-0-x-0 new"), &["end s-0"]);
    // A scaled gang alone.
    one("s-0-x-0 down", &["terminate s-0-x-1-b-0"]);
    one("s-0-x-0 unmarked; s-0-x-1-b: g", &["end s-0-x-0"]);
}

/// Sets, and a clique of each that loses its pods, with what goes for it.
const LOSSES: [(&str, &str, &[&str]); 6] = [
    ("2 a=2/2 d=1/1", "s-1-a", &["s-1"]),
    ("1 a=2/1 x:3/1 x.b=1/1 x.c=2/2", "s-0-a", &["s-0", "s-0-x-0", "s-0-x-1"]),
    ("1 a=2/1 x:3/1 x.b=1/1 x.c=2/2", "s-0-x-2-c", &["s-0-x-1"]),
    ("1 a=2/1 x:3/1 x.b=1/1 x.c=2/2", "s-0-x-0-c", &[]),
    ("1 a=2/1 x:3/3 x.b=1/1 x.c=2/2", "s-0-x-1-c", &["s-0"]),
    ("1 x:1/1 x.b=2/2 x.c=2/1", "s-0-x-0-c", &["s-0"]),
];

/// Plays until long after everything that has to go has gone.
fn lose(dice: &mut Dice, (set, clique, gone): (&str, &str, &[&str]), rules: &Rules, context: &str) -> World {
    let mut world = World::new(set);
    world.pods(clique, "-");
    let mut begun = BTreeSet::new();
    for _ in 0..150 {
        for write in world.play(dice, rules).writes {
            if write.site == site::BEGIN_TERMINATION {
                begun.insert(write.target.name);
            }
        }
    }
    assert_eq!(begun.iter().collect::<Vec<_>>(), gone, "{context}");
    world
}

#[test]
fn what_lost_its_place_is_placed_anew() {
    for seed in seeds(2) {
        for loss in LOSSES {
            let context = format!("seed {seed}, {loss:?}");
            let mut dice = Dice(seed);
            let mut world = lose(&mut dice, loss, &Rules { tight: true, ..Rules::default() }, &context);
            // A replica of a group whose gang stays finds no room beside it.
            let rules = Rules { tight: !loss.2.is_empty(), ..Rules::default() };
            world.play_until(&mut dice, &rules, &context, |world| {
                world.look(|picture| {
                    let ready = picture.cliques.iter().all(|clique| clique.counts.ready == clique.counts.replicas);
                    ready && picture.gangs.iter().all(|gang| super::placed_at(gang).is_some())
                })
            });
            assert!(world.plan().writes.is_empty(), "{context}");
        }
    }
}

#[test]
fn what_finds_no_place_is_left_alone() {
    let rules = Rules { full: true, ..Rules::default() };
    for seed in seeds(2) {
        for loss in LOSSES {
            let context = format!("seed {seed}, {loss:?}");
            let mut dice = Dice(seed);
            let mut world = lose(&mut dice, loss, &rules, &context);
            for _ in 0..40 {
                let plan = world.play(&mut dice, &rules);
                assert!(plan.writes.is_empty(), "{context}: {:?}", world.words(&plan));
            }
            world.play_until(&mut dice, &Rules::default(), &context, |world| {
                world.look(|it| it.cliques.iter().all(|clique| clique.counts.ready == clique.counts.replicas))
            });
        }
    }
}
