//! What happens on the API is seen, whatever happens on the way; and if it is not, that is known.

use trellis_cluster::faults::{Fault, Faults, Seen as Asked};

use super::*;
use crate::stage::{MAX_AGE, MOMENT, Stage, gang, node};
use crate::watches;

fn follow(stage: &Stage) -> tokio::task::JoinSet<()> {
    let follower = Follower { index: stage.index.clone(), view: stage.view.clone(), metrics: Metrics::new() };
    watches::start(&stage.client(), &follower)
}

/// Waits until something is so; how long that took.
async fn until(what: &str, so: impl Fn() -> bool) -> Duration {
    let begun = Instant::now();
    let waited = async {
        while !so() {
            sleep(MOMENT).await;
        }
    };
    timeout(Duration::from_mins(2), waited).await.unwrap_or_else(|_| panic!("{what}: it takes too long"));
    begun.elapsed()
}

fn nodes(stage: &Stage) -> String {
    let seen = stage.index.seen();
    seen.nodes.keys().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_seen() {
    let stage = Stage::new(Faults::none(), true).await;
    stage.create(node("n1", "a")).await;
    let _following = follow(&stage);
    until("listed", || stage.view.is_fresh().is_ok()).await;
    assert_eq!(nodes(&stage), "n1");
    stage.create(node("n2", "a")).await;
    until("watched", || nodes(&stage) == "n1 n2").await;
    stage.ask("DELETE", "/api/v1/nodes/n1", None).await;
    until("deleted", || nodes(&stage) == "n2").await;
    // Nothing happens for a long time: the view stays fresh, and nobody is woken.
    let before = stage.index.generation();
    for _ in 0..100 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(stage.view.is_fresh(), Ok(()));
    }
    assert_eq!(stage.index.generation(), before);
}

/// What is created while requests or watches meet a fault is seen in the end; whether the view was old meanwhile.
async fn check(what: &str, fault: fn(&Asked) -> Fault, is_old: bool) {
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_broken = broken.clone();
    let faults =
        Faults::decided(
            move |asked| {
                if is_broken.load(std::sync::atomic::Ordering::Relaxed) { fault(asked) } else { Fault::None }
            },
        );
    let stage = Stage::new(faults, false).await;
    let _following = follow(&stage);
    until(what, || stage.view.is_fresh().is_ok()).await;
    // More is known than the first list said.
    stage.create(node("n1", "a")).await;
    until(what, || nodes(&stage) == "n1").await;
    broken.store(true, std::sync::atomic::Ordering::Relaxed);
    stage.faults.cut_watches();
    stage.create(node("n2", "a")).await;
    let mut was_old = false;
    for _ in 0..40 {
        sleep(Duration::from_millis(500)).await;
        was_old |= stage.view.is_fresh().is_err();
    }
    assert_eq!(was_old, is_old, "{what}: {:?}", stage.view.is_fresh());
    broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let took = until(what, || stage.view.is_fresh().is_ok() && nodes(&stage) == "n1 n2").await;
    assert!(took < Duration::from_secs(20), "{what}: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_old_view_is_known_to_be_old() {
    check("nothing", |_| Fault::None, false).await;
    check("events twice", |_| Fault::RepeatWatch, false).await;
    check("lost requests", |_| Fault::LoseRequest, true).await;
    check("refused", |_| Fault::Refuse(trellis_cluster::status::Status::too_many_requests("busy")), true).await;
    check(
        "expired watches of nodes",
        |asked| {
            if asked.watch && asked.target.contains("/nodes") { Fault::ExpireWatch } else { Fault::None }
        },
        false,
    )
    .await;
    // A list that is older than what was seen is not taken.
    check(
        "expired watches of nodes, and lists of old",
        |asked| match (asked.target.contains("/nodes"), asked.watch) {
            (true, true) => Fault::ExpireWatch,
            (true, false) => Fault::StaleList(usize::MAX),
            _ => Fault::None,
        },
        true,
    )
    .await;
    check(
        "a watch of nodes that says nothing",
        |asked| {
            let is_it = asked.watch && asked.target.contains("/nodes");
            if is_it { Fault::DelayWatch(Duration::from_hours(1)) } else { Fault::None }
        },
        true,
    )
    .await;
    check(
        "watches of pods that break at once",
        |asked| {
            if asked.watch && asked.target.contains("/pods") { Fault::BreakWatch(0) } else { Fault::None }
        },
        true,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_followed_from_the_moment_it_is_served() {
    let stage = Stage::new(Faults::none(), false).await;
    let _following = follow(&stage);
    until("listed", || stage.view.is_fresh().is_ok()).await;
    stage.define().await;
    stage.create(gang("g", &["p1"])).await;
    let took = until("seen", || stage.index.seen().pod_gangs.len() == 1).await;
    assert!(took <= MAX_AGE, "{took:?}");
    assert_eq!(stage.view.is_fresh(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_no_longer_served_is_not_gone_at_once() {
    let stage = Stage::new(Faults::none(), true).await;
    stage.create(gang("g", &["p1"])).await;
    let _following = follow(&stage);
    until("listed", || stage.view.is_fresh().is_ok()).await;
    let gangs = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgangs.scheduler.grove.io";
    stage.ask("DELETE", gangs, None).await;
    until("old", || stage.view.is_fresh().is_err()).await;
    let took = until("given up", || stage.view.is_fresh().is_ok()).await;
    assert!(took > GONE_AFTER / 2, "{took:?}");
    assert!(stage.index.seen().pod_gangs.is_empty());
}
