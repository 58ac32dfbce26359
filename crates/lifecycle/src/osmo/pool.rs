//! What is due for one pool: its queues and priority classes, its Topology, and what users can see of it.
//!
//! What pools share (the queue above theirs, the priority classes) is owned by all of them, so it goes with the last. A finalizer holds a pool,
//! and with it all that gangs rely on, until the last gang of the pool is gone.

use super::kept;
use super::{condition, short};
use crate::children;
use crate::diff;
use crate::observed::ByName;
use crate::picture::is_child_of;
use crate::plan::{Action, Kind, Note, Plan, Target, Write, site};
use crate::topology::{NodeLabels, listed};
use jiff::Timestamp;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use trellis_api::admission::validate_pool;
use trellis_api::kinds::kai::{KaiPodGroup, Queue, Topology};
use trellis_api::kinds::osmo::{Pool, PoolStatus};
use trellis_api::names::{MANAGED_BY, finalizer, label, osmo};
use trellis_lower::osmo::{self as lowered, PoolObjects};

/// Whether workflows can run in the pool.
const READY: &str = "Ready";
/// Whether a deletion that was asked for has to wait; only there while one is.
const DELETION_BLOCKED: &str = "DeletionBlocked";
/// The conditions that we write; others' are left alone.
const CONDITIONS: [&str; 4] = [Pool::ADMITTED, READY, Pool::TOPOLOGY_IN_SYNC, DELETION_BLOCKED];

/// A pool as it was seen, with what its decisions look at.
#[derive(Clone, Debug)]
pub struct PoolObserved<'a> {
    /// The pool.
    pub pool: &'a Pool,
    /// All queues; none where the cluster serves none.
    pub queues: Option<ByName<Queue>>,
    /// All of KAI's Topologies; none where the cluster serves none.
    pub topologies: Option<ByName<Topology>>,
    /// All gangs of workflows.
    pub pod_groups: Vec<Arc<KaiPodGroup>>,
    /// All priority classes.
    pub classes: ByName<PriorityClass>,
    /// Every node.
    pub nodes: &'a [NodeLabels],
}

/// What is due for one pool. Where it `judges`, nobody has looked at the pool before it was stored; what is not sound gets no objects.
///
/// What a pool that is gone has made goes by its owner references.
pub fn decide(seen: &PoolObserved<'_>, judges: bool, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let pool = seen.pool;
    let users = users(seen);
    let is_going = pool.metadata.deletion_timestamp.is_some();
    if is_going && (users.is_empty() || !is_held(pool)) {
        plan.writes.extend(change_finalizer(pool, false));
        return plan;
    }
    let errors = if judges { validate_pool(pool).errors } else { Vec::new() };
    if !errors.is_empty() {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        write_status(
            seen,
            &PoolObjects::default(),
            &Said { refused: Some(all.join("; ")), judges, ..Said::default() },
            now,
            &mut plan,
        );
        return plan;
    }
    if !is_going {
        plan.writes.extend(change_finalizer(pool, true));
    }
    let wanted = lowered::pool_objects(pool);
    let mut trouble = Vec::new();
    share_classes(seen, &mut plan);
    match &seen.queues {
        Some(queues) => write_queues(seen, queues, &wanted, &mut trouble, &mut plan),
        // Ours reads none, so they are not missed.
        None if pool.spec.scheduler_type() == "kai" => trouble.push(not_served("Queue")),
        None => {}
    }
    let in_sync = match &seen.topologies {
        Some(topologies) => kept::decide(pool, topologies, &seen.pod_groups, wanted.topology.as_ref(), &mut plan),
        None => wanted.topology.as_ref().map(|_| Err(not_served("Topology"))),
    };
    if plan.writes.iter().any(|write| matches!(write.action, Action::Delete { .. })) {
        plan.confirm(Kind::Pool, &pool.metadata);
    }
    trouble.extend(in_sync.clone().and_then(Result::err));
    let blocked = is_going.then(|| format!("gangs run in it: {}", listed(&users)));
    let said = Said { judges, refused: None, trouble: trouble.into_iter().next(), in_sync, blocked };
    write_status(seen, &wanted, &said, now, &mut plan);
    plan
}

/// Namespace and name of every gang of the pool.
fn users(seen: &PoolObserved<'_>) -> Vec<(String, String)> {
    let pool = osmo::label_value(seen.pool.metadata.name.as_deref().unwrap_or_default());
    let is_in_it = |group: &&Arc<KaiPodGroup>| {
        let labels = group.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(osmo::label::POOL)).is_some_and(|of| *of == pool)
    };
    let named = |group: &Arc<KaiPodGroup>| {
        let metadata = &group.metadata;
        (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
    };
    seen.pod_groups.iter().filter(is_in_it).map(named).collect()
}

fn is_held(pool: &Pool) -> bool {
    pool.metadata.finalizers.iter().flatten().any(|name| name == finalizer::POOL)
}

/// Puts our finalizer on, or takes it off. The list is replaced as a whole, for the version that was seen.
fn change_finalizer(pool: &Pool, wanted: bool) -> Option<Write> {
    if is_held(pool) == wanted {
        return None;
    }
    let metadata = &pool.metadata;
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|name| name != finalizer::POOL);
    finalizers.extend(wanted.then(|| finalizer::POOL.to_owned()));
    let patch = json!({"metadata": {
        "finalizers": finalizers, "resourceVersion": metadata.resource_version, "uid": metadata.uid,
    }});
    Some(Write { site: site::POOL_FINALIZER, target: Target::of(Kind::Pool, metadata), action: Action::Patch(patch) })
}

fn not_served(kind: &str) -> String {
    format!("the cluster serves no {kind} of KAI's; hint: kubectl apply --server-side -f <(trellis crds --with kai)")
}

/// A reference that does not keep others from owning the object too.
fn owner(pool: &Pool) -> Option<OwnerReference> {
    let owner = trellis_lower::owner_reference(pool)?;
    Some(OwnerReference { controller: None, block_owner_deletion: None, ..owner })
}

/// A change that makes the pool one of the owners of an object of ours, or no longer. An object of somebody else's is left alone.
fn own_too(kind: Kind, live: &ObjectMeta, pool: &Pool, wanted: bool) -> Option<Write> {
    let labels = live.labels.as_ref()?;
    if labels.get(label::MANAGED_BY).is_none_or(|by| by != MANAGED_BY) || live.deletion_timestamp.is_some() {
        return None;
    }
    let owner = owner(pool)?;
    let mut owners = live.owner_references.clone().unwrap_or_default();
    if owners.iter().any(|other| other.uid == owner.uid) == wanted {
        return None;
    }
    owners.retain(|other| other.uid != owner.uid);
    owners.extend(wanted.then_some(owner));
    owners.sort_by(|a, b| (&a.name, &a.uid).cmp(&(&b.name, &b.uid)));
    let patch = json!({"metadata": {
        "ownerReferences": owners, "resourceVersion": live.resource_version, "uid": live.uid,
    }});
    Some(Write { site: site::POOL_OBJECT, target: Target::of(kind, live), action: Action::Patch(patch) })
}

/// The classes of OSMO's priorities; those that somebody else has made are taken as they are.
fn share_classes(seen: &PoolObserved<'_>, plan: &mut Plan) {
    for mut class in lowered::priority_classes() {
        let name = class.metadata.name.clone().unwrap_or_default();
        match seen.classes.get(&name) {
            Some(live) => plan.writes.extend(own_too(Kind::PriorityClass, &live.metadata, seen.pool, true)),
            None => {
                class.metadata.owner_references = owner(seen.pool).map(|owner| vec![owner]);
                plan.writes.extend(children::create(site::POOL_OBJECT, Kind::PriorityClass, &class.metadata, &class));
            }
        }
    }
}

fn write_queues(
    seen: &PoolObserved<'_>,
    queues: &ByName<Queue>,
    wanted: &PoolObjects,
    trouble: &mut Vec<String>,
    plan: &mut Plan,
) {
    let pool = seen.pool;
    let name = |queue: &Queue| queue.metadata.name.clone().unwrap_or_default();
    if let Some(parent) = &wanted.parent_queue {
        match queues.get(&name(parent)) {
            Some(live) => plan.writes.extend(own_too(Kind::KaiQueue, &live.metadata, pool, true)),
            None => {
                let mut parent = parent.clone();
                parent.metadata.owner_references = owner(pool).map(|owner| vec![owner]);
                plan.writes.extend(children::create(site::POOL_OBJECT, Kind::KaiQueue, &parent.metadata, &parent));
            }
        }
    }
    if let Some(queue) = &wanted.queue {
        match queues.get(&name(queue)) {
            None => plan.writes.extend(children::create(site::POOL_OBJECT, Kind::KaiQueue, &queue.metadata, queue)),
            Some(live) if !is_ours(&live.metadata, pool) => {
                trouble.push(format!("Queue {} is there already, and is not this pool's", name(queue)));
            }
            Some(live) => {
                let value = |queue: &Queue| serde_json::to_value(&queue.spec).unwrap_or_default();
                let spec = diff::merge_spoken(&value(live), &value(queue));
                let body: Map<String, Value> = spec.map(|spec| ("spec".to_owned(), spec)).into_iter().collect();
                let (live, desired) = (&live.metadata, &queue.metadata);
                plan.writes.extend(children::change(site::POOL_OBJECT, Kind::KaiQueue, live, desired, body));
            }
        }
    }
    // Those that a former namespace or scheduler had go when no gang names them any more, and those above them then.
    let mut kept: BTreeSet<String> = wanted.parent_queue.iter().chain(&wanted.queue).map(name).collect();
    kept.extend(seen.pod_groups.iter().filter_map(|group| group.spec.queue.clone()));
    let parents: Vec<String> = kept.iter().filter_map(|name| queues.get(name)?.spec.parent_queue.clone()).collect();
    kept.extend(parents);
    for (_, queue) in queues.iter().filter(|(name, _)| !kept.contains(*name)) {
        if owns_alone(&queue.metadata, pool) {
            plan.delete(site::POOL_GONE, Kind::KaiQueue, &queue.metadata, true);
        } else {
            plan.writes.extend(own_too(Kind::KaiQueue, &queue.metadata, pool, false));
        }
    }
}

/// Whether the object is ours, and this pool's or nobody's.
pub(super) fn is_ours(metadata: &ObjectMeta, pool: &Pool) -> bool {
    let by = metadata.labels.as_ref().and_then(|labels| labels.get(label::MANAGED_BY));
    by.is_some_and(|by| by == MANAGED_BY) && is_child_of(metadata, pool.metadata.uid.as_deref())
}

/// Whether this pool is the only owner of an object of ours.
pub(super) fn owns_alone(metadata: &ObjectMeta, pool: &Pool) -> bool {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    is_ours(metadata, pool) && matches!(owners, [owner] if Some(&owner.uid) == pool.metadata.uid.as_ref())
}

/// What the conditions of a pool come from.
#[derive(Default)]
struct Said {
    judges: bool,
    /// Why it is not sound.
    refused: Option<String>,
    /// Why workflows cannot run in it.
    trouble: Option<String>,
    in_sync: Option<Result<(), String>>,
    /// Why its deletion waits.
    blocked: Option<String>,
}

fn write_status(seen: &PoolObserved<'_>, wanted: &PoolObjects, said: &Said, now: Timestamp, plan: &mut Plan) {
    let pool = seen.pool;
    let metadata = &pool.metadata;
    let old = pool.status.clone().unwrap_or_default();
    let one =
        |type_: &str, said: (&str, &str, String)| condition(&old.conditions, type_, said, metadata.generation, now);
    let mut conditions = Vec::new();
    if said.judges {
        conditions.push(one(
            Pool::ADMITTED,
            match &said.refused {
                Some(why) => ("False", "Refused", short(why)),
                None => ("True", "Admitted", String::new()),
            },
        ));
    }
    let ready = match (&said.refused, &said.blocked, &said.trouble) {
        (Some(why), ..) => ("False", "Refused", short(why)),
        (None, Some(why), _) => ("False", "Deleted", format!("is being deleted; {why}")),
        (None, None, Some(why)) => ("False", "NotReady", why.clone()),
        (None, None, None) => ("True", "Ready", String::new()),
    };
    conditions.push(one(READY, ready));
    conditions.extend(said.in_sync.as_ref().map(|in_sync| match in_sync {
        Ok(()) => one(Pool::TOPOLOGY_IN_SYNC, ("True", "InSync", String::new())),
        Err(why) => one(Pool::TOPOLOGY_IN_SYNC, ("False", "OutOfSync", why.clone())),
    }));
    conditions.extend(said.blocked.as_ref().map(|why| one(DELETION_BLOCKED, ("True", "Used", why.clone()))));
    note_changes(pool, &old, &conditions, plan);
    conditions.extend(old.conditions.iter().filter(|it| !CONDITIONS.contains(&it.type_.as_str())).cloned());
    let (nodes, levels) = lowered::levels(&pool.spec, seen.nodes.iter().map(|node| &*node.labels));
    let name = |metadata: &ObjectMeta| metadata.name.clone();
    let status = PoolStatus {
        observed_generation: metadata.generation,
        conditions,
        queue: wanted.queue.as_ref().and_then(|queue| name(&queue.metadata)),
        topology: wanted.topology.as_ref().and_then(|topology| name(&topology.metadata)),
        nodes,
        levels,
    };
    let live = pool.status.as_ref().map_or_else(|| json!({}), |status| json!(status));
    if let Some(changes) = diff::merge(&live, &json!(status)) {
        let body = Map::from_iter([("status".to_owned(), changes)]);
        let patch = diff::patch(metadata, metadata, body).map(Action::PatchStatus);
        let target = Target::of(Kind::Pool, metadata);
        plan.statuses.extend(patch.map(|action| Write { site: site::POOL_STATUS, target, action }));
    }
}

/// Tells people when a condition comes to say something else.
fn note_changes(
    pool: &Pool,
    old: &PoolStatus,
    new: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
    plan: &mut Plan,
) {
    for condition in new.iter().filter(|condition| condition.type_ == READY) {
        let before = old.conditions.iter().find(|before| before.type_ == READY);
        if before.is_none_or(|before| before.status != condition.status) {
            let (warning, reason, message) = match condition.status.as_str() {
                "True" => (false, "Ready", "workflows can run in the pool".to_owned()),
                _ => (true, "NotReady", condition.message.clone()),
            };
            let about = Target::of(Kind::Pool, &pool.metadata);
            plan.status_notes.push(Note { about, warning, reason, message });
        }
    }
}
