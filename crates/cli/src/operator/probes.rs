//! What is answered to those who look after the process: whether it lives, whether it is ready, and what it counts.

use std::sync::{Arc, OnceLock};

use trellis_operator::{METRICS_CONTENT_TYPE, Metrics};

use crate::serve::{Reply, text};

/// What is known of the operator. All clones are the same; before it has started, it lives and is not ready.
#[derive(Clone, Default)]
pub struct Probes(Arc<OnceLock<Started>>);

struct Started {
    metrics: Metrics,
    is_ready: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Probes {
    /// The operator has started.
    pub fn started(&self, metrics: Metrics, is_ready: impl Fn() -> bool + Send + Sync + 'static) {
        // It starts once.
        let _ = self.0.set(Started { metrics, is_ready: Box::new(is_ready) });
    }

    /// Answers a GET.
    pub fn answer(&self, path: &str) -> Reply {
        let started = self.0.get();
        match (path, started) {
            // Standing by is not being stuck: whoever waits for a lease, or for the API, is not helped by a restart.
            ("/livez" | "/healthz", _) => text(200, "ok"),
            ("/readyz", Some(started)) if (started.is_ready)() => text(200, "ok"),
            ("/readyz", Some(_)) => text(503, "not ready"),
            ("/readyz" | "/metrics", None) => text(503, "starting"),
            ("/metrics", Some(started)) => (200, METRICS_CONTENT_TYPE, started.metrics.render().into_bytes()),
            _ => text(404, "there are /livez, /readyz and /metrics"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn probes_tell_how_far_it_is() {
        let probes = Probes::default();
        let codes = || ["/livez", "/healthz", "/readyz", "/metrics", "/"].map(|path| probes.answer(path).0);
        assert_eq!(codes(), [200, 200, 503, 503, 404]);
        let ready = Arc::new(AtomicBool::new(false));
        let is_ready = ready.clone();
        probes.started(Metrics::new(), move || is_ready.load(Ordering::Relaxed));
        assert_eq!(codes(), [200, 200, 503, 200, 404]);
        ready.store(true, Ordering::Relaxed);
        assert_eq!(codes(), [200, 200, 200, 200, 404]);
        assert!(probes.answer("/metrics").2.ends_with(b"# EOF\n"));
    }
}
