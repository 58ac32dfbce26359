//! What users can see of a pool: its levels, and the domains that nodes make of them.

use std::collections::{BTreeMap, BTreeSet};
use trellis_api::kinds::osmo::{PoolLevel, PoolSpec, TopologyKey};

/// Domains that are named; the rest is counted.
const SHOWN: usize = 20;

/// The levels of a pool with their domains, and the number of nodes that carry the labels of all levels, by the labels of all
/// nodes. Others are in no domain: schedulers pass them over. Nodes that the pool's pods are kept from are not its own.
pub fn levels<'a>(
    pool: &PoolSpec,
    nodes: impl IntoIterator<Item = &'a BTreeMap<String, String>>,
) -> (i32, Vec<PoolLevel>) {
    let mut domains: Vec<BTreeSet<String>> = vec![BTreeSet::new(); pool.topology_keys.len()];
    let mut whole = 0_i32;
    for labels in nodes.into_iter().filter(|labels| pool.selects(labels)) {
        let values = pool.topology_keys.iter().map(|level| labels.get(&level.label).map(String::as_str));
        let Some(values) = values.collect::<Option<Vec<&str>>>() else { continue };
        whole = whole.saturating_add(1);
        for (depth, domains) in domains.iter_mut().enumerate() {
            domains.insert(values[..=depth].join("/"));
        }
    }
    let level = |(level, domains): (&TopologyKey, BTreeSet<String>)| PoolLevel {
        key: level.key.clone(),
        label: level.label.clone(),
        domains: i32::try_from(domains.len()).unwrap_or(i32::MAX),
        values: domains.into_iter().take(SHOWN).collect(),
    };
    let levels = pool.topology_keys.iter().zip(domains).map(level).collect();
    if pool.topology_keys.is_empty() { (0, levels) } else { (whole, levels) }
}

/// Levels as text, `key=label,key=label`; neither has one of these signs.
pub fn written_levels(levels: &[TopologyKey]) -> String {
    let written: Vec<String> = levels.iter().map(|level| format!("{}={}", level.key, level.label)).collect();
    written.join(",")
}

/// Levels from such a text.
pub fn read_levels(text: &str) -> Vec<TopologyKey> {
    let read = text.split(',').filter_map(|level| level.split_once('='));
    read.map(|(key, label)| TopologyKey { key: key.to_owned(), label: label.to_owned() }).collect()
}
