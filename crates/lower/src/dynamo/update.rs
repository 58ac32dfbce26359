//! What follows for a set that is there already. Numbers of replicas go through the scale subresource and leave the template alone, since a
//! changed template is an update of the pods; the order of cliques and groups stays what it was.

use std::collections::BTreeMap;
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::ComponentKind;
use trellis_api::kinds::{CliqueTemplate, PodCliqueSet, ScalingGroupTemplate};
use trellis_api::names::{self, dynamo};

/// A number of replicas that is to be written to a scale subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// The component that it is for.
    pub component: String,
    /// The kind of object that the component became.
    pub kind: ComponentKind,
    /// Name of that object.
    pub name: String,
    /// How many replicas it is to have.
    pub replicas: i32,
}

/// What follows for a set that is there already.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The set as it should be.
    pub set: PodCliqueSet,
    /// Numbers of replicas that differ, of objects that are there.
    pub scalings: Vec<Scaling>,
}

/// The object that a component becomes: its kind and its name.
pub fn object(set: &str, component: &trellis_api::kinds::dynamo::Component) -> (ComponentKind, String) {
    // A set has one replica, and a group is called like a clique.
    let name = names::clique(set, 0, &dynamo::clique(&component.name));
    let kind = if component.is_group() { ComponentKind::PodCliqueScalingGroup } else { ComponentKind::PodClique };
    (kind, name)
}

/// Brings a live set to what the deployment asks for. `replicas` says how many each live clique and group is asked to have, by name.
pub fn update(graph: &Graph, desired: PodCliqueSet, live: &PodCliqueSet, replicas: &BTreeMap<String, i32>) -> Update {
    let set_name = live.metadata.name.clone().unwrap_or_default();
    let scalings = graph.components().iter().filter_map(|component| {
        let (kind, name) = object(&set_name, component);
        let is_due = replicas.get(&name).is_some_and(|live| *live != component.count());
        is_due.then(|| Scaling { component: component.name.clone(), kind, name, replicas: component.count() })
    });
    let scalings = scalings.collect();
    let mut set = desired;
    let (template, before) = (&mut set.spec.template, &live.spec.template);
    let in_group = |clique: &CliqueTemplate| {
        before.pod_clique_scaling_groups.iter().any(|group| group.clique_names.contains(&clique.name))
    };
    for clique in &mut template.cliques {
        let was = before.cliques.iter().find(|was| was.name == clique.name);
        if let Some(was) = was.filter(|was| !in_group(was)) {
            clique.spec.replicas = was.spec.replicas;
        }
    }
    for group in &mut template.pod_clique_scaling_groups {
        let was = before.pod_clique_scaling_groups.iter().find(|was| was.name == group.name);
        if let Some(was) = was {
            group.replicas = was.replicas;
        }
    }
    let clique = |clique: &CliqueTemplate| before.cliques.iter().position(|was| was.name == clique.name);
    template.cliques.sort_by_key(|one| clique(one).unwrap_or(usize::MAX));
    let groups = &before.pod_clique_scaling_groups;
    let group = |group: &ScalingGroupTemplate| groups.iter().position(|was| was.name == group.name);
    template.pod_clique_scaling_groups.sort_by_key(|one| group(one).unwrap_or(usize::MAX));
    Update { set, scalings }
}
