//! Judges sets, topologies, pools and workflows by the rules, with what the rules need to know of the cluster at this moment.

use serde_json::Value;
use tokio::time::Instant;
use trellis_api::admission::dynamo::{DynamoReview, TopologyRead};
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::review::{self, SetReview, TopologyReview};
use trellis_api::admission::{ClusterView, Pools, pool_of_workflow};
use trellis_api::kinds::osmo::Workflow;
use trellis_api::settings::Settings;
use trellis_lower::dynamo::follow;
use trellis_lower::osmo::{self as lowered, Cluster};

use super::live::{Live, PATIENCE, Unread, in_time};
use super::review::{Request, Response};

/// Judges a set that is made or changed.
pub async fn set(request: &Request, live: &Live, settings: &Settings) -> Response {
    let review = SetReview::of(&request.object, request.old(), settings);
    let wants = review.wants(settings);
    let seen = in_time(async {
        let mut view = ClusterView::default();
        if let Some(topology) = &wants.topology {
            live.topologies(topology, &mut view).await?;
        }
        if wants.scheduled && live.is_scheduled(&request.namespace, &request.name).await? {
            view.scheduled.insert((request.namespace.clone(), request.name.clone()));
        }
        Ok(view)
    });
    match seen.await {
        Ok(view) => review.judge(&view, settings).into(),
        Err(error) => Response::unread(&error),
    }
}

/// Judges a new number of replicas. What is posted is a `Scale`, which tells nothing but the number, so the set is read.
pub async fn scale(request: &Request, live: &Live, settings: &Settings) -> Response {
    let replicas = request.object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
    let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
    match in_time(live.set(&request.namespace, &request.name)).await {
        // One that is not there, or that nothing can be made of, is the server's affair.
        Ok(set) => match set.and_then(|set| review::stored(&set, settings).object) {
            Some(set) => review::scaled(&set, replicas, settings).into(),
            None => Response::allowed(),
        },
        Err(error) => Response::unread(&error),
    }
}

/// Judges a deployment that is made or changed, and the set that follows from it. The topology is looked at only when it is made; one
/// that cannot be read is a fault, and it is said in which way.
pub async fn deployment(request: &Request, live: &Live, settings: &Settings) -> Response {
    let review = DynamoReview::of(&request.object, request.old());
    let found;
    let topology = match review.wants_topology(settings) {
        None => TopologyRead::Unread,
        Some(name) => {
            found = live.topology(name).await;
            match &found {
                Ok(topology) => TopologyRead::Found(topology),
                Err(read) => read.clone(),
            }
        }
    };
    review.judge(&topology, settings, |graph, old, view| follow(graph, old, view, settings)).into()
}

/// Judges a topology that is made or changed.
pub async fn topology(request: &Request, by_operator: bool, live: &Live, settings: &Settings) -> Response {
    let review = TopologyReview::of(&request.object, request.old());
    let mut view = ClusterView::default();
    // What the operator changes, the workloads follow.
    if let Some(topology) = review.wants_sets_of().filter(|_| !by_operator)
        && let Err(error) = in_time(live.blocking_sets(topology, &mut view)).await
    {
        return Response::unread(&error);
    }
    review.judge(by_operator, &view, settings).into()
}

/// Judges a pool that is made or changed.
pub fn pool(request: &Request) -> Response {
    review::pool(&request.object, request.old()).into()
}

/// Judges a workflow that is made or changed. One that is new and asks for what the cluster can never give is let in, with a warning: the
/// cluster may grow.
pub async fn workflow(request: &Request, live: &Live) -> Response {
    if let Some(old) = request.old() {
        return review::workflow(&request.object, Some(old), &Pools::new()).into();
    }
    let deadline = Instant::now() + PATIENCE;
    let pools = match in_time(live.pools()).await {
        Ok(pools) => pools,
        Err(error) => return Response::unread(&error),
    };
    let mut verdict = review::workflow(&request.object, None, &pools);
    if verdict.allowed() {
        // What cannot be found out in the same time is not said: the server does not wait for it.
        let said = tokio::time::timeout_at(deadline, never_fits(&request.object, &pools, live)).await;
        verdict.warnings.extend(said.ok().and_then(Result::ok).unwrap_or_default());
    }
    verdict.into()
}

/// What the cluster can never give, in words.
async fn never_fits(value: &Value, pools: &Pools, live: &Live) -> Result<Vec<String>, Unread> {
    let Some(workflow) = decode::<Workflow>(Kind::Workflow, value.clone()).object else { return Ok(Vec::new()) };
    let Some(pool) = pool_of_workflow(&workflow.spec, pools).cloned() else { return Ok(Vec::new()) };
    let Some(nodes) = live.nodes().await? else { return Ok(Vec::new()) };
    let told = tokio::task::spawn_blocking(move || {
        let cluster = Cluster { nodes: nodes.iter().collect(), ..Cluster::default() };
        lowered::never_fits(&workflow, &pool, &cluster)
    });
    let said = told.await.unwrap_or_default().into_iter();
    Ok(said
        .map(|(group, why)| format!("group {group:?} can never be placed on the nodes that there are: {why}"))
        .collect())
}
