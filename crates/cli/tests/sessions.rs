//! Sessions with the real binary: every folder of `tests/sessions` has input files and a `session.txt` with commands and
//! what they print. A line `$ trellis …` is run in that folder, and everything up to the next one must come out again.
//!
//! `| only KIND…` keeps the YAML documents of those kinds, `< FILE` feeds stdin. `TRELLIS_BLESS=1` writes what came out.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs one command line and shows everything that it printed.
fn run(folder: &Path, line: &str) -> String {
    let (command, kinds) = line.split_once(" | only ").unwrap_or((line, ""));
    let (command, stdin) = match command.split_once(" < ") {
        Some((command, file)) => (command, Stdio::from(File::open(folder.join(file.trim())).expect("input for stdin"))),
        None => (command, Stdio::null()),
    };
    let args: Vec<&str> = command.split_whitespace().skip(1).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_trellis"))
        .args(args)
        .current_dir(folder)
        .stdin(stdin)
        .output()
        .expect("the binary runs");
    let mut shown = String::from_utf8(output.stdout).expect("stdout is text");
    if !kinds.is_empty() {
        let kinds: Vec<String> = kinds.split_whitespace().map(|kind| format!("\nkind: {kind}\n")).collect();
        let documents = shown.split("---\n").filter(|document| kinds.iter().any(|kind| document.contains(kind)));
        shown = documents.collect::<Vec<_>>().join("---\n");
    }
    for line in String::from_utf8(output.stderr).expect("stderr is text").lines() {
        writeln!(shown, "stderr: {line}").expect("writing to a string");
    }
    match output.status.code() {
        Some(0) => {}
        code => {
            writeln!(shown, "exit code: {}", code.map_or("none".to_owned(), |code| code.to_string()))
                .expect("a string");
        }
    }
    shown
}

/// Replays a session; returns what is there now, and what should be there.
fn replay(folder: &Path) -> (String, String) {
    let expected = std::fs::read_to_string(folder.join("session.txt")).expect("session.txt");
    let mut actual = String::new();
    let mut in_output = false;
    for line in expected.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            writeln!(actual, "{line}\n{}", run(folder, command)).expect("writing to a string");
            in_output = true;
        } else if line.starts_with("# ") {
            // A remark; it ends the output of the command before it.
            writeln!(actual, "{line}").expect("writing to a string");
            in_output = false;
        } else if !in_output {
            writeln!(actual, "{line}").expect("writing to a string");
        }
    }
    (actual.trim_end().to_owned() + "\n", expected)
}

#[test]
fn sessions_print_what_they_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut folders: Vec<_> =
        std::fs::read_dir(root).expect("sessions").map(|entry| entry.expect("entry").path()).collect();
    folders.sort();
    assert!(folders.len() >= 10, "sessions are missing");
    let mut differing = Vec::new();
    for folder in folders {
        let (actual, expected) = replay(&folder);
        if actual != expected {
            if std::env::var_os("TRELLIS_BLESS").is_some() {
                std::fs::write(folder.join("session.txt"), actual).expect("session.txt is written");
            } else {
                let at = actual.lines().zip(expected.lines()).position(|(a, e)| a != e);
                let at = at.unwrap_or_else(|| actual.lines().count().min(expected.lines().count()));
                let line = |text: &str| text.lines().nth(at).unwrap_or("(end)").to_owned();
                differing.push(format!(
                    "{}:{}\n  expected: {}\n  actual:   {}",
                    folder.join("session.txt").display(),
                    at + 1,
                    line(&expected),
                    line(&actual)
                ));
            }
        }
    }
    assert!(differing.is_empty(), "{}\nTRELLIS_BLESS=1 takes over what came out", differing.join("\n"));
}
