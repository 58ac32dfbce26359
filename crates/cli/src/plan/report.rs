//! The plan as JSON, with names instead of numbers.

use super::explanation::{self, ExplanationView};
use super::measure::Times;
use super::names::Names;
use super::proof::{self, ProofView};
use serde::Serialize;
use std::collections::BTreeSet;
use trellis_engine::{Constraint, Decision, Explanation, Gang, GroupId, Outcome, Place, Plan};

#[derive(Debug, Serialize)]
pub struct Report<'a> {
    gangs: Vec<GangView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<StatsView<'a>>,
}

#[derive(Debug, Serialize)]
struct GangView<'a> {
    namespace: &'a str,
    name: &'a str,
    outcome: &'static str,
    /// Members that have a node or get one; of a gang that waits only those that have one.
    pods: Vec<PodView<'a>>,
    /// The others.
    pending: Vec<PendingView<'a>>,
    /// One for each level that a group asks for.
    domains: Vec<RowView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ProofView<'a>>,
    explanation: ExplanationView<'a>,
}

#[derive(Debug, Serialize)]
struct PodView<'a> {
    name: &'a str,
    group: &'a str,
    node: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    numa: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bound: bool,
}

#[derive(Debug, Serialize)]
struct PendingView<'a> {
    name: &'a str,
    group: &'a str,
}

/// Where the pods of a group are, in domains of a level that it asks for.
#[derive(Debug, Serialize)]
pub struct RowView<'a> {
    group: &'a str,
    topology: &'a str,
    pub level: &'a str,
    key: &'a str,
    pub required: bool,
    pub values: BTreeSet<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatsView<'a> {
    load_micros: u64,
    decide_micros: u64,
    explain_micros: u64,
    gangs: Vec<GangStats<'a>>,
}

#[derive(Debug, Serialize)]
struct GangStats<'a> {
    name: &'a str,
    micros: u64,
    steps: u64,
}

/// The plan, in names; gangs by namespace and name.
pub fn report<'a>(
    names: &'a Names<'a>,
    gangs: &'a [Gang],
    plan: &'a Plan,
    explanations: &'a [Explanation],
    times: Option<&Times>,
) -> Report<'a> {
    let mut order: Vec<usize> = (0..gangs.len()).collect();
    order.sort_by_key(|gang| &gangs[*gang].id);
    let view = |gang: &usize| gang_view(names, &gangs[*gang], &plan.decisions[*gang], &explanations[*gang]);
    let stats = times.map(|times| {
        let stats = |gang: &usize| GangStats {
            name: &gangs[*gang].id.name,
            micros: times.gangs[*gang],
            steps: plan.decisions[*gang].steps,
        };
        StatsView {
            load_micros: times.load,
            decide_micros: times.decide,
            explain_micros: times.explain,
            gangs: order.iter().map(stats).collect(),
        }
    });
    Report { gangs: order.iter().map(view).collect(), stats }
}

fn gang_view<'a>(
    names: &'a Names<'a>,
    gang: &'a Gang,
    decision: &'a Decision,
    explanation: &'a Explanation,
) -> GangView<'a> {
    let places = places(gang, decision);
    let group = |pod: usize| gang.groups[gang.pods[pod].group].name.as_str();
    let mut pods = Vec::new();
    let mut pending = Vec::new();
    for (pod, place) in places.iter().enumerate() {
        let (name, group) = (gang.pods[pod].name.as_str(), group(pod));
        match place {
            Some(place) => {
                let (node, bound) = (names.node(place.node), gang.pods[pod].bound.is_some());
                pods.push(PodView { name, group, node, numa: names.zone(*place), bound });
            }
            None => pending.push(PendingView { name, group }),
        }
    }
    pods.sort_by_key(|pod| pod.name);
    pending.sort_by_key(|pod| pod.name);
    GangView {
        namespace: &gang.id.namespace,
        name: &gang.id.name,
        outcome: match decision.outcome {
            Outcome::Placed => "Placed",
            Outcome::CannotFit(_) => "CannotFit",
            Outcome::Undecided => "Undecided",
        },
        pods,
        pending,
        domains: rows(names, gang, &places),
        proof: match &decision.outcome {
            Outcome::CannotFit(claim) => Some(proof::view(claim, gang, names)),
            Outcome::Placed | Outcome::Undecided => None,
        },
        explanation: explanation::view(explanation, gang, names),
    }
}

/// Where each member is or goes.
pub fn places(gang: &Gang, decision: &Decision) -> Vec<Option<Place>> {
    let mut places: Vec<Option<Place>> = gang.pods.iter().map(|pod| pod.bound).collect();
    if decision.outcome == Outcome::Placed {
        for (pod, place) in &decision.placed {
            places[*pod] = Some(*place);
        }
    }
    places
}

/// For each level that a group asks for, the domains that it uses.
pub fn rows<'a>(names: &Names<'a>, gang: &'a Gang, places: &[Option<Place>]) -> Vec<RowView<'a>> {
    let is_under = |pod: usize, group: GroupId| gang.ancestry(gang.pods[pod].group).any(|above| above == group);
    let mut rows = Vec::new();
    for (id, group) in gang.groups.iter().enumerate() {
        let Some(constraint) = group.constraint else { continue };
        let Constraint { topology, required, preferred } = constraint;
        for (level, required) in [(required, true), (preferred, false)] {
            let Some(level) = level else { continue };
            let members = places.iter().enumerate().filter(|(pod, _)| is_under(*pod, id));
            let values = members.filter_map(|(_, place)| Some(names.domain_at((*place)?, topology, level)));
            let name = names.level(constraint, level);
            let (topology, key) = (name.topology, name.key);
            rows.push(RowView {
                group: &group.name,
                topology,
                level: name.level,
                key,
                required,
                values: values.collect(),
            });
        }
    }
    rows
}
