//! From domains to node label keys: required and preferred, at all three places.

use std::collections::{BTreeMap, BTreeSet};
use trellis_api::Domain;
use trellis_api::constraint::{self, Pack, places};
use trellis_api::kinds::{
    ClusterTopology, ClusterTopologySpec, GangPackConstraint, GangTopologyConstraint, PodCliqueSet,
};
use trellis_api::settings::Settings;

/// How a set's constraints stand to the topology they speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriftState {
    /// The set has no constraints.
    #[default]
    NotConstrained,
    /// Topology-aware scheduling is off; all constraints are left out.
    Disabled,
    /// The topology is not there; all constraints are left out.
    NotFound,
    /// Some levels are not in the topology; they are left out.
    LevelsMissing,
    /// Every level was translated.
    InSync,
}

/// What of a set's constraints could not be translated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// How the constraints stand to the topology.
    pub state: DriftState,
    /// The topology the set resolves to.
    pub topology: Option<String>,
    /// Domains that the set asks for and the topology does not have, widest first.
    pub missing: Vec<Domain>,
}

/// The translation of one set's constraints.
pub struct Translation<'a> {
    /// The topology and its levels; none if no constraint is to be written.
    levels: Option<(&'a str, &'a ClusterTopologySpec)>,
    /// What gangs prefer where the user names nothing.
    auto_preferred: Option<Domain>,
    drift: Drift,
}

impl<'a> Translation<'a> {
    /// Resolves the set's topology and finds out what of it is there.
    pub fn of(set: &'a PodCliqueSet, topologies: &'a BTreeMap<String, ClusterTopology>, settings: &Settings) -> Self {
        let none = |state, topology: Option<&str>| Self {
            levels: None,
            auto_preferred: None,
            drift: Drift { state, topology: topology.map(str::to_owned), missing: Vec::new() },
        };
        let Some(name) = constraint::resolved_name(set) else { return none(DriftState::NotConstrained, None) };
        if !settings.topology_enabled {
            return none(DriftState::Disabled, Some(name));
        }
        let Some(topology) = topologies.get(name) else { return none(DriftState::NotFound, Some(name)) };
        let asked = places(set).into_iter().map(|place| place.pack());
        let asked: BTreeSet<Domain> = asked.flat_map(|pack| [pack.required, pack.preferred]).flatten().collect();
        let missing: Vec<Domain> = asked.into_iter().filter(|domain| topology.spec.key(*domain).is_none()).collect();
        let state = if missing.is_empty() { DriftState::InSync } else { DriftState::LevelsMissing };
        let narrowest = topology.spec.narrowest_up_to_host().filter(|_| settings.auto_preferred);
        Self {
            levels: Some((name, &topology.spec)),
            auto_preferred: narrowest.map(|level| level.domain),
            drift: Drift { state, topology: Some(name.to_owned()), missing },
        }
    }

    /// What could not be translated.
    pub fn drift(&self) -> Drift {
        self.drift.clone()
    }

    /// Name of the topology that translated constraints speak of.
    pub fn topology(&self) -> Option<&'a str> {
        self.levels.map(|(name, _)| name)
    }

    /// Whether a level is there to be translated.
    pub fn has(&self, domain: Domain) -> bool {
        self.levels.is_some_and(|(_, levels)| levels.key(domain).is_some())
    }

    /// The constraint of a place. A preference is the user's, else the automatic one; one that is not narrower than
    /// what is required, or that the topology lacks, is left out and not replaced.
    pub fn constraint(&self, pack: Pack) -> Option<GangTopologyConstraint> {
        let (_, levels) = self.levels?;
        let required = pack.required.filter(|domain| levels.key(*domain).is_some());
        let narrower = |preferred: &Domain, than: Option<Domain>| than.is_none_or(|than| preferred.narrower_than(than));
        let preferred = match pack.preferred {
            // Judged by what is written, so that a level's going does not bring a redundant preference to life.
            Some(own) => Some(own).filter(|own| narrower(own, pack.required)),
            None => self.auto_preferred.filter(|auto| narrower(auto, required)),
        };
        let key = |domain: Option<Domain>| domain.and_then(|domain| levels.key(domain)).map(str::to_owned);
        let (required, preferred) = (key(required), key(preferred));
        (required.is_some() || preferred.is_some())
            .then_some(GangTopologyConstraint { pack_constraint: Some(GangPackConstraint { required, preferred }) })
    }
}
