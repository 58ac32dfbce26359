//! Terms of affinity between pods: which pods one means, and within which domain.

use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use std::collections::{BTreeMap, BTreeSet};

/// The one label of namespaces that is known without looking at them.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

type Labels = BTreeMap<String, String>;

/// A term, in a form that is equal for terms that mean the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Term<'a> {
    /// The label of nodes whose values are the domains.
    pub key: &'a str,
    namespaces: Namespaces<'a>,
    /// What labels have to be like; without it nobody is meant.
    selector: Option<BTreeSet<Requirement<'a>>>,
}

/// In which namespaces pods are meant: those that are listed, and those whose name is selected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Namespaces<'a> {
    listed: BTreeSet<&'a str>,
    selector: Option<BTreeSet<Requirement<'a>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Requirement<'a> {
    key: &'a str,
    operator: Operator,
    values: BTreeSet<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    /// One that no API server takes.
    Unknown,
}

/// The required terms of a pod: whom it must keep apart from, or whom it must be near.
pub(super) fn required(spec: Option<&PodSpec>, is_apart: bool) -> &[PodAffinityTerm] {
    let affinity = spec.and_then(|spec| spec.affinity.as_ref());
    let apart = affinity.and_then(|it| it.pod_anti_affinity.as_ref());
    let near = affinity.and_then(|it| it.pod_affinity.as_ref());
    let terms = if is_apart {
        apart.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_deref())
    } else {
        near.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_deref())
    };
    terms.unwrap_or_default()
}

/// Where the terms stand.
pub(super) fn field(is_apart: bool, i: usize) -> String {
    let which = if is_apart { "podAntiAffinity" } else { "podAffinity" };
    format!("spec.affinity.{which}.{REQUIRED}[{i}]")
}

impl<'a> Term<'a> {
    /// A term as a pod in this namespace with these labels means it; and what of it cannot be judged, with its field.
    pub fn read(
        term: &'a PodAffinityTerm,
        namespace: &'a str,
        labels: Option<&'a Labels>,
    ) -> (Self, Option<&'static str>) {
        let mut listed: BTreeSet<&str> = term.namespaces.iter().flatten().map(String::as_str).collect();
        let by_label = term.namespace_selector.as_ref().map(requirements);
        if listed.is_empty() && by_label.is_none() {
            listed.insert(namespace);
        }
        let mut selector = term.label_selector.as_ref().map(requirements);
        // An API server puts these into the selector; twice is no more than once.
        for (keys, operator) in [(&term.match_label_keys, Operator::In), (&term.mismatch_label_keys, Operator::NotIn)] {
            for key in keys.iter().flatten() {
                let value = labels.and_then(|labels| labels.get(key));
                if let (Some(value), Some(selector)) = (value, &mut selector) {
                    selector.insert(Requirement { key, operator, values: BTreeSet::from([value.as_str()]) });
                }
            }
        }
        let is_unknown = |it: &Option<BTreeSet<Requirement<'_>>>| {
            it.iter().flatten().any(|requirement| requirement.operator == Operator::Unknown)
        };
        let is_blind = by_label.iter().flatten().any(|requirement| requirement.key != NAMESPACE_NAME);
        let trouble = if is_blind || is_unknown(&by_label) {
            Some("namespaceSelector")
        } else {
            is_unknown(&selector).then_some("labelSelector")
        };
        (Self { key: &term.topology_key, namespaces: Namespaces { listed, selector: by_label }, selector }, trouble)
    }

    /// The labels that it asks about.
    pub fn asks_about(&self) -> impl Iterator<Item = &'a str> {
        self.selector.iter().flatten().map(|requirement| requirement.key)
    }

    /// Whether it means pods of this namespace with these labels.
    pub fn means(&self, namespace: &str, labels: Option<&Labels>) -> bool {
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
        self.namespaces.has(namespace)
            && self
                .selector
                .as_ref()
                .is_some_and(|all| all.iter().all(|requirement| requirement.holds(value(requirement.key))))
    }

    /// The pods that it means, in words.
    pub fn words(&self) -> String {
        let all = |selector: &BTreeSet<Requirement<'_>>| -> String {
            selector.iter().map(Requirement::words).collect::<Vec<_>>().join(",")
        };
        let pods = match &self.selector {
            None => "no pods".to_owned(),
            Some(selector) if selector.is_empty() => "all pods".to_owned(),
            Some(selector) => all(selector),
        };
        let mut places: Vec<String> = self.namespaces.listed.iter().map(|&namespace| namespace.to_owned()).collect();
        places
            .extend(self.namespaces.selector.as_ref().map(|it| if it.is_empty() { "all".to_owned() } else { all(it) }));
        format!("{pods} in {}", places.join(" "))
    }
}

impl Namespaces<'_> {
    /// Of other labels than its name a namespace is taken to have those that are asked for: better apart without need than together.
    fn has(&self, namespace: &str) -> bool {
        let holds =
            |requirement: &Requirement<'_>| requirement.key != NAMESPACE_NAME || requirement.holds(Some(namespace));
        self.listed.contains(namespace) || self.selector.as_ref().is_some_and(|all| all.iter().all(holds))
    }
}

impl Requirement<'_> {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In => listed(),
            Operator::NotIn => !listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Unknown => false,
        }
    }

    fn words(&self) -> String {
        let (key, values) = (self.key, self.values.iter().copied().collect::<Vec<_>>());
        match (self.operator, values.as_slice()) {
            (Operator::In, [value]) => format!("{key}={value}"),
            (Operator::In, _) => format!("{key} in ({})", values.join(",")),
            (Operator::NotIn, [value]) => format!("{key}!={value}"),
            (Operator::NotIn, _) => format!("{key} notin ({})", values.join(",")),
            (Operator::Exists, _) => key.to_owned(),
            (Operator::DoesNotExist, _) => format!("!{key}"),
            (Operator::Unknown, _) => format!("{key} ?"),
        }
    }
}

fn requirements(selector: &LabelSelector) -> BTreeSet<Requirement<'_>> {
    let equal = selector.match_labels.iter().flatten().map(|(key, value)| Requirement {
        key,
        operator: Operator::In,
        values: BTreeSet::from([value.as_str()]),
    });
    let expressions = selector.match_expressions.iter().flatten().map(|requirement| Requirement {
        key: &requirement.key,
        operator: match requirement.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => Operator::Unknown,
        },
        values: requirement.values.iter().flatten().map(String::as_str).collect(),
    });
    equal.chain(expressions).collect()
}
