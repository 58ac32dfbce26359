//! Topologies: ClusterTopologies and KAI's, and what the constraints of gangs mean in them.

use super::faults::{Faults, Of};
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::Domain;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{ClusterTopology, TopologyLevel, kai};
use trellis_engine::{Constraint, Level, Topology, Unready};

/// The two kinds that topologies are written in. A constraint is looked up among its own kind first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dialect {
    Grove,
    Kai,
}

/// The levels that a group asks for, as written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'a> {
    pub topology: &'a str,
    pub required: Option<&'a str>,
    pub preferred: Option<&'a str>,
}

/// All topologies, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Topologies {
    pub list: Vec<Topology>,
    /// Other names of the levels: KAI's aliases.
    aliases: Vec<Vec<Option<String>>>,
    by_name: BTreeMap<(String, Dialect), usize>,
}

/// A topology as read, with other names of its levels.
struct Read {
    name: String,
    dialect: Dialect,
    levels: Vec<Level>,
    aliases: Vec<Option<String>>,
}

impl Topologies {
    pub fn read(cluster: &[&ClusterTopology], kai: &[&kai::Topology], faults: &mut Faults) -> Self {
        let of_cluster = |(i, object): (usize, &&ClusterTopology)| {
            read_cluster_topology(object, &mut faults.of("ClusterTopology", i, &object.metadata))
        };
        let mut found: Vec<(usize, Read)> = numbered(cluster.iter().enumerate().map(of_cluster));
        let of_kai = |(i, object): (usize, &&kai::Topology)| {
            read_kai_topology(object, &mut faults.of("Topology", i, &object.metadata))
        };
        found.extend(numbered(kai.iter().enumerate().map(of_kai)));
        found.sort_by(|(i, a), (j, b)| (&a.name, a.dialect, i).cmp(&(&b.name, b.dialect, j)));
        let mut all = Self::default();
        for (i, read) in found {
            let key = (read.name.clone(), read.dialect);
            if all.by_name.contains_key(&key) {
                match read.dialect {
                    Dialect::Grove => faults.of("ClusterTopology", i, &cluster[i].metadata).duplicate(),
                    Dialect::Kai => faults.of("Topology", i, &kai[i].metadata).duplicate(),
                }
            } else {
                let index = all.add(read);
                all.by_name.insert(key, index);
            }
        }
        all
    }

    fn add(&mut self, read: Read) -> usize {
        let Read { name, levels, aliases, .. } = read;
        // The operator makes one of KAI's for each ClusterTopology; the two are one.
        let twin = self.by_name.get(&(name.clone(), Dialect::Grove)).copied();
        if let Some(twin) = twin.filter(|twin| mirrors(&levels, &self.list[*twin].levels)) {
            self.aliases[twin] = aliases;
            return twin;
        }
        self.list.push(Topology { name, levels });
        self.aliases.push(aliases);
        self.list.len() - 1
    }

    /// What a group asks for, in indices. Nothing if it names no level, or none that says more than another.
    pub fn constraint(&self, dialect: Dialect, group: &str, asked: Asked<'_>) -> Result<Option<Constraint>, Unready> {
        let topology = asked.topology;
        let (required, preferred) = (non_empty(asked.required), non_empty(asked.preferred));
        if required.is_none() && preferred.is_none() {
            return Ok(None);
        }
        let other = if dialect == Dialect::Grove { Dialect::Kai } else { Dialect::Grove };
        let find = |dialect| self.by_name.get(&(topology.to_owned(), dialect)).copied();
        let Some(index) = find(dialect).or_else(|| find(other)) else {
            return Err(Unready::UnknownTopology { group: group.to_owned(), topology: topology.to_owned() });
        };
        let level = |text: Option<&str>| match text.map(|text| (text, self.level(index, text))) {
            None => Ok(None),
            Some((_, Some(level))) => Ok(Some(level)),
            Some((text, None)) => Err(Unready::UnknownLevel {
                group: group.to_owned(),
                topology: topology.to_owned(),
                level: text.to_owned(),
            }),
        };
        let required = level(required)?;
        let preferred = level(preferred)?.filter(|preferred| required.is_none_or(|required| *preferred > required));
        Ok(Some(Constraint { topology: index, required, preferred }))
    }

    /// A level by its key, its name or its alias.
    fn level(&self, topology: usize, text: &str) -> Option<usize> {
        let levels = &self.list[topology].levels;
        let key = levels.iter().position(|level| level.key == text);
        let name = || levels.iter().position(|level| level.name == text);
        let alias = || self.aliases[topology].iter().position(|alias| alias.as_deref() == Some(text));
        key.or_else(name).or_else(alias)
    }
}

/// Text that is left empty says nothing.
pub(super) fn non_empty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Whether KAI's levels are those of the other, up to those inside a host, which KAI does not know.
fn mirrors(kai: &[Level], cluster: &[Level]) -> bool {
    let same = kai.iter().zip(cluster).all(|(kai, cluster)| kai.key == cluster.key);
    same && kai.len() <= cluster.len() && cluster[kai.len()..].iter().all(|level| level.is_zone)
}

/// Those that could be read, with their places.
fn numbered(read: impl Iterator<Item = Option<Read>>) -> Vec<(usize, Read)> {
    read.enumerate().filter_map(|(i, read)| Some((i, read?))).collect()
}

fn read_cluster_topology(object: &ClusterTopology, faults: &mut Of<'_>) -> Option<Read> {
    let levels = object.spec.levels.iter();
    unique(levels.clone().map(|level| level.domain.as_str()), "domain", faults);
    unique(levels.map(|level| level.key.as_str()), "key", faults);
    let sorted = object.spec.sorted_levels();
    let last = sorted.len().saturating_sub(1);
    let level = |(i, level): (usize, &TopologyLevel)| Level {
        name: level.domain.to_string(),
        key: level.key.clone(),
        is_zone: level.domain == Domain::Numa && i == last,
    };
    let levels = sorted.into_iter().enumerate().map(level).collect();
    Some(Read { name: faults.name()?.to_owned(), dialect: Dialect::Grove, levels, aliases: Vec::new() })
}

fn read_kai_topology(object: &kai::Topology, faults: &mut Of<'_>) -> Option<Read> {
    let levels = object.spec.levels.iter();
    unique(levels.clone().map(|level| level.node_label.as_str()), "nodeLabel", faults);
    let aliases: Vec<_> = levels.clone().map(|level| level.alias.clone().filter(|alias| !alias.is_empty())).collect();
    let level = |(level, alias): (&kai::KaiTopologyLevel, &Option<String>)| Level {
        name: alias.as_ref().unwrap_or(&level.node_label).clone(),
        key: level.node_label.clone(),
        is_zone: false,
    };
    let levels = levels.zip(&aliases).map(level).collect();
    Some(Read { name: faults.name()?.to_owned(), dialect: Dialect::Kai, levels, aliases })
}

fn unique<'a>(values: impl Iterator<Item = &'a str>, field: &str, faults: &mut Of<'_>) {
    let mut seen = BTreeSet::new();
    for (i, value) in values.enumerate() {
        if !seen.insert(value) {
            let path = Path::new("spec.levels").index(i).child(field);
            faults.push(FieldError::duplicate(&path, value));
        }
    }
}
