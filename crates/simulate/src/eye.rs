//! The checker as it is used while a run goes on: it is shown what has happened since it last looked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Method;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use trellis_cluster::api::Api;
use trellis_cluster::clock::Clock;
use trellis_cluster::store::{Change, Shelf};

use crate::check::Checker;

/// The checker, with what it has yet to see. All clones are the same.
#[derive(Clone)]
pub struct Eye {
    inner: Arc<Mutex<Inner>>,
    clock: Clock,
}

struct Inner {
    changes: UnboundedReceiver<(Shelf, Arc<Change>)>,
    checker: Checker,
}

impl Eye {
    /// Sees every change of this API from now on.
    pub fn on(api: &Api) -> Self {
        let inner = Inner { changes: api.store().tap(), checker: Checker::default() };
        Self { inner: Arc::new(Mutex::new(inner)), clock: api.clock() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the checker see all that has happened, and then does something with it.
    pub fn look<T>(&self, then: impl FnOnce(&mut Checker) -> T) -> T {
        let now = self.clock.now();
        let mut inner = self.inner();
        let Inner { changes, checker } = &mut *inner;
        while let Ok((shelf, change)) = changes.try_recv() {
            checker.see(&shelf, &change, now);
        }
        then(checker)
    }

    /// The scheduler sends a write.
    pub fn scheduler_writes(&self, method: &Method, path: &str, body: &[u8]) {
        if *method != Method::DELETE {
            return;
        }
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        if let ["api", "v1", "namespaces", namespace, "pods", name] = parts[..] {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            let uid = body["preconditions"]["uid"].as_str();
            self.look(|checker| checker.check_deletion(namespace, name, uid));
        }
    }
}
