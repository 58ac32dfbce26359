//! The kinds, as they stand on the wire. What they mean is decided elsewhere: [`crate::constraint`] reads both
//! spellings of a topology constraint, [`crate::admission`] says what is allowed, `trellis-lower` what follows.

mod cluster_topology;
pub mod config;
pub mod dynamo;
pub mod kai;
mod node_resource_topology;
pub mod osmo;
mod pod_clique;
mod pod_clique_scaling_group;
mod pod_clique_set;
mod pod_gang;
mod pod_spec;
mod resource_sharing;
mod simulated_cluster;
mod status;

pub use cluster_topology::{
    BackendTopologyStatus, BrokenNesting, ClusterTopology, ClusterTopologySpec, ClusterTopologyStatus,
    PartiallyLabelledNode, TopologyLevel,
};
pub use node_resource_topology::{NodeResourceTopology, NodeZone, NodeZoneResource};
pub use pod_clique::{
    AutoScalingConfig, PodClique, PodCliqueSpec, PodCliqueStatus, PodCliqueUpdateProgress, PodsSelectedToUpdate,
};
pub use pod_clique_scaling_group::{
    GroupUpdateProgress, PodCliqueScalingGroup, PodCliqueScalingGroupSpec, PodCliqueScalingGroupStatus,
    ReplicasSelectedToUpdate,
};
pub use pod_clique_set::{
    CliqueTemplate, HeadlessServiceConfig, PackConstraint, PodCliqueSet, PodCliqueSetSpec, PodCliqueSetStatus,
    PodCliqueSetTemplate, PodGangSummary, ReplicaUpdate, ScalingGroupTemplate, SetUpdateProgress, StartupType,
    TopologyConstraint, UpdateStrategy, UpdateStrategyType,
};
pub use pod_gang::{
    GangPackConstraint, GangPhase, GangTopologyConstraint, NamespacedName, PodGang, PodGangSpec, PodGangStatus,
    PodGroup, TopologyConstraintGroupConfig,
};
pub use pod_spec::PodSpec;
pub use resource_sharing::{ResourceClaimTemplate, ResourceSharing, ResourceSharingFilter, SharingScope};
pub use simulated_cluster::{SimulatedCluster, SimulatedClusterSpec, SimulatedLevel, SimulatedPool};
pub use status::{LastError, conditions_schema};
