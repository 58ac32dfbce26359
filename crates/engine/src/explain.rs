//! Why a gang waits and what would help, or why it stands where it stands: as data, and as one paragraph.

mod apply;
mod changes;
mod part;
mod waiting;
mod words;

use crate::gang::{Gang, GangName, GroupId};
use crate::plan::{Options, Outcome, Plan};
use crate::proof::DomainId;
use crate::snapshot::Snapshot;

/// So many candidate domains are told of.
pub const MOST_DOMAINS: usize = 64;

/// What is said of one gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// One paragraph for people.
    pub text: String,
    /// The constraint that binds: the group whose required level it is. None if not even dropping every level would
    /// help, and for a gang that is placed.
    pub binding: Option<GroupId>,
    /// The candidate domains of the binding constraint, those that come closest first, at most [`MOST_DOMAINS`]; the
    /// whole cluster as one entry without domain if nothing binds.
    pub domains: Vec<DomainReport>,
    /// Whether it would fit without all other gangs' pods; none for a gang that is placed.
    pub empty_cluster: Option<EmptyCluster>,
    /// If it would never fit: the most that would.
    pub largest: Option<Largest>,
    /// The smallest changes that would make it fit, each tried by the engine.
    pub relaxations: Vec<Relaxation>,
}

/// How a waiting gang stands to one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainReport {
    /// The domain; none for the whole cluster.
    pub domain: Option<DomainId>,
    /// Waiting pods of the binding group that fit there.
    pub fits: u64,
    /// Waiting pods of the binding group that must fit there.
    pub needs: u64,
    /// What is short, by resource index.
    pub short: Vec<(usize, i64)>,
    /// Who has pods or holds there, those with the most first; pods of no gang each by their own name.
    pub holders: Vec<Holder>,
}

/// A gang, or a pod of none, that takes up room in a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Name of the gang or of the pod.
    pub name: GangName,
    /// Number of its pods there.
    pub pods: u64,
    /// Number of places there that are held for pods of it that come back.
    pub held: u64,
}

/// Whether a gang would fit without all other gangs' pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyCluster {
    /// It would.
    Fits,
    /// Not even then.
    Never,
}

/// The most of a gang that would fit on the empty cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Largest {
    /// Where; none for the whole cluster.
    pub domain: Option<DomainId>,
    /// Pods of the gang that fit there together.
    pub pods: u64,
    /// Pods of the gang that must fit.
    pub needs: u64,
}

/// A change that would make a waiting gang fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relaxation {
    /// What changes.
    pub change: Change,
    /// The same in words.
    pub text: String,
}

/// What would have to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The group's required level becomes a wider one, or none.
    WidenLevel {
        /// The group.
        group: GroupId,
        /// Its level.
        from: usize,
        /// A wider level; none drops the constraint.
        to: Option<usize>,
    },
    /// Free nodes like the domain's largest are added to it.
    AddNodes {
        /// The domain; none for anywhere.
        domain: Option<DomainId>,
        /// Number of nodes.
        count: u64,
    },
    /// A gang of lower priority goes.
    RemoveGang {
        /// The gang.
        gang: GangName,
    },
    /// The minimum of a leaf, and its number of pods, is less.
    FewerPods {
        /// The leaf.
        group: GroupId,
        /// So many less.
        count: u64,
    },
    /// Nodes without the level's labels get those of a domain.
    AddLabels {
        /// The domain.
        domain: DomainId,
        /// Number of nodes.
        count: u64,
        /// The nodes, by index.
        nodes: Vec<u32>,
    },
    /// Nodes lose the taint, cordon or missing readiness that closes them.
    Untaint {
        /// Number of nodes.
        count: u64,
        /// The nodes, by index.
        nodes: Vec<u32>,
    },
}

/// Explains all decisions of a plan, on the snapshot as the plan left it; by the gangs' index.
pub fn explain_on(snapshot: &mut Snapshot, gangs: &[Gang], plan: &Plan, options: Options) -> Vec<Explanation> {
    let all: Vec<usize> = (0..gangs.len()).collect();
    explain_some(snapshot, gangs, plan, &all, options)
}

/// The same for some of the gangs, in the order given.
pub fn explain_some(
    snapshot: &mut Snapshot,
    gangs: &[Gang],
    plan: &Plan,
    which: &[usize],
    options: Options,
) -> Vec<Explanation> {
    let mut explainer = waiting::Explainer::new(snapshot, gangs, plan, options);
    let explain = |gang: &usize| match &plan.decisions[*gang].outcome {
        Outcome::Placed => words::placed(explainer.snapshot, &gangs[*gang], &plan.decisions[*gang]),
        Outcome::CannotFit(proof) => explainer.waiting(*gang, Some(proof)),
        Outcome::Undecided => explainer.waiting(*gang, None),
    };
    let explanations = which.iter().map(explain).collect();
    explainer.finish();
    explanations
}
