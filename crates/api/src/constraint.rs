//! What a topology constraint means, whichever way it is spelled.

use crate::kinds::{PodCliqueSet, ScalingGroupTemplate, TopologyConstraint};
use crate::{Domain, field::Path, names};

/// A constraint in one form: the level that must be shared and the level that should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    /// The domain that the pods must share.
    pub required: Option<Domain>,
    /// The domain that the pods should share.
    pub preferred: Option<Domain>,
}

impl Pack {
    /// Reads both spellings. Where an object has both, which admission refuses, `packDomain` is the required level.
    pub fn of(constraint: &TopologyConstraint) -> Self {
        let pack = constraint.pack.as_ref();
        Self {
            required: constraint.pack_domain.or(pack.and_then(|pack| pack.required)),
            preferred: pack.and_then(|pack| pack.preferred),
        }
    }

    /// The constraint at a place, or none.
    pub fn of_optional(constraint: Option<&TopologyConstraint>) -> Self {
        constraint.map(Self::of).unwrap_or_default()
    }
}

/// Which object a constraint is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder<'a> {
    /// The set's template.
    Set,
    /// A scaling group, by name.
    Group(&'a str),
    /// A clique, by name.
    Clique(&'a str),
}

/// A constraint and the place it is written at.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Which object it is written on.
    pub holder: Holder<'a>,
    /// Path of the `topologyConstraint` field.
    pub path: Path,
    /// The constraint as written, if any.
    pub written: Option<&'a TopologyConstraint>,
}

impl Place<'_> {
    /// The constraint in one form.
    pub fn pack(&self) -> Pack {
        Pack::of_optional(self.written)
    }

    /// Path of the field that holds the required level.
    pub fn required_path(&self) -> Path {
        match self.written {
            Some(constraint) if constraint.pack_domain.is_none() => self.path.child("pack").child("required"),
            _ => self.path.child("packDomain"),
        }
    }

    /// Path of the field that holds the preferred level.
    pub fn preferred_path(&self) -> Path {
        self.path.child("pack").child("preferred")
    }
}

/// Every place of a set where a constraint can stand: the set, then the groups, then the cliques.
pub fn places(set: &PodCliqueSet) -> Vec<Place<'_>> {
    let template = &set.spec.template;
    let path = Path::new("spec.template");
    let mut places = vec![Place {
        holder: Holder::Set,
        path: path.child("topologyConstraint"),
        written: template.topology_constraint.as_ref(),
    }];
    places.extend(template.pod_clique_scaling_groups.iter().enumerate().map(|(i, group)| Place {
        holder: Holder::Group(&group.name),
        path: path.child("podCliqueScalingGroups").index(i).child("topologyConstraint"),
        written: group.topology_constraint.as_ref(),
    }));
    places.extend(template.cliques.iter().enumerate().map(|(i, clique)| Place {
        holder: Holder::Clique(&clique.name),
        path: path.child("cliques").index(i).child("topologyConstraint"),
        written: clique.topology_constraint.as_ref(),
    }));
    places
}

/// Whether a set has a constraint anywhere; without one, topology does not apply to it.
pub fn is_constrained(set: &PodCliqueSet) -> bool {
    places(set).iter().any(|place| place.written.is_some())
}

/// Every topology name in a set, with the path it is written at, the set's own field first.
pub fn written_names(set: &PodCliqueSet) -> Vec<(Path, &str)> {
    let own = set.spec.template.cluster_topology_name.as_deref();
    let mut found: Vec<(Path, &str)> =
        own.into_iter().map(|name| (Path::new("spec.template.clusterTopologyName"), name)).collect();
    for place in places(set) {
        if let Some(name) = place.written.and_then(|constraint| constraint.topology_name.as_deref()) {
            found.push((place.path.child("topologyName"), name));
        }
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}

/// The topology that a set's constraints speak of: none without constraints, else the name written anywhere in the
/// set, else the default.
pub fn resolved_name(set: &PodCliqueSet) -> Option<&str> {
    if !is_constrained(set) {
        return None;
    }
    Some(written_names(set).first().map_or(names::DEFAULT_TOPOLOGY, |(_, name)| *name))
}

/// Whether a set refers to a topology: by any name written in it, or by default.
pub fn references(set: &PodCliqueSet, topology: &str) -> bool {
    resolved_name(set) == Some(topology) || written_names(set).iter().any(|(_, name)| *name == topology)
}

/// The scaling group that a clique is in, if any.
pub fn group_of<'a>(set: &'a PodCliqueSet, clique: &str) -> Option<(usize, &'a ScalingGroupTemplate)> {
    let groups = &set.spec.template.pod_clique_scaling_groups;
    groups.iter().enumerate().find(|(_, group)| group.clique_names.iter().any(|name| name == clique))
}
