//! PodDisruptionBudgets: a gang that one protects is the last choice, not a forbidden one.

use crate::picture::Picture;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use std::collections::BTreeMap;

/// Whether evicting all bound pods of these gangs would break a budget.
pub(super) fn breaks_any(picture: &Picture<'_>, gangs: &[usize]) -> bool {
    picture.seen.budgets.iter().any(|(key, budget)| {
        let bound = |gang: &usize| {
            let pods = picture.gangs[*gang].pods.iter().filter(|pod| pod.bound.is_some());
            pods.filter(|pod| picture.pod(*gang, &pod.name).is_some_and(|pod| covers(budget, pod))).count()
        };
        let here = gangs.iter().filter(|gang| picture.gangs[**gang].id.namespace == *key.namespace);
        let evicted: usize = here.map(bound).sum();
        let allowed = budget.status.as_ref().map_or(0, |status| status.disruptions_allowed);
        evicted > usize::try_from(allowed).unwrap_or(0)
    })
}

fn covers(budget: &PodDisruptionBudget, pod: &k8s_openapi::api::core::v1::Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let empty = BTreeMap::new();
    selector.is_some_and(|selector| matches(selector, pod.metadata.labels.as_ref().unwrap_or(&empty)))
}

fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = |(key, value): (&String, &String)| labels.get(key) == Some(value);
    let holds = |requirement: &LabelSelectorRequirement| {
        let value = labels.get(&requirement.key);
        let listed = || value.is_some_and(|value| requirement.values.iter().flatten().any(|one| one == value));
        match requirement.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    };
    selector.match_labels.iter().flatten().all(equal) && selector.match_expressions.iter().flatten().all(holds)
}
