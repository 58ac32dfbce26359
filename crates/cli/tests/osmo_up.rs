//! OSMO's workflows with the binary, as people run it: `trellis up`, `submit`, `get`, `describe`, `cancel`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// How often it is looked whether something has come about, and how long in all.
const TICK: Duration = Duration::from_millis(100);
const TICKS: usize = 600;

/// `trellis up`, killed when it is dropped.
struct Up {
    child: Child,
    folder: TempDir,
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/osmo").join(name)
}

impl Up {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
        command.args(["up", "--kubeconfig"]).arg(folder.path().join("kubeconfig"));
        command.arg("--cluster").arg(example("cluster.yaml")).env_remove("KUBECONFIG");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let ready = lines.by_ref().any(|line| line.expect("text").starts_with("ready"));
        assert!(ready, "it ended before it was ready");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, folder }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
        command.args(args).env("KUBECONFIG", self.folder.path().join("kubeconfig")).stdin(Stdio::null());
        command.output().expect("the binary runs")
    }

    /// What a command prints that does what it was asked.
    fn told(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn submit(&self, file: &str) -> Output {
        self.run(&["submit", example(file).to_str().expect("text")])
    }

    fn workflow(&self, name: &str) -> Value {
        let listed: Value = serde_json::from_str(&self.told(&["get", "workflows", name, "-o", "json"])).expect("JSON");
        listed[0].clone()
    }

    /// Looks until the workflow has come so far.
    fn reaches(&self, name: &str, state: &str) -> Value {
        for _ in 0..TICKS {
            let workflow = self.workflow(name);
            if workflow["status"]["state"] == state {
                return workflow;
            }
            std::thread::park_timeout(TICK);
        }
        panic!("{name} never is {state}: {:#}", self.workflow(name)["status"]);
    }
}

/// The nodes of tasks, by their names.
fn nodes(workflow: &Value) -> BTreeMap<String, String> {
    let groups = workflow["status"]["groups"].as_array().cloned().unwrap_or_default();
    let tasks = groups.iter().flat_map(|group| group["tasks"].as_array().cloned().unwrap_or_default());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    tasks.map(|task| (text(&task["name"]), text(&task["node"]))).collect()
}

/// The pools of nodes, `a` or `b`, and the racks in them, of tasks whose names begin so.
fn places(workflow: &Value, prefix: &str) -> BTreeSet<(char, usize)> {
    let on = nodes(workflow).into_iter().filter(|(task, _)| task.starts_with(prefix));
    on.map(|(_, node)| {
        let (pool, number) = node.split_once('-').expect("a node");
        (pool.chars().next().expect("a pool"), number.parse::<usize>().expect("a number") / 4)
    })
    .collect()
}

#[test]
fn the_use_cases_of_004_stand_as_drawn_and_are_seen() {
    let up = Up::start();
    // Use case 1, by a file that has its pool with it.
    let submitted = up.submit("01-single-rack.yaml");
    let said = String::from_utf8_lossy(&submitted.stdout);
    assert_eq!(said, "pool nvl created\nworkflow default/single-nvl72-rack submitted to pool nvl\n", "{submitted:?}");
    let workflow = up.reaches("single-nvl72-rack", "RUNNING");
    assert_eq!(places(&workflow, "model1").len(), 1, "{:?}", nodes(&workflow));
    let table = up.told(&["get", "pools"]);
    assert_eq!(
        table,
        "NAME  KEYS                        SCHEDULER  NODES  READY\nnvl   zone,spine,rack,gpu-clique  kai        12     True\n"
    );
    let described = up.told(&["describe", "pool", "nvl"]);
    assert!(described.contains("gpu-clique (nvidia.com/gpu.clique)"), "{described}");
    assert!(described.contains("12 with the labels of all keys, 0 without"), "{described}");
    assert!(described.contains("of 32 GPUs free"), "{described}");
    // It is there already; once it was canceled, its place is free.
    let again = up.submit("01-single-rack.yaml");
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert_eq!(up.told(&["cancel", "single-nvl72-rack"]), "workflow default/single-nvl72-rack is canceled\n");
    up.reaches("single-nvl72-rack", "FAILED_CANCELED");
    assert!(up.told(&["cancel", "single-nvl72-rack"]).contains("has ended already: FAILED_CANCELED"));
    // Use case 3: both models in the one zone that has two NVLink domains.
    assert!(up.submit("03-racks-in-one-zone.yaml").status.success());
    let workflow = up.reaches("multiple-nvl72-same-zone", "RUNNING");
    assert_eq!(places(&workflow, "model"), BTreeSet::from([('a', 0), ('a', 1)]), "{:?}", nodes(&workflow));
    assert_eq!((places(&workflow, "model1").len(), places(&workflow, "model2").len()), (1, 1));
    let table = up.told(&["get", "workflows"]);
    let row = table.lines().find(|line| line.contains("multiple-nvl72-same-zone")).expect("a row");
    assert!(row.contains("RUNNING") && row.contains("0/1 completed") && row.contains("8/8 running"), "{row}");
    up.told(&["cancel", "multiple-nvl72-same-zone", "-n", "default"]);
    up.reaches("multiple-nvl72-same-zone", "FAILED_CANCELED");
    // Use cases 2 and 4.
    for file in ["02-multiple-racks.yaml", "04-best-effort.yaml"] {
        let submitted = up.submit(file);
        assert!(submitted.status.success(), "{submitted:?}");
        let said = String::from_utf8_lossy(&submitted.stdout).into_owned();
        let name = said.lines().last().and_then(|line| line.split_whitespace().nth(1)).expect("a name").to_owned();
        let name = name.trim_start_matches("default/");
        let workflow = up.reaches(name, "RUNNING");
        assert_eq!(
            (places(&workflow, "model1").len(), places(&workflow, "model2").len()),
            (1, 1),
            "{:?}",
            nodes(&workflow)
        );
        if file.starts_with("04") {
            // All that is preferred can be had: a rack for each, and one spine for both.
            assert_eq!(places(&workflow, "model"), BTreeSet::from([('a', 0), ('a', 1)]), "{:?}", nodes(&workflow));
        }
        up.told(&["cancel", name]);
        up.reaches(name, "FAILED_CANCELED");
    }
    // The second drawing of use case 4: where one spine has no room for both, each has its rack all the same.
    let blocker = "workflow:\n  name: blocker\n  tasks: [{name: x, image: i, command: [c]}]\n  resources:\n    default: {gpu: 4, \
                   nodesExcluded: [a-0, a-1, a-2, a-3, b-0, b-1, b-2, b-3]}\n";
    let path = up.folder.path().join("blocker.yaml");
    std::fs::write(&path, blocker).expect("a file");
    up.told(&["submit", path.to_str().expect("text")]);
    up.reaches("blocker", "RUNNING");
    let text = std::fs::read_to_string(example("04-best-effort.yaml")).expect("the example");
    let path = up.folder.path().join("again.yaml");
    std::fs::write(&path, text.replace("name: best-effort-topology", "name: again")).expect("a file");
    up.told(&["submit", path.to_str().expect("text")]);
    let workflow = up.reaches("again", "RUNNING");
    assert_eq!(places(&workflow, "model"), BTreeSet::from([('a', 0), ('b', 0)]), "{:?}", nodes(&workflow));
    assert_eq!((places(&workflow, "model1").len(), places(&workflow, "model2").len()), (1, 1));
}

/// What stands in a file as objects is applied with kubectl, and so is what ends it.
#[test]
fn kubectl_applies_a_pool_and_a_workflow() {
    let up = Up::start();
    let program = trellis_testkit::kubectl::path(trellis_testkit::kubectl::Version::V1_36).expect("kubectl");
    let kubectl = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).env("KUBECONFIG", up.folder.path().join("kubeconfig")).env("HOME", up.folder.path());
        let output = command.stdin(Stdio::null()).output().expect("kubectl runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let file = example("07-as-objects.yaml");
    let applied = kubectl(&["apply", "-f", file.to_str().expect("text")]);
    assert_eq!(applied, "pool.trellis.dev/nvl created\nworkflow.trellis.dev/tp4 created\n");
    let workflow = up.reaches("tp4", "RUNNING");
    assert_eq!(places(&workflow, "shard").len(), 1, "{:?}", nodes(&workflow));
    // Once more changes nothing, though kubectl sees what was filled in inside of lists and sends them again.
    kubectl(&["apply", "-f", file.to_str().expect("text")]);
    let generations = kubectl(&["get", "pool/nvl", "workflow/tp4", "-o", "jsonpath={.items[*].metadata.generation}"]);
    assert_eq!(generations, "1 1");
    // The pool stays until what runs in it is gone.
    kubectl(&["delete", "pool", "nvl", "--wait=false"]);
    assert!(up.told(&["get", "pools"]).contains("nvl"));
    kubectl(&["delete", "workflow", "tp4"]);
    kubectl(&["wait", "--for=delete", "pool/nvl", "--timeout=60s"]);
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let up = Up::start();
    let check = |files: &[(&str, &str)], more: &[&str], code: i32, words: &str| {
        let mut args = vec!["submit".to_owned()];
        for (name, contents) in files {
            let path = up.folder.path().join(name);
            std::fs::write(&path, contents).expect("a file");
            args.push(path.to_str().expect("text").to_owned());
        }
        let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let output = up.run(&args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    let pool = "{name: p, topology_keys: [{key: rack, label: topology.kubernetes.io/rack}]}\n";
    let workflow = "workflow:\n  name: w\n  tasks: [{name: a, image: i, command: [c]}]\n  resources:\n    default: {gpu: GPUS, topology: [{key: KEY}]}\n";
    let with = |gpus: &str, key: &str| workflow.replace("GPUS", gpus).replace("KEY", key);
    check(&[("w.yaml", &with("1", "rack"))], &[], 1, "there are no pools");
    check(&[("p.yaml", pool), ("w.yaml", &with("1", "zone"))], &[], 1, "zone");
    assert!(up.told(&["get", "pools"]).lines().count() == 1, "nothing was written");
    // What no node can hold is let in, and said.
    check(&[("p.yaml", pool), ("w.yaml", &with("5", "rack"))], &[], 0, "can never be placed");
    // The pool of the cluster is known to files that do not have it.
    let other = with("1", "rack").replace("name: w", "name: v");
    check(&[("v.yaml", &other)], &["--pool", "p"], 0, "");
    check(&[("v.yaml", &other)], &["--pool", "q"], 1, "no pool is called so");
    up.reaches("v", "RUNNING");
    let check = |args: &[&str], words: &str| {
        let output = up.run(args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(words), "{output:?}");
    };
    check(&["cancel", "nobody"], "there is no workflow");
    check(&["describe", "pool", "nowhere"], "there are p");
    check(&["get", "workflows", "nobody"], "there is no workflow");
}
