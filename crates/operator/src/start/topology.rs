//! The default topology, kept as the configuration says, and the backend's object for it.
//!
//! | topology-aware scheduling | what is done | a failure |
//! |---|---|---|
//! | on | `grove-topology` is made, or brought to the configuration's levels; KAI's Topology for it too | is fatal |
//! | off | `grove-topology` is deleted, whoever references it, and its finalizer goes | is logged |
//!
//! One that somebody deleted while topology-aware scheduling is on cannot be brought back to life: a start is when manual changes are
//! undone, so it is let go and made anew. Topologies of other names are never touched.

use super::{PATIENCE, StartError, call, served};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use trellis_api::kinds::ClusterTopology;
use trellis_api::kinds::kai::Topology;
use trellis_api::names::{DEFAULT_TOPOLOGY, finalizer, group, label, profile};
use trellis_api::settings::Settings;
use trellis_lifecycle::FIELD_MANAGER;
use trellis_lifecycle::topology::{KaiDue, KaiTopologySeen, judge_kai};
use trellis_lower::kai;

/// How often a change is tried again because somebody else was quicker.
const TRIES: usize = 8;

/// Brings the default topology and the backend's object for it to what the configuration says.
pub async fn synchronise(client: &Client, settings: &Settings) -> Result<(), StartError> {
    if !settings.topology_enabled {
        if let Err(error) = remove(client).await {
            tracing::warn!(%error, topology = DEFAULT_TOPOLOGY, "topology-aware scheduling is off, and the default topology stays");
        }
        return Ok(());
    }
    // Without levels in a configuration the default topology is not ours to keep.
    let Some(desired) = settings.default_topology() else { return Ok(()) };
    let topology = keep(client, &desired).await?;
    if settings.is_enabled(profile::KAI) && settings.create_kai_topologies {
        keep_backend(client, &topology).await?;
    }
    Ok(())
}

/// Brings the default topology to what is desired; what it has beyond that stays.
async fn keep(client: &Client, desired: &ClusterTopology) -> Result<ClusterTopology, StartError> {
    let api: Api<ClusterTopology> = Api::all(client.clone());
    let what = format!("write ClusterTopology `{DEFAULT_TOPOLOGY}`");
    for _ in 0..TRIES {
        let Some(live) = look(&api, &what).await? else {
            match call(&what, api.create(&post(), desired)).await {
                Err(error) if error.code() == Some(409) => continue,
                made => return made,
            }
        };
        if live.metadata.deletion_timestamp.is_some() {
            tracing::warn!(topology = DEFAULT_TOPOLOGY, "the default topology was deleted by hand; it is made anew");
            if release(&api, &live).await? {
                await_gone(&api, &live).await?;
            }
            continue;
        }
        let Some(patch) = changes(&live, desired) else { return Ok(live) };
        let params = PatchParams::apply(FIELD_MANAGER);
        match call(&what, api.patch(DEFAULT_TOPOLOGY, &params, &Patch::Merge(&patch))).await {
            Err(error) if is_outrun(&error) => {}
            written => return written,
        }
    }
    Err(StartError::Contended { what, tries: TRIES })
}

/// The default topology as it is now.
async fn look(api: &Api<ClusterTopology>, what: &str) -> Result<Option<ClusterTopology>, StartError> {
    match call(what, api.get_opt(DEFAULT_TOPOLOGY)).await {
        // An object that is not there is none; this is the path.
        Err(error) if error.code() == Some(404) => Err(StartError::NotServed { what: what.to_owned() }),
        live => live,
    }
}

/// What has to change, for the version that was seen.
fn changes(live: &ClusterTopology, desired: &ClusterTopology) -> Option<Value> {
    let (mut metadata, mut patch) = (json!({}), json!({}));
    let managed_by = |topology: &ClusterTopology| topology.metadata.labels.as_ref()?.get(label::MANAGED_BY).cloned();
    if managed_by(live) != managed_by(desired) {
        metadata["labels"] = json!({label::MANAGED_BY: managed_by(desired)});
    }
    if !is_held(live) {
        let mut finalizers = live.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(finalizer::CLUSTER_TOPOLOGY.to_owned());
        metadata["finalizers"] = json!(finalizers);
    }
    if live.spec != desired.spec {
        patch["spec"] = json!({"levels": desired.spec.levels});
    }
    if metadata == json!({}) && patch == json!({}) {
        return None;
    }
    metadata["resourceVersion"] = json!(live.metadata.resource_version);
    metadata["uid"] = json!(live.metadata.uid);
    patch["metadata"] = metadata;
    Some(patch)
}

/// Makes KAI's Topology for the default one, or makes it anew.
async fn keep_backend(client: &Client, topology: &ClusterTopology) -> Result<(), StartError> {
    let plural = Topology::plural(&());
    if !served(client, group::KAI, group::V1ALPHA1, &plural).await? {
        let judgement = judge_kai(topology, KaiTopologySeen::NotServed);
        tracing::warn!(topology = DEFAULT_TOPOLOGY, "{}", judgement.message);
        return Ok(());
    }
    let api: Api<Topology> = Api::all(client.clone());
    let what = format!("write KAI Topology `{DEFAULT_TOPOLOGY}`");
    for _ in 0..TRIES {
        let live = call(&what, api.get_opt(DEFAULT_TOPOLOGY)).await?;
        let judgement = judge_kai(topology, live.as_ref().map_or(KaiTopologySeen::Absent, KaiTopologySeen::There));
        match (judgement.due, &live) {
            (KaiDue::Create, _) => {
                if !judgement.left_out.is_empty() {
                    tracing::warn!(topology = DEFAULT_TOPOLOGY, "{}", judgement.message);
                }
                match call(&what, api.create(&post(), &kai::topology(topology))).await {
                    Err(error) if error.code() == Some(409) => {}
                    made => return made.map(drop),
                }
            }
            (KaiDue::Delete, Some(live)) => {
                tracing::info!(topology = DEFAULT_TOPOLOGY, "{}", judgement.message);
                delete(&api, live, &what).await?;
            }
            (KaiDue::Wait, Some(live)) => await_gone(&api, live).await?,
            (KaiDue::Foreign, _) => return Err(StartError::Foreign(judgement.message)),
            (KaiDue::Nothing | KaiDue::NotServed | KaiDue::Delete | KaiDue::Wait, _) => return Ok(()),
        }
    }
    Err(StartError::Contended { what, tries: TRIES })
}

/// Deletes the default topology. First the deletion, then the finalizer: on one that is being deleted nobody can put it back.
async fn remove(client: &Client) -> Result<(), StartError> {
    let api: Api<ClusterTopology> = Api::all(client.clone());
    let what = format!("delete ClusterTopology `{DEFAULT_TOPOLOGY}`");
    for _ in 0..TRIES {
        let live = match look(&api, &what).await {
            Ok(Some(live)) => live,
            Ok(None) | Err(StartError::NotServed { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if live.metadata.deletion_timestamp.is_none() {
            delete(&api, &live, &what).await?;
        } else if is_held(&live) {
            release(&api, &live).await?;
        } else {
            let others = live.metadata.finalizers.unwrap_or_default().join(", ");
            tracing::warn!(
                topology = DEFAULT_TOPOLOGY,
                "the default topology is deleted once finalizers of others go: {others}"
            );
            return Ok(());
        }
    }
    Err(StartError::Contended { what, tries: TRIES })
}

/// Whether our finalizer is on it.
fn is_held(topology: &ClusterTopology) -> bool {
    topology.metadata.finalizers.iter().flatten().any(|name| name == finalizer::CLUSTER_TOPOLOGY)
}

/// Takes our finalizer off; whether it is off.
async fn release(api: &Api<ClusterTopology>, live: &ClusterTopology) -> Result<bool, StartError> {
    if !is_held(live) {
        return Ok(true);
    }
    let finalizers = live.metadata.finalizers.iter().flatten();
    let others: Vec<&String> = finalizers.filter(|name| *name != finalizer::CLUSTER_TOPOLOGY).collect();
    let patch = json!({"metadata": {
        "finalizers": others, "resourceVersion": live.metadata.resource_version, "uid": live.metadata.uid,
    }});
    let what = format!("take the finalizer off ClusterTopology `{DEFAULT_TOPOLOGY}`");
    match call(&what, api.patch(DEFAULT_TOPOLOGY, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(&patch))).await {
        Err(error) if is_outrun(&error) => Ok(false),
        answer => answer.map(|_| true),
    }
}

/// Deletes this very version of an object, or leaves it to the next look if somebody was quicker.
async fn delete<K>(api: &Api<K>, live: &K, what: &str) -> Result<(), StartError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let metadata = live.meta();
    let preconditions =
        Preconditions { uid: metadata.uid.clone(), resource_version: metadata.resource_version.clone() };
    let params = DeleteParams::default().preconditions(preconditions);
    match call(what, api.delete(DEFAULT_TOPOLOGY, &params)).await {
        Err(error) if is_outrun(&error) => Ok(()),
        answer => answer.map(drop),
    }
}

/// Waits until an object that is being deleted is gone.
async fn await_gone<K>(api: &Api<K>, live: &K) -> Result<(), StartError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + DeserializeOwned + 'static,
{
    let what = format!("make {} `{DEFAULT_TOPOLOGY}` anew", K::kind(&()));
    let uid = live.meta().uid.as_deref().unwrap_or_default();
    let gone = await_condition(api.clone(), DEFAULT_TOPOLOGY, conditions::is_deleted(uid));
    match tokio::time::timeout(PATIENCE, gone).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(StartError::Foreign(format!("cannot {what}: {error}"))),
        Err(_) => {
            let finalizers = live.meta().finalizers.iter().flatten().map(String::as_str);
            let others: Vec<&str> = finalizers.filter(|name| *name != finalizer::CLUSTER_TOPOLOGY).collect();
            Err(StartError::Late { what, more: format!("; finalizers that hold it: {}", others.join(", ")) })
        }
    }
}

/// Whether somebody changed or deleted the object since we looked.
fn is_outrun(error: &StartError) -> bool {
    matches!(error.code(), Some(404 | 409))
}

fn post() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
