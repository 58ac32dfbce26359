//! Where pods may run: node selectors, required node affinity, and taints with their tolerations; and where they would like to:
//! preferred node affinity.
//!
//! Pods are sorted into kinds by what they say of nodes. Nodes keep, for each label that some kind asks about, the number
//! of its value, so that a kind is a few table lookups for each node, however long the labels are.

use super::amounts::{index, number};
use super::nodes::{Closure, Nodes};
use fixedbitset::FixedBitSet;
use k8s_openapi::api::core::v1::{
    NodeSelectorRequirement, NodeSelectorTerm, PodSpec, PreferredSchedulingTerm, Toleration,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use trellis_api::field::{FieldError, Path};
use trellis_engine::Eligibility;

const OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// What pods of one kind say of nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Kind<'a> {
    selector: Option<&'a BTreeMap<String, String>>,
    /// Terms of the required affinity, any of which is enough.
    terms: Option<&'a [NodeSelectorTerm]>,
    /// Terms of the preferred affinity, whose weights add up where they match.
    wishes: &'a [PreferredSchedulingTerm],
    tolerations: &'a [Toleration],
}

impl<'a> Kind<'a> {
    fn of(spec: Option<&'a PodSpec>) -> Self {
        let Some(spec) = spec else { return Self::default() };
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required =
            affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
        Self {
            selector: spec.node_selector.as_ref().filter(|selector| !selector.is_empty()),
            terms: required.map(|required| required.node_selector_terms.as_slice()),
            wishes: affinity
                .and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref())
                .unwrap_or_default(),
            tolerations: spec.tolerations.as_deref().unwrap_or_default(),
        }
    }

    fn expressions(&self) -> impl Iterator<Item = &'a NodeSelectorRequirement> {
        let wishes = self.wishes.iter().map(|wish| &wish.preference);
        self.terms.into_iter().flatten().chain(wishes).flat_map(|term| term.match_expressions.iter().flatten())
    }

    /// Text that is equal for equal kinds only.
    fn write_key(&self, key: &mut String) {
        // Each text is preceded by its length, so that none runs into the next.
        let text = |key: &mut String, text: &str| {
            let _ = write!(key, "{}:{text}", text.len());
        };
        key.clear();
        for (name, value) in self.selector.into_iter().flatten() {
            text(key, name);
            text(key, value);
        }
        key.push(if self.terms.is_some() { 'a' } else { '-' });
        let wishes = self.wishes.iter().map(|wish| (Some(wish.weight), &wish.preference));
        for (weight, term) in self.terms.into_iter().flatten().map(|term| (None, term)).chain(wishes) {
            key.push('t');
            if let Some(weight) = weight {
                let _ = write!(key, "w{weight}");
            }
            for (mark, list) in [('e', &term.match_expressions), ('f', &term.match_fields)] {
                for requirement in list.iter().flatten() {
                    key.push(mark);
                    text(key, &requirement.key);
                    text(key, &requirement.operator);
                    requirement.values.iter().flatten().for_each(|value| text(key, value));
                }
            }
        }
        for toleration in self.tolerations {
            key.push('x');
            for part in [&toleration.key, &toleration.operator, &toleration.value, &toleration.effect] {
                text(key, part.as_deref().unwrap_or_default());
            }
        }
    }
}

/// The kinds of pods.
#[derive(Debug, Default)]
pub(super) struct Kinds<'a> {
    list: Vec<Kind<'a>>,
    ids: HashMap<String, u32>,
    key: String,
}

impl<'a> Kinds<'a> {
    /// The number of the kind that a pod is of, and what is wrong with it if it is the first of its kind.
    pub fn intern(&mut self, spec: Option<&'a PodSpec>) -> (u32, Vec<FieldError>) {
        let kind = Kind::of(spec);
        kind.write_key(&mut self.key);
        if let Some(id) = self.ids.get(&self.key) {
            return (*id, Vec::new());
        }
        let id = number(self.list.len());
        self.list.push(kind);
        self.ids.insert(self.key.clone(), id);
        (id, faults(&kind))
    }

    /// Columns for the labels that some kind asks about, and for others that are asked about.
    pub fn columns(&self, others: impl Iterator<Item = &'a str>) -> Columns<'a> {
        let selectors = self.list.iter().flat_map(|kind| kind.selector.into_iter().flatten().map(|(key, _)| key));
        let expressions = self.list.iter().flat_map(|kind| kind.expressions().map(|requirement| &requirement.key));
        let keys: BTreeSet<&str> = selectors.chain(expressions).map(String::as_str).chain(others).collect();
        Columns(keys.into_iter().map(|key| (key, HashMap::new())).collect())
    }

    /// Where pods of each kind may run, by what they say of nodes.
    pub fn evaluate(&self, nodes: &Nodes, columns: &Columns<'_>) -> Eligible {
        let mut eligible = Eligible::default();
        for kind in &self.list {
            let tolerated: Vec<bool> = nodes.closures.iter().map(|set| tolerates(kind.tolerations, set)).collect();
            let wanted = Wanted::of(kind, columns);
            let mut allowed = FixedBitSet::with_capacity(nodes.list.len());
            let mut barred = allowed.clone();
            for (i, node) in nodes.list.iter().enumerate() {
                if wanted.matches(&node.values, &node.name) {
                    let set = if tolerated[index(node.closures)] { &mut allowed } else { &mut barred };
                    set.insert(i);
                }
            }
            let sets = Sets { allowed, barred, weights: weights(kind, nodes, columns) };
            let next = eligible.different.len();
            let plain = *eligible.different.entry(sets.clone()).or_insert(next);
            eligible.of_kind.push((sets, plain));
        }
        eligible
    }
}

/// How much pods of a kind would like to be on each node: the weights of the terms that match, added up. Empty if that is the same
/// everywhere.
fn weights(kind: &Kind<'_>, nodes: &Nodes, columns: &Columns<'_>) -> Vec<u32> {
    let mut weights = vec![0_u32; if kind.wishes.is_empty() { 0 } else { nodes.list.len() }];
    for wish in kind.wishes {
        let terms = std::slice::from_ref(&wish.preference);
        let wanted = Wanted::of(&Kind { terms: Some(terms), ..Kind::default() }, columns);
        for (weight, node) in weights.iter_mut().zip(&nodes.list) {
            if wanted.matches(&node.values, &node.name) {
                *weight = weight.saturating_add(u32::try_from(wish.weight).unwrap_or(0));
            }
        }
    }
    if weights.windows(2).all(|pair| pair[0] == pair[1]) { Vec::new() } else { weights }
}

/// The nodes that none of these terms selects.
pub(super) fn outside(terms: &[NodeSelectorTerm], nodes: &Nodes, columns: &Columns<'_>) -> FixedBitSet {
    let wanted = Wanted::of(&Kind { terms: Some(terms), ..Kind::default() }, columns);
    let mut outside = FixedBitSet::with_capacity(nodes.list.len());
    nodes.list.iter().enumerate().for_each(|(i, node)| outside.set(i, !wanted.matches(&node.values, &node.name)));
    outside
}

/// Where pods may run. Those that come to the same nodes share one [`Eligibility`].
#[derive(Debug, Default)]
pub(super) struct Eligible {
    /// The sets of each kind, and their number.
    of_kind: Vec<(Sets, usize)>,
    different: HashMap<Sets, usize>,
}

/// What an [`Eligibility`] is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sets {
    allowed: FixedBitSet,
    barred: FixedBitSet,
    weights: Vec<u32>,
}

impl Eligible {
    /// The number of where pods of a kind may run, but for nodes that are closed to them for other reasons.
    pub fn of(&mut self, kind: u32, closed: &[&FixedBitSet]) -> usize {
        let (sets, plain) = &self.of_kind[index(kind)];
        if closed.is_empty() {
            return *plain;
        }
        let mut sets = sets.clone();
        for closed in closed {
            sets.allowed.difference_with(closed);
            sets.barred.difference_with(closed);
        }
        let next = self.different.len();
        *self.different.entry(sets).or_insert(next)
    }

    /// All of them, by their numbers.
    pub fn list(self) -> Vec<Eligibility> {
        let mut list = vec![Eligibility::default(); self.different.len()];
        for (Sets { allowed, barred, weights }, i) in self.different {
            list[i] = Eligibility { allowed, barred, weights };
        }
        list
    }
}

/// For each label that is asked about, the values that nodes have, numbered from 1. A node without it has number 0.
#[derive(Debug)]
pub(super) struct Columns<'a>(Vec<(&'a str, HashMap<String, u32>)>);

impl Columns<'_> {
    /// The numbers of a node's values.
    pub fn values(&mut self, labels: Option<&BTreeMap<String, String>>) -> Box<[u32]> {
        let number_of = |(key, known): &mut (&str, HashMap<String, u32>)| {
            let Some(value) = labels.and_then(|labels| labels.get(*key)) else { return 0 };
            if let Some(number) = known.get(value) {
                return *number;
            }
            let next = number(known.len() + 1);
            known.insert(value.clone(), next);
            next
        };
        self.0.iter_mut().map(number_of).collect()
    }

    /// Which values of a column satisfy a requirement; at 0 whether it may be missing.
    fn satisfying(&self, column: usize, requirement: &NodeSelectorRequirement) -> Vec<bool> {
        let known = &self.0[column].1;
        let mut satisfying = vec![false; known.len() + 1];
        satisfying[0] = is_satisfied(requirement, None);
        for (value, number) in known {
            satisfying[index(*number)] = is_satisfied(requirement, Some(value));
        }
        satisfying
    }

    /// The place of a label.
    pub fn column(&self, key: &str) -> Option<usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key).ok()
    }
}

/// A column, and for each value in it whether it will do.
type Test = (usize, Vec<bool>);

/// A kind's node selector and affinity, ready to be held against nodes.
struct Wanted<'a> {
    selector: Vec<Test>,
    terms: Option<Vec<(Vec<Test>, &'a [NodeSelectorRequirement])>>,
}

impl<'a> Wanted<'a> {
    fn of(kind: &Kind<'a>, columns: &Columns<'_>) -> Self {
        let test = |requirement: &NodeSelectorRequirement| {
            columns.column(&requirement.key).map(|column| (column, columns.satisfying(column, requirement)))
        };
        let equal = |(key, value): (&String, &String)| NodeSelectorRequirement {
            key: key.clone(),
            operator: "In".to_owned(),
            values: Some(vec![value.clone()]),
        };
        let selector = kind.selector.into_iter().flatten().map(equal).filter_map(|requirement| test(&requirement));
        // A term that asks for nothing matches nothing.
        let is_empty = |term: &&NodeSelectorTerm| {
            [&term.match_expressions, &term.match_fields].into_iter().flatten().all(Vec::is_empty)
        };
        let term = |term: &'a NodeSelectorTerm| {
            let expressions = term.match_expressions.iter().flatten().filter_map(test).collect();
            (expressions, term.match_fields.as_deref().unwrap_or_default())
        };
        let terms = kind.terms.map(|terms| terms.iter().filter(|term| !is_empty(term)).map(term).collect());
        Self { selector: selector.collect(), terms }
    }

    fn matches(&self, values: &[u32], name: &str) -> bool {
        let holds = |tests: &[Test]| tests.iter().all(|(column, satisfying)| satisfying[index(values[*column])]);
        let named = |fields: &[NodeSelectorRequirement]| fields.iter().all(|field| is_satisfied(field, Some(name)));
        holds(&self.selector)
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|(tests, fields)| holds(tests) && named(fields)))
    }
}

/// Whether a label with this value, or its absence, satisfies a requirement.
fn is_satisfied(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let listed = |value: &str| values.iter().any(|listed| listed == value);
    let compared =
        || -> Option<std::cmp::Ordering> { Some(value?.parse::<i64>().ok()?.cmp(&values.first()?.parse().ok()?)) };
    match requirement.operator.as_str() {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared().is_some_and(std::cmp::Ordering::is_gt),
        "Lt" => compared().is_some_and(std::cmp::Ordering::is_lt),
        _ => false,
    }
}

/// Whether each of a node's taints is tolerated.
fn tolerates(tolerations: &[Toleration], closures: &[Closure]) -> bool {
    let covers = |toleration: &Toleration, closure: &Closure| {
        let fits = |written: &Option<String>, value: &str| {
            written.as_deref().is_none_or(|written| written.is_empty() || written == value)
        };
        fits(&toleration.effect, &closure.effect)
            && fits(&toleration.key, &closure.key)
            && match toleration.operator.as_deref().unwrap_or_default() {
                "Exists" => true,
                "" | "Equal" => toleration.value.as_deref().unwrap_or_default() == closure.value,
                _ => false,
            }
    };
    closures.iter().all(|closure| tolerations.iter().any(|toleration| covers(toleration, closure)))
}

/// What an API server would refuse in the affinity and the tolerations of a pod.
fn faults(kind: &Kind<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let affinity = Path::new("spec.affinity.nodeAffinity");
    let required = affinity.child("requiredDuringSchedulingIgnoredDuringExecution").child("nodeSelectorTerms");
    let preferred = affinity.child("preferredDuringSchedulingIgnoredDuringExecution");
    let terms = kind.terms.into_iter().flatten().enumerate().map(|(i, term)| (required.index(i), term));
    let wishes = kind.wishes.iter().enumerate();
    for (i, wish) in wishes.clone().filter(|(_, wish)| !(1..=100).contains(&wish.weight)) {
        let message = "must be from 1 to 100";
        errors.push(FieldError::invalid(&preferred.index(i).child("weight"), wish.weight, message));
    }
    let wishes = wishes.map(|(i, wish)| (preferred.index(i).child("preference"), &wish.preference));
    for (path, term) in terms.chain(wishes) {
        for (j, requirement) in term.match_expressions.iter().flatten().enumerate() {
            requirement_faults(requirement, &path.child("matchExpressions").index(j), &OPERATORS, &mut errors);
        }
        for (j, requirement) in term.match_fields.iter().flatten().enumerate() {
            let path = path.child("matchFields").index(j);
            if requirement.key != "metadata.name" {
                let key = requirement.key.as_str();
                errors.push(FieldError::not_supported(&path.child("key"), key, &["metadata.name"]));
            }
            requirement_faults(requirement, &path, &OPERATORS[..2], &mut errors);
        }
    }
    for (i, toleration) in kind.tolerations.iter().enumerate() {
        let operator = toleration.operator.as_deref().unwrap_or_default();
        if !["", "Equal", "Exists"].contains(&operator) {
            let path = Path::new("spec.tolerations").index(i).child("operator");
            errors.push(FieldError::not_supported(&path, operator, &["Equal", "Exists"]));
        }
    }
    errors
}

fn requirement_faults(
    requirement: &NodeSelectorRequirement,
    path: &Path,
    operators: &[&str],
    errors: &mut Vec<FieldError>,
) {
    let operator = requirement.operator.as_str();
    let values = requirement.values.as_deref().unwrap_or_default();
    let shown = || serde_json::Value::from(values.to_vec());
    let path_of_values = path.child("values");
    if !operators.contains(&operator) {
        errors.push(FieldError::not_supported(&path.child("operator"), operator, operators));
    } else if matches!(operator, "In" | "NotIn") && values.is_empty() {
        errors.push(FieldError::required(&path_of_values, format!("operator {operator} needs at least one value")));
    } else if matches!(operator, "Gt" | "Lt") && !matches!(values, [one] if one.parse::<i64>().is_ok()) {
        let message = format!("operator {operator} needs exactly one whole number");
        errors.push(FieldError::invalid(&path_of_values, shown(), message));
    }
}
