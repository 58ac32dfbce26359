//! The paragraph that a tired person reads.

use super::waiting::Binding;
use super::{Change, EmptyCluster, Explanation, Holder};
use crate::cluster::{Cluster, Place};
use crate::domains::NONE;
use crate::gang::{Gang, GroupId, Unready};
use crate::plan::Decision;
use crate::proof::{Claim, DomainId, Proof};
use crate::snapshot::Snapshot;

/// An amount of a resource as people write it.
pub fn amount(resource: &str, amount: i64) -> String {
    match resource {
        "cpu" if amount % 1000 == 0 => (amount / 1000).to_string(),
        "cpu" => format!("{amount}m"),
        // Only bytes are counted in powers of 1024.
        _ if resource == "memory" || resource.ends_with("storage") || resource.starts_with("hugepages-") => {
            let units = [
                (1i64 << 60, "Ei"),
                (1 << 50, "Pi"),
                (1 << 40, "Ti"),
                (1 << 30, "Gi"),
                (1 << 20, "Mi"),
                (1 << 10, "Ki"),
            ];
            let unit = units.iter().find(|(size, _)| amount != 0 && amount % size == 0);
            unit.map_or(amount.to_string(), |(size, unit)| format!("{}{unit}", amount / size))
        }
        _ => amount.to_string(),
    }
}

fn pods(count: u64) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

fn nodes(count: u64) -> String {
    if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") }
}

fn places(count: u64) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{count} places") }
}

fn group(gang: &Gang, group: GroupId) -> String {
    if group == 0 { "the gang".to_owned() } else { format!("group {}", gang.groups[group].name) }
}

fn path(snapshot: &Snapshot, domain: DomainId) -> String {
    let topology = usize::from(domain.topology);
    snapshot.domains[topology].values(&snapshot.cluster, topology, domain.index).join("/")
}

fn level(cluster: &Cluster, topology: usize, level: usize) -> &str {
    &cluster.topologies[topology].levels[level].name
}

/// Why a gang waits, where room has nothing to do with it.
pub(super) fn plain(gang: &Gang, proof: &Proof) -> Option<String> {
    Some(match proof {
        Claim::Unready(Unready::UnknownTopology { group, topology }) => {
            format!("Waits: {group} asks for topology {topology}, which does not exist.")
        }
        Claim::Unready(Unready::UnknownLevel { group, topology, level }) => {
            format!("Waits: {group} asks for level {level}, which topology {topology} does not have.")
        }
        Claim::Unready(Unready::Unsupported { text } | Unready::Missing { text }) => format!("Waits: {text}."),
        Claim::BaseWaits(base) => {
            format!("Waits for its base gang {}/{}, which has no place yet.", base.namespace, base.name)
        }
        Claim::TooFewPods { leaf, have, need } => format!(
            "Waits: {} has {have} of the {need} pods that must start together; the others are not there yet.",
            group(gang, *leaf)
        ),
        Claim::BoundApart { .. }
            if let Some(base) = gang.base.as_ref().filter(|_| gang.standing().next().is_none()) =>
        {
            format!(
                "Waits: pods of its base gang {}/{} run in different domains of the level that the base requires, so that there is none to join.",
                base.namespace, base.name
            )
        }
        Claim::BoundApart { group: at } if !gang.holds.is_empty() => format!(
            "Waits: pods of {} run, or places are held for them, in different domains of the level that it requires, so that no pod can be added without breaking it further.",
            group(gang, *at)
        ),
        Claim::BoundApart { group: at } => format!(
            "Waits: pods of {} run in different domains of the level that it requires, so that no pod can be added without breaking it further.",
            group(gang, *at)
        ),
        _ => return None,
    })
}

/// Where a placed gang stands, and why there.
pub(super) fn placed(snapshot: &Snapshot, gang: &Gang, decision: &Decision) -> Explanation {
    let cluster = &snapshot.cluster;
    let at = |under: GroupId| -> Vec<Place> {
        let is_under = |leaf: GroupId| gang.ancestry(leaf).any(|above| above == under);
        let bound = gang.pods.iter().filter(|pod| is_under(pod.group)).filter_map(|pod| pod.bound);
        let placed = decision.placed.iter().filter(|(pod, _)| is_under(gang.pods[*pod].group));
        bound.chain(placed.map(|(_, place)| *place)).collect()
    };
    let count = |topology: usize, level: usize, places: &[Place]| {
        let domains = &snapshot.domains[topology];
        let mut keys: Vec<u32> = places
            .iter()
            .map(|place| match domains.at(*place, level) {
                NONE => domains.len() + place.node,
                domain => domain,
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let all = at(0);
    let mut text = match all.len() {
        0 => "Nothing of it has to run".to_owned(),
        1 => "Its pod stands".to_owned(),
        many => format!("Its {many} pods stand"),
    };
    let root = gang.groups[0].constraint;
    let mut is_told = false;
    if let Some((topology, required)) = root.and_then(|it| Some((it.topology, it.required?)))
        && let [domain] = count(topology, required, &all).as_slice()
    {
        let id = DomainId { topology: u16::try_from(topology).unwrap_or(u16::MAX), index: *domain };
        text += &format!(" in {} {}", level(cluster, topology, required), path(snapshot, id));
        is_told = true;
    }
    if let Some((topology, preferred)) = root.and_then(|it| Some((it.topology, it.preferred?)))
        && !all.is_empty()
    {
        let used = count(topology, preferred, &all).len();
        let name = level(cluster, topology, preferred);
        let plural = if used == 1 { "" } else { "s" };
        text += &format!("{} on {used} {name}{plural}, the fewest that could be had", if is_told { "," } else { "" });
        is_told = true;
    }
    if !is_told && !all.is_empty() {
        let mut used: Vec<u32> = all.iter().map(|place| place.node).collect();
        used.sort_unstable();
        used.dedup();
        text += &format!(" on {}", nodes(used.len() as u64));
    }
    let inner =
        (1..gang.groups.len()).filter(|group| gang.groups[*group].constraint.is_some_and(|it| it.required.is_some()));
    let inner = inner.filter(|group| !at(*group).is_empty()).count();
    if inner > 0 {
        let who = if inner == 1 { "the group".to_owned() } else { format!("each of {inner} groups") };
        text += &format!("; {who} within it in the one domain that it requires");
    }
    text.push('.');
    let waiting = gang.pods.iter().filter(|pod| pod.bound.is_none()).count() - decision.placed.len();
    if waiting > 0 {
        text += &format!(" {} above the minimum wait for room in the same domains.", pods(waiting as u64));
    }
    Explanation { text, ..Explanation::default() }
}

/// Why a gang waits for room, and what would help.
pub(super) fn waiting(
    snapshot: &Snapshot,
    gang: &Gang,
    binding: &Binding,
    explanation: &Explanation,
    candidates: usize,
    is_proved: bool,
) -> String {
    let cluster = &snapshot.cluster;
    let mut text = String::new();
    if !is_proved {
        text += "Undecided: the budget of steps was spent before a place or a proof was found. ";
    }
    let best = explanation.domains.first();
    let fits = best.map_or(0, |best| best.fits);
    match binding.required {
        Some((topology, required)) => {
            let name = level(cluster, topology, required);
            let who = group(gang, binding.group);
            let is_under = |leaf: GroupId| gang.ancestry(leaf).any(|above| above == binding.group);
            let is_somewhere = gang.standing().any(|(leaf, _)| is_under(leaf));
            text += &format!("Waits: {} of {who} must share one {name}", pods(binding.needs));
            text += &match candidates {
                0 => format!(", and no node is in any {name}."),
                _ if fits >= binding.needs => {
                    format!("; each {name} with room for them is needed by other groups of the gang as well.")
                }
                1 if is_somewhere => format!(", and the {name} that it is in has room for {fits}."),
                1 => format!(", and the only {name} there is has room for {fits}."),
                _ => format!(", and no {name} of {candidates} has room for more than {fits}."),
            };
        }
        None if binding.needs == 1 => text += "Waits: no node has room for its pod.",
        None => {
            let needs = pods(binding.needs);
            text += &format!("Waits: {needs} must start together, and the cluster has room for {fits}.");
        }
    }
    if let Some(best) = best.filter(|_| fits < binding.needs) {
        let place = best.domain.map_or("the cluster".to_owned(), |domain| path(snapshot, domain));
        let short: Vec<String> = best
            .short
            .iter()
            .map(|(resource, lacks)| {
                let name = &cluster.resources[*resource];
                format!("{} {name}", amount(name, *lacks))
            })
            .collect();
        if !short.is_empty() {
            text += &format!(" Closest is {place}, short of {}", short.join(" and "));
            let holders: Vec<String> = best.holders.iter().take(3).map(holder).collect();
            if !holders.is_empty() {
                let more = best.holders.len().saturating_sub(3);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                text += &format!(", held by {}{more}", holders.join(", "));
            }
            text.push('.');
        }
    }
    match explanation.empty_cluster {
        Some(EmptyCluster::Fits) => text += " On the empty cluster it would fit.",
        Some(EmptyCluster::Never) => {
            text += " It would not fit on the empty cluster either";
            if let Some(largest) = &explanation.largest {
                text += &format!(": at most {} of {} would", largest.pods, largest.needs);
            }
            text.push('.');
        }
        None => {}
    }
    let helps: Vec<&str> = explanation.relaxations.iter().map(|relaxation| relaxation.text.as_str()).collect();
    if helps.is_empty() {
        text += " No single change was found that would make it fit.";
    } else {
        text += &format!(" It would fit with any one of these: {}.", helps.join("; "));
    }
    text
}

/// Who takes up room: by pods that run, or by places that are held for pods that come back.
fn holder(holder: &Holder) -> String {
    let name = format!("{}/{}", holder.name.namespace, holder.name.name);
    match (holder.pods, holder.held) {
        (_, 0) => name,
        (0, _) => format!("{name} for its returning pods"),
        (_, held) => format!("{name} with {} held for its returning pods", places(held)),
    }
}

/// A change in words.
pub(super) fn change(snapshot: &Snapshot, gang: &Gang, change: &Change) -> String {
    let cluster = &snapshot.cluster;
    match change {
        Change::WidenLevel { group: at, from, to } => {
            let topology = gang.groups[*at].constraint.map_or(0, |constraint| constraint.topology);
            let from = level(cluster, topology, *from);
            match to {
                Some(to) => {
                    format!("{} requires {} instead of {from}", group(gang, *at), level(cluster, topology, *to))
                }
                None => format!("{} does not require one {from}", group(gang, *at)),
            }
        }
        Change::AddNodes { domain: Some(domain), count } => {
            format!("{} more in {}, free and like its largest", nodes(*count), path(snapshot, *domain))
        }
        Change::AddNodes { domain: None, count } => format!("{} more, free and like the largest", nodes(*count)),
        Change::RemoveGang { gang } => format!("gang {}/{} of lower priority gone", gang.namespace, gang.name),
        Change::FewerPods { group: at, count } => format!("{} fewer in {}", pods(*count), group(gang, *at)),
        Change::AddLabels { domain, count, nodes: which } => {
            let first = which.first().map_or("", |node| cluster.nodes[*node as usize].name.as_str());
            format!("{} labelled as part of {} (such as {first})", nodes(*count), path(snapshot, *domain))
        }
        Change::Untaint { count, nodes: which } => {
            let first = which.first().map_or("", |node| cluster.nodes[*node as usize].name.as_str());
            format!("{} made schedulable again, taint or cordon gone (such as {first})", nodes(*count))
        }
    }
}
