//! PodDisruptionBudgets: a gang that one protects is the last choice, not a forbidden one.

use crate::picture::Picture;
use crate::seen::Key;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many pods each budget lets go, in the order of the budgets.
pub(super) fn allowed(picture: &Picture<'_>) -> Vec<usize> {
    let allowed = |budget: &PodDisruptionBudget| budget.status.as_ref().map_or(0, |status| status.disruptions_allowed);
    picture.seen.budgets.values().map(|budget| usize::try_from(allowed(budget)).unwrap_or(0)).collect()
}

/// How many bound pods of these gangs are under each budget.
pub(super) fn under(picture: &Picture<'_>, gangs: &[usize]) -> Vec<usize> {
    let under = |(key, budget): (&Key, &Arc<PodDisruptionBudget>)| {
        let bound = |gang: &usize| {
            let pods = picture.gangs[*gang].pods.iter().filter(|pod| pod.bound.is_some());
            pods.filter(|pod| picture.pod(*gang, &pod.name).is_some_and(|pod| covers(budget, pod))).count()
        };
        gangs.iter().filter(|gang| picture.gangs[**gang].id.namespace == *key.namespace).map(bound).sum()
    };
    picture.seen.budgets.iter().map(under).collect()
}

/// How many budgets are broken if all of these go: each a list of how many pods are under each budget.
pub(super) fn broken(allowed: &[usize], going: &[&Vec<usize>]) -> usize {
    let goes = |budget: usize| going.iter().filter_map(|under| under.get(budget)).sum::<usize>();
    (0..allowed.len()).filter(|budget| goes(*budget) > allowed[*budget]).count()
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
