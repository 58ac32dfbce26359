//! The whole way of a deployment through admission. Webhook and command line take the same way.

use super::super::object::Decoded;
use super::super::review::Leave;
use super::super::{ClusterView, Verdict};
use super::{TopologyRead, structure, validate};
use crate::dynamo::Graph;
use crate::field::FieldError;
use crate::settings::Settings;
use serde_json::Value;

/// A DynamoGraphDeployment on its way through admission.
#[derive(Debug)]
pub struct DynamoReview {
    new: Decoded<Graph>,
    old: Option<Graph>,
    leave: Leave,
}

impl DynamoReview {
    /// Reads a deployment and its old version. An old version of which nothing can be made is as good as none.
    pub fn of(value: &Value, old: Option<&Value>) -> Self {
        let before = old.and_then(|old| Graph::read(old).object);
        Self { new: Graph::read(value), old: before, leave: Leave::of(value, old) }
    }

    /// The topology that has to be looked for: on creation, of a deployment that has constraints.
    pub fn wants_topology(&self, settings: &Settings) -> Option<&str> {
        if self.old.is_some() || self.leave.is_deleted() || !settings.topology_enabled {
            return None;
        }
        self.new.object.as_ref()?.topology()
    }

    /// Judges the deployment by its form and its rules, and by what `follow` says of the PodCliqueSet that is made from it.
    pub fn judge(
        self,
        topology: &TopologyRead<'_>,
        settings: &Settings,
        follow: impl FnOnce(&Graph, Option<&Graph>, &ClusterView) -> Verdict,
    ) -> Verdict {
        let rules = match &self.new.object {
            Some(graph) if !self.leave.is_deleted() => {
                let old = self.old.as_ref();
                let mut verdict = validate(graph, old, topology, settings);
                if old.is_none_or(|old| !graph.makes_the_same(old)) {
                    add(&mut verdict, follow(graph, old, &view(graph, topology)));
                }
                verdict
            }
            _ => Verdict::default(),
        };
        let mut verdict = self.new.judged(rules);
        self.leave.excuse(&mut verdict);
        verdict
    }

    /// Judges the deployment by what shows in it alone, and hands it back.
    pub fn judge_structure(mut self, follow: impl FnOnce(&Graph) -> Verdict) -> (Option<Graph>, Verdict) {
        let graph = self.new.object.take();
        let rules = graph.as_ref().map(|graph| {
            let mut verdict = structure(graph);
            add(&mut verdict, follow(graph));
            verdict
        });
        (graph, self.new.judged(rules.unwrap_or_default()))
    }
}

fn view(graph: &Graph, topology: &TopologyRead<'_>) -> ClusterView {
    let mut view = ClusterView::default();
    if let (Some(name), TopologyRead::Found(topology)) = (graph.topology(), topology) {
        view.topologies.insert(name.to_owned(), (*topology).clone());
    }
    view
}

/// Adds what follows, as far as it is not what was found here already: faults of one field, and of constraints, are told once.
fn add(verdict: &mut Verdict, follows: Verdict) {
    let found: Vec<String> = verdict.errors.iter().map(|error| error.field.clone()).collect();
    let is_within =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let is_told = |error: &FieldError| {
        found.iter().any(|field| is_within(field, &error.field) || is_within(&error.field, field))
            || (!found.is_empty() && (error.field.contains("topologyConstraint") || error.field == "metadata.name"))
    };
    for error in follows.errors.into_iter().filter(|error| !is_told(error)) {
        // Leader and workers are made of one template, and have its faults twice.
        if !verdict.errors.contains(&error) {
            verdict.errors.push(error);
        }
    }
    for warning in follows.warnings {
        if !verdict.warnings.contains(&warning) {
            verdict.warnings.push(warning);
        }
    }
}
