//! `trellis up`, `trellis kubectl` and `trellis nodes`: the binary as people run it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{wait::await_condition, wait::conditions};
use kube::{Api, Client, Config};
use serde_json::json;
use tempfile::TempDir;
use trellis_testkit::{ControlPlane, kubectl};

const CLUSTER: &str = "
apiVersion: trellis.dev/v1alpha1
kind: SimulatedCluster
metadata: {name: small}
spec:
  pools:
    - name: NAME
      levels: [{key: example.com/rack, count: 2}]
      hosts: 2
      resources: {cpu: '8', memory: 16Gi, pods: '20'}
";

/// A running `trellis`, killed when it is dropped.
struct Running {
    child: Child,
    /// What it said on stderr until it was ready.
    said: Vec<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn trellis(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
    command.args(args).env_remove("KUBECONFIG").stdin(Stdio::null());
    command
}

impl Running {
    /// Starts it and reads what it says until it is ready.
    fn start(args: &[&str]) -> Self {
        let child = trellis(args).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut running = Self { child, said: Vec::new() };
        let mut lines = BufReader::new(running.child.stderr.take().expect("a pipe")).lines();
        for line in lines.by_ref() {
            let line = line.expect("text");
            let ready = line.starts_with("ready");
            running.said.push(line);
            if ready {
                // Whoever does not listen any longer must not stop the other from talking.
                std::thread::spawn(move || lines.for_each(drop));
                return running;
            }
        }
        panic!("it ended before it was ready: {:#?}", running.said);
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill runs").success());
    }

    /// How it ends by itself.
    fn wait(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn cluster_file(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join("cluster.yaml");
    std::fs::write(&path, CLUSTER.replace("NAME", name)).expect("a file");
    path
}

/// `trellis kubectl` with a kubectl that the tests bring along.
async fn run_kubectl(kubeconfig: &Path, args: &[&str]) -> Output {
    let program = tokio::task::spawn_blocking(|| kubectl::path(kubectl::Version::V1_36)).await.unwrap().unwrap();
    let bin = folder();
    std::os::unix::fs::symlink(program, bin.path().join("kubectl")).expect("a link");
    let mut all = vec!["kubectl", "--kubeconfig", text(kubeconfig)];
    all.extend(args);
    trellis(&all).env("PATH", bin.path()).env("HOME", bin.path()).output().expect("the binary runs")
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.expect("a config");
    Client::try_from(config).expect("a client")
}

#[tokio::test]
async fn up_runs_a_cluster_until_it_is_interrupted() {
    let folder = folder();
    let kubeconfig = folder.path().join("kubeconfig");
    let cluster = cluster_file(&folder, "small");
    let up = Running::start(&["up", "--cluster", text(&cluster), "--kubeconfig", text(&kubeconfig)]);
    let said = up.said.join("\n");
    assert!(said.contains(&format!("kubeconfig: {}", kubeconfig.display())), "{said}");
    assert!(said.contains("4 simulated nodes"), "{said}");
    assert!(said.contains(&format!("trellis kubectl --kubeconfig {} get nodes", kubeconfig.display())), "{said}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&kubeconfig).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "only its owner can read it");

    let nodes = run_kubectl(&kubeconfig, &["get", "nodes", "-o", "name"]).await;
    assert_eq!(String::from_utf8_lossy(&nodes.stdout), "node/small-0\nnode/small-1\nnode/small-2\nnode/small-3\n");
    let kinds = run_kubectl(&kubeconfig, &["get", "podcliquesets,podgangs", "-A"]).await;
    assert!(kinds.status.success(), "{kinds:?}");

    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "small-1", "containers": [{"name": "c", "image": "i"}]},
    });
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(client(&kubeconfig).await);
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let running = await_condition(pods, "p", conditions::is_pod_running());
    tokio::time::timeout(Duration::from_mins(1), running).await.expect("the pod runs").unwrap();
    let logs = run_kubectl(&kubeconfig, &["logs", "p"]).await;
    let said = String::from_utf8_lossy(&logs.stderr).into_owned();
    assert!(!logs.status.success() && said.contains("simulated and run no containers"), "{said}");

    up.signal("-INT");
    assert_eq!(up.wait(), Some(0));
    assert!(!kubeconfig.exists(), "it leads nowhere any more");
    let after = run_kubectl(&kubeconfig, &["get", "nodes"]).await;
    assert_eq!(after.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&after.stderr).contains("hint: start a cluster with `trellis up`"), "{after:?}");
}

/// Writers that go on until they are told to stop, and what was acknowledged to them.
async fn write_until_killed(
    client: Client,
    round: usize,
    acknowledged: Arc<Mutex<BTreeSet<String>>>,
    stop: Arc<AtomicBool>,
) {
    let writer = |writer: usize| {
        let (client, acknowledged, stop) = (client.clone(), acknowledged.clone(), stop.clone());
        async move {
            let api: Api<ConfigMap> = Api::default_namespaced(client);
            for number in 0.. {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                let name = format!("w-{round}-{writer}-{number}");
                let object = json!({"metadata": {"name": name}, "data": {"name": name}});
                match api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await {
                    Ok(_) => drop(acknowledged.lock().unwrap().insert(name)),
                    Err(_) => return,
                }
            }
        }
    };
    futures::future::join_all((0..8).map(writer)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9() {
    let folder = folder();
    let (kubeconfig, data) = (folder.path().join("kubeconfig"), folder.path().join("data"));
    let args = ["up", "--without", "nodes", "--kubeconfig", text(&kubeconfig), "--data", text(&data)];
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    let mut revision = 0;
    for round in 0..3 {
        let up = Running::start(&args);
        let client = client(&kubeconfig).await;
        let found: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let list = found.list(&ListParams::default()).await.unwrap();
        let now: u64 = list.metadata.resource_version.as_deref().unwrap().parse().unwrap();
        assert!(now >= revision, "revisions never fall back: {now} after {revision}");
        revision = now;
        let names: BTreeSet<String> = list.items.iter().filter_map(|map| map.metadata.name.clone()).collect();
        let lost: Vec<String> = acknowledged.lock().unwrap().difference(&names).cloned().collect();
        assert!(lost.is_empty(), "acknowledged and gone after round {round}: {lost:?}");
        assert!(
            list.items
                .iter()
                .filter(|map| map.metadata.name.as_deref().unwrap().starts_with("w-"))
                .all(|map| { map.data.as_ref().and_then(|data| data.get("name")) == map.metadata.name.as_ref() })
        );

        let (before, stop) = (acknowledged.lock().unwrap().len(), Arc::new(AtomicBool::new(false)));
        let writing = tokio::spawn(write_until_killed(client, round, acknowledged.clone(), stop.clone()));
        while acknowledged.lock().unwrap().len() < before + 150 {
            assert!(!writing.is_finished(), "the writers stopped early");
            tokio::task::yield_now().await;
        }
        up.signal("-KILL");
        stop.store(true, Ordering::Release);
        let _ = writing.await;
        drop(up);
    }
    let all = acknowledged.lock().unwrap().len();
    assert!(all >= 450, "{all} writes were acknowledged");
}

/// Runs a command that has to fail, and returns what it says.
#[track_caller]
fn refused(args: &[&str], code: i32) -> String {
    let output = trellis(args).output().expect("the binary runs");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn faults_are_told() {
    let folder = folder();
    let kubeconfig = folder.path().join("kubeconfig");
    let wrong = cluster_file(&folder, "Not_A_Name");
    let said = refused(&["up", "--cluster", text(&wrong), "--kubeconfig", text(&kubeconfig)], 2);
    assert!(said.contains("cluster.yaml:7: spec.pools[0].name"), "{said}");
    let empty = folder.path().join("empty.yaml");
    std::fs::write(&empty, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    let said = refused(&["up", "--cluster", text(&empty), "--kubeconfig", text(&kubeconfig)], 2);
    assert!(said.contains("there is no SimulatedCluster"), "{said}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = refused(&["up", "--listen", &address, "--kubeconfig", text(&kubeconfig)], 2);
    assert!(said.contains(&format!("cannot listen on {address}")) && said.contains("hint: "), "{said}");
    let data = folder.path().join("data");
    let args = ["up", "--without", "nodes", "--kubeconfig", text(&kubeconfig), "--data", text(&data)];
    let up = Running::start(&args);
    let said = refused(&args, 2);
    assert!(said.contains("is in use by another process"), "{said}");
    drop(up);
    let said = refused(&["nodes", "--kubeconfig", "/nowhere"], 2);
    assert!(said.contains("/nowhere"), "{said}");
}

#[tokio::test]
async fn nodes_play_on_a_real_control_plane() {
    let plane = ControlPlane::shared().await.unwrap();
    let folder = folder();
    let cluster = cluster_file(&folder, "real");
    let kubeconfig = plane.kubeconfig_path();
    let nodes = Running::start(&["nodes", "--cluster", text(&cluster), "--kubeconfig", text(kubeconfig)]);
    let api: Api<Node> = Api::all(plane.client().unwrap());
    for name in ["real-0", "real-1", "real-2", "real-3"] {
        let node = api.get(name).await.unwrap();
        let conditions = node.status.unwrap().conditions.unwrap();
        assert!(conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"), "{name}");
    }
    nodes.signal("-TERM");
    assert_eq!(nodes.wait(), Some(0));
}
