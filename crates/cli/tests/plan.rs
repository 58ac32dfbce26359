//! What sessions cannot show of `trellis plan`: ZIP files of KAI's `/get-snapshot`, times, and that order does not matter.

use serde_json::{Value, json};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn plan(file: &Path, stdin: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
    command.args(["plan", "-o", "json", "-f"]).arg(file).stdin(stdin).output().expect("the binary runs")
}

fn write(name: &str, contents: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).expect("a file in the temporary folder");
    path
}

fn zipped(entry: &str, contents: &[u8], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file(entry, SimpleFileOptions::default().compression_method(method)).expect("an entry");
    zip.write_all(contents).expect("its contents");
    zip.finish().expect("a ZIP file").into_inner()
}

/// Plans the input of a session, in the order given, with more arguments.
fn plan_session(files: &[&str], more: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/plan-json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
    command.current_dir(folder).args(["plan", "-o", "json"]).args(more).arg("-f").args(files);
    command.output().expect("the binary runs")
}

#[test]
fn the_order_of_files_decides_nothing() {
    let one = plan_session(&["cluster.yaml", "gangs.yaml"], &[]);
    let other = plan_session(&["gangs.yaml", "cluster.yaml"], &["--repeat", "2"]);
    assert_eq!(one.status.code(), Some(3));
    assert_eq!(one.stdout, other.stdout);
}

#[test]
fn stats_come_with_the_plan() {
    let output = plan_session(&["cluster.yaml", "gangs.yaml"], &["--stats", "--repeat", "3"]);
    let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let stats = report.as_object_mut().expect("an object").remove("stats").expect("stats");
    let plain = plan_session(&["cluster.yaml", "gangs.yaml"], &[]);
    assert_eq!(report, serde_json::from_slice::<Value>(&plain.stdout).expect("JSON"));
    for field in ["loadMicros", "decideMicros", "explainMicros"] {
        assert!(stats[field].is_u64(), "{stats}");
    }
    let gangs = stats["gangs"].as_array().expect("gangs");
    let names: Vec<&str> = gangs.iter().filter_map(|gang| gang["name"].as_str()).collect();
    assert_eq!(names, ["low", "runs", "waits"]);
    assert!(gangs.iter().all(|gang| gang["micros"].is_u64() && gang["steps"].is_u64()), "{stats}");
}

/// Objects as the API server gives them in lists: without saying what they are.
fn raw_objects() -> Value {
    let node = |i: u32| {
        json!({
            "metadata": { "name": format!("n{i}"), "labels": { "rack": format!("r{}", i / 2) } },
            "status": { "allocatable": { "cpu": "8", "nvidia.com/gpu": "8" } },
        })
    };
    let pod = |name: &str, gpus: u32| {
        let container = json!({ "name": "main", "resources": { "requests": { "nvidia.com/gpu": gpus } } });
        json!({
            "metadata": { "name": name, "namespace": "ml", "annotations": { "pod-group-name": "train" } },
            "spec": { "schedulerName": "kai-scheduler", "containers": [container] },
        })
    };
    json!({
        "nodes": [node(0), node(1), node(2), node(3)],
        "pods": [pod("a", 4), pod("b", 8), pod("c", 4)],
        "podGroups": [{
            "metadata": { "name": "train", "namespace": "ml" },
            "spec": {
                "minMember": 3,
                "queue": "research",
                "topologyConstraint": { "topology": "fabric", "requiredTopologyLevel": "rack" },
            },
        }],
        "topologies": [{ "metadata": { "name": "fabric" }, "spec": { "levels": [{ "nodeLabel": "rack" }] } }],
        "queues": [{ "metadata": { "name": "research" }, "spec": {} }],
        // KAI has decided for one of them, and the pod does not say so yet.
        "bindRequests": [{
            "metadata": { "name": "a", "namespace": "ml" },
            "spec": { "podName": "a", "selectedNode": "n3" },
            "status": { "phase": "Pending" },
        }],
        "priorityClasses": null,
        "configMaps": [{ "metadata": { "name": "ignored" } }],
    })
}

#[test]
fn a_snapshot_is_planned_whatever_its_name() {
    let snapshot = json!({ "config": {}, "schedulerParams": {}, "rawObjects": raw_objects() }).to_string();
    for (name, method) in [("stored.zip", CompressionMethod::Stored), ("deflated.bin", CompressionMethod::Deflated)] {
        let path = write(name, &zipped("snapshot.json", snapshot.as_bytes(), method));
        let from_file = plan(&path, Stdio::null());
        let talk = String::from_utf8_lossy(&from_file.stderr);
        assert_eq!(from_file.status.code(), Some(0), "{talk}");
        assert!(talk.contains("queues are read"), "{talk}");
        let report: Value = serde_json::from_slice(&from_file.stdout).expect("JSON");
        let pods = report["gangs"][0]["pods"].as_array().expect("pods");
        let placed: Vec<String> =
            pods.iter().map(|pod| format!("{}@{} {}", pod["name"], pod["node"], pod["bound"] == true)).collect();
        assert_eq!(placed, ["\"a\"@\"n3\" true", "\"b\"@\"n2\" false", "\"c\"@\"n3\" false"]);
        let from_stdin = plan(Path::new("-"), Stdio::from(File::open(&path).expect("the same file")));
        assert_eq!(from_stdin.stdout, from_file.stdout);
    }
}

#[test]
fn faults_in_a_snapshot_are_told() {
    let mut objects = raw_objects();
    objects["nodes"][2]["status"]["allocatable"]["cpu"] = json!("-8");
    let snapshot = serde_json::to_string_pretty(&json!({ "rawObjects": objects })).expect("JSON");
    let path = write("faulty.zip", &zipped("snapshot.json", snapshot.as_bytes(), CompressionMethod::Deflated));
    let output = plan(&path, Stdio::null());
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{talk}");
    assert!(talk.contains("faulty.zip:snapshot.json:"), "{talk}");
    assert!(talk.contains("Node n2: status.allocatable[cpu]: Invalid value: \"-8\""), "{talk}");
}

#[test]
fn other_zip_files_are_unreadable() {
    let cases: [(&str, Vec<u8>, &str); 4] = [
        ("other.zip", zipped("readme.txt", b"hello", CompressionMethod::Stored), "no snapshot.json in it"),
        ("text.zip", zipped("snapshot.json", b"hello", CompressionMethod::Stored), "not readable as JSON"),
        ("empty.zip", zipped("snapshot.json", b"{}", CompressionMethod::Stored), "`rawObjects` is missing"),
        ("broken.zip", b"PK\x03\x04 and no more".to_vec(), "is not readable as ZIP"),
    ];
    for (name, contents, expected) in cases {
        let output = plan(&write(name, &contents), Stdio::null());
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{talk}");
        assert!(talk.contains(expected), "{talk}");
    }
}
