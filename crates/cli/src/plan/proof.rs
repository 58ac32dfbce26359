//! A proof with names instead of numbers.

use super::names::{self, Names};
use serde::Serialize;
use trellis_engine::{Claim, Gang, GroupId, Unready};

/// A claim, as in [`Claim`].
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum ProofView<'a> {
    Unready { reason: &'a Unready },
    BaseWaits { gang: String },
    TooFewPods { leaf: &'a str, have: usize, need: usize },
    BoundApart { group: &'a str },
    Count { leaf: &'a str, fits: u64, need: u64 },
    Sum { leaves: Vec<&'a str>, resource: &'a str, free: String, need: String },
    Copies { groups: Vec<&'a str>, fits: u64, need: usize },
    Split { group: &'a str, topology: &'a str, level: &'a str, key: &'a str, branches: Vec<BranchView<'a>> },
    Subsets { group: &'a str, choices: Vec<ChoiceView<'a>> },
    Packing { leaves: Vec<&'a str> },
}

#[derive(Debug, Serialize)]
pub struct BranchView<'a> {
    domain: &'a str,
    claim: ProofView<'a>,
}

#[derive(Debug, Serialize)]
pub struct ChoiceView<'a> {
    groups: Vec<&'a str>,
    claim: ProofView<'a>,
}

/// The proof about a gang, in names.
pub fn view<'a>(claim: &'a Claim, gang: &'a Gang, names: &'a Names<'a>) -> ProofView<'a> {
    let name = |group: GroupId| names::group(gang, group);
    let all = |groups: &[GroupId]| groups.iter().map(|group| name(*group)).collect();
    match claim {
        Claim::Unready(reason) => ProofView::Unready { reason },
        Claim::BaseWaits(base) => ProofView::BaseWaits { gang: names::gang(base) },
        Claim::TooFewPods { leaf, have, need } => ProofView::TooFewPods { leaf: name(*leaf), have: *have, need: *need },
        Claim::BoundApart { group } => ProofView::BoundApart { group: name(*group) },
        Claim::Count { leaf, fits, need } => ProofView::Count { leaf: name(*leaf), fits: *fits, need: *need },
        Claim::Sum { leaves, resource, free, need } => ProofView::Sum {
            leaves: all(leaves),
            resource: names.resource(*resource),
            free: names.amount(*resource, *free),
            need: names.amount(*resource, *need),
        },
        Claim::Copies { groups, fits } => ProofView::Copies { groups: all(groups), fits: *fits, need: groups.len() },
        Claim::Split { group, branches } => {
            let constraint = gang.groups.get(*group).and_then(|group| group.constraint);
            let level = constraint.and_then(|constraint| Some(names.level(constraint, constraint.required?)));
            let branch = |branch: &'a trellis_engine::Branch| BranchView {
                domain: names.domain(branch.domain),
                claim: view(&branch.claim, gang, names),
            };
            ProofView::Split {
                group: name(*group),
                topology: level.map_or("", |level| level.topology),
                level: level.map_or("", |level| level.level),
                key: level.map_or("", |level| level.key),
                branches: branches.iter().map(branch).collect(),
            }
        }
        Claim::Subsets { group, choices } => {
            let choice = |(groups, claim): &'a (Vec<GroupId>, Claim)| ChoiceView {
                groups: all(groups),
                claim: view(claim, gang, names),
            };
            ProofView::Subsets { group: name(*group), choices: choices.iter().map(choice).collect() }
        }
        Claim::Packing { leaves } => ProofView::Packing { leaves: all(leaves) },
    }
}
