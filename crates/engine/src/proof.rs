//! Why a gang cannot fit, as a tree of claims that a checker redoes by arithmetic alone.
//!
//! A proof speaks of the cluster as the plan leaves it to the gang: what runs, what the plan places, the holds that the
//! gang sees and that no pod has used up, and what gangs ahead reserve. Where bound pods say in which domain something
//! has to be, the gang's own holds say it as well.
//! Claims are read in a *context*: for each group on the way a domain it has been confined to. The scope of a leaf is
//! the set of places inside all domains that it and the groups above it are confined to. The need of a leaf is its
//! minimum less its bound pods, at least 0. A group is *needed* if it is the root, or its parent is needed and either
//! demands all its children or a [`Claim::Subsets`] above has chosen it.

use crate::gang::{GangName, GroupId, Unready};
use serde::Serialize;

/// A domain: index of the topology, and index among the domains of that topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct DomainId {
    /// Index of the topology.
    pub topology: u16,
    /// Index among the topology's domains.
    pub index: u32,
}

/// Why a gang cannot fit.
pub type Proof = Claim;

/// One claim: in the context it stands in, the needed groups cannot all be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The gang cannot be planned at all: exactly the gang's own `unready`.
    Unready(Unready),
    /// The base of this scaled gang is in the problem and has no place.
    BaseWaits(GangName),
    /// The leaf has fewer pods, bound and waiting, than its minimum.
    TooFewPods {
        /// A needed leaf.
        leaf: GroupId,
        /// Pods there are.
        have: usize,
        /// Its minimum.
        need: usize,
    },
    /// Bound pods and holds of the group stand in more than one domain of its required level (a node outside all of them
    /// counts as one more). The base's pods and holds count for the root of a scaled gang at the base root's required level.
    BoundApart {
        /// The group.
        group: GroupId,
    },
    /// At most `fits` pods of the leaf can stand in its scope, one kind of pod looked at alone: the sum over kinds of
    /// min(waiting pods of the kind, sum over the scope of how many of the kind a place takes by itself, zones of one
    /// node together no more than the node).
    Count {
        /// A needed leaf.
        leaf: GroupId,
        /// At most so many.
        fits: u64,
        /// Its need, which is more.
        need: u64,
    },
    /// Over the places that any waiting pod of the leaves may use within the leaf's scope there is `free` of a resource
    /// (per node, nothing negative; nodes, not zones), and the leaves need more: for each leaf the sum of its `need`
    /// smallest requests.
    Sum {
        /// Needed leaves.
        leaves: Vec<GroupId>,
        /// Index of the resource.
        resource: usize,
        /// What is free.
        free: i64,
        /// What is needed, which is more.
        need: i64,
    },
    /// The groups each need one domain of the same level, and the domains together take fewer groups than there are.
    /// What a domain takes at most: the largest m such that for every kind of pod the sum of the m smallest needs of that kind
    /// is at most the count of the kind in the part of the domain that is in the scope above. The need of a group of a
    /// kind counts only leaves all of whose waiting pods are of one kind, and only needed leaves under the group. The
    /// domains are the candidates of the groups as in `Split`; zones of one node together take no more groups than the
    /// node.
    Copies {
        /// Needed siblings with the same topology and required level, none confined yet, none with bound pods or holds.
        groups: Vec<GroupId>,
        /// At most so many of them fit.
        fits: u64,
    },
    /// The group has to be in one domain of its required level. Candidates are all domains of the level that share a
    /// place with the scope of what is above it and agree with its bound pods (for the root of a scaled gang also with
    /// the base's). Every candidate is refuted by a branch: its own, or one of a domain that is exchangeable with it.
    Split {
        /// A needed group with a required level, not confined yet; all constrained groups above it are confined.
        group: GroupId,
        /// One claim for each domain that has no exchangeable one before it.
        branches: Vec<Branch>,
    },
    /// The group demands only some of its children, and each choice of exactly that many is refuted.
    Subsets {
        /// A needed group with `Members::Groups { min }`, min less than the number of children.
        group: GroupId,
        /// Each choice of `min` children, in lexicographic order, with its claim.
        choices: Vec<(Vec<GroupId>, Claim)>,
    },
    /// The needs of the leaves cannot be packed into their scopes together; redone by a table over the places.
    Packing {
        /// Needed leaves, sorted.
        leaves: Vec<GroupId>,
    },
}

/// A branch of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The domain that the group is confined to in this branch.
    pub domain: DomainId,
    /// Why that fails.
    pub claim: Claim,
}
