//! What a cluster does by itself: it collects what lost its owner, empties namespaces and definitions that go, keeps the status of
//! disruption budgets and autoscalers, watches over nodes and clears away pods and events that nobody needs.
//!
//! Everything here is level-driven: a chore or a change says where to look, and what is done follows from what is found there. Nothing
//! is done while nothing changes. Stamps come from the API's clock and waiting is `tokio::time`'s.

mod accounts;
mod agenda;
mod autoscalers;
mod budgets;
mod collector;
mod contents;
mod events;
mod follow;
mod lifecycle;
mod objects;
mod placed;
mod pods;
mod scale;
mod stale;
mod taints;
mod tell;

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::api::Api;
use crate::chores::Chore;
use crate::status::Status;
use crate::store::Shelf;
use crate::user::User;
use crate::verbs::Call;
use agenda::Agenda;

/// How long things take. What is not said is as in a real cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How long a node may be silent before nothing is known of it.
    pub node_grace: Duration,
    /// The same for a node that has a lease and never said whether it is ready.
    pub node_startup_grace: Duration,
    /// Nodes are looked at in steps of this.
    pub node_period: Duration,
    /// How often an autoscaler is looked at.
    pub autoscaler_period: Duration,
    /// How long a pod that was granted its eviction, or is marked as the target of a disruption, is taken to be on its way out.
    pub disruption_timeout: Duration,
    /// How long the node of a pod may be missing before the pod is deleted.
    pub orphan_quarantine: Duration,
    /// How long pods that end without a node, or are too many that are done, are left.
    pub pod_period: Duration,
    /// How many pods that are done are kept.
    pub done_pods: usize,
    /// How long events are kept after their last change.
    pub event_age: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node_grace: Duration::from_secs(50),
            node_startup_grace: Duration::from_mins(1),
            node_period: Duration::from_secs(5),
            autoscaler_period: Duration::from_secs(15),
            disruption_timeout: Duration::from_mins(2),
            orphan_quarantine: Duration::from_secs(40),
            pod_period: Duration::from_secs(20),
            done_pods: 12_500,
            event_age: Duration::from_hours(1),
        }
    }
}

/// Does what a cluster does by itself until `stop` is done.
pub async fn run(api: Api, options: Options, stop: impl Future<Output = ()>) {
    let mut work = JoinSet::new();
    work.spawn(do_chores(api.clone()));
    work.spawn(accounts::run(api.clone()));
    work.spawn(budgets::run(api.clone(), options.clone()));
    work.spawn(autoscalers::run(api.clone(), options.clone()));
    work.spawn(lifecycle::run(api.clone(), options.clone()));
    work.spawn(taints::run(api.clone()));
    work.spawn(pods::run(api.clone(), options.clone()));
    work.spawn(events::run(api, options));
    let failed = async {
        while let Some(ended) = work.join_next().await {
            tracing::error!(?ended, "a controller ended");
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = stop => {}
        () = failed => {}
    }
}

async fn do_chores(api: Api) {
    api.chores.open();
    // What was noted before the start is looked for: every object may be one.
    for (shelf, key) in api.store.everything() {
        api.chores.note(Chore::Object(shelf, key));
    }
    let mut failed: Agenda<Chore> = Agenda::new();
    loop {
        let due: Vec<Chore> = tokio::select! {
            biased;
            again = failed.due() => again,
            noted = api.chores.next() => noted.into_iter().collect(),
        };
        for chore in due {
            let result = look(&api, &chore).await;
            failed.note(chore, result);
        }
    }
}

async fn look(api: &Api, chore: &Chore) -> Result<(), Status> {
    match chore {
        Chore::Object(shelf, key) => {
            let Some(call) = call(api, "generic-garbage-collector", shelf, &key.namespace, &key.name) else {
                return Ok(());
            };
            contents::look_at(&call).await?;
            collector::look_at(&call).await
        }
        Chore::Dependents(uid) => {
            for (shelf, key) in api.store.owned_by(uid) {
                api.chores.note(Chore::Object(shelf, key));
            }
            Ok(())
        }
        Chore::Namespace(name) => contents::empty_namespace(api, name).await,
        Chore::Definition(name) => contents::empty_definition(api, name).await,
    }
}

/// Deletes the objects of a definition that goes, and lets it go when nothing is left.
pub(crate) async fn empty_definition(api: &Api, name: &str) -> Result<(), Status> {
    contents::empty_definition(api, name).await
}

/// A call about an object by a controller of the cluster.
fn call(api: &Api, controller: &str, of: &Shelf, namespace: &str, name: &str) -> Option<Call> {
    let table = api.registry.table();
    let (plural, group) = of.split_once('.').unwrap_or((of, ""));
    let resource = table.find(group, plural)?.clone();
    let version = resource.storage.clone();
    let namespace = resource.namespaced.then(|| namespace.to_owned());
    let user = User::service_account("kube-system", controller);
    Some(Call::on(api, &user, resource, &version, namespace, name.to_owned()))
}
