//! What is answered to those who look after the process: whether it lives, whether it is ready, and what it counts.

use std::sync::{Arc, OnceLock};

use crate::serve::{Reply, text};

/// What is known of what runs here. All clones are the same; before it has started, it lives and is not ready.
#[derive(Clone, Default)]
pub struct Probes(Arc<OnceLock<Started>>);

struct Started {
    metrics: Box<dyn Fn() -> String + Send + Sync>,
    content_type: &'static str,
    readiness: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl Probes {
    /// It has started: how its metrics are shown, in which form, and whether it is ready; if not, why.
    pub fn started(
        &self,
        metrics: impl Fn() -> String + Send + Sync + 'static,
        content_type: &'static str,
        readiness: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        // It starts once.
        let _ = self.0.set(Started { metrics: Box::new(metrics), content_type, readiness: Box::new(readiness) });
    }

    /// Answers a GET.
    pub fn answer(&self, path: &str) -> Reply {
        let started = self.0.get();
        match (path, started) {
            // Standing by is not being stuck: whoever waits for a lease, or for the API, is not helped by a restart.
            ("/livez" | "/healthz", _) => text(200, "ok"),
            ("/readyz", Some(started)) => match (started.readiness)() {
                Ok(()) => text(200, "ok"),
                Err(reason) => text(503, &reason),
            },
            ("/readyz" | "/metrics", None) => text(503, "starting"),
            ("/metrics", Some(started)) => (200, started.content_type, (started.metrics)().into_bytes()),
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
        probes.started(
            || "# EOF\n".to_owned(),
            "text/plain",
            move || if is_ready.load(Ordering::Relaxed) { Ok(()) } else { Err("Pod: not listed yet".to_owned()) },
        );
        assert_eq!(codes(), [200, 200, 503, 200, 404]);
        assert_eq!(probes.answer("/readyz").2, b"Pod: not listed yet\n");
        ready.store(true, Ordering::Relaxed);
        assert_eq!(codes(), [200, 200, 200, 200, 404]);
        assert!(probes.answer("/metrics").2.ends_with(b"# EOF\n"));
    }
}
