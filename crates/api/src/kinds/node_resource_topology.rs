//! NodeResourceTopology: what the zones inside a node (NUMA) offer, as node agents report it. Only read.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The zones of one node, of `topology.node.k8s.io/v1alpha2`. It has the node's name, and no `spec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeResourceTopology {
    /// `topology.node.k8s.io/v1alpha2`.
    pub api_version: String,
    /// `NodeResourceTopology`.
    pub kind: String,
    /// Its name is the node's.
    #[schemars(schema_with = "metadata_schema")]
    pub metadata: ObjectMeta,
    /// The zones.
    pub zones: Vec<NodeZone>,
}

/// A zone inside a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeZone {
    /// Name of the zone.
    pub name: String,
    /// What it is: `Node` for a NUMA node. Zones of other types are not looked at.
    #[serde(rename = "type")]
    pub type_: String,
    /// Name of the zone around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What it offers.
    pub resources: Vec<NodeZoneResource>,
}

/// What a zone offers of one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeZoneResource {
    /// Name of the resource.
    pub name: String,
    /// All there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "quantity_schema")]
    pub capacity: Option<Quantity>,
    /// What pods may use of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "quantity_schema")]
    pub allocatable: Option<Quantity>,
    /// What no pod uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "quantity_schema")]
    pub available: Option<Quantity>,
}

impl NodeZoneResource {
    /// What is still free, and the field that says so. An agent reports all three; by hand one is enough.
    pub fn free(&self) -> Option<(&'static str, &Quantity)> {
        let fields = [("available", &self.available), ("allocatable", &self.allocatable), ("capacity", &self.capacity)];
        fields.into_iter().find_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// All that pods may use, and the field that says so.
    pub fn all(&self) -> Option<(&'static str, &Quantity)> {
        let fields = [("allocatable", &self.allocatable), ("capacity", &self.capacity)];
        fields.into_iter().find_map(|(field, value)| Some((field, value.as_ref()?)))
    }
}

fn metadata_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn quantity_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true})
}
