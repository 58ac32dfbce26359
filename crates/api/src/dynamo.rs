//! The one reading of a DynamoGraphDeployment, whichever of its three shapes it was written in: services as a list, services as a map,
//! or components.
//!
//! [`Graph`] is what admission and lowering look at: the stored version, with the way back to the path that the user wrote.

mod backend;
mod command;
mod convert;
mod service;

pub use command::{Place, place};
pub use convert::{conversion_review, convert};
pub use service::{POD_FIELDS, PROBE_WAYS};

use crate::Domain;
use crate::admission::form;
use crate::admission::object::{Decoded, Kind, decode};
use crate::field::{FieldError, Path};
use crate::kinds::dynamo::{Component, ComponentType, DynamoGraphDeployment};
use crate::names::dynamo::annotation;
use crate::names::{self, dynamo, group};
use serde_json::{Map, Value};

/// How the components of a deployment are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// `spec.services`, a list with names.
    List,
    /// `spec.services`, a map by name.
    Map,
    /// `spec.components`, a list with names.
    Components,
}

impl Shape {
    /// The shape of a spec. Of one without either field, the version tells which was meant.
    pub fn of(spec: &Value, api_version: &str) -> Self {
        match (&spec["components"], &spec["services"]) {
            (Value::Null, Value::Object(_)) => Self::Map,
            (Value::Null, Value::Null) if api_version.ends_with(group::V1BETA1) => Self::Components,
            (Value::Null, _) => Self::List,
            _ => Self::Components,
        }
    }

    /// The field that holds the components.
    pub fn field(self) -> &'static str {
        match self {
            Self::List | Self::Map => "services",
            Self::Components => "components",
        }
    }
}

/// A deployment, as it is stored and as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// In the version that is stored.
    pub object: DynamoGraphDeployment,
    /// How its components were written.
    pub shape: Shape,
    /// The spec as it was written.
    written: Value,
}

impl Graph {
    /// Takes an object whose form was checked.
    fn of(value: &Value) -> Result<Self, FieldError> {
        let shape = Shape::of(&value["spec"], value["apiVersion"].as_str().unwrap_or_default());
        let stored = convert::stored(value);
        let object = serde_path_to_error::deserialize(stored).map_err(|error| {
            let path = Path::new(&error.path().to_string());
            FieldError::invalid(&path, Value::Null, error.inner().to_string())
        })?;
        Ok(Self { object, shape, written: value["spec"].clone() })
    }

    /// Reads a deployment, with all that is wrong with its form.
    pub fn read(value: &Value) -> Decoded<Self> {
        let mut value = value.clone();
        // Dynamo passes over services that are written as nothing.
        if let Some(Value::Object(services)) = value.pointer_mut("/spec/services") {
            services.retain(|_, service| !service.is_null());
        }
        let decoded: Decoded<Value> = decode(Kind::DynamoGraphDeployment, value);
        decoded.and_then(|value| Self::of(&value))
    }

    /// Name of the deployment; one like those that it may be given, where the server is to find one.
    pub fn name(&self) -> String {
        form::name(&self.object.metadata)
    }

    /// Namespace of the deployment.
    pub fn namespace(&self) -> &str {
        self.object.metadata.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or("default")
    }

    /// The components in their order: as they are listed, or by name where they are a map.
    pub fn components(&self) -> &[Component] {
        &self.object.spec.components
    }

    /// The component of that name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components().iter().find(|component| component.name == name)
    }

    /// An annotation of the deployment.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.object.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether the same set is made of both: the spec is the same, and so are the annotations that set and pods are made with.
    pub fn makes_the_same(&self, other: &Self) -> bool {
        let mut made_with = annotation::MADE_WITH.iter().chain(&annotation::PROPAGATED);
        self.object.spec == other.object.spec && made_with.all(|key| self.annotation(key) == other.annotation(key))
    }

    /// Whether any constraint is set.
    pub fn is_constrained(&self) -> bool {
        let own = self.object.spec.topology_constraint.as_ref();
        own.is_some_and(|own| own.pack_domain.is_some())
            || self.components().iter().any(|component| component.topology_constraint.is_some())
    }

    /// The topology name that the user wrote.
    pub fn written_topology(&self) -> Option<&str> {
        let name = self.object.spec.topology_constraint.as_ref()?.cluster_topology_name.as_deref();
        name.filter(|name| !name.is_empty())
    }

    /// The topology that the constraints speak of, if there are any.
    pub fn topology(&self) -> Option<&str> {
        self.is_constrained().then(|| self.written_topology().unwrap_or(names::DEFAULT_TOPOLOGY))
    }

    /// The domain that the whole deployment must share.
    pub fn domain(&self) -> Option<Domain> {
        self.object.spec.topology_constraint.as_ref()?.pack_domain
    }

    /// Name of the PodCliqueSet that is made.
    pub fn set_name(&self) -> String {
        let lengths = self.components().iter().map(Component::name_length);
        dynamo::set(&self.name(), lengths.max().unwrap_or_default())
    }

    /// Where the components stand.
    pub fn components_path(&self) -> Path {
        Path::new("spec").child(self.shape.field())
    }

    /// Where a component stands.
    pub fn path(&self, i: usize) -> Path {
        match (self.shape, self.components().get(i)) {
            (Shape::Map, Some(component)) => self.components_path().key(&component.name),
            _ => self.components_path().index(i),
        }
    }

    /// Where a component's name stands: in a map, it is the key.
    pub fn name_path(&self, i: usize) -> Path {
        match self.shape {
            Shape::Map => self.path(i),
            _ => self.path(i).child("name"),
        }
    }

    /// Where the topology's name stands.
    pub fn topology_name_path(&self) -> Path {
        let old = self.written["topologyConstraint"].get("topologyProfile").is_some();
        let is_alpha = self.shape != Shape::Components;
        let new = self.written["topologyConstraint"].get("clusterTopologyName").is_some();
        let field = if old || (is_alpha && !new) { "topologyProfile" } else { "clusterTopologyName" };
        Path::new("spec.topologyConstraint").child(field)
    }

    /// A component as it was written.
    pub fn written(&self, i: usize) -> &Value {
        let components = &self.written[self.shape.field()];
        match (self.shape, self.components().get(i)) {
            (Shape::Map, Some(component)) => &components[&component.name],
            _ => &components[i],
        }
    }

    /// The spec as it was written.
    pub fn written_spec(&self) -> &Value {
        &self.written
    }

    /// Where a field of a component's pods stands that is called `field` in the pod template's spec, such as `containers[0].image`: the
    /// nearest place that was written.
    pub fn pod_path(&self, i: usize, field: &str) -> Path {
        let path = self.path(i);
        if !self.written(i)["podTemplate"].is_null() || self.shape == Shape::Components {
            return path.child("podTemplate").child("spec").child(field);
        }
        service::pod_path(&path, self.written(i), field)
    }

    /// Where a component's labels or annotations stand.
    pub fn metadata_path(&self, i: usize, field: &str, key: Option<&str>) -> Path {
        let (path, written) = (self.path(i), self.written(i));
        let holder = |at: &[&str]| at.iter().fold(written, |value, step| &value[*step]);
        let places: [&[&str]; 3] = [&["podTemplate", "metadata", field], &["extraPodMetadata", field], &[field]];
        let has = |at: &&&[&str]| key.is_none_or(|key| holder(at).get(key).is_some()) && holder(at).is_object();
        match places.iter().find(has) {
            Some(at) => at.iter().fold(path, |path, step| path.child(step)),
            None => Path::new("spec").child(field),
        }
    }
}

impl Component {
    /// Nodes that one replica spans.
    pub fn nodes(&self) -> i32 {
        const DEFAULT: i32 = 2;
        self.multinode.as_ref().map_or(1, |multinode| multinode.node_count.unwrap_or(DEFAULT)).max(1)
    }

    /// Whether a replica spans several nodes.
    pub fn is_multinode(&self) -> bool {
        self.nodes() > 1
    }

    /// Whether single replicas on one node are gangs of their own.
    pub fn forces_group(&self) -> bool {
        self.experimental.get("grove").is_some_and(|grove| grove["forceScalingGroup"] == true)
    }

    /// Whether it becomes a scaling group.
    pub fn is_group(&self) -> bool {
        self.is_multinode() || self.forces_group()
    }

    /// Number of replicas.
    pub fn count(&self) -> i32 {
        self.replicas.unwrap_or(1)
    }

    /// Replicas that are placed together with the rest.
    pub fn minimum(&self) -> i32 {
        self.min_available.unwrap_or(1)
    }

    /// Whether it runs a model.
    pub fn is_worker(&self) -> bool {
        matches!(self.type_, Some(ComponentType::Worker | ComponentType::Prefill | ComponentType::Decode))
    }

    /// The domain that its pods must share.
    pub fn domain(&self) -> Option<Domain> {
        self.topology_constraint.as_ref().map(|constraint| constraint.pack_domain)
    }

    /// What its names take of the combined length.
    pub fn name_length(&self) -> usize {
        dynamo::length(&self.name, self.is_group(), self.is_multinode())
    }

    /// The container that runs it, with its position.
    pub fn main_container(&self) -> Option<(usize, &Map<String, Value>)> {
        let template = self.pod_template.as_ref()?;
        template
            .spec
            .objects("containers")
            .find(|(_, container)| container.get("name").is_some_and(|name| name == dynamo::MAIN_CONTAINER))
    }

    /// Words of the main container's command line.
    pub fn command_line(&self) -> Vec<&str> {
        let Some((_, main)) = self.main_container() else { return Vec::new() };
        let lists = ["command", "args"].map(|field| main.get(field).and_then(Value::as_array));
        lists.into_iter().flatten().flatten().filter_map(Value::as_str).collect()
    }
}
