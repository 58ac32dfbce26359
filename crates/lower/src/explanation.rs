//! An explanation with names instead of numbers.

use crate::named::{self as names, Names};
use serde::Serialize;
use std::collections::BTreeMap;
use trellis_engine::{Change, DomainReport, EmptyCluster, Explanation, Gang, Relaxation};

/// An explanation, as it is printed and stored.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationView<'a> {
    text: &'a str,
    /// Null: not even dropping every level would help, or nothing has to be helped.
    binding: Option<BindingView<'a>>,
    domains: Vec<DomainView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty_cluster: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest: Option<LargestView<'a>>,
    relaxations: Vec<RelaxationView<'a>>,
}

#[derive(Debug, Serialize)]
struct BindingView<'a> {
    group: &'a str,
    topology: &'a str,
    level: &'a str,
    key: &'a str,
}

/// How a gang stands to a domain; the empty value is the whole cluster.
#[derive(Debug, Serialize)]
struct DomainView<'a> {
    value: &'a str,
    fits: u64,
    needs: u64,
    short: BTreeMap<&'a str, String>,
    holders: Vec<HolderView<'a>>,
}

#[derive(Debug, Serialize)]
struct HolderView<'a> {
    namespace: &'a str,
    name: &'a str,
    pods: u64,
}

#[derive(Debug, Serialize)]
struct LargestView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    pods: u64,
    needs: u64,
}

#[derive(Debug, Default, Serialize)]
struct RelaxationView<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    /// Keys of levels; an empty one drops the constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gang: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<&'a str>,
    text: &'a str,
}

impl ExplanationView<'_> {
    /// Only the first domains, those that come closest, and of each change only the first nodes.
    pub fn shortened(mut self, domains: usize, nodes: usize) -> Self {
        self.domains.truncate(domains);
        self.relaxations.iter_mut().for_each(|change| change.nodes.truncate(nodes));
        self
    }
}

/// The explanation of a gang, in names.
pub fn view<'a>(explanation: &'a Explanation, gang: &'a Gang, names: &'a Names<'a>) -> ExplanationView<'a> {
    let binding = explanation.binding.and_then(|group| {
        let constraint = gang.groups.get(group)?.constraint?;
        let level = names.level(constraint, constraint.required?);
        let (topology, key) = (level.topology, level.key);
        Some(BindingView { group: names::group(gang, group), topology, level: level.level, key })
    });
    let largest = explanation.largest.as_ref().map(|largest| LargestView {
        domain: largest.domain.map(|domain| names.domain(domain)),
        pods: largest.pods,
        needs: largest.needs,
    });
    ExplanationView {
        text: &explanation.text,
        binding,
        domains: explanation.domains.iter().map(|report| domain(report, names)).collect(),
        empty_cluster: explanation.empty_cluster.map(|empty| match empty {
            EmptyCluster::Fits => "Fits",
            EmptyCluster::Never => "Never",
        }),
        largest,
        relaxations: explanation.relaxations.iter().map(|change| relaxation(change, gang, names)).collect(),
    }
}

fn domain<'a>(report: &'a DomainReport, names: &'a Names<'a>) -> DomainView<'a> {
    let short =
        report.short.iter().map(|(resource, amount)| (names.resource(*resource), names.amount(*resource, *amount)));
    let holders = report.holders.iter().map(|holder| HolderView {
        namespace: &holder.name.namespace,
        name: &holder.name.name,
        pods: holder.pods,
    });
    DomainView {
        value: report.domain.map_or("", |domain| names.domain(domain)),
        fits: report.fits,
        needs: report.needs,
        short: short.collect(),
        holders: holders.collect(),
    }
}

fn relaxation<'a>(relaxation: &'a Relaxation, gang: &'a Gang, names: &'a Names<'a>) -> RelaxationView<'a> {
    let view = RelaxationView { text: &relaxation.text, ..RelaxationView::default() };
    let nodes = |nodes: &[u32]| nodes.iter().map(|node| names.node(*node)).collect();
    match &relaxation.change {
        Change::WidenLevel { group, from, to } => {
            let constraint = gang.groups.get(*group).and_then(|group| group.constraint);
            let key = |level: usize| constraint.map_or("", |constraint| names.level(constraint, level).key);
            let (from, to) = (Some(key(*from)), Some(to.map_or("", key)));
            RelaxationView { kind: "WidenLevel", group: Some(names::group(gang, *group)), from, to, ..view }
        }
        Change::AddNodes { domain, count } => {
            let domain = domain.map(|domain| names.domain(domain));
            RelaxationView { kind: "AddNodes", domain, count: Some(*count), ..view }
        }
        Change::RemoveGang { gang } => RelaxationView { kind: "RemoveGang", gang: Some(names::gang(gang)), ..view },
        Change::FewerPods { group, count } => {
            let group = Some(names::group(gang, *group));
            RelaxationView { kind: "FewerPods", group, count: Some(*count), ..view }
        }
        Change::AddLabels { domain, count, nodes: labelled } => {
            let domain = Some(names.domain(*domain));
            RelaxationView { kind: "AddLabels", domain, count: Some(*count), nodes: nodes(labelled), ..view }
        }
        Change::Untaint { count, nodes: closed } => {
            RelaxationView { kind: "Untaint", count: Some(*count), nodes: nodes(closed), ..view }
        }
    }
}
