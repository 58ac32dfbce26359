//! OSMO's pools and workflows: one turn of a pool's key, and of a workflow's.

use trellis_lifecycle::osmo::{decide_pool, decide_workflow};
use trellis_lifecycle::{Failure, Kind, Plan};

use crate::work::{Carried, Turn, Workers};

/// A workflow or pool takes a few passes; a bound, should decisions and writes chase each other.
const PASSES_MAX: usize = 100;
/// How many passes in a row may find only that they were decided on an old view.
const STALE_MAX: u32 = 5;

impl Workers {
    /// One turn of a pool.
    pub async fn pool(&self, name: &str) -> Turn {
        self.passes(Kind::Pool, "", name, || {
            let (pool, nodes) = {
                let tables = self.index.tables();
                let nodes: Vec<_> = tables.nodes.values().cloned().collect();
                (tables.pools.get("", name).cloned()?, nodes)
            };
            let seen = self.index.observe_pool(&pool, &nodes)?;
            Some(decide_pool(&seen, (self.now)()))
        })
        .await
    }

    /// One turn of a workflow.
    pub async fn workflow(&self, namespace: &str, name: &str) -> Turn {
        self.passes(Kind::Workflow, namespace, name, || {
            let seen = self.index.observe_workflow(namespace, name)?;
            Some(decide_workflow(&seen, &self.index.pools(), self.judges, (self.now)()))
        })
        .await
    }

    /// Decides and acts until nothing is left to write, or nothing can be decided yet.
    async fn passes(&self, kind: Kind, namespace: &str, name: &str, decide: impl Fn() -> Option<Plan>) -> Turn {
        let mut stale = 0;
        for _ in 0..PASSES_MAX {
            let Some(plan) = decide() else { return Turn::Rests(None) };
            if plan.writes.is_empty() {
                return self.finish(plan, namespace, name).await;
            }
            match self.carry_out(&plan).await {
                Carried::Out => {
                    stale = 0;
                    plan.notes.into_iter().for_each(|note| self.say(note, namespace, name));
                }
                Carried::Stale if stale < STALE_MAX => stale += 1,
                Carried::Stale => break,
                Carried::Failed(failures) => {
                    self.complain(kind, namespace, name, &failures);
                    return match self.finish(plan, namespace, name).await {
                        Turn::Deposed => Turn::Deposed,
                        _ => Turn::Failed(failures),
                    };
                }
                Carried::Deposed => return Turn::Deposed,
            }
        }
        let description = "the objects keep changing under our hands".to_owned();
        Turn::Failed(vec![Failure { code: "ERR_STALE".to_owned(), description }])
    }
}
