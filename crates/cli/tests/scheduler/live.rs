//! `trellis explain` and `trellis plan --live`: the binary on a real API where our scheduler runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use trellis_testkit::process::{Process, Program, configuration};
use trellis_testkit::{ControlPlane, objects};

use crate::cluster::{Cluster, Gang, Kind, PATIENCE, is_waiting};

/// What a command said, and how it ended.
#[derive(Debug)]
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

/// Runs the binary on the server of a kubeconfig.
fn trellis(kubeconfig: &Path, args: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
    let command = command.args(args).arg("--kubeconfig").arg(kubeconfig).env_remove("KUBECONFIG").stdin(Stdio::null());
    let output = command.output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// Runs it until it ends so: what the scheduler says comes a moment after what it does.
async fn until(kubeconfig: &Path, args: &[&str], code: i32, words: &[&str]) -> Said {
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let mut said = trellis(kubeconfig, args);
    let asked = async {
        while said.code != Some(code) || !words.iter().all(|word| said.out.contains(word)) {
            ticks.tick().await;
            said = trellis(kubeconfig, args);
        }
    };
    let asked = tokio::time::timeout(PATIENCE, asked).await;
    asked.unwrap_or_else(|_| panic!("{args:?} should end with {code} and say {words:?}: {said:#?}"));
    said
}

/// The version of everything that a plan looks at; of the cluster's own, since others share the server.
async fn versions(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for path in [
        "/api/v1/nodes",
        "/api/v1/pods",
        "/apis/scheduler.grove.io/v1alpha1/podgangs",
        "/apis/grove.io/v1alpha1/podcliquesets",
        "/apis/grove.io/v1alpha1/podcliques",
        "/apis/grove.io/v1alpha1/clustertopologies",
        "/apis/scheduling.run.ai/v2alpha2/podgroups",
        "/apis/kai.scheduler/v1alpha1/topologies",
        "/apis/events.k8s.io/v1/events",
    ] {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        let list: Value = cluster.client.request(request).await.expect("a list");
        for object in list["items"].as_array().into_iter().flatten() {
            let metadata = &object["metadata"];
            let is_node = metadata["labels"]["test/of"] == cluster.name.as_str();
            if is_node || metadata["namespace"] == cluster.name.as_str() {
                versions.insert(format!("{path} {}", metadata["name"]), metadata["resourceVersion"].to_string());
            }
        }
    }
    versions
}

/// A set that is not applied: one pod on each of its cluster's nodes, in one rack.
fn set(cluster: &Cluster, pods: usize) -> Value {
    let amounts = json!({ "nvidia.com/gpu": "2" });
    let clique = json!({ "name": "worker", "spec": {
        "roleName": "worker", "replicas": pods, "minAvailable": pods,
        "podSpec": {
            "nodeSelector": { "test/of": cluster.name },
            "containers": [{ "name": "app", "image": "app:1", "resources": { "requests": amounts, "limits": amounts } }],
        },
    } });
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": "next", "namespace": cluster.name },
        "spec": { "template": { "cliques": [clique], "topologyConstraint": { "packDomain": "rack" } } },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_and_what_is_placed_is_told_and_nothing_is_written() {
    let plane = ControlPlane::shared().await.expect("a control plane");
    let (folder, kubeconfig) = (TempDir::new().expect("a folder"), plane.kubeconfig_path());
    let cluster = Cluster::start(plane.client().expect("a client"), "live", 3).await;
    cluster.cordon_rack(2, true).await;
    let program = Program { binary: env!("CARGO_BIN_EXE_trellis"), command: "scheduler", folder: folder.path() };
    let args = ["--no-leader-election", "--scheduler-name", &cluster.name];
    let scheduler = Process::start(program, "scheduler", kubeconfig, &configuration(), &args);
    let said = || scheduler.said();
    // One has a whole rack, another half of one, and the third would need a whole one.
    let (whole, half) = (Gang::new("whole", Kind::PodGang, 4, 2), Gang::new("half", Kind::PodGroup, 4, 1));
    let waiting = Gang::new("waiting", Kind::PodGang, 4, 2);
    for gang in [&whole, &half] {
        cluster.create(gang).await;
        cluster.placed(&[*gang], said).await;
    }
    cluster.create(&waiting).await;
    cluster.until("it waits", said, |pods| is_waiting(pods, &waiting)).await;
    let explain = ["explain", "-n", &cluster.name];

    // Where a placed one is, and why there.
    let placed = until(kubeconfig, &[&explain[..], &["podgang/whole"]].concat(), 0, &["placed, placement score"]).await;
    for words in ["PodGang live/whole: placed", "4/4 placed", "gang: required test/rack: live-"] {
        assert!(placed.out.contains(words), "{words}: {placed:#?}");
    }
    let placed = until(kubeconfig, &[&explain[..], &["pod/half-0"]].concat(), 0, &["4/4 placed"]).await;
    assert!(placed.out.contains("PodGroup live/half: placed"), "{placed:#?}");

    // Why one waits, and what would help.
    let words = ["PodGang live/waiting: waits (Unschedulable)", "4 pods must start together"];
    let waits = until(kubeconfig, &[&explain[..], &["podgang/waiting"]].concat(), 3, &words).await;
    println!("{}", waits.out);
    let of_pod = trellis(kubeconfig, &[&explain[..], &["pod/waiting-0"]].concat());
    assert_eq!((of_pod.code, &of_pod.out), (Some(3), &waits.out));
    let data = trellis(kubeconfig, &[&explain[..], &["podgang/waiting", "-o", "json"]].concat());
    let data: Value = serde_json::from_str(&data.out).expect("JSON");
    assert_eq!(data[0]["waits"], true, "{data:#}");
    let changes = data[0]["explanation"]["relaxations"].as_array().cloned().unwrap_or_default();
    assert!(!changes.is_empty(), "nothing is said that would help: {data:#}");

    let missing = trellis(kubeconfig, &[&explain[..], &["podgang/nobody"]].concat());
    assert_eq!(missing.code, Some(2), "{missing:#?}");

    planned(&cluster, kubeconfig, folder.path()).await;

    cluster.cordon_rack(2, false).await;
    cluster.placed(&[waiting], said).await;
    until(kubeconfig, &[&explain[..], &["podgang/waiting"]].concat(), 0, &["4/4 placed"]).await;
    cluster.no_wrongs();
    cluster.stop().await;
}

/// What would become of a set that is not applied; with an object in the cluster that is at fault, too.
async fn planned(cluster: &Cluster, kubeconfig: &Path, folder: &Path) {
    let (fits, too_wide) = (folder.join("fits.json"), folder.join("too-wide.json"));
    std::fs::write(&fits, set(cluster, 2).to_string()).expect("a file");
    std::fs::write(&too_wide, set(cluster, 5).to_string()).expect("a file");
    let plan = |file: &Path| {
        let said = trellis(kubeconfig, &["plan", "--live", "-o", "json", "-f", file.to_str().expect("text")]);
        let report: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:#?}"));
        let gangs = report["gangs"].as_array().cloned().unwrap_or_default();
        let of = |name: &str| {
            let gang = gangs.iter().find(|gang| gang["name"] == name && gang["namespace"] == cluster.name.as_str());
            gang.unwrap_or_else(|| panic!("no {name}: {report:#}"))["outcome"].clone()
        };
        // What waits there waits still.
        assert_eq!((said.code, of("waiting") == "Placed"), (Some(3), false), "{report:#}");
        (of("next-0"), said.err)
    };
    let before = versions(cluster).await;
    assert_eq!(plan(&fits).0, "Placed");
    assert_ne!(plan(&too_wide).0, "Placed");
    assert_eq!(versions(cluster).await, before, "something was written");

    let circle = json!([
        { "name": "a", "parent": "b", "minMember": 1 }, { "name": "b", "parent": "a", "minMember": 1 },
    ]);
    let odd = json!({
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
        "metadata": { "name": "odd", "namespace": cluster.name }, "spec": { "subGroups": circle },
    });
    objects::create(&cluster.client, &odd).await.expect("it is taken");
    let (outcome, err) = plan(&fits);
    assert_eq!(outcome, "Placed");
    assert!(err.contains("warning: PodGroup live/odd: spec.subGroups[0].parent"), "{err}");
    assert!(err.contains("it is left out") && !err.contains("error:"), "{err}");
}
