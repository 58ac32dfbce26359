//! The CustomResourceDefinitions, generated from the kinds.

use crate::kinds::{ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, dynamo, kai, osmo};
use crate::names::group::V1BETA1;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;
use serde_json::Value;

/// Our own kinds.
pub fn own() -> Vec<CustomResourceDefinition> {
    let grove =
        [PodCliqueSet::crd(), PodCliqueScalingGroup::crd(), PodClique::crd(), ClusterTopology::crd(), PodGang::crd()];
    let osmo = [osmo::Pool::crd(), osmo::Workflow::crd()];
    grove.iter().chain(&osmo).map(tidy).collect()
}

/// Name of the definition of Dynamo's kind.
pub const DYNAMO: &str = "dynamographdeployments.nvidia.com";
/// The category that all our kinds are in.
const CATEGORY: &str = "trellis";

/// Whether a definition was made here; others define Dynamo's kind too.
pub fn is_ours(definition: &CustomResourceDefinition) -> bool {
    definition.spec.names.categories.iter().flatten().any(|category| category == CATEGORY)
}

/// Everything that an operator of ours serves: our own kinds, and Dynamo's.
pub fn served() -> Vec<CustomResourceDefinition> {
    own().into_iter().chain([dynamo()]).collect()
}

/// Dynamo's kind, in both versions. They differ in shape, so an operator that serves it puts its conversion webhook in; without one,
/// an object is handed out in the shape that it was written in, and read all the same.
pub fn dynamo() -> CustomResourceDefinition {
    tidy(&merged(vec![dynamo::v1alpha1::DynamoGraphDeployment::crd(), dynamo::DynamoGraphDeployment::crd()]))
}

/// Versions of one kind as one definition.
fn merged(versions: Vec<CustomResourceDefinition>) -> CustomResourceDefinition {
    kube_core::crd::merge_crds(versions, V1BETA1).expect("versions of one kind")
}

/// KAI's kinds, for clusters that do not run KAI.
pub fn kai() -> Vec<CustomResourceDefinition> {
    [kai::Topology::crd(), kai::KaiPodGroup::crd(), kai::Queue::crd()].iter().map(tidy).collect()
}

/// Brings a derived schema to what an API server likes best.
fn tidy(crd: &CustomResourceDefinition) -> CustomResourceDefinition {
    let mut value = serde_json::to_value(crd).expect("a CRD is JSON");
    for version in value["spec"]["versions"].as_array_mut().into_iter().flatten() {
        tidy_schema(&mut version["schema"]["openAPIV3Schema"]);
    }
    serde_json::from_value(value).expect("a tidied CRD is a CRD")
}

/// The same for a schema that stands alone.
///
/// - `nullable` and nulls in enums go: an explicit null then means "left out", as for the kinds of Kubernetes itself.
/// - `default: null` and empty containers as defaults go: they would be written into every object.
pub(crate) fn tidy_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("nullable");
            if let Some(Value::Array(words)) = map.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if matches!(map.get("default"), Some(Value::Null)) {
                map.remove("default");
            }
            let empty = |value: &Value| match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                _ => false,
            };
            if map.get("default").is_some_and(empty) {
                map.remove("default");
            }
            for (key, child) in map.iter_mut() {
                if key != "default" && key != "enum" {
                    tidy_schema(child);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy_schema),
        _ => {}
    }
}
