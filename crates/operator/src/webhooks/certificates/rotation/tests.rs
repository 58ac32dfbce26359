//! The life of certificates, by a clock that only the test moves.

use super::*;

const DAY: u64 = 24 * 60 * 60;
const OPTIONS: Options =
    Options { lifetime: Duration::from_secs(90 * DAY), overlap: Duration::from_mins(10), poll: Duration::from_mins(1) };

fn names() -> Vec<String> {
    ["operator.trellis.svc", "127.0.0.1"].map(str::to_owned).to_vec()
}

fn day(day: u64) -> Timestamp {
    after(Timestamp::from_second(1_700_000_000).expect("a time"), Duration::from_secs(day * DAY))
}

fn written(held: Option<&Held>, now: Timestamp) -> Held {
    match turn(held, &names(), &OPTIONS, now).expect("a certificate") {
        Turn::Write(held) => held,
        Turn::Stay(wait) => panic!("nothing to do for {wait:?}"),
    }
}

fn stays(held: &Held, now: Timestamp) -> Duration {
    match turn(Some(held), &names(), &OPTIONS, now).expect("a certificate") {
        Turn::Stay(wait) => wait,
        Turn::Write(held) => panic!("wrote {held:?}"),
    }
}

fn count(bundle: &str) -> usize {
    split(bundle).len()
}

#[test]
fn a_certificate_is_followed_by_the_next_without_a_gap() {
    let first = written(None, day(0));
    assert!(is_usable(&first, &names(), day(0)));
    assert_eq!(stays(&first, day(0)), Duration::from_secs(60 * DAY));
    assert_eq!(stays(&first, day(59)), Duration::from_secs(DAY));

    let staged = written(Some(&first), day(60));
    assert_eq!(staged.serving, first.serving, "what is shown does not change before its authority is known");
    assert_eq!(count(&staged.bundle), 2);
    assert_eq!(stays(&staged, day(60)), OPTIONS.overlap);

    let ready = after(day(60), OPTIONS.overlap);
    let switched = written(Some(&staged), ready);
    assert_eq!(Some(&switched.serving), staged.next.as_ref());
    assert_eq!((switched.bundle.as_str(), &switched.next), (staged.bundle.as_str(), &None));
    // Until the first authority ends.
    assert_eq!(after(ready, stays(&switched, ready)), day(90));

    let alone = written(Some(&switched), day(90));
    assert_eq!(count(&alone.bundle), 1);
    assert!(is_usable(&alone, &names(), day(90)), "the authority that is left is that of what is shown");
    assert_eq!(after(day(90), stays(&alone, day(90))), day(120));
}

#[test]
fn what_cannot_be_used_is_replaced_at_once_and_its_authorities_stay() {
    let held = written(None, day(0));
    let check = |what: &str, held: &Held, now: Timestamp, authorities: usize| {
        assert!(!is_usable(held, &names(), now), "{what}");
        let new = written(Some(held), now);
        assert!(is_usable(&new, &names(), now), "{what}");
        assert_eq!(count(&new.bundle), authorities, "{what}");
    };
    check("expired", &held, day(90), 1);
    check("no authority", &Held { bundle: String::new(), ..held.clone() }, day(1), 1);
    let other = written(None, day(2));
    check("another's authority", &Held { bundle: other.bundle.clone(), ..held.clone() }, day(3), 2);
    let key = Pair { key: other.serving.key.clone(), ..held.serving.clone() };
    check("another's key", &Held { serving: key, ..held.clone() }, day(1), 2);
    let garbage = Pair { certificate: "what".to_owned(), key: String::new() };
    check("garbage", &Held { serving: garbage.clone(), ..held.clone() }, day(1), 2);

    let mut moved = names();
    moved.push("elsewhere.example.com".to_owned());
    assert!(!is_usable(&held, &moved, day(1)), "not good for a new name");
    // A staged certificate that is garbage is made anew when it is time, and is in nobody's way before.
    let staged = Held { next: Some(garbage), ..held };
    stays(&staged, day(1));
    let again = written(Some(&staged), day(60));
    assert!(is_good(again.next.as_ref().expect("a next one"), &again.bundle, &names(), day(60)));
}

#[test]
fn a_certificate_that_expired_while_the_next_waited_gives_way_at_once() {
    let staged = written(Some(&written(None, day(0))), day(60));
    let switched = written(Some(&staged), day(100));
    assert_eq!(Some(&switched.serving), staged.next.as_ref());
}

#[test]
fn keys_are_not_shown() {
    let staged = written(Some(&written(None, day(0))), day(60));
    let shown = format!("{staged:?}");
    assert!(shown.contains("BEGIN CERTIFICATE") && !shown.contains("PRIVATE KEY"), "{shown}");
}
