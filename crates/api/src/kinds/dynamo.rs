//! DynamoGraphDeployment: a graph of components that serve a model, in the two versions that Dynamo's users write.
//!
//! Typed is what changes where pods stand or what makes them run; the rest is kept as it was written. What all shapes mean is read in
//! [`crate::dynamo`].

mod schema;
mod status;
pub mod v1alpha1;
mod v1beta1;

pub use schema::{map_of_services, services_list};
pub use status::{ComponentKind, ComponentStatus, DynamoGraphDeploymentStatus, DynamoState};
pub use v1beta1::{
    Backend, Component, ComponentTopology, ComponentType, DeploymentTopology, DynamoGraphDeployment,
    DynamoGraphDeploymentSpec, Multinode, PodTemplate, PodTemplateMetadata,
};
