//! Members that stand already, and gangs that follow others.

use super::check;

#[test]
fn scale_out_joins_its_peers() {
    // r1 would be the better rack; the bound pod decides.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1
         r2/*: b1..b3 gpu=1",
        "gang required=rack: 2 x gpu=1 + 1 x gpu=1 @b1",
        "gang: 2 placed
         gang at rack: r2",
    );
    // Or it waits.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1
         r2/*: b1 gpu=1",
        "gang required=rack: 1 x gpu=1 + 1 x gpu=1 @b1",
        "gang: waits",
    );
    // Members above the minimum wait without holding up the gang.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1
         r2/*: b1 b2 gpu=1",
        "gang required=rack min=1: 2 x gpu=1 + 1 x gpu=1 @b1",
        "gang: 1 placed
         gang on: b1 b2",
    );
}

#[test]
fn bound_pods_that_break_a_required_level_wait() {
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1 b2 gpu=1",
        "gang required=rack: 1 x gpu=1 + 1 x gpu=1 @a1 + 1 x gpu=1 @b1",
        "gang: waits",
    );
}

#[test]
fn a_preferred_level_counts_bound_pods() {
    check(
        "topology t: rack host
         r1/*: a1 gpu=1
         r2/*: b1 gpu=1
         r2/*: b2 gpu=4",
        "gang preferred=rack: 1 x gpu=1 + 1 x gpu=1 @b1",
        "gang: 1 placed
         gang on: b1 b2",
    );
}

#[test]
fn a_scaled_gang_follows_its_base_in_one_plan() {
    // Alone the scaled gang would take r1, which comes first and is tighter.
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1..b6 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled base=base: 2 x gpu=1",
        "base: 3 placed
         scaled: 2 placed
         base at rack: r2
         scaled at rack: r2",
    );
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1..b4 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled base=base: 2 x gpu=1",
        "base: 3 placed
         scaled: waits",
    );
}

#[test]
fn a_base_that_labels_have_put_apart_is_followed_where_it_is_together() {
    let cluster = "topology t: block rack host
         k1/r1/*: a1 a2 gpu=1
         k1/r2/*: b1 b2 gpu=1
         k2/r3/*: c1..c4 gpu=1";
    check(
        cluster,
        "base required=block
         - g required=rack: 1 x gpu=1 @a1 + 1 x gpu=1 @b1
         scaled base=base: 2 x gpu=1",
        "base: waits
         scaled: 2 placed
         scaled at block: k1",
    );
    // Not if it lacks some of its minimum, or if there is no one domain to follow it to.
    check(
        cluster,
        "base required=block
         - g required=rack: 1 x gpu=1 + 1 x gpu=1 @a1 + 1 x gpu=1 @b1
         scaled base=base: 1 x gpu=1",
        "base: waits
         scaled: waits",
    );
    check(
        cluster,
        "base required=block: 1 x gpu=1 @a1 + 1 x gpu=1 @c1
         scaled base=base: 1 x gpu=1",
        "base: waits
         scaled: waits",
    );
}

#[test]
fn a_base_goes_where_what_is_scaled_from_it_fits() {
    // Alone the base would take r1, which is just large enough for it.
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1
         r2/*: b1..b6 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled base=base: 2 x gpu=1",
        "base: 3 placed
         scaled: 2 placed
         base at rack: r2
         scaled at rack: r2",
    );
    // Where not all fit, it goes where most do, in their order.
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1
         r2/*: b1..b5 gpu=1
         r3/*: c1..c4 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled-1 base=base: 2 x gpu=1
         scaled-2 base=base: 2 x gpu=1",
        "scaled-1: 2 placed
         scaled-2: waits
         base at rack: r2",
    );
    // One that fits nowhere is passed over, and the next is looked at.
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1
         r2/*: b1..b5 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled-1 base=base: 9 x gpu=1
         scaled-2 base=base: 2 x gpu=1",
        "scaled-1: waits
         scaled-2: 2 placed
         base at rack: r2",
    );
    // Its members above the minimum come after the minima of those.
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1
         r2/*: b1..b5 gpu=1",
        "base required=rack min=3: 4 x gpu=1
         scaled base=base: 2 x gpu=1",
        "base: 3 placed
         scaled: 2 placed
         base at rack: r2",
    );
}

#[test]
fn a_base_makes_room_for_what_is_scaled_from_it_where_they_share_a_domain() {
    // Alone the base would stay in one rack, and leave a single place there.
    check(
        "topology t: block rack host
         b1/r1/*: a1..a3 gpu=1
         b1/r2/*: b1..b3 gpu=1",
        "base required=block preferred=rack: 2 x gpu=1
         scaled base=base
         - g1 required=rack: 2 x gpu=1
         - g2 required=rack: 2 x gpu=1",
        "base: 2 placed
         scaled: 4 placed
         base at rack: 2",
    );
    // But it does not wait for them.
    check(
        "topology t: block rack host
         b1/r1/*: a1..a3 gpu=1
         b1/r2/*: b1..b3 gpu=1",
        "base required=block preferred=rack: 2 x gpu=1
         scaled base=base
         - g1 required=rack: 3 x gpu=1
         - g2 required=rack: 3 x gpu=1",
        "base: 2 placed
         scaled: waits
         base at rack: 1",
    );
}

/// Two bases whose families need all there is: pairs that share a rack, in a block of racks of odd and even size.
#[test]
fn families_that_need_every_place_of_a_block_get_them() {
    let family = |name: &str| {
        format!(
            "{name} required=block preferred=host
             - {name}-router preferred=host: 2 x gpu=1
             - {name}-decoder required=rack preferred=host
             -- {name}-dleader preferred=host: 1 x gpu=1
             -- {name}-dworker preferred=host: 1 x gpu=1
             - {name}-prefill required=rack preferred=host
             -- {name}-pleader preferred=host: 1 x gpu=1
             -- {name}-pworker required=host: 1 x gpu=1
             {name}-decoder-1 base={name} required=rack preferred=host
             - {name}-1-dleader preferred=host: 1 x gpu=1
             - {name}-1-dworker preferred=host: 1 x gpu=1
             {name}-prefill-1 base={name} required=rack preferred=host
             - {name}-1-pleader preferred=host: 1 x gpu=1
             - {name}-1-pworker required=host: 1 x gpu=1\n"
        )
    };
    check(
        "topology t: block rack host
         b1/r1/*: a1..a7 gpu=1
         b1/r2/*: b1..b7 gpu=1
         b1/r3/*: c1..c6 gpu=1
         b2/r3/*: d1 gpu=1
         b2/r4/*: e1..e7 gpu=1",
        &(family("one") + &family("two")),
        "one: 6 placed
         one-decoder-1: 2 placed
         one-prefill-1: 2 placed
         two: 6 placed
         two-decoder-1: 2 placed
         two-prefill-1: 2 placed",
    );
}

#[test]
fn a_scaled_gang_is_planned_after_its_base_whatever_its_priority() {
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1
         r2/*: b1..b6 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled base=base priority=9: 2 x gpu=1",
        "base at rack: r2
         scaled at rack: r2",
    );
}

#[test]
fn a_scaled_gang_waits_with_its_base() {
    check(
        "topology t: rack host
         r1/*: a1 a2 gpu=1",
        "base required=rack: 3 x gpu=1
         scaled base=base: 1 x gpu=1",
        "base: waits
         scaled: waits",
    );
}

#[test]
fn a_scaled_gang_joins_a_base_that_stands() {
    check(
        "topology t: rack host
         r1/*: a1..a4 gpu=1
         r2/*: b1 b2 gpu=1",
        "base required=rack: 1 x gpu=1 @b1
         scaled base=base
         - g1 required=host: 1 x gpu=1",
        "scaled: 1 placed
         g1 on: b2",
    );
}

#[test]
fn first_the_minima_of_all_then_the_rest_of_all() {
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1",
        "first priority=1 min=1: 3 x gpu=1
         second min=1: 2 x gpu=1",
        "first: 2 placed
         second: 1 placed",
    );
}

#[test]
fn a_gang_that_cannot_fit_does_not_block_a_smaller_one() {
    check(
        "topology t: rack host
         r1/*: a1..a3 gpu=1",
        "first priority=1: 4 x gpu=1
         second: 2 x gpu=1",
        "first: waits
         second: 2 placed",
    );
}
