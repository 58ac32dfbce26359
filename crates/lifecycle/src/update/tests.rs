use super::play::{Dice, Rules, bounds, seeds};
use super::toy::{World, check};
use crate::plan::site;
use crate::update::current_replica;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::names::annotation;

const NOTHING: &[&str] = &[];

#[test]
fn a_clique_loses_one_pod_at_a_time() {
    let one = |facts: &str, expected: &[&str]| check("1 a=3/2", facts, expected);
    one("", NOTHING);
    // The oldest first; by index where they are of one age.
    one("s-0-a: Ro Ro Ro", &["update s-0-a-0"]);
    one("s-0-a: R@50o R@90o R@70o", &["update s-0-a-1"]);
    one("s-0-a: R Ro R@9000", &["update s-0-a-1"]);
    // None while another is missing, for whatever reason.
    one("s-0-a: s Ro Ro", NOTHING);
    one("s-0-a: g Ro Ro", NOTHING);
    one("s-0-a: - Ro Ro", NOTHING);
    one("s-0-a: t Ro Ro", NOTHING);
    one("s-0-a: F Ro Ro", NOTHING);
    one("s-0-a: f Ro Ro", NOTHING);
    // What is not ready is not missed.
    one("s-0-a: so Ro po", &["update s-0-a-0", "update s-0-a-2"]);
    one("s-0-a: go go go; s-0 new", &["update s-0-a-0", "update s-0-a-1", "update s-0-a-2"]);
    one("s-0-a: fo Ro R", &["update s-0-a-0"]);
    // What has succeeded stays, and is no reason to wait.
    one("s-0-a: So Ro R", &["update s-0-a-1"]);
    one("s-0-a: So So R", NOTHING);
    // One too many is taken away first, and by somebody else.
    one("s-0-a: Ro Ro Ro Ro", NOTHING);
    one("OnDelete; s-0-a: Ro so Ro", NOTHING);
    // Below the minimum only where it is all there is.
    check("1 a=2/2", "s-0-a: Ro Ro", &["update s-0-a-0"]);
}

#[test]
fn a_group_loses_one_replica_at_a_time() {
    let set = "1 x:3/2 x.b=1/1 x.c=2/1";
    let one = |facts: &str, expected: &[&str]| check(set, facts, expected);
    let old = |j: usize| format!("s-0-x-{j}-b: Ro; s-0-x-{j}-c: Ro Ro;");
    let gone =
        |j: usize| [format!("update s-0-x-{j}-b-0"), format!("update s-0-x-{j}-c-0"), format!("update s-0-x-{j}-c-1")];
    let all = format!("{}{}{}", old(0), old(1), old(2));
    one(&all, &gone(0).each_ref().map(String::as_str));
    one(&format!("{}{}", old(1), old(2)), &gone(1).each_ref().map(String::as_str));
    // Only the pods of cliques that changed.
    one("s-0-x-1-b: Ro", &["update s-0-x-1-b-0"]);
    // One of two ready pods is enough here, so this replica is available.
    one(&format!("s-0-x-0-c: R s; {}", old(1)), &gone(1).each_ref().map(String::as_str));
    one(&format!("s-0-x-0-c: s s; {}", old(1)), NOTHING);
    one(&format!("s-0-x-0-b: -; {}", old(1)), NOTHING);
    // A replica that is not available goes first, with what of it is ready.
    one(&format!("{}s-0-x-2-b: so; s-0-x-2-c: Ro R", old(0)), &["update s-0-x-2-b-0", "update s-0-x-2-c-0"]);
    // One that never had a place is not waited for, unless the minimum would suffer.
    let waiting = |j: usize| format!("s-0-x-{j}-b: p; s-0-x-{j}-c: p p; s-0-x-{} new;", j - 2);
    one(&format!("{}{}", old(0), waiting(2)), NOTHING);
    let four = format!("{}{}", old(0), waiting(3));
    check("1 x:4/2 x.b=1/1 x.c=2/1", &four, &gone(0).each_ref().map(String::as_str));
    let lost = four.replace("s-0-x-1 new", "s-0-x-1 recreated");
    check("1 x:4/2 x.b=1/1 x.c=2/1", &lost, NOTHING);
}

#[test]
fn cliques_and_groups_go_in_parallel() {
    let facts = "s-0-a: Ro Ro; s-0-d: Ro Ro; s-0-x-0-b: Ro; s-0-x-1-b: Ro; s-0-y-0-c: Ro";
    let gone = ["update s-0-a-0", "update s-0-d-0", "update s-0-x-0-b-0", "update s-0-y-0-c-0"];
    check("1 a=2/1 d=2/1 x:2/1 x.b=1/1 y:1/1 y.c=1/1", facts, &gone);
}

#[test]
fn one_replica_of_the_set_is_updated_at_a_time() {
    let one = |facts: &str, expected: &[&str]| check("3 a=2/1", facts, expected);
    let all = "s-0-a: Ro Ro; s-1-a: Ro Ro; s-2-a: Ro Ro;";
    one(all, &["update s-0-a-0"]);
    one(&format!("{all} updating 1"), &["update s-1-a-0"]);
    // A name that means nothing any more.
    one(&format!("{all} updating 7"), &["update s-0-a-0"]);
    one("updating 1; s-0-a: Ro Ro", &["update s-0-a-0"]);
    // Without a name, the one that was begun.
    one(&format!("{all} s-1-a: R Ro"), &["update s-1-a-1"]);
    one(&format!("{all} s-1-a: s Ro"), NOTHING);
    one(&format!("{all} s-1-a: s s"), NOTHING);
    one(&format!("{all} s-1-a: R s"), &["update s-0-a-0"]);
    // Nothing scheduled, then broken, then the lowest.
    one(&format!("{all} s-1-a: fo fo; s-2-a: po po; s-2 new"), &["update s-2-a-0", "update s-2-a-1", "wake 600"]);
    one(&format!("{all} s-1-a: fo fo"), &["update s-1-a-0", "update s-1-a-1"]);
    check("2 a=1/1 d=2/1", "s-0-d: Ro Ro; s-1-d: fo fo", &["update s-1-d-0", "update s-1-d-1"]);
    // A replica that never had a place is not waited for; one that lost it is, once it is updated.
    one(&format!("{all} s-1-a: p p; s-1 new"), &["update s-0-a-0"]);
    one(&format!("{all} s-1-a: p p; s-1 recreated"), NOTHING);
    one(&format!("{all} s-1-a: p p; s-1 recreated; updating 0"), &["update s-0-a-0"]);
    one("s-1-a: s s; updating 1; s-2-a: Ro Ro", NOTHING);
    // While a gang is taken down nothing is updated in its replica.
    one("s-1-a: go go; s-1 unmarked", &["end s-1"]);
    one("s-1-a: go go; s-1 recreated", &["update s-1-a-0", "update s-1-a-1"]);
}

#[test]
fn a_gang_moves_if_an_updated_pod_finds_no_room() {
    let one = |facts: &str, expected: &[&str]| check("2 a=3/2 x:2/1 x.b=2/1", facts, expected);
    one("s-0-a: u599 Ro Ro", &["wake 1"]);
    one("s-0-a: u600 Ro Ro", &["begin s-0", "begin s-0-x-0"]);
    one("s-0-a: u600 R R; s-0-x-1-b: Ro R; updating 0", &["begin s-0", "begin s-0-x-0"]);
    // A pod above the minimum, and nothing left to update: it waits like any other.
    one("s-0-a: u600 R R; updating 0", NOTHING);
    one("s-0-a: u600 u600 R; updating 0", &["begin s-0", "begin s-0-x-0"]);
    // In a scaled gang, that gang alone.
    one("s-0-x-1-b: u600 Ro", &["begin s-0-x-0"]);
    // Nothing is left to give up.
    one(
        "s-0-a: u600 u600 u600; s-0-x-0-b: u600 u600; s-0-x-1-b: g g; s-0 recreated; s-0-x-0 recreated; updating 0",
        NOTHING,
    );
    // An outdated pod is replaced first.
    one("s-0-a: u600o Ro Ro", &["update s-0-a-0"]);
    // Other replicas are not concerned.
    one("s-0-a: Ro R R; s-1-a: u600 R R", &["update s-0-a-0"]);
}

/// Sets of many shapes: minima that equal the replicas and such that do not, alone, in groups, and in scaled gangs.
const SHAPES: [&str; 7] = [
    "1 a=1/1",
    "2 a=3/3",
    "3 a=3/1 d=2/2",
    "2 x:3/1 x.b=2/1 x.c=1/1",
    "2 a=2/1 x:2/2 x.b=2/2",
    "1 a=4/2 x:4/2 x.b=1/1 x.c=2/1 y:1/1 y.e=2/2",
    "3 a=2/2 x:2/1 x.b=2/1",
];

/// Whether everything is ready and made from the present template.
fn is_done(world: &World) -> bool {
    world.look(|picture| {
        let whole = |counts: crate::Counts| counts.updated == counts.replicas && counts.ready == counts.replicas;
        current_replica(picture).is_none() && picture.cliques.iter().all(|clique| whole(clique.counts))
    })
}

#[test]
fn an_update_takes_away_one_at_a_time_and_ends() {
    for seed in seeds(2) {
        for shape in SHAPES {
            let context = format!("seed {seed}, set {shape}");
            let (mut world, mut dice) = (World::new(shape), Dice(seed));
            let one = (seed % 3 == 0).then_some(if shape.contains("a=") { "a" } else { "b" });
            world.image(one, "two");
            world.play_until(&mut dice, &Rules::default(), &context, |world| {
                bounds(world, &context);
                is_done(world)
            });
        }
    }
}

#[test]
fn an_update_ends_through_trouble_edits_and_scaling() {
    for seed in seeds(2) {
        for shape in SHAPES {
            let (mut world, mut dice) = (World::new(shape), Dice(seed));
            for round in 0..4 {
                match dice.below(4) {
                    0 => world.set.spec.replicas = i32::try_from(1 + dice.below(3)).unwrap(),
                    1 => world.set.spec.template.cliques[0].spec.replicas = i32::try_from(4 + dice.below(2)).ok(),
                    _ => {}
                }
                world.image(None, &format!("{}", dice.below(3) + round));
                for _ in 0..dice.below(40) {
                    world.play(&mut dice, &Rules { loses: true, ..Rules::default() });
                }
            }
            world.play_until(&mut dice, &Rules::default(), &format!("seed {seed}, set {shape}"), is_done);
        }
    }
}

#[test]
fn a_gang_that_has_no_room_where_it_is_moves_once() {
    let rules = Rules { tight: true, ..Rules::default() };
    for seed in seeds(2) {
        // A gang of one, pod or replica of a group, goes as a whole anyway.
        for shape in SHAPES.into_iter().filter(|shape| shape.contains("a=") && *shape != "1 a=1/1") {
            let context = format!("seed {seed}, set {shape}");
            let (mut world, mut dice) = (World::new(shape), Dice(seed));
            world.image(None, "two");
            let mut begun = BTreeMap::<String, BTreeSet<Option<String>>>::new();
            for _ in 0..1000 {
                if is_done(&world) {
                    break;
                }
                for write in world.play(&mut dice, &rules).writes {
                    // A write that was lost is sent again; one that was carried out has changed the version.
                    if write.site == site::BEGIN_TERMINATION {
                        let version = world.observed.gangs[&write.target.name].metadata.annotations.clone();
                        let version = version.and_then(|all| all.get(annotation::SCHEDULED_AT).cloned());
                        begun.entry(write.target.name).or_default().insert(version);
                    }
                }
            }
            assert!(is_done(&world), "{context}");
            assert!(!begun.is_empty() && begun.values().all(|times| times.len() == 1), "{context}: {begun:?}");
        }
    }
}

#[test]
fn a_template_that_fits_nowhere_stops_at_the_first_replica() {
    let rules = Rules { full: true, ..Rules::default() };
    for seed in seeds(2) {
        let (mut world, mut dice) = (World::new("3 a=2/2 x:2/1 x.b=2/1"), Dice(seed));
        world.image(None, "two");
        for _ in 0..150 {
            world.play(&mut dice, &rules);
        }
        for _ in 0..50 {
            let plan = world.play(&mut dice, &rules);
            assert!(plan.writes.is_empty(), "seed {seed}: {:?}", world.words(&plan));
        }
        world.look(|picture| {
            let ready = |replica: usize| {
                let of = picture.cliques.iter().filter(|clique| clique.instance.set_index == replica);
                of.map(|clique| clique.counts.ready).sum::<usize>()
            };
            assert_eq!((ready(0), ready(1), ready(2)), (0, 6, 6), "seed {seed}");
        });
        world.play_until(&mut dice, &Rules::default(), &format!("seed {seed}"), is_done);
    }
}
