//! Objects that say where pods stand: topology constraints, nodes of a replica, and groups. A field in there that is not known, but looks like
//! one that is, would be asked for and not done, so it is refused.

use super::{Verdict, meant};
use crate::dynamo::{Graph, Shape};
use crate::field::{FieldError, Path};
use serde_json::Value;

/// Fields by which the two versions name the topology.
const NAMES: [&str; 2] = ["clusterTopologyName", "topologyProfile"];

/// An object that places pods, and how what is not known in it is taken.
struct Holder<'a> {
    written: &'a Value,
    path: Path,
    known: &'a [&'a str],
    /// What would be right instead of a field that means something elsewhere.
    instead: &'a dyn Fn(&str, &Value) -> Option<String>,
}

pub fn check(graph: &Graph, verdict: &mut Verdict) {
    let name = if graph.shape == Shape::Components { NAMES[0] } else { NAMES[1] };
    let of_deployment = |field: &str, _: &Value| match field {
        "topologyName" | "topology" => Some(format!("the topology is named by `{name}`")),
        _ => of_grove(field),
    };
    let of_component = |field: &str, _: &Value| match field {
        "topologyName" | "topology" | "clusterTopologyName" | "topologyProfile" => Some(format!(
            "the topology is named for all {} together, by spec.topologyConstraint.{name}",
            graph.shape.field()
        )),
        _ => of_grove(field),
    };
    let written = &graph.written_spec()["topologyConstraint"];
    let known = ["packDomain", NAMES[0], NAMES[1]];
    let path = Path::new("spec.topologyConstraint");
    Holder { written, path, known: &known, instead: &of_deployment }.check(verdict);
    for i in 0..graph.components().len() {
        let (path, written) = (graph.path(i), graph.written(i));
        let holder =
            |field: &str, known, instead| Holder { written: &written[field], path: path.child(field), known, instead };
        holder("topologyConstraint", &["packDomain"], &of_component).check(verdict);
        holder("multinode", &["nodeCount", "leader", "worker"], &of_nodes).check(verdict);
        let grove = &written["experimental"]["grove"];
        let path = path.child("experimental").child("grove");
        Holder { written: grove, path, known: &["forceScalingGroup"], instead: &|_, _| None }.check(verdict);
    }
}

/// Grove's own spelling of constraints.
fn of_grove(field: &str) -> Option<String> {
    ["pack", "required", "preferred", "domain"]
        .contains(&field)
        .then(|| "the domain is written as `packDomain`".to_owned())
}

/// A number can only be that of the nodes.
fn of_nodes(_: &str, value: &Value) -> Option<String> {
    let is_number = value.is_number() || value.as_str().is_some_and(|text| text.parse::<i64>().is_ok());
    is_number.then(|| "the number of nodes is written as `nodeCount`".to_owned())
}

impl Holder<'_> {
    fn check(&self, verdict: &mut Verdict) {
        let fields = self.written.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        for (field, value) in fields.filter(|(field, _)| !self.known.contains(&field.as_str())) {
            let path = self.path.child(field);
            let meant = || meant(field, self.known).map(|meant| format!("did you mean `{meant}`?"));
            match (self.instead)(field, value).or_else(meant) {
                Some(right) => {
                    let message = format!("unknown field, which would be ignored: {right}");
                    verdict.errors.push(FieldError::invalid(&path, value.clone(), message));
                }
                None => verdict.warnings.push(format!("{path}: unknown field, kept as it is")),
            }
        }
    }
}
