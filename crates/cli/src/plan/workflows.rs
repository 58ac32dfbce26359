//! Workflows in a plan: the groups that can start now, as gangs of KAI's form.

use super::gather::Gathered;
use crate::objects::Object;
use crate::osmo::with_pool;
use std::collections::BTreeSet;
use std::rc::Rc;
use trellis_api::admission::Pools;
use trellis_lower::osmo::{groups, pool_objects, priority_classes, workflow_objects};

/// Adds the gangs and pods that follow from workflows, as far as the input does not have them. Groups that wait for the
/// outputs of others are not planned: those others will have left.
pub fn add(workflows: Vec<Object>, pools: &Pools, gathered: &mut Gathered) {
    let mut used = BTreeSet::new();
    for object in workflows {
        let Some((workflow, pool)) = with_pool(&object, pools) else { continue };
        let origin = Rc::new(object);
        if used.insert(pool.metadata.name.clone())
            && let Some(topology) = pool_objects(pool).topology
        {
            let name = topology.metadata.name.clone().unwrap_or_default();
            gathered.kai_topologies.add_rendered("", &name, topology, &origin);
        }
        for class in priority_classes() {
            let name = class.metadata.name.clone().unwrap_or_default();
            gathered.priority_classes.add_rendered("", &name, class, &origin);
        }
        for (group, (_, objects)) in groups(&workflow).iter().zip(workflow_objects(&workflow, pool)) {
            let needs: BTreeSet<&str> = group.needs().collect();
            if !needs.is_empty() {
                let needs = needs.into_iter().collect::<Vec<_>>().join(", ");
                eprintln!("note: {}: group {:?} waits for {needs} and is not planned", origin.title(), group.name);
                continue;
            }
            let namespace = workflow.metadata.namespace.as_deref().unwrap_or_default();
            if let Some(gang) = objects.pod_group {
                let name = gang.metadata.name.clone().unwrap_or_default();
                gathered.pod_groups.add_rendered(namespace, &name, gang, &origin);
            }
            for pod in objects.pods {
                let name = pod.metadata.name.clone().unwrap_or_default();
                gathered.pods.add_rendered(namespace, &name, pod, &origin);
            }
        }
    }
}
