//! What a scheduler that is killed or stopped leaves behind, on a real Kubernetes API: no gang in halves, nothing given twice.
//!
//! `TRELLIS_LONG=1` kills it fifty times instead of five.

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use trellis_testkit::ControlPlane;
use trellis_testkit::process::{Process, Program, configuration, kubeconfig, leader};
use trellis_testkit::proxy::{Passed, Proxy, Write};

use crate::cluster::{Cluster, Gang, Kind, PATIENCE, Pods, is_placed, is_waiting, node_of};

/// The lease that schedulers lead by, in the namespace that they are told.
const LEASE: &str = "trellis-scheduler";

fn elected() -> Value {
    let mut config = configuration();
    config["leaderElection"] =
        json!({ "enabled": true, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "250ms" });
    config
}

/// Starts a scheduler for a cluster; all of a cluster share a log.
fn start(folder: &TempDir, cluster: &Cluster, kubeconfig: &std::path::Path) -> Process {
    let program = Program { binary: env!("CARGO_BIN_EXE_trellis"), command: "scheduler", folder: folder.path() };
    let args = ["--namespace", &cluster.name, "--scheduler-name", &cluster.name];
    Process::start(program, &cluster.name, kubeconfig, &elected(), &args)
}

fn is_ledger(write: &Write) -> bool {
    write.method == Method::PATCH && write.body["metadata"]["annotations"]["trellis.dev/placement"].is_string()
}

fn is_bind(write: &Write) -> bool {
    write.method == Method::POST && write.path.ends_with("/binding")
}

fn is_deletion(write: &Write) -> bool {
    write.method == Method::DELETE && write.path.contains("/pods/")
}

/// What becomes of the writes that were under way when a scheduler was killed.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    AtOnce,
    /// They arrive when everything is settled.
    Late,
}

/// A moment to be killed at: at the first write of a kind, after so many of it, and a few more in each further round.
struct Moment {
    name: &'static str,
    wanted: fn(&Write) -> bool,
    after: usize,
    more: usize,
    /// What is asked for before.
    gangs: &'static [Gang],
    /// Whether everything before has to be settled first, so that there is no room.
    is_full: bool,
}

/// Three racks are filled by the first three, each twice four GPUs. What comes then has to make others leave.
const MOMENTS: [Moment; 5] = [
    Moment {
        name: "a ledger is on its way",
        wanted: is_ledger,
        after: 0,
        more: 2,
        gangs: &[
            Gang::new("a", Kind::PodGang, 4, 1),
            Gang::new("b", Kind::PodGroup, 4, 1),
            Gang::new("z", Kind::Alone, 1, 0),
        ],
        is_full: false,
    },
    Moment {
        name: "a ledger is written, and nothing is bound",
        wanted: is_bind,
        after: 0,
        more: 1,
        gangs: &[Gang::new("c", Kind::PodGroup, 4, 1), Gang::new("d", Kind::PodGang, 4, 1)],
        is_full: false,
    },
    Moment {
        name: "between two binds",
        wanted: is_bind,
        after: 2,
        more: 4,
        gangs: &[Gang::new("e", Kind::PodGang, 4, 1), Gang::new("f", Kind::PodGroup, 4, 1)],
        is_full: false,
    },
    Moment {
        name: "gangs are marked to leave",
        wanted: is_deletion,
        after: 0,
        more: 1,
        gangs: &[Gang::new("p", Kind::PodGang, 4, 2).urgent()],
        is_full: true,
    },
    Moment {
        name: "after the first deletion",
        wanted: is_deletion,
        after: 1,
        more: 3,
        gangs: &[Gang::new("q", Kind::PodGroup, 4, 1).urgent()],
        is_full: true,
    },
];

const FATES: [Fate; 3] = [Fate::Late, Fate::AtOnce, Fate::Lost];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_write_it_goes_on_where_it_was() {
    let plane = ControlPlane::shared().await.expect("a control plane");
    let rounds = if std::env::var_os("TRELLIS_LONG").is_some() { 10 } else { 1 };
    for round in 0..rounds {
        killed(plane, round).await;
    }
}

/// One fill, with a kill at each of the moments.
async fn killed(plane: &ControlPlane, round: usize) {
    let folder = TempDir::new().expect("a folder");
    let cluster = Cluster::start(plane.client().expect("a client"), &format!("kill-{round}"), 5).await;
    cluster.cordon_rack(3, true).await;
    cluster.cordon_rack(4, true).await;
    let mut late = Vec::new();
    let mut asked: Vec<Gang> = Vec::new();
    for (n, moment) in MOMENTS.iter().enumerate() {
        let proxy = Proxy::start(plane.client().expect("a client")).await;
        let through = kubeconfig(folder.path(), &format!("through-{n}"), &proxy.url(), None, None);
        let scheduler = start(&folder, &cluster, &through);
        if moment.is_full {
            cluster.until("all is settled", || scheduler.said(), |pods| is_settled(pods, &asked)).await;
        }
        proxy.block(moment.wanted, moment.after + round % moment.more);
        for gang in moment.gangs {
            cluster.create(gang).await;
        }
        asked.extend(moment.gangs);
        let blocked = tokio::time::timeout(PATIENCE, proxy.blocked()).await;
        let write = blocked
            .unwrap_or_else(|_| panic!("it never came to: {}\n{}\n{}", moment.name, cluster.shown(), scheduler.said()));
        scheduler.kill();
        let fate = FATES[(n + round) % FATES.len()];
        println!("round {round}: killed when {}, at {} {}; writes: {fate:?}", moment.name, write.method, write.path);
        match fate {
            Fate::Lost => proxy.lose(),
            Fate::AtOnce => proxy.unblock(),
            Fate::Late => {}
        }
        late.push((fate, proxy));
    }
    cluster.cordon_rack(3, false).await;
    cluster.cordon_rack(4, false).await;
    let last = start(&folder, &cluster, plane.kubeconfig_path());
    cluster.placed(&asked, || last.said()).await;
    for (_, proxy) in late.iter().filter(|(fate, _)| matches!(fate, Fate::Late)) {
        proxy.unblock();
        proxy.drained().await;
        let went_through: Vec<Passed> = proxy.passed().into_iter().filter(is_harmful).collect();
        assert!(went_through.is_empty(), "these should have been refused: {went_through:#?}");
    }
    cluster.placed(&asked, || last.said()).await;
    cluster.no_wrongs();
    cluster.stop().await;
}

/// Whether a write took effect that gives somebody something. Deletions and what is said do no harm when they come late.
fn is_harmful(passed: &Passed) -> bool {
    passed.code < 300 && (is_ledger(&passed.write) || is_bind(&passed.write))
}

/// Whether nobody is on the way, nobody urgent waits, and there is no room for those that do.
fn is_settled(pods: &Pods, gangs: &[Gang]) -> bool {
    let is_whole = |gang: &Gang| is_placed(pods, gang) || !gang.is_urgent && is_waiting(pods, gang);
    let given: usize = gangs.iter().filter(|gang| is_placed(pods, gang)).map(|gang| gang.pods * gang.gpus).sum();
    gangs.iter().all(is_whole) && given == 3 * crate::cluster::NODES * crate::cluster::GPUS
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_slept_after_a_plan_record_gives_nothing_when_it_wakes() {
    fenced("fence-record", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_slept_between_two_binds_gives_nothing_when_it_wakes() {
    fenced("fence-binds", 2).await;
}

/// A leader is stopped when it has sent so many binds. Its successor has to place the rest elsewhere, and fills the cluster.
async fn fenced(name: &str, after: usize) {
    let plane = ControlPlane::shared().await.expect("a control plane");
    let (client, folder) = (plane.client().expect("a client"), TempDir::new().expect("a folder"));
    let cluster = Cluster::start(client.clone(), name, 2).await;
    let proxy = Proxy::start(plane.client().expect("a client")).await;
    let through = kubeconfig(folder.path(), "through", &proxy.url(), None, None);
    let mut sleeper = start(&folder, &cluster, &through);
    proxy.block(is_bind, after);
    let first = Gang::new("a", Kind::PodGang, 4, 1);
    cluster.create(&first).await;
    let blocked = tokio::time::timeout(PATIENCE, proxy.blocked()).await;
    let held = blocked.unwrap_or_else(|_| panic!("{name}: it never came to that\n{}", sleeper.said()));
    sleeper.signal("-STOP");
    let former = leader(&client, name, LEASE, None).await;
    let node = held.body["target"]["name"].as_str().expect("a node").to_owned();
    let pod = held.body["metadata"]["name"].as_str().expect("a pod").to_owned();
    cluster.cordon(&node, true).await;

    let other = start(&folder, &cluster, plane.kubeconfig_path());
    leader(&client, name, LEASE, Some(&former)).await;
    let pods = cluster.placed(&[first], || other.said()).await;
    assert_ne!(
        node_of(&pods[&pod]),
        Some(node.as_str()),
        "{name}: that node is closed\n{}\n{}",
        cluster.history(),
        other.said()
    );
    cluster.cordon(&node, false).await;
    let kinds = [("b", Kind::PodGroup), ("c", Kind::PodGang), ("d", Kind::PodGroup)];
    let rest = kinds.map(|(name, kind)| Gang::new(name, kind, 4, 1));
    for gang in &rest {
        cluster.create(gang).await;
    }
    cluster.placed(&rest, || other.said()).await;
    let before = cluster.shown();

    proxy.unblock();
    sleeper.signal("-CONT");
    let code = sleeper.code(PATIENCE).await;
    assert!(code.is_some_and(|code| code != 0), "{name}: ended with {code:?}:\n{}", sleeper.said());
    proxy.drained().await;
    let passed = proxy.passed();
    let ends = |passed: &Passed| format!("{} {} {}", passed.write.method, passed.write.path, passed.code);
    println!("{name}: after it was woken, its writes ended so: {:#?}", passed.iter().map(ends).collect::<Vec<_>>());
    assert!(passed.iter().any(|passed| is_bind(&passed.write)), "{name}: nothing was held back");
    let is_through = |passed: &&Passed| passed.code < 300 && !passed.write.path.contains("/events");
    let went_through: Vec<&Passed> = passed.iter().filter(is_through).collect();
    assert!(went_through.is_empty(), "{name}: these should have been refused: {went_through:#?}");
    assert_eq!(cluster.shown(), before, "{name}");
    cluster.no_wrongs();
    cluster.stop().await;
}
