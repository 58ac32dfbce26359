//! Sets of paths: what a manager owns. A tree, each node sorted, so that the set operations are single passes over both sides.

use std::cmp::Ordering;

use super::path::Element;

/// A set of paths. Being in the set does not put what is above or below into it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Sorted by element; none is useless (neither a member nor with something below).
    nodes: Vec<Node>,
}

/// One step and what the set knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The step.
    pub element: Element,
    /// Whether the path that ends here is in the set.
    pub member: bool,
    /// The paths that go on from here.
    pub below: FieldSet,
}

impl Node {
    fn is_useless(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// An empty set with room for this many first steps.
    pub(super) fn with_capacity(steps: usize) -> Self {
        FieldSet { nodes: Vec::with_capacity(steps) }
    }

    /// The first steps of all paths, sorted.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A set of paths made of field names, such as `["spec", "replicas"]`.
    pub fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = FieldSet::default();
        for path in paths {
            set.insert(path.iter().map(|name| Element::Field((*name).to_owned())));
        }
        set
    }

    /// Puts a path in. The empty path means the whole object, which nobody owns.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Element>) {
        let mut path = path.into_iter().peekable();
        let mut set = self;
        while let Some(element) = path.next() {
            let last = path.peek().is_none();
            let at = match set.find(&element) {
                Ok(at) => at,
                Err(at) => {
                    set.nodes.insert(at, Node { element, member: false, below: FieldSet::default() });
                    at
                }
            };
            let node = &mut set.nodes[at];
            node.member |= last;
            set = &mut node.below;
        }
    }

    /// Adds a step that is not there yet. Cheap if steps come in order.
    pub fn push(&mut self, element: Element, member: bool, below: FieldSet) {
        let node = Node { element, member, below };
        if node.is_useless() {
            return;
        }
        if self.nodes.last().is_none_or(|last| last.element < node.element) {
            self.nodes.push(node);
            return;
        }
        match self.find(&node.element) {
            Ok(at) => {
                let there = &mut self.nodes[at];
                there.member |= node.member;
                there.below = std::mem::take(&mut there.below).union(node.below);
            }
            Err(at) => self.nodes.insert(at, node),
        }
    }

    fn find(&self, element: &Element) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.element.cmp(element))
    }

    /// What is known of a first step.
    pub fn get(&self, element: &Element) -> Option<&Node> {
        self.find(element).ok().map(|at| &self.nodes[at])
    }

    /// Whether a path is in the set.
    pub fn has(&self, path: &[Element]) -> bool {
        let Some((last, above)) = path.split_last() else { return false };
        let mut set = self;
        for element in above {
            match set.get(element) {
                Some(node) => set = &node.below,
                None => return false,
            }
        }
        set.get(last).is_some_and(|node| node.member)
    }

    /// Whether every path of the other is in this set.
    pub fn covers(&self, other: &FieldSet) -> bool {
        other.nodes.iter().all(|theirs| {
            self.get(&theirs.element)
                .is_some_and(|mine| (mine.member || !theirs.member) && mine.below.covers(&theirs.below))
        })
    }

    /// Everything that is in one of the two.
    pub fn union(self, other: FieldSet) -> FieldSet {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut left, mut right) = (self.nodes.into_iter().peekable(), other.nodes.into_iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match a.element.cmp(&b.element) {
                Ordering::Less => nodes.extend(left.next()),
                Ordering::Greater => nodes.extend(right.next()),
                Ordering::Equal => {
                    if let (Some(a), Some(b)) = (left.next(), right.next()) {
                        let member = a.member || b.member;
                        nodes.push(Node { element: a.element, member, below: a.below.union(b.below) });
                    }
                }
            }
        }
        nodes.extend(left);
        nodes.extend(right);
        FieldSet { nodes }
    }

    /// Everything that is in both.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut nodes = Vec::new();
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match a.element.cmp(&b.element) {
                Ordering::Less => _ = left.next(),
                Ordering::Greater => _ = right.next(),
                Ordering::Equal => {
                    let (member, below) = (a.member && b.member, a.below.intersection(&b.below));
                    if member || !below.is_empty() {
                        nodes.push(Node { element: a.element.clone(), member, below });
                    }
                    _ = (left.next(), right.next());
                }
            }
        }
        FieldSet { nodes }
    }

    /// What is in this set and not in the other. What lies below a path of the other stays.
    pub fn difference(self, other: &FieldSet) -> FieldSet {
        self.subtract(other, false)
    }

    /// What is in this set and neither in the other nor below a path of the other.
    pub fn recursive_difference(self, other: &FieldSet) -> FieldSet {
        self.subtract(other, true)
    }

    fn subtract(mut self, other: &FieldSet, recursive: bool) -> FieldSet {
        if other.is_empty() {
            return self;
        }
        let mut rest = other.nodes.as_slice();
        self.nodes.retain_mut(|node| {
            while rest.first().is_some_and(|taken| taken.element < node.element) {
                rest = &rest[1..];
            }
            let Some(taken) = rest.first().filter(|taken| taken.element == node.element) else { return true };
            if taken.member && recursive {
                return false;
            }
            node.member &= !taken.member;
            node.below = std::mem::take(&mut node.below).subtract(&taken.below, recursive);
            !node.is_useless()
        });
        self
    }

    /// The paths below which nothing is in the set.
    pub fn leaves(&self) -> FieldSet {
        let mut leaves = FieldSet::default();
        for node in &self.nodes {
            let below = node.below.leaves();
            leaves.push(node.element.clone(), node.member && node.below.is_empty(), below);
        }
        leaves
    }

    /// Every path, those that end at a node before those that go on from any node beside it.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, above: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = above.clone();
            path.push(node.element.clone());
            paths.push(path);
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            above.push(node.element.clone());
            node.below.collect(above, paths);
            above.pop();
        }
    }

    /// Keeps or changes each first step by hand; steps that end up useless go.
    pub(super) fn change_nodes(&mut self, mut change: impl FnMut(&mut Node)) {
        self.nodes.retain_mut(|node| {
            change(node);
            !node.is_useless()
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn set(fields: &Value) -> FieldSet {
        FieldSet::from_json(fields).expect("it can be read")
    }

    fn check(found: &FieldSet, expected: &Value) {
        assert_eq!(found.to_json(), *expected);
        assert_eq!(*found, set(expected));
    }

    #[test]
    fn operations() {
        let a = || set(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {"f:d": {}}}, "v:1": {}}));
        let b = || set(&json!({"f:a": {"f:b": {}}, "f:e": {}, "v:1": {}}));
        check(&a().union(b()), &json!({"f:a": {".": {}, "f:b": {}, "f:c": {"f:d": {}}}, "f:e": {}, "v:1": {}}));
        check(&a().intersection(&b()), &json!({"f:a": {"f:b": {}}, "v:1": {}}));
        check(&a().difference(&b()), &json!({"f:a": {".": {}, "f:c": {"f:d": {}}}}));
        check(&b().difference(&a()), &json!({"f:e": {}}));
        let c = set(&json!({"f:a": {"f:c": {}}, "v:1": {}}));
        check(&a().difference(&c), &json!({"f:a": {".": {}, "f:b": {}, "f:c": {"f:d": {}}}}));
        check(&a().recursive_difference(&c), &json!({"f:a": {".": {}, "f:b": {}}}));
        check(&a().recursive_difference(&set(&json!({"f:a": {}}))), &json!({"v:1": {}}));
        check(&a().leaves(), &json!({"f:a": {"f:b": {}, "f:c": {"f:d": {}}}, "v:1": {}}));
        assert!(
            a().covers(&set(&json!({"f:a": {"f:b": {}}}))) && !a().covers(&b()) && a().covers(&FieldSet::default())
        );
        assert!(a().difference(&a()).is_empty());
    }

    #[test]
    fn paths() {
        let all = set(
            &json!({"f:spec": {".": {}, "f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}, "v:\"x\"": {}}, "f:z": {}}}),
        );
        let shown: Vec<String> = all.paths().iter().map(|path| super::super::path::render(path)).collect();
        let expected =
            [".spec", ".spec.z", r#".spec.list[name="a"]"#, r#".spec.list[="x"]"#, r#".spec.list[name="a"].image"#];
        assert_eq!(shown, expected);
        assert!(all.paths().iter().all(|path| all.has(path)));
        assert!(!all.has(&[]) && !all.has(&[Element::Index(0)]));
        let again = all.paths().into_iter().rev().fold(FieldSet::default(), |mut set, path| {
            set.insert(path);
            set
        });
        assert_eq!(again, all);
    }

    #[test]
    fn what_is_no_set() {
        for bad in [json!([]), json!({"f:a": 1}), json!({"a": {}}), json!({"k:x": {}})] {
            assert!(FieldSet::from_json(&bad).is_err(), "{bad}");
        }
        check(&set(&json!(null)), &json!({}));
        check(&set(&json!({"f:b": {}, "f:a": {"x:later": {}}, ".": {}})), &json!({"f:a": {}, "f:b": {}}));
    }
}
