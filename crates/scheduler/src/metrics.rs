//! What the scheduler counts, as text for Prometheus. Labels are words of the program or names of topologies, never names of workloads, so
//! their number is bounded.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::plan::Figures;

type One = [(&'static str, String); 1];
type Two = [(&'static str, String); 2];
type Ratio = Gauge<f64, AtomicU64>;

/// Counters of one scheduler. All clones are the same.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    registry: Registry,
    plans: Histogram,
    steps: Counter,
    waiting: Family<One, Gauge>,
    placed: Gauge,
    pods_waiting: Gauge,
    fragmentation: Family<Two, Ratio>,
    binds: Family<One, Counter>,
    writes: Family<Two, Counter>,
    failures: Family<One, Counter>,
    watch_restarts: Family<One, Counter>,
    pauses: Counter,
    leader: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Everything at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("trellis_scheduler");
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "What is running", Info::new(version));
        let plans = seconds();
        registry.register_with_unit("plan_duration", "How long a decision took", Unit::Seconds, plans.clone());
        let (steps, pauses) = (Counter::default(), Counter::default());
        registry.register("plan_steps", "Steps that the search for places took", steps.clone());
        registry.register("pauses", "Times that nothing was decided because the view was too old", pauses.clone());
        let waiting = Family::<One, Gauge>::default();
        registry.register("gangs_waiting", "Gangs without their minimum of members, by reason", waiting.clone());
        let (placed, pods_waiting, leader) = (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register("gangs_placed", "Gangs whose minimum of members has nodes", placed.clone());
        registry.register("pods_waiting", "Pods of ours without a node", pods_waiting.clone());
        registry.register("leader", "1 while this process leads", leader.clone());
        let fragmentation = Family::<Two, Ratio>::default();
        let help = "Share of what is free that lies outside the domain which has most of it, by topology and level";
        registry.register_with_unit("fragmentation", help, Unit::Ratios, fragmentation.clone());
        let binds = Family::<One, Counter>::default();
        registry.register("binds", "Pods that were to get a node, by how that ended", binds.clone());
        let writes = Family::<Two, Counter>::default();
        registry.register(
            "writes",
            "Other requests that change something, by what for and how they ended",
            writes.clone(),
        );
        let failures = Family::<One, Counter>::default();
        registry.register("errors", "What went wrong, by reason", failures.clone());
        let watch_restarts = Family::<One, Counter>::default();
        registry.register("watch_restarts", "How often a kind could not be watched on", watch_restarts.clone());
        Self(Arc::new(Counters {
            registry,
            plans,
            steps,
            waiting,
            placed,
            pods_waiting,
            fragmentation,
            binds,
            writes,
            failures,
            watch_restarts,
            pauses,
            leader,
        }))
    }

    /// A decision took so long, and this is what there was to see.
    pub fn planned(&self, took: Duration, figures: &Figures) {
        let counters = &self.0;
        counters.plans.observe(took.as_secs_f64());
        counters.steps.inc_by(figures.steps);
        counters.waiting.clear();
        for (reason, gangs) in &figures.waiting {
            counters.waiting.get_or_create(&[("reason", (*reason).to_owned())]).set(count(*gangs));
        }
        counters.placed.set(count(figures.placed));
        counters.pods_waiting.set(count(figures.pods_waiting));
        counters.fragmentation.clear();
        for ((topology, level), share) in &figures.fragmentation {
            let labels = [("topology", topology.clone()), ("level", level.clone())];
            counters.fragmentation.get_or_create(&labels).set(*share);
        }
    }

    /// Nothing was decided because the view was too old.
    pub fn paused(&self) {
        self.0.pauses.inc();
    }

    /// A bind ended.
    pub fn bind(&self, result: &str) {
        self.0.binds.get_or_create(&[("result", result.to_owned())]).inc();
    }

    /// Another write ended.
    pub fn write(&self, site: &str, result: &str) {
        self.0.writes.get_or_create(&[("site", site.to_owned()), ("result", result.to_owned())]).inc();
    }

    /// Something went wrong.
    pub fn failed(&self, reason: &str) {
        self.0.failures.get_or_create(&[("reason", reason.to_owned())]).inc();
    }

    /// A kind could not be watched on.
    pub fn watch_restarted(&self, kind: &str) {
        self.0.watch_restarts.get_or_create(&[("kind", kind.to_owned())]).inc();
    }

    /// Whether this process leads.
    pub fn leader(&self, leads: bool) {
        self.0.leader.set(i64::from(leads));
    }

    /// All of it, in the text form of OpenMetrics.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

/// What [`Metrics::render`] gives, for the answer's header.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A millisecond, for a few gangs, to seconds, for hundreds that are hard to place.
fn seconds() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Every line has to be among those that are shown.
    fn check(metrics: &Metrics, lines: &[&str]) {
        let text = metrics.render();
        for line in lines {
            assert!(text.lines().any(|shown| shown == *line), "`{line}` is not in:\n{text}");
        }
    }

    #[test]
    fn what_is_counted_is_shown() {
        let metrics = Metrics::new();
        let clone = metrics.clone();
        let level = ("grove-topology".to_owned(), "rack".to_owned());
        let figures = Figures {
            waiting: BTreeMap::from([("NoRoom", 3)]),
            placed: 5,
            pods_waiting: 7,
            fragmentation: BTreeMap::from([(level, 0.25)]),
            steps: 11,
        };
        clone.planned(Duration::from_millis(20), &figures);
        clone.bind("done");
        clone.bind("done");
        clone.bind("stale");
        clone.write("place gang", "done");
        clone.failed("busy");
        clone.watch_restarted("Pod");
        clone.paused();
        clone.leader(true);
        check(
            &metrics,
            &[
                r#"trellis_scheduler_build_info{version="0.1.0"} 1"#,
                "trellis_scheduler_plan_duration_seconds_count 1",
                r#"trellis_scheduler_plan_duration_seconds_bucket{le="0.025"} 1"#,
                "trellis_scheduler_plan_steps_total 11",
                r#"trellis_scheduler_gangs_waiting{reason="NoRoom"} 3"#,
                "trellis_scheduler_gangs_placed 5",
                "trellis_scheduler_pods_waiting 7",
                r#"trellis_scheduler_fragmentation_ratios{topology="grove-topology",level="rack"} 0.25"#,
                r#"trellis_scheduler_binds_total{result="done"} 2"#,
                r#"trellis_scheduler_binds_total{result="stale"} 1"#,
                r#"trellis_scheduler_writes_total{site="place gang",result="done"} 1"#,
                r#"trellis_scheduler_errors_total{reason="busy"} 1"#,
                r#"trellis_scheduler_watch_restarts_total{kind="Pod"} 1"#,
                "trellis_scheduler_pauses_total 1",
                "trellis_scheduler_leader 1",
                "# EOF",
            ],
        );
        // What no longer waits is no longer shown.
        clone.planned(Duration::from_millis(1), &Figures::default());
        assert!(!metrics.render().contains("NoRoom"), "{}", metrics.render());
    }
}
