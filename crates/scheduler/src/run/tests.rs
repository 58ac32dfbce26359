//! The whole of it on an embedded API: gangs are bound, a restart changes nothing, and an outage is waited for.

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use trellis_cluster::faults::Faults;

use super::*;
use crate::stage::{MAX_AGE, MOMENT, Stage, gang, node, pod};

/// A scheduler that runs.
struct Running {
    readiness: Box<dyn Fn() -> Result<(), String>>,
    metrics: Metrics,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), RunError>>,
    index: Arc<Index>,
    settled: Arc<watch::Sender<Option<u64>>>,
}

impl Running {
    async fn start(stage: &Stage, identity: &str, lease: bool) -> Self {
        let lease = lease.then(|| lease::Config {
            namespace: "default".to_owned(),
            name: "lock".to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        });
        let options = Options {
            lease,
            now: stage.now.clone(),
            max_age: MAX_AGE,
            ..Options::new(Settings::default(), identity.to_owned())
        };
        let scheduler = Scheduler::start(stage.client(), options).await.expect("it starts");
        let (stop, mut stopped) = watch::channel(false);
        let (readiness, metrics) = (Box::new(scheduler.readiness()), scheduler.metrics());
        let (index, settled) = (scheduler.index.clone(), scheduler.settled.clone());
        let task = tokio::spawn(scheduler.run(async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }));
        Self { readiness, metrics, stop, task, index, settled }
    }

    /// Waits until it has nothing to do. What was written a moment ago has been seen by then.
    async fn settles(&self) {
        sleep(MOMENT).await;
        let mut settled = self.settled.subscribe();
        let index = self.index.clone();
        let done = settled.wait_for(|settled| *settled == Some(index.generation()));
        timeout(Duration::from_mins(2), done).await.expect("it settles").expect("it runs");
    }

    async fn stop(self) -> Result<(), RunError> {
        self.stop.send_replace(true);
        timeout(Duration::from_mins(1), self.task).await.expect("it stops").expect("no panic")
    }
}

/// Two nodes for two gangs of two; the gangs are ready to be placed.
async fn stage() -> Stage {
    let stage = Stage::new(Faults::none(), true).await;
    stage.create(node("n1", "a")).await;
    stage.create(node("n2", "a")).await;
    stage
}

async fn submit(stage: &Stage, name: &str, pods: &[&str]) {
    for pod_name in pods {
        stage.create(pod(pod_name)).await;
    }
    stage.create(gang(name, pods)).await;
    let path = format!("/apis/scheduler.grove.io/v1alpha1/namespaces/default/podgangs/{name}/status");
    let condition = json!({
        "type": "Initialized", "status": "True", "reason": "AllThere", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = json!({ "status": { "conditions": [condition] } });
    stage.ask("PATCH", &path, Some(("application/merge-patch+json", patch))).await;
}

async fn placed(stage: &Stage, pods: &[&str]) -> usize {
    let mut count = 0;
    for name in pods {
        count += usize::from(stage.pod(name).await["spec"]["nodeName"].is_string());
    }
    count
}

fn scheduled(gang: &Value) -> Option<&str> {
    let conditions = gang["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "Scheduled")?["status"].as_str()
}

#[tokio::test(start_paused = true)]
async fn gangs_are_bound_and_a_restart_changes_nothing() {
    let stage = stage().await;
    submit(&stage, "g", &["a", "b"]).await;
    stage.create(pod("alone")).await;
    let first = Running::start(&stage, "first", true).await;
    first.settles().await;
    assert_eq!(placed(&stage, &["a", "b", "alone"]).await, 3, "{}", stage.gang("g").await);
    let gang = stage.gang("g").await;
    assert_eq!(scheduled(&gang), Some("True"), "{gang}");
    assert!(first.metrics.render().contains("trellis_scheduler_binds_total{result=\"done\"} 3\n"));
    assert_eq!((first.readiness)(), Ok(()));
    first.stop().await.expect("it was told to");
    let second = Running::start(&stage, "second", true).await;
    second.settles().await;
    // The first decision of a new leader has been made; from now on nothing is written.
    let revision = stage.api.store().revision();
    let gang_before = stage.gang("g").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.gang("g").await, gang_before);
    assert!(stage.api.store().revision() - revision <= 1, "but for the lease");
    submit(&stage, "h", &["c", "d"]).await;
    second.settles().await;
    assert_eq!(placed(&stage, &["c", "d"]).await, 2);
    second.stop().await.expect("it was told to");
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_waited_for() {
    let stage = stage().await;
    let running = Running::start(&stage, "first", false).await;
    running.settles().await;
    assert_eq!((running.readiness)(), Ok(()));
    stage.faults.disconnect();
    submit(&stage, "g", &["a", "b"]).await;
    sleep(MAX_AGE + Duration::from_secs(1)).await;
    let why = (running.readiness)().expect_err("it cannot be ready");
    assert!(why.contains("not heard of for"), "{why}");
    assert_eq!(placed(&stage, &["a", "b"]).await, 0);
    stage.faults.reconnect();
    let whole = async {
        while placed(&stage, &["a", "b"]).await < 2 {
            sleep(MOMENT).await;
        }
    };
    timeout(Duration::from_mins(1), whole).await.expect("it goes on");
    assert_eq!((running.readiness)(), Ok(()));
    running.stop().await.expect("it was told to");
}

/// Whoever waits costs nothing as long as nothing changes, also after something did that helps nobody.
#[tokio::test(start_paused = true)]
async fn nothing_is_decided_while_nothing_changes() {
    let stage = stage().await;
    for at in 0..40 {
        let mut lone = pod(&format!("lone-{at:02}"));
        lone["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "1k" } });
        stage.create(lone).await;
        let mut member = pod(&format!("member-{at:02}"));
        member["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "1k" } });
        stage.create(member).await;
        stage.create(gang(&format!("g-{at:02}"), &[&format!("member-{at:02}")])).await;
    }
    let running = Running::start(&stage, "first", false).await;
    sleep(Duration::from_mins(5)).await;
    running.settles().await;
    stage.create(node("n3", "b")).await;
    sleep(Duration::from_mins(5)).await;
    running.settles().await;
    let decisions = || {
        let text = running.metrics.render();
        let line = text.lines().find(|line| line.starts_with("trellis_scheduler_plan_duration_seconds_count"));
        line.expect("decisions are counted").to_owned()
    };
    let before = decisions();
    sleep(Duration::from_mins(10)).await;
    assert_eq!(decisions(), before);
    running.stop().await.expect("it was told to");
}
