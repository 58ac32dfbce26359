//! What an OperatorConfiguration comes to, with everything that was left out filled in.

mod process;

pub use process::{Address, Certificate, Election, Process};

use crate::kinds::config::{KaiConfig, OperatorConfiguration, SchedulerProfile};
use crate::kinds::{ClusterTopology, ClusterTopologySpec, TopologyLevel};
use crate::names::{self, profile};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// What admission and lowering need of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether topology-aware scheduling is on.
    pub topology_enabled: bool,
    /// Whether gangs prefer the narrowest level up to the host where the user names none.
    pub auto_preferred: bool,
    /// Enabled scheduler profiles.
    pub profiles: Vec<String>,
    /// The profile of workloads that name none.
    pub default_profile: String,
    /// Whether KAI Topologies are kept for ClusterTopologies.
    pub create_kai_topologies: bool,
    /// Image of the init container that waits for other cliques.
    pub init_image: String,
    /// Levels of the default topology where the configuration owns it; otherwise it comes with the objects.
    pub default_levels: Option<Vec<TopologyLevel>>,
}

/// Image of the init container where the configuration names none.
pub fn default_init_image() -> String {
    format!("trellis:{}", env!("CARGO_PKG_VERSION"))
}

/// Settings in force without a configuration: topology on, all profiles enabled, ours the default.
impl Default for Settings {
    fn default() -> Self {
        Self {
            topology_enabled: true,
            auto_preferred: true,
            profiles: profile::ALL.map(str::to_owned).to_vec(),
            default_profile: profile::TRELLIS.to_owned(),
            create_kai_topologies: true,
            init_image: default_init_image(),
            default_levels: None,
        }
    }
}

impl Settings {
    /// Resolves a configuration that was admitted. Total: of one that was not, it makes the best sense.
    pub fn of(config: &OperatorConfiguration) -> Self {
        let tas = &config.topology_aware_scheduling;
        let mut profiles: Vec<String> = config.scheduler.profiles.iter().map(|p| p.name.clone()).collect();
        if profiles.is_empty() {
            profiles.push(profile::TRELLIS.to_owned());
        }
        let default_profile = default_profile(config).unwrap_or_else(|| profiles[0].clone());
        if !profiles.iter().any(|name| name == profile::DEFAULT_SCHEDULER) {
            profiles.push(profile::DEFAULT_SCHEDULER.to_owned());
        }
        let kai: KaiConfig = profile_config(&config.scheduler.profiles, profile::KAI);
        Self {
            topology_enabled: tas.enabled,
            auto_preferred: tas.auto_preferred.unwrap_or(true),
            profiles,
            default_profile,
            create_kai_topologies: kai.create_topology_resources.unwrap_or(true),
            init_image: config.init_image.clone().filter(|i| !i.is_empty()).unwrap_or_else(default_init_image),
            default_levels: Some(tas.levels.clone()),
        }
    }

    /// The profile that serves a workload which names this scheduler, or none.
    pub fn profile<'a>(&'a self, scheduler_name: Option<&'a str>) -> &'a str {
        scheduler_name.filter(|name| !name.is_empty()).unwrap_or(&self.default_profile)
    }

    /// Whether workloads may name this scheduler.
    pub fn is_enabled(&self, profile: &str) -> bool {
        self.profiles.iter().any(|name| name == profile)
    }

    /// The default topology as the operator keeps it, where the configuration owns it and topology is on.
    pub fn default_topology(&self) -> Option<ClusterTopology> {
        let levels = self.default_levels.as_ref().filter(|_| self.topology_enabled)?;
        let mut levels = levels.clone();
        levels.sort_by_key(|level| level.domain);
        Some(ClusterTopology {
            metadata: ObjectMeta {
                name: Some(names::DEFAULT_TOPOLOGY.to_owned()),
                labels: Some(BTreeMap::from([(names::label::MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned())])),
                finalizers: Some(vec![names::finalizer::CLUSTER_TOPOLOGY.to_owned()]),
                ..ObjectMeta::default()
            },
            spec: ClusterTopologySpec { levels },
            status: None,
        })
    }
}

/// The default profile that the configuration names, by either of the two ways.
fn default_profile(config: &OperatorConfiguration) -> Option<String> {
    let named = config.scheduler.default_profile_name.clone().filter(|name| !name.is_empty());
    named.or_else(|| config.scheduler.profiles.iter().find(|p| p.is_default).map(|p| p.name.clone()))
}

/// The options of a profile; what cannot be read counts as left out, admission has said so before.
pub fn profile_config<T: DeserializeOwned + Default>(profiles: &[SchedulerProfile], name: &str) -> T {
    let config = profiles.iter().find(|p| p.name == name).and_then(|p| p.config.clone());
    config.and_then(|map| serde_json::from_value(map.into()).ok()).unwrap_or_default()
}
