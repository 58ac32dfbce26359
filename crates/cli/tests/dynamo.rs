//! Every example of `examples/dynamo` is admitted, renders and is placed; and whatever is wrong with a deployment is told with its line.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trellis_testkit::mutate::{Dice, mutate};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn files() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(examples().join("dynamo")).expect("examples");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() >= 6, "six examples at least, and there are {}", files.len());
    files
}

fn trellis(args: &[&str], files: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
    command.args(args).arg("-f").args(files).output().expect("the binary runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn examples_are_admitted_without_a_warning() {
    for file in files() {
        let output = trellis(&["validate", "-o", "json"], &[&file]);
        assert!(output.status.success(), "{}: {}", file.display(), said(&output));
        let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for row in rows.as_array().expect("rows") {
            assert_eq!(row["warnings"], serde_json::json!([]), "{}: {row}", file.display());
        }
        let text = std::fs::read_to_string(&file).expect("text");
        assert!(text.starts_with("# "), "{} begins with what it shows", file.display());
    }
}

#[test]
fn examples_render_down_to_pods() {
    for file in files() {
        let output = trellis(&["render", "-o", "json"], &[&file]);
        assert!(output.status.success(), "{}: {}", file.display(), said(&output));
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let of =
            |kind: &str| list["items"].as_array().expect("items").iter().filter(|item| item["kind"] == kind).count();
        assert_eq!(of("PodCliqueSet"), 1, "{}", file.display());
        assert!(of("PodGang") >= 1 && of("Pod") >= 2, "{}", file.display());
    }
}

/// A claim that the examples mount, bound to a volume that every node can reach.
const CLAIM: &str = "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models, namespace: default}
spec: {accessModes: [ReadWriteMany], volumeName: models, resources: {requests: {storage: 1Ti}}}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: models}
spec: {accessModes: [ReadWriteMany], capacity: {storage: 1Ti}, nfs: {server: files, path: /models}, claimRef: {name: models, namespace: default}}
status: {phase: Bound}
";

#[test]
fn examples_are_placed() {
    let cluster = examples().join("plan/cluster.yaml");
    let claim = Path::new(env!("CARGO_TARGET_TMPDIR")).join("claim.yaml");
    std::fs::write(&claim, CLAIM).expect("a file in the temporary folder");
    for file in files() {
        let output = trellis(&["plan", "-o", "json"], &[&cluster, &claim, &file]);
        assert_eq!(output.status.code(), Some(0), "{}: {}", file.display(), said(&output));
    }
}

/// Deployments of the examples, spoilt in their specs, all in one file.
fn spoilt(count: u64) -> (String, usize) {
    let texts = files().into_iter().map(|file| std::fs::read_to_string(file).expect("text"));
    let documents: Vec<Value> = texts
        .flat_map(|text| {
            text.split("\n---\n").map(|part| serde_saphyr::from_str(part).expect("YAML")).collect::<Vec<Value>>()
        })
        .filter(|value| value["kind"] == "DynamoGraphDeployment")
        .collect();
    let parts = (0..count).map(|number| {
        let mut dice = Dice::new(20_261_116 + number);
        let mut value = documents[dice.below(documents.len())].clone();
        let other = documents[dice.below(documents.len())]["spec"].clone();
        mutate(&mut value["spec"], &other, &mut dice);
        value["metadata"] = serde_json::json!({ "name": format!("d{number}") });
        serde_json::to_string_pretty(&value).expect("JSON")
    });
    let parts: Vec<String> = parts.collect();
    let text = parts.join("\n---\n");
    let lines = text.lines().count();
    (text, lines)
}

#[test]
fn every_fault_has_a_line() {
    let (text, lines) = spoilt(3000);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spoilt-deployments.yaml");
    std::fs::write(&file, text).expect("a file in the temporary folder");
    let output = trellis(&["validate"], &[&file]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let shown = String::from_utf8(output.stdout).expect("text");
    let mut faults = 0;
    for line in shown.lines().filter_map(|line| line.strip_prefix("  error: ")) {
        let rest = line.strip_prefix(&format!("{}:", file.display())).unwrap_or_else(|| panic!("no place: {line}"));
        let (number, rest) = rest.split_once(": ").unwrap_or_else(|| panic!("no field: {line}"));
        let number: usize = number.parse().unwrap_or_else(|_| panic!("no line: {line}"));
        assert!((1..=lines).contains(&number), "{line}");
        assert!(rest.starts_with("spec") || rest.starts_with("metadata"), "no path: {line}");
        faults += 1;
    }
    assert!(faults > 750, "only {faults} faults");
}
