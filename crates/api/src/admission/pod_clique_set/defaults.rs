//! Fills in what the user left out.

use super::label;
use crate::kinds::{HeadlessServiceConfig, PodCliqueSet, UpdateStrategy};
use crate::settings::Settings;
use std::sync::Arc;

const TERMINATION_DELAY: &str = "4h";
const GRACE_PERIOD_SECONDS: i64 = 30;

/// Fills in what the user left out, and returns warnings about what was overwritten. Doing it twice changes nothing.
///
/// On an update, an omitted `minAvailable` keeps its old value: it is immutable, so nothing else could be meant.
pub fn default_pod_clique_set(set: &mut PodCliqueSet, old: Option<&PodCliqueSet>, settings: &Settings) -> Vec<String> {
    if set.metadata.namespace.as_deref().unwrap_or_default().is_empty() {
        set.metadata.namespace = Some("default".to_owned());
    }
    set.spec.update_strategy.get_or_insert_with(UpdateStrategy::default);
    let template = &mut set.spec.template;
    let old_template = old.map(|old| &old.spec.template);
    for clique in &mut template.cliques {
        let old = old_template.and_then(|old| old.cliques.iter().find(|c| c.name == clique.name));
        let spec = &mut clique.spec;
        let replicas = spec.replicas.filter(|&replicas| replicas != 0).unwrap_or(1);
        spec.replicas = Some(replicas);
        spec.min_available = spec.min_available.or(old.and_then(|old| old.spec.min_available)).or(Some(replicas));
        if let Some(scaling) = &mut spec.auto_scaling_config {
            scaling.min_replicas.get_or_insert(replicas);
        }
        let pod = Arc::make_mut(&mut spec.pod_spec.0);
        if pod.get("restartPolicy").is_none_or(|policy| policy.is_null() || policy == "") {
            pod.insert("restartPolicy".to_owned(), "Always".into());
        }
        if pod.get("terminationGracePeriodSeconds").is_none_or(serde_json::Value::is_null) {
            pod.insert("terminationGracePeriodSeconds".to_owned(), GRACE_PERIOD_SECONDS.into());
        }
    }
    for group in &mut template.pod_clique_scaling_groups {
        let old = old_template.and_then(|old| old.pod_clique_scaling_groups.iter().find(|g| g.name == group.name));
        let replicas = *group.replicas.get_or_insert(1);
        group.min_available = group.min_available.or(old.and_then(|old| old.min_available)).or(Some(1));
        if let Some(scaling) = &mut group.scale_config {
            scaling.min_replicas.get_or_insert(replicas);
        }
    }
    template.termination_delay.get_or_insert_with(|| TERMINATION_DELAY.to_owned());
    template.headless_service_config.get_or_insert_with(HeadlessServiceConfig::default);
    label::default(set, old, settings)
}
