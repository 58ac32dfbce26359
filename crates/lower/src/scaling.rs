//! What scales: PodCliqueScalingGroups and HorizontalPodAutoscalers.

use crate::expand::LiveReplicas;
use crate::{child_metadata, count, name};
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
};
use trellis_api::constraint::group_of;
use trellis_api::kinds::{AutoScalingConfig, PodCliqueScalingGroup, PodCliqueScalingGroupSpec, PodCliqueSet};
use trellis_api::names::{self, annotation, component, group, label};

/// The scaling groups of a set.
pub fn scaling_groups(set: &PodCliqueSet, live: &LiveReplicas) -> Vec<PodCliqueScalingGroup> {
    let mut found = Vec::new();
    for i in 0..count(set.spec.replicas) {
        for template in &set.spec.template.pod_clique_scaling_groups {
            let name = names::scaling_group(name(set), i, &template.name);
            let mut metadata = child_metadata(set, &name, component::SCALING_GROUP);
            let labels = metadata.labels.get_or_insert_default();
            labels.insert(label::SET_REPLICA_INDEX.to_owned(), i.to_string());
            labels.insert(label::GROUP.to_owned(), template.name.clone());
            let mut annotations = template.annotations.clone();
            let written = count(template.replicas.unwrap_or(1));
            annotations.insert(annotation::TEMPLATE_REPLICAS.to_owned(), written.to_string());
            metadata.annotations = Some(annotations);
            found.push(PodCliqueScalingGroup {
                metadata,
                spec: PodCliqueScalingGroupSpec {
                    replicas: i32::try_from(live.group_replicas(&name, template)).unwrap_or(i32::MAX),
                    min_available: template.min_available.unwrap_or(1),
                    clique_names: template.clique_names.clone(),
                },
                status: None,
            });
        }
    }
    found
}

/// The autoscalers of a set: for standalone cliques and for scaling groups that ask for one.
pub fn autoscalers(set: &PodCliqueSet) -> Vec<HorizontalPodAutoscaler> {
    let template = &set.spec.template;
    let mut found = Vec::new();
    for i in 0..count(set.spec.replicas) {
        for clique in template.cliques.iter().filter(|clique| group_of(set, &clique.name).is_none()) {
            if let Some(config) = &clique.spec.auto_scaling_config {
                let name = names::clique(name(set), i, &clique.name);
                found.push(autoscaler(set, i, "PodClique", &name, config, clique.spec.replicas));
            }
        }
        for group in &template.pod_clique_scaling_groups {
            if let Some(config) = &group.scale_config {
                let name = names::scaling_group(name(set), i, &group.name);
                found.push(autoscaler(set, i, "PodCliqueScalingGroup", &name, config, group.replicas));
            }
        }
    }
    found
}

/// Autoscaler and target have the same name.
fn autoscaler(
    set: &PodCliqueSet,
    i: usize,
    kind: &str,
    name: &str,
    config: &AutoScalingConfig,
    replicas: Option<i32>,
) -> HorizontalPodAutoscaler {
    let mut metadata = child_metadata(set, name, component::HPA);
    metadata.labels.get_or_insert_default().insert(label::SET_REPLICA_INDEX.to_owned(), i.to_string());
    HorizontalPodAutoscaler {
        metadata,
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some(format!("{}/{}", group::GROVE, group::V1ALPHA1)),
                kind: kind.to_owned(),
                name: name.to_owned(),
            },
            min_replicas: config.min_replicas.or(replicas),
            max_replicas: config.max_replicas,
            metrics: Some(config.metrics.clone()).filter(|metrics| !metrics.is_empty()),
            behavior: None,
        }),
        status: None,
    }
}
