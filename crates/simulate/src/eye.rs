//! The checker as it is used while a run goes on: it is shown what has happened since it last looked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Method;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use trellis_cluster::api::Api;
use trellis_cluster::clock::Clock;
use trellis_cluster::store::Tapped;

use crate::check::Checker;
use crate::journal::Line;

/// How many changes are kept: the last ones tell what went wrong.
const CHANGES: usize = 2_000;
/// The shelves of what placement is about.
const PLACEMENT: [&str; 4] = ["nodes", "podgangs.scheduler.grove.io", "podgroups.scheduling.run.ai", "pods"];

/// The checker, with what it has yet to see. All clones are the same.
#[derive(Clone)]
pub struct Eye {
    inner: Arc<Mutex<Inner>>,
    clock: Clock,
}

struct Inner {
    changes: UnboundedReceiver<Tapped>,
    checker: Checker,
    /// The last changes of what placement is about.
    last: VecDeque<Tapped>,
}

impl Eye {
    /// Sees every change of this API from now on.
    pub fn on(api: &Api) -> Self {
        let clock = api.clock();
        let inner = Inner {
            changes: api.store().tap(clock),
            checker: Checker::default(),
            last: VecDeque::with_capacity(CHANGES),
        };
        Self { inner: Arc::new(Mutex::new(inner)), clock }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the checker see all that has happened, each change at the time that it was made, and then does something with it.
    pub fn look<T>(&self, then: impl FnOnce(&mut Checker) -> T) -> T {
        let mut inner = self.inner();
        let Inner { changes, checker, last } = &mut *inner;
        while let Ok((at, shelf, change)) = changes.try_recv() {
            checker.see(&shelf, &change, at);
            if PLACEMENT.contains(&&*shelf) {
                if last.len() >= CHANGES {
                    last.pop_front();
                }
                last.push_back((at, shelf, change));
            }
        }
        checker.at(self.clock.now());
        then(checker)
    }

    /// The last changes of what placement is about.
    pub fn last_changes(&self) -> Vec<Line> {
        let line = |(at, shelf, change): &Tapped| {
            Some(Line::Change {
                revision: change.revision,
                at: *at,
                shelf: shelf.to_string(),
                gone: change.deleted,
                object: serde_json::from_slice(&change.after.text).ok()?,
            })
        };
        self.inner().last.iter().filter_map(line).collect()
    }

    /// The scheduler sends a write.
    pub fn scheduler_writes(&self, method: &Method, path: &str, body: &[u8]) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        self.look(|checker| checker.check_request(method.as_str(), path, &body));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use trellis_cluster::store::{Index, Key};

    use super::*;
    use crate::check::Rule;
    use crate::world::World;

    /// Room is held for ten seconds, and taken after so many; it is looked a minute later.
    async fn check(seconds: u64, expected: &[Rule]) {
        let api = World::api(1);
        let (eye, clock) = (Eye::on(&api), api.clock());
        let put = |shelf: &str, name: &str, mut object: Value| {
            let key = Key { namespace: String::new(), name: name.to_owned() };
            api.store().create(&shelf.into(), key, &mut object, Index::default()).expect("a new object");
        };
        put(
            "nodes",
            "a",
            json!({ "metadata": { "name": "a" }, "status": { "allocatable": { "cpu": "1", "pods": "9" } } }),
        );
        let until = clock.now() + Duration::from_secs(10);
        let places = json!({ "until": until, "group": "default", "request": { "cpu": 1000 }, "nodes": { "a": "p:1" } });
        let record = json!({ "version": 1, "held": [places] }).to_string();
        let annotations = json!({ "trellis.dev/placement": record });
        put("podgroups.scheduling.run.ai", "g", json!({ "metadata": { "uid": "g", "annotations": annotations } }));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let container = json!({ "resources": { "requests": { "cpu": "1" } } });
        put("pods", "p", json!({ "metadata": { "uid": "p" }, "spec": { "nodeName": "a", "containers": [container] } }));
        tokio::time::sleep(Duration::from_mins(1)).await;
        let found: Vec<Rule> = eye.look(|checker| checker.violations().iter().map(|it| it.rule).collect());
        assert_eq!(found, expected, "after {seconds} s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_judged_at_the_time_that_it_was_made() {
        check(9, &[Rule::LostHold]).await;
        check(11, &[]).await;
    }
}
