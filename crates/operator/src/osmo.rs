//! OSMO's pools and workflows: one turn of a pool's key, and of a workflow's.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::ListParams;
use trellis_api::kinds::kai::KaiPodGroup;
use trellis_api::kinds::osmo::Workflow;
use trellis_api::names::{MANAGED_BY, finalizer, label, osmo};
use trellis_lifecycle::osmo::{decide_pool, decide_workflow};
use trellis_lifecycle::{Action, Failure, Kind, Plan, Target, Write, site};

use crate::queue::Key;
use crate::work::{Carried, Turn, Workers};

/// How long a list of gangs may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// A workflow or pool takes a few passes; a bound, should decisions and writes chase each other.
const PASSES_MAX: usize = 100;
/// Code of the failure that says that nothing was wrong but the view.
const STALE: &str = "ERR_STALE";
/// How many passes in a row may find only that they were decided on an old view.
const STALE_MAX: u32 = 5;

impl Workers {
    /// One turn of a pool.
    pub async fn pool(&self, name: &str) -> Turn {
        let about = Target { kind: Kind::Pool, namespace: String::new(), name: name.to_owned() };
        let key = Key::Pool(name.to_owned());
        self.passes(&key, about, |_| {
            let (pool, nodes) = {
                let tables = self.index.tables();
                let nodes: Vec<_> = tables.nodes.values().cloned().collect();
                (tables.pools.get("", name).cloned()?, nodes)
            };
            let seen = self.index.observe_pool(&pool, &nodes)?;
            Some(decide_pool(&seen, self.judges, (self.now)()))
        })
        .await
    }

    /// One turn of a workflow.
    pub async fn workflow(&self, namespace: &str, name: &str) -> Turn {
        let about = Target { kind: Kind::Workflow, namespace: namespace.to_owned(), name: name.to_owned() };
        let key = Key::Workflow(namespace.to_owned(), name.to_owned());
        self.passes(&key, about, |failures| {
            let seen = self.index.observe_workflow(namespace, name)?;
            Some(decide_workflow(&seen, &self.index.pools(), self.judges, failures, (self.now)()))
        })
        .await
    }

    /// Carries out a plan. A Topology or queue is deleted, and a pool let go, because no gang speaks of it, and a deletion never rests on a
    /// cache alone.
    async fn carry_out_if_certain(&self, plan: &Plan) -> Carried {
        if plan.writes.iter().any(rests_on_gangs) {
            match self.gangs_are_as_seen().await {
                Ok(true) => {}
                Ok(false) => return Carried::Stale,
                Err(description) => {
                    return Carried::Failed(vec![Failure { code: "ERR_LIST_GANGS".to_owned(), description }]);
                }
            }
        }
        self.carry_out(plan).await
    }

    /// Has workflows looked at when a pool says something else: they wait for its Topology.
    fn tell_workflows(&self) {
        let open: Vec<Key> = {
            let tables = self.index.tables();
            let has_ended = |it: &Workflow| it.status.as_ref().is_some_and(|status| status.state.is_final());
            let open = tables.workflows.all().filter(|it| !has_ended(it)).map(|it| &it.metadata);
            let named = |it: &ObjectMeta| {
                Key::Workflow(it.namespace.clone().unwrap_or_default(), it.name.clone().unwrap_or_default())
            };
            open.map(named).collect()
        };
        open.into_iter().for_each(|key| self.queue.add(key));
    }

    /// Has all pools looked at when gangs of workflows come or go: what we have written ourselves, a watch does not tell as news.
    fn tell_pools(&self, plan: &Plan) {
        let is_gang = |plan: &Plan| plan.writes.iter().any(|write| write.target.kind == Kind::KaiPodGroup);
        if is_gang(plan) {
            let names: Vec<String> =
                self.index.tables().pools.all().filter_map(|pool| pool.metadata.name.clone()).collect();
            names.into_iter().for_each(|name| self.queue.add(Key::Pool(name)));
        }
    }

    /// Whether the gangs of workflows are those that we have seen. Those that are not are in the index afterwards.
    async fn gangs_are_as_seen(&self) -> Result<bool, String> {
        let api: Api<KaiPodGroup> = Api::all(self.client.clone());
        let ours = format!("{}={MANAGED_BY},{}", label::MANAGED_BY, osmo::label::WORKFLOW);
        let listed = tokio::time::timeout(PATIENCE, api.list(&ListParams::default().labels(&ours))).await;
        let listed = listed.map_err(|_| "the list of PodGroups takes too long".to_owned())?;
        let listed = match listed {
            // Where the kind is not served there are none.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(true),
            listed => listed.map_err(|error| format!("cannot list PodGroups: {error}"))?,
        };
        let mut are_known = true;
        for group in listed {
            let touched = self.index.put(group);
            are_known &= touched.is_empty();
            touched.into_iter().for_each(|key| self.queue.add(key));
        }
        Ok(are_known)
    }

    /// Decides and acts until nothing is left to write, or nothing can be decided yet. What could not be done is known to the decisions
    /// that follow, until something could be.
    async fn passes(&self, key: &Key, about: Target, decide: impl Fn(&[Failure]) -> Option<Plan>) -> Turn {
        let mut stale = 0;
        let mut failures = self.attempts.failures(key);
        failures.retain(|failure| failure.code != STALE);
        for _ in 0..PASSES_MAX {
            let Some(plan) = decide(&failures) else { return Turn::Rests(None) };
            if plan.writes.is_empty() {
                if !failures.is_empty() {
                    // What failed before is done by now, so nothing of it is left to tell.
                    failures.clear();
                    continue;
                }
                return self.said(plan).await;
            }
            match self.carry_out_if_certain(&plan).await {
                Carried::Out => {
                    stale = 0;
                    if plan.writes.iter().any(|write| write.site != site::WORKFLOW_STATUS) {
                        failures.clear();
                    }
                    self.tell_pools(&plan);
                    plan.notes.into_iter().for_each(|note| self.say(note));
                }
                Carried::Stale if stale < STALE_MAX => stale += 1,
                Carried::Stale => break,
                Carried::Failed(failures) => {
                    self.complain(about, &failures);
                    let Some(plan) = decide(&failures) else { return Turn::Failed(failures) };
                    // A workflow's status says what could not be done; the rest is tried again later.
                    let says = plan.writes.iter().all(|write| write.site == site::WORKFLOW_STATUS);
                    if says && matches!(self.carry_out_if_certain(&plan).await, Carried::Deposed) {
                        return Turn::Deposed;
                    }
                    return match self.said(plan).await {
                        Turn::Deposed => Turn::Deposed,
                        _ => Turn::Failed(failures),
                    };
                }
                Carried::Deposed => return Turn::Deposed,
            }
        }
        let description = "the objects keep changing under our hands".to_owned();
        Turn::Failed(vec![Failure { code: STALE.to_owned(), description }])
    }

    /// Says what is to be said once nothing is left to write.
    async fn said(&self, plan: Plan) -> Turn {
        let is_of_pool = !plan.statuses.is_empty();
        let turn = self.finish(plan).await;
        if is_of_pool {
            self.tell_workflows();
        }
        turn
    }
}

/// Whether a write is right only as long as no gang speaks of what it takes away.
fn rests_on_gangs(write: &Write) -> bool {
    match &write.action {
        Action::Delete { .. } => matches!(write.target.kind, Kind::KaiTopology | Kind::KaiQueue),
        Action::Patch(patch) if write.site == site::POOL_FINALIZER => {
            let mut left = patch["metadata"]["finalizers"].as_array().into_iter().flatten();
            left.all(|name| name != finalizer::POOL)
        }
        _ => false,
    }
}
