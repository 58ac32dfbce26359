//! The tree of a task group (document 004, steps 1 to 6), from the segments of its tasks and the levels of its pool.
//!
//! Nodes are told apart by the vectors of segments that lead to them, never by joined names. A node is required if any task
//! in it says so, whatever the order of tasks. Levels that all tasks share become the constraint of the whole; below the
//! first branch every node is kept, so that all leaves are at one depth.

use std::collections::{BTreeMap, HashMap};
use trellis_api::kinds::osmo::{PoolSpec, RequirementType, TaskGroup, WorkflowSpec};
use trellis_api::names::osmo::{UNCONSTRAINED, hashed};
use trellis_api::names::{DEFAULT_LEAF, LABEL_VALUE_MAX};
use trellis_api::osmo::segments::segments;

/// The tree of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The finest level that all tasks must share, as a position among the pool's.
    pub required: Option<usize>,
    /// The finest level that all tasks should share, if it is finer than that.
    pub preferred: Option<usize>,
    /// Nodes below the first branch; parents before children, in the order in which tasks name them. None: a gang without
    /// subgroups.
    pub nodes: Vec<Node>,
    /// For each task its leaf among the nodes.
    pub leaf_of: Vec<Option<usize>>,
}

/// A subgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, the only one in the tree.
    pub name: String,
    /// The node above it, unless that is the root.
    pub parent: Option<usize>,
    /// The level that its tasks share, as a position among the pool's.
    pub level: usize,
    /// Whether they must.
    pub required: bool,
    /// Number of tasks of a leaf.
    pub tasks: Option<usize>,
}

/// A node while the tree is built.
#[derive(Debug)]
struct Draft<'a> {
    parent: usize,
    segment: &'a str,
    depth: usize,
    required: bool,
    children: Vec<usize>,
    tasks: usize,
}

/// The tree of a group in a pool.
pub fn tree(group: &TaskGroup, spec: &WorkflowSpec, pool: &PoolSpec) -> Tree {
    let segments = segments(group, spec, pool);
    let mut leaf_of = vec![None; group.tasks.len()];
    if segments.levels.is_empty() {
        return Tree { leaf_of, ..Tree::default() };
    }
    let root = Draft { parent: 0, segment: "", depth: 0, required: false, children: Vec::new(), tasks: 0 };
    let mut drafts = vec![root];
    let mut found: HashMap<(usize, Option<&str>), usize> = HashMap::new();
    let mut leaves = Vec::with_capacity(group.tasks.len());
    for vector in &segments.tasks {
        let mut at = 0;
        for (depth, segment) in vector.iter().enumerate() {
            let next = *found.entry((at, segment.map(|(name, _)| name))).or_insert(drafts.len());
            if next == drafts.len() {
                let segment = segment.map_or(UNCONSTRAINED, |(name, _)| name);
                let (children, depth) = (Vec::new(), depth + 1);
                drafts.push(Draft { parent: at, segment, depth, required: false, children, tasks: 0 });
                drafts[at].children.push(next);
            }
            drafts[next].required |= segment.is_some_and(|(_, kind)| kind == RequirementType::Required);
            at = next;
        }
        drafts[at].tasks += 1;
        leaves.push(at);
    }
    let mut tree = Tree::default();
    let branch = shared(&drafts, &segments.levels, &mut tree);
    let order = below(&drafts, branch);
    let names = names(&drafts, &order);
    let places: HashMap<usize, usize> = order.iter().enumerate().map(|(i, draft)| (*draft, i)).collect();
    for (draft, name) in order.iter().zip(names) {
        let node = &drafts[*draft];
        tree.nodes.push(Node {
            name,
            parent: places.get(&node.parent).copied(),
            level: segments.levels[node.depth - 1],
            required: node.required,
            tasks: node.children.is_empty().then_some(node.tasks),
        });
    }
    for (leaf, draft) in leaf_of.iter_mut().zip(leaves) {
        *leaf = places.get(&draft).copied();
    }
    tree.leaf_of = leaf_of;
    tree
}

/// Walks down while all tasks go the same way, and says which levels they share. Returns where they part.
fn shared(drafts: &[Draft<'_>], levels: &[usize], tree: &mut Tree) -> usize {
    let mut at = 0;
    while let [only] = drafts[at].children[..] {
        at = only;
        let level = levels[drafts[at].depth - 1];
        if drafts[at].required {
            // What is preferred and wider says nothing any more.
            (tree.required, tree.preferred) = (Some(level), None);
        } else {
            tree.preferred = Some(level);
        }
    }
    at
}

/// The nodes below one, each before its children.
fn below(drafts: &[Draft<'_>], branch: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut stack: Vec<usize> = drafts[branch].children.iter().rev().copied().collect();
    while let Some(at) = stack.pop() {
        order.push(at);
        stack.extend(drafts[at].children.iter().rev());
    }
    order
}

/// Names: the segments from the root on, joined. Where that is too long, KAI's own word, or the name of two, a hash of the
/// segments tells them apart; both get one, so that the order of tasks decides nothing.
fn names(drafts: &[Draft<'_>], order: &[usize]) -> Vec<String> {
    let mut paths: Vec<(String, String)> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let path = match paths.get(draft.parent).filter(|_| draft.depth > 1) {
            // No segment has a slash.
            Some((joined, exact)) => (format!("{joined}-{}", draft.segment), format!("{exact}/{}", draft.segment)),
            None => (draft.segment.to_owned(), draft.segment.to_owned()),
        };
        paths.push(path);
    }
    let mut is_hashed: Vec<bool> =
        order.iter().map(|draft| paths[*draft].0.len() > LABEL_VALUE_MAX || paths[*draft].0 == DEFAULT_LEAF).collect();
    // A hash is added to some in each round, so there are at most as many rounds as nodes.
    loop {
        let name = |(i, draft): (usize, &usize)| {
            let (joined, exact) = &paths[*draft];
            if is_hashed[i] { hashed(joined, exact) } else { joined.clone() }
        };
        let names: Vec<String> = order.iter().enumerate().map(name).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        let clashes: Vec<usize> =
            (0..names.len()).filter(|i| !is_hashed[*i] && counts[names[*i].as_str()] > 1).collect();
        if clashes.is_empty() {
            return names;
        }
        clashes.into_iter().for_each(|i| is_hashed[i] = true);
    }
}
