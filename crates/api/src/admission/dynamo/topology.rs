//! Topology constraints of a deployment: their form, how they nest, and the topology that they speak of.

use super::super::ClusterView;
use crate::Domain;
use crate::dynamo::Graph;
use crate::field::{FieldError, Path};
use crate::kinds::ClusterTopology;
use crate::names::LABEL_VALUE_MAX;
use crate::settings::Settings;

const TOPOLOGY_OFF: &str = "topology support is not enabled in the operator";
const RESOURCE: &str = "clustertopologies.grove.io";

/// What came of looking for a topology.
#[derive(Clone, Debug)]
pub enum TopologyRead<'a> {
    /// It was not looked for.
    Unread,
    /// It is there.
    Found(&'a ClusterTopology),
    /// There is none of that name; these are there.
    NotThere(Vec<String>),
    /// The operator may not read it, in the server's words.
    NotAllowed(String),
    /// The cluster does not know the kind.
    NotInstalled,
    /// Something else went wrong, in the server's words.
    Failed(String),
}

impl<'a> TopologyRead<'a> {
    /// Looks a topology up in what is known of the cluster.
    pub fn in_view(view: &'a ClusterView, name: &str) -> Self {
        let all = || view.topologies.keys().cloned().collect();
        view.topologies.get(name).map_or_else(|| Self::NotThere(all()), Self::Found)
    }

    /// What an API server's refusal means: by its code, and for a missing kind by the want of a name in its details.
    pub fn refused(code: u16, has_name: bool, message: &str) -> Self {
        match (code, has_name) {
            (404, true) => Self::NotThere(Vec::new()),
            (404, false) => Self::NotInstalled,
            (401 | 403, _) => Self::NotAllowed(message.to_owned()),
            _ => Self::Failed(message.to_owned()),
        }
    }
}

/// A constraint that was written: its path, and the domain.
fn constraints(graph: &Graph) -> Vec<(Path, Domain)> {
    let own = graph.domain().map(|domain| (Path::new("spec.topologyConstraint"), domain));
    let components = graph.components().iter().enumerate();
    let of_components =
        components.filter_map(|(i, component)| Some((graph.path(i).child("topologyConstraint"), component.domain()?)));
    own.into_iter().chain(of_components).collect()
}

/// Names, missing levels, and widths that nest.
pub fn check_shape(graph: &Graph, errors: &mut Vec<FieldError>) {
    two_names(graph, errors);
    let path = Path::new("spec.topologyConstraint");
    let own = graph.object.spec.topology_constraint.as_ref();
    let by_components = graph.components().iter().any(|component| component.topology_constraint.is_some());
    if own.is_some_and(|own| own.pack_domain.is_none()) {
        let path = path.child("packDomain");
        if !by_components {
            let message = format!("is required when none of the {} has a topologyConstraint", graph.shape.field());
            errors.push(FieldError::required(&path, message));
        } else if graph.written_topology().is_none() {
            errors.push(FieldError::required(&path, "a constraint without a topology's name needs a domain"));
        }
    }
    if let Some(name) = graph.written_topology().filter(|name| name.len() > LABEL_VALUE_MAX) {
        errors.push(FieldError::too_long(&graph.topology_name_path(), name, LABEL_VALUE_MAX));
    }
    let Some(wide) = graph.domain() else { return };
    for (i, component) in graph.components().iter().enumerate() {
        if let Some(domain) = component.domain().filter(|domain| wide.narrower_than(*domain)) {
            let path = graph.path(i).child("topologyConstraint").child("packDomain");
            let message = format!("must be equal to or narrower than the deployment-level domain {:?}", wide.as_str());
            errors.push(FieldError::invalid(&path, domain.as_str(), message));
        }
    }
}

/// Both versions' fields for the name may stand side by side if they agree.
fn two_names(graph: &Graph, errors: &mut Vec<FieldError>) {
    let constraint = &graph.written_spec()["topologyConstraint"];
    let name = |field: &str| constraint.get(field).and_then(|name| name.as_str()).filter(|name| !name.is_empty());
    if let (Some(old), Some(new)) = (name("topologyProfile"), name("clusterTopologyName"))
        && old != new
    {
        let path = Path::new("spec.topologyConstraint.topologyProfile");
        let message = format!("must be equal to clusterTopologyName, which is {new:?}, or be left out");
        errors.push(FieldError::invalid(&path, old, message));
    }
}

/// Topology is on, and the topology is there and has the levels. What cannot be read cannot be checked, and is refused.
pub fn check_cluster(graph: &Graph, read: &TopologyRead<'_>, settings: &Settings, errors: &mut Vec<FieldError>) {
    let Some(name) = graph.topology() else { return };
    let constraints = constraints(graph);
    if !settings.topology_enabled {
        let off = |(path, domain): (Path, Domain)| FieldError::invalid(&path, domain.as_str(), TOPOLOGY_OFF);
        errors.extend(constraints.into_iter().map(off));
        return;
    }
    let name_path = match graph.written_topology() {
        Some(_) => graph.topology_name_path(),
        None => constraints.first().map_or(Path::new("spec.topologyConstraint"), |(path, _)| path.clone()),
    };
    let topology = match read {
        TopologyRead::Found(topology) => topology,
        TopologyRead::NotThere(others) => {
            errors.push(FieldError::not_found(&name_path, name, not_there(others)));
            return;
        }
        TopologyRead::NotAllowed(message) => {
            let message = format!(
                "the ClusterTopology cannot be read, because the operator is not allowed to: {message}; hint: let it `get` {RESOURCE}"
            );
            errors.push(FieldError::invalid(&name_path, name, message));
            return;
        }
        TopologyRead::NotInstalled => {
            let message = format!(
                "the ClusterTopology cannot be read, because the cluster does not serve {RESOURCE}: it is not installed; hint: apply \
                 what `trellis crds` prints"
            );
            errors.push(FieldError::invalid(&name_path, name, message));
            return;
        }
        TopologyRead::Failed(message) => {
            errors.push(FieldError::invalid(
                &name_path,
                name,
                format!("the ClusterTopology cannot be read: {message}"),
            ));
            return;
        }
        TopologyRead::Unread => {
            errors.push(FieldError::invalid(&name_path, name, "the ClusterTopology was not read"));
            return;
        }
    };
    if topology.metadata.deletion_timestamp.is_some() {
        errors.push(FieldError::forbidden(&name_path, format!("ClusterTopology {name:?} is being deleted")));
    }
    let levels: Vec<&str> = topology.spec.sorted_levels().iter().map(|level| level.domain.as_str()).collect();
    for (path, domain) in constraints.iter().filter(|(_, domain)| topology.spec.key(*domain).is_none()) {
        let message = format!("does not exist in ClusterTopology {name:?}; its domains are: {}", levels.join(", "));
        errors.push(FieldError::invalid(&path.child("packDomain"), domain.as_str(), message));
    }
}

fn not_there(others: &[String]) -> String {
    match others.is_empty() {
        true => "there is no such ClusterTopology, so topology constraints cannot be enforced".to_owned(),
        false => format!("there is no such ClusterTopology; there are: {}", others.join(", ")),
    }
}
