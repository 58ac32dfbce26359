//! What is written is what is read, and it is small.

use super::*;
use crate::plan::Kind;

fn request(cpu: i64) -> Request {
    Arc::new(BTreeMap::from([("cpu".to_owned(), cpu), ("pods".to_owned(), 1)]))
}

fn entry(group: &str, cpu: i64, node: &str, zone: Option<&str>, pod: &str) -> Entry {
    let spot = Spot { node: node.to_owned(), zone: zone.map(str::to_owned) };
    Entry { group: group.to_owned(), request: request(cpu), spot, pod: pod.to_owned(), uid: "0a1b2c3d".to_owned() }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn check(ledger: &Ledger, expected: &str) {
    let text = ledger.write().unwrap_or_default();
    assert_eq!(text, expected);
    match Ledger::read(&text) {
        Some(read) => assert!(read.says_same(ledger) && (&read.by, read.at) == (&ledger.by, ledger.at), "{text}"),
        None => assert!(text.is_empty(), "{text}"),
    }
}

#[test]
fn what_is_written_is_read() {
    check(&Ledger::default(), "");
    let members = vec![
        entry("w", 8, "n2", None, "w-bbbbb"),
        entry("w", 8, "n1", None, "w-ccccc"),
        entry("w", 8, "n1", None, "w-aaaaa"),
        entry("w", 4, "n1", Some("z0"), "wolf"),
        entry("v", 8, "n1", None, "other"),
    ];
    let ledger = Ledger { by: "me".to_owned(), at: at(60), members, is_fresh: true, ..Ledger::default() };
    check(
        &ledger,
        "{\"version\":1,\"by\":\"me\",\"at\":\"1970-01-01T00:01:00Z\",\"members\":[\
         {\"group\":\"v\",\"request\":{\"cpu\":8,\"pods\":1},\"nodes\":{\"n1\":\"other:0a1b2c3d\"}},\
         {\"group\":\"w\",\"request\":{\"cpu\":4,\"pods\":1},\"nodes\":{\"n1/z0\":\"wolf:0a1b2c3d\"}},\
         {\"group\":\"w\",\"request\":{\"cpu\":8,\"pods\":1},\"nodes\":{\"n1\":\"-aaaaa:0a1b2c3d -ccccc:0a1b2c3d\",\"n2\":\"-bbbbb:0a1b2c3d\"}}\
         ],\"fresh\":true}",
    );
    let held = |until| Held { until: at(until), was: entry("w", 8, "n1", None, "w-aaaaa") };
    let place = |node: &str| Nominated {
        group: "w".to_owned(),
        request: request(8),
        spot: Spot { node: node.to_owned(), zone: None },
    };
    let target = Target { kind: Kind::PodGang, namespace: "ns".to_owned(), name: "low".to_owned() };
    let nominated = Nomination {
        until: at(9),
        places: vec![place("n2"), place("n1"), place("n1")],
        victims: vec![Victim { target, uid: "0a1b2c3d".to_owned() }],
    };
    let ledger = Ledger {
        held: vec![held(3), held(2)],
        nominated: Some(nominated),
        is_undone: true,
        preempted_by: Some("ns/high".to_owned()),
        ..Ledger::default()
    };
    let kept = "{\"group\":\"w\",\"request\":{\"cpu\":8,\"pods\":1},\"nodes\":{\"n1\":\"-aaaaa:0a1b2c3d\"}}";
    let held = |until: &str| format!("{{\"until\":\"1970-01-01T00:00:0{until}Z\",{}", &kept[1..]);
    let expected = format!(
        "{{\"version\":1,\"by\":\"\",\"at\":\"1970-01-01T00:00:00Z\",\"held\":[{},{}],\"nominated\":{{\
         \"until\":\"1970-01-01T00:00:09Z\",\"places\":[{{\"group\":\"w\",\"request\":{{\"cpu\":8,\"pods\":1}},\
         \"nodes\":{{\"n1\":2,\"n2\":1}}}}],\"victims\":[\"PodGang/ns/low:0a1b2c3d\"]}},\"undone\":true,\
         \"preemptedBy\":\"ns/high\"}}",
        held("2"),
        held("3")
    );
    check(&ledger, &expected);
}

#[test]
fn what_is_not_ours_is_not_read() {
    for text in ["", "x", "{}", "[]", "{\"version\":2,\"by\":\"\",\"at\":\"1970-01-01T00:00:00Z\"}"] {
        assert_eq!(Ledger::read(text), None, "{text}");
    }
}

#[test]
fn a_gang_of_five_thousand_fits_into_an_annotation() {
    let member = |i: usize| entry("a-set-0-a-group-0-a-clique", 8, &format!("a-node-name-{i:05}"), None, "");
    let named = |i: usize| Entry { pod: format!("a-set-0-a-group-0-a-clique-{i:05}"), ..member(i) };
    let ledger = Ledger { members: (0..5000).map(named).collect(), ..Ledger::default() };
    let text = ledger.write().unwrap_or_default();
    assert!(text.len() < 240 << 10, "{}", text.len());
    assert_eq!(Ledger::read(&text).map(|read| read.members), Some(ledger.members));
}

#[test]
fn order_time_and_writer_say_nothing() {
    let members = vec![entry("w", 8, "n1", None, "w-a"), entry("w", 8, "n2", None, "w-b")];
    let one = Ledger { members: members.clone(), ..Ledger::default() };
    let turned = members.into_iter().rev().collect();
    let other = Ledger { members: turned, by: "me".to_owned(), at: at(5), ..Ledger::default() };
    assert!(one.says_same(&other));
    assert!(!one.says_same(&Ledger { is_fresh: true, ..other.clone() }));
    assert!(!one.says_same(&Ledger { members: vec![], ..other }));
}
