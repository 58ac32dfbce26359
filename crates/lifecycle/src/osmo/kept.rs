//! The Topology of a pool, and what becomes of it when the pool's levels change.
//!
//! Levels of a Topology cannot be changed, so it is deleted and made anew under its name. Gangs that were made for the former levels speak
//! of them and not of the new ones; before anything is deleted, they are moved to a Topology of their own, which holds the levels that
//! they were made for and goes with the last of them. So no gang that runs is ever without the levels that it names, whoever schedules it;
//! only gangs that are new meanwhile wait for the moment between the deletion and the creation.

use super::pool::{is_ours, owns_alone};
use crate::children;
use crate::diff;
use crate::observed::ByName;
use crate::plan::{Action, Kind, Plan, Target, Write, site};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use trellis_api::kinds::kai::{KaiPodGroup, KaiTopologyLevel, Topology, TopologySpec};
use trellis_api::kinds::osmo::{Pool, TopologyKey};
use trellis_api::names::{annotation, osmo};
use trellis_lower::osmo as lowered;

/// Brings the Topologies of a pool into line. None if it needs and has none; an error while it is not what it should be.
pub fn decide(
    pool: &Pool,
    topologies: &ByName<Topology>,
    groups: &[Arc<KaiPodGroup>],
    wanted: Option<&Topology>,
    plan: &mut Plan,
) -> Option<Result<(), String>> {
    let name = osmo::topology(pool.spec.namespace(), pool.metadata.name.as_deref().unwrap_or_default());
    let levels = lowered::written_levels(&pool.spec.topology_keys);
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let mut moves = Vec::new();
    let mut makes = BTreeSet::new();
    for group in groups {
        let Some(named) = topology_of(group) else { continue };
        used.insert(named);
        let made_for = group.metadata.annotations.as_ref().and_then(|it| it.get(annotation::POOL_LEVELS));
        let Some(made_for) = made_for else { continue };
        let kept = osmo::kept_topology(&name, made_for);
        // One that was made for other levels than the pool has now, and has been moved or is to be.
        if named == kept || (named == name && *made_for != levels) {
            match topologies.get(&kept) {
                Some(_) if named == kept => {}
                Some(_) => moves.extend(moved(group, &kept)),
                None => drop(makes.insert((kept, made_for.as_str()))),
            }
        }
    }
    for (kept, levels) in makes {
        let topology = kept_topology(pool, &kept, &lowered::read_levels(levels));
        let write = children::create(site::POOL_OBJECT, Kind::KaiTopology, &topology.metadata, &topology);
        plan.writes.extend(write);
    }
    let is_moving = !plan.writes.is_empty() || !moves.is_empty();
    plan.writes.extend(moves);
    for (_, old) in topologies.iter().filter(|(other, _)| **other != name) {
        let is_unused = !used.contains(old.metadata.name.as_deref().unwrap_or_default());
        if is_unused && !is_moving && owns_alone(&old.metadata, pool) {
            plan.delete(site::POOL_GONE, Kind::KaiTopology, &old.metadata, true);
        }
    }
    let live = topologies.get(&name);
    match (live, wanted) {
        (None, None) => None,
        (None, Some(wanted)) => {
            let write = children::create(site::POOL_OBJECT, Kind::KaiTopology, &wanted.metadata, wanted);
            plan.writes.extend(write);
            Some(Err("its Topology is being made".to_owned()))
        }
        (Some(live), wanted) if !is_ours(&live.metadata, pool) => {
            wanted.map(|_| Err(format!("Topology {name} is there already, and is not this pool's")))
        }
        (Some(live), None) => {
            if !used.contains(name.as_str()) && !is_moving {
                plan.delete(site::POOL_GONE, Kind::KaiTopology, &live.metadata, true);
            }
            None
        }
        (Some(live), Some(wanted)) => {
            if lowered::is_current(live, wanted) && owns_alone(&live.metadata, pool) {
                return Some(Ok(()));
            }
            if !is_moving {
                plan.delete(site::POOL_GONE, Kind::KaiTopology, &live.metadata, true);
            }
            Some(Err("its Topology is made anew, because levels cannot be changed".to_owned()))
        }
    }
}

/// The Topology that a gang speaks of; all its constraints name the same.
fn topology_of(group: &KaiPodGroup) -> Option<&str> {
    let own = group.spec.topology_constraint.iter();
    let all = own.chain(group.spec.sub_groups.iter().filter_map(|sub| sub.topology_constraint.as_ref()));
    all.filter_map(|constraint| constraint.topology.as_deref()).find(|name| !name.is_empty())
}

/// The same gang, with constraints that speak of another Topology.
fn moved(group: &KaiPodGroup, topology: &str) -> Option<Write> {
    let mut spec = group.spec.clone();
    lowered::speak_of(&mut spec, topology);
    let value = |spec| serde_json::to_value(spec).unwrap_or_default();
    let changes: Value = diff::merge(&value(&group.spec), &value(&spec))?;
    let metadata = &group.metadata;
    let mut patch = json!({ "spec": changes });
    patch["metadata"] = json!({ "resourceVersion": metadata.resource_version, "uid": metadata.uid });
    let target = Target::of(Kind::KaiPodGroup, metadata);
    Some(Write { site: site::POOL_MOVE, target, action: Action::Patch(patch) })
}

/// A Topology with levels that the pool had.
fn kept_topology(pool: &Pool, name: &str, levels: &[TopologyKey]) -> Topology {
    let wanted = lowered::pool_objects(&Pool {
        spec: trellis_api::kinds::osmo::PoolSpec { topology_keys: levels.to_vec(), ..pool.spec.clone() },
        ..pool.clone()
    });
    let levels = levels.iter().map(|level| KaiTopologyLevel { node_label: level.label.clone(), alias: None });
    let spec = TopologySpec { levels: levels.collect() };
    let metadata = wanted.topology.map(|topology| topology.metadata).unwrap_or_default();
    Topology { metadata: ObjectMeta { name: Some(name.to_owned()), ..metadata }, spec }
}
