//! The nodes among the objects of the input, for those who ask what could ever fit on them.

use super::items::typed;
use crate::objects::Object;
use k8s_openapi::api::core::v1::Node;
use trellis_api::kinds::{NodeResourceTopology, SimulatedCluster};
use trellis_lower::osmo::Cluster;

/// The nodes of the input.
#[derive(Debug, Default)]
pub struct Given {
    nodes: Vec<Node>,
    simulated_clusters: Vec<SimulatedCluster>,
    node_resource_topologies: Vec<NodeResourceTopology>,
}

impl Given {
    /// The nodes, as they are asked for.
    pub fn cluster(&self) -> Cluster<'_> {
        Cluster {
            nodes: self.nodes.iter().collect(),
            simulated_clusters: self.simulated_clusters.iter().collect(),
            node_resource_topologies: self.node_resource_topologies.iter().collect(),
        }
    }
}

/// The nodes among objects; what cannot be read as one is passed over.
pub fn nodes_of<'a>(objects: impl Iterator<Item = &'a Object>) -> Given {
    let mut found = Given::default();
    for object in objects {
        let value = &object.document.value;
        match object.kind.as_str() {
            "Node" => found.nodes.extend(typed(value).ok()),
            "SimulatedCluster" => found.simulated_clusters.extend(typed(value).ok()),
            "NodeResourceTopology" => found.node_resource_topologies.extend(typed(value).ok()),
            _ => {}
        }
    }
    found
}
