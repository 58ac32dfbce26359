//! ResourceClaims that pods of a set share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A claim template that lives inside a PodCliqueSet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimTemplate {
    /// Name by which `resourceSharing` refers to this template.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// The claims to make, a `resource.k8s.io` ResourceClaimTemplateSpec.
    #[schemars(schema_with = "template_spec_schema")]
    pub template_spec: Map<String, Value>,
}

fn template_spec_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "The claims to make, a `resource.k8s.io` ResourceClaimTemplateSpec.",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true
    })
}

/// How many claims are made of one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum SharingScope {
    /// One claim for all replicas.
    AllReplicas,
    /// One claim for each replica.
    PerReplica,
}

/// A claim that pods share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSharing {
    /// Name of an entry of `resourceClaimTemplates`.
    pub name: String,
    /// Accepted for Grove's sake; must be empty, since the templates are those of this set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whether all replicas share one claim or each replica has its own.
    pub scope: SharingScope,
    /// Which children take part; all of them if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<ResourceSharingFilter>,
}

/// Which children of a set or scaling group share a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSharingFilter {
    /// Names of cliques that take part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_clique_names: Vec<String>,
    /// Names of scaling groups that take part; only on the set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_scaling_group_names: Vec<String>,
}
