//! What the operator counts, as text for Prometheus. Labels are words of the program, never names of objects, so their number is bounded.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

type One = [(&'static str, String); 1];
type Two = [(&'static str, String); 2];

/// Counters of one operator. All clones are the same.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    registry: Registry,
    passes: Family<One, Histogram, fn() -> Histogram>,
    failures: Family<One, Counter>,
    writes: Family<Two, Counter>,
    watch_restarts: Family<One, Counter>,
    stale: Counter,
    queue: Gauge,
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
        let mut registry = Registry::with_prefix("trellis_operator");
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "What is running", Info::new(version));
        let passes = Family::new_with_constructor(seconds as fn() -> Histogram);
        let help = "How long a pass over one key took, from looking to the last write, by kind of key";
        registry.register_with_unit("reconcile_duration", help, Unit::Seconds, passes.clone());
        let failures = Family::<One, Counter>::default();
        registry.register("errors", "What went wrong, by reason", failures.clone());
        let writes = Family::<Two, Counter>::default();
        registry.register(
            "writes",
            "Requests that change something, by what they are for and how they ended",
            writes.clone(),
        );
        let watch_restarts = Family::<One, Counter>::default();
        registry.register("watch_restarts", "How often a kind was listed anew", watch_restarts.clone());
        let (stale, queue, leader) = (Counter::default(), Gauge::default(), Gauge::default());
        registry.register("stale_skips", "Plans that were dropped because the view behind them was old", stale.clone());
        registry.register("queue_depth", "Keys that wait for a worker", queue.clone());
        registry.register("leader", "1 while this process leads", leader.clone());
        Self(Arc::new(Counters { registry, passes, failures, writes, watch_restarts, stale, queue, leader }))
    }

    /// A pass over a key of this kind took so long.
    pub fn observe_pass(&self, kind: &str, took: Duration) {
        self.0.passes.get_or_create(&[("kind", kind.to_owned())]).observe(took.as_secs_f64());
    }

    /// Something went wrong.
    pub fn failed(&self, reason: &str) {
        self.0.failures.get_or_create(&[("reason", reason.to_owned())]).inc();
    }

    /// A write ended.
    pub fn write(&self, site: &str, result: &str) {
        self.0.writes.get_or_create(&[("site", site.to_owned()), ("result", result.to_owned())]).inc();
    }

    /// So many keys wait.
    pub fn queue(&self, depth: usize) {
        self.0.queue.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// A plan was dropped: a look before a deletion disagreed, or a write was refused for its version.
    pub fn stale(&self) {
        self.0.stale.inc();
    }

    /// A kind is listed anew.
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

/// A millisecond to half a minute: a pass over a set of two pods, and one of a thousand on a slow API.
fn seconds() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_shown() {
        let metrics = Metrics::new();
        let clone = metrics.clone();
        clone.observe_pass("set", Duration::from_millis(20));
        clone.observe_pass("set", Duration::from_secs(2));
        clone.failed("Timeout");
        clone.write("create pod", "ok");
        clone.write("create pod", "ok");
        clone.write("create pod", "conflict");
        clone.queue(7);
        clone.stale();
        clone.watch_restarted("Pod");
        clone.leader(true);
        let text = metrics.render();
        for line in [
            r#"trellis_operator_build_info{version="0.1.0"} 1"#,
            r#"trellis_operator_reconcile_duration_seconds_count{kind="set"} 2"#,
            r#"trellis_operator_reconcile_duration_seconds_bucket{le="0.05",kind="set"} 1"#,
            r#"trellis_operator_errors_total{reason="Timeout"} 1"#,
            r#"trellis_operator_writes_total{site="create pod",result="ok"} 2"#,
            r#"trellis_operator_writes_total{site="create pod",result="conflict"} 1"#,
            r#"trellis_operator_watch_restarts_total{kind="Pod"} 1"#,
            "trellis_operator_stale_skips_total 1",
            "trellis_operator_queue_depth 7",
            "trellis_operator_leader 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|shown| shown == line), "`{line}` is not in:\n{text}");
        }
    }

    #[test]
    fn what_has_no_labels_is_shown_at_zero() {
        let text = Metrics::new().render();
        for name in ["stale_skips_total", "queue_depth", "leader"] {
            assert!(text.contains(&format!("trellis_operator_{name} 0\n")), "{name} is not in:\n{text}");
        }
    }
}
