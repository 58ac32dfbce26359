//! `trellis simulate` as a process: data on stdout, talk on stderr, the exit code, and a run that is played again from a journal.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn simulate(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
    command.arg("simulate").args(args).output().expect("the binary runs")
}

/// The one run that is told of on stdout.
fn run_of(output: &Output) -> Value {
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON, and nothing else");
    told["runs"][0].clone()
}

/// A journal with these lines.
fn journal(name: &str, lines: &[Value]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&path, text.join("\n")).expect("a file in the temporary folder");
    path.to_str().expect("a path of text").to_owned()
}

#[test]
fn a_clean_run_ends_with_zero() {
    let output = simulate(&["--seed", "3", "--events", "12", "-o", "json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let run = run_of(&output);
    assert_eq!((&run["seed"], &run["violations"]), (&json!(3), &json!([])));
    let events: u64 = run["events"].as_object().expect("events").values().filter_map(Value::as_u64).sum();
    assert_eq!(events, 12);
    for count in ["revisions", "digest", "decisions", "operatorWrites", "schedulerWrites"] {
        assert!(run[count].as_u64().is_some_and(|count| count > 0), "{count}: {run}");
    }
}

/// An event that makes objects.
fn event(number: u64, kind: &str, objects: &[Value]) -> Value {
    json!({ "event": { "number": number, "kind": kind, "act": { "create": objects }, "pause": 100 } })
}

#[test]
fn a_journal_is_played_again() {
    let lines = [json!({ "run": { "seed": 5, "events": 40 } }), event(1, "nothing", &[]), event(2, "nothing", &[])];
    let file = journal("quiet.jsonl", &lines);
    let output = simulate(&["--replay", &file, "-o", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let run = run_of(&output);
    assert_eq!((&run["seed"], &run["events"]), (&json!(5), &json!({ "nothing": 2 })));
    let again = simulate(&["--replay", &file, "-o", "json"]);
    assert_eq!(run_of(&again), run, "the same journal gives the same run");
}

#[test]
fn what_is_found_is_told_and_ends_with_one() {
    let pod = |name: &str| {
        let requests = json!({ "requests": { "memory": "200Gi" }, "limits": { "memory": "200Gi" } });
        let container = json!({ "name": "app", "image": "app", "resources": requests });
        let spec = json!({ "nodeName": "node-00", "schedulerName": "nobody", "containers": [container] });
        let metadata = json!({ "name": name, "namespace": "default" });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
    };
    let lines = [json!({ "run": { "seed": 5, "events": 40 } }), event(1, "two pods", &[pod("one"), pod("two")])];
    let output = simulate(&["--replay", &journal("full.jsonl", &lines), "-o", "json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("seed 5, event 1, revision ") && said.contains("double booking: Pod default/two"), "{said}");
    assert_eq!(run_of(&output)["violations"][0]["rule"], "double-booking");
}

#[test]
fn what_is_no_journal_is_refused() {
    let file = journal("none.jsonl", &[json!({ "sun": {} })]);
    let output = simulate(&["--replay", &file]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("none.jsonl") && said.contains("line 1"), "{said}");
}
