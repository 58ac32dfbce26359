//! What the benchmark runs: a set of many small replicas, as Grove's scale test has it, and the configuration that it is run under.

use anyhow::{Result, bail};
use serde_json::json;
use std::collections::BTreeMap;
use trellis_api::admission::review;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::kinds::config::{OperatorConfiguration, SchedulerProfile};
use trellis_api::names::profile;
use trellis_api::settings::Settings;
use trellis_lower::{LiveReplicas, Surroundings, lower};

/// Name of the set.
pub const SET: &str = "bench";
/// Name of its only clique.
const CLIQUE: &str = "expert-worker";

/// A set, and the pods that follow from it.
#[derive(Debug)]
pub struct Workload {
    pub set: PodCliqueSet,
    /// Name and body of every pod, as the operator makes them but without an owner, which would have to be there first.
    pub pods: Vec<(String, Vec<u8>)>,
}

impl Workload {
    pub fn new(namespace: &str, replicas: u16, pods: u16) -> Result<Self> {
        let settings = Settings::of(&configuration());
        let set = set(namespace, replicas, pods, &settings)?;
        let (topologies, live) = (BTreeMap::new(), LiveReplicas::default());
        let lowered = lower(&set, &Surroundings { topologies: &topologies, live: &live, settings: &settings });
        let body = |pod: &trellis_lower::Pod| Ok((pod.name().to_owned(), serde_json::to_vec(pod)?));
        let pods = lowered.pods.iter().map(body).collect::<Result<_>>()?;
        Ok(Self { set, pods })
    }
}

/// The set with its defaults, as a webhook would leave it.
fn set(namespace: &str, replicas: u16, pods: u16, settings: &Settings) -> Result<PodCliqueSet> {
    let resources = json!({ "cpu": "10m", "memory": "16Mi" });
    let set = json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": { "name": SET, "namespace": namespace },
        "spec": {
            "replicas": replicas,
            "template": {
                "cliques": [{
                    "name": CLIQUE,
                    "spec": {
                        "roleName": CLIQUE,
                        "replicas": pods,
                        "minAvailable": pods,
                        "podSpec": {
                            "containers": [{
                                "name": "worker",
                                "image": "registry.example.com/worker:1",
                                "resources": { "requests": resources },
                            }],
                        },
                    },
                }],
            },
        },
    });
    match review::defaulted(&set, None, settings).decoded.whole() {
        Some(set) => Ok(set),
        None => bail!("the benchmark's own set cannot be read"),
    }
}

/// Kubernetes' own scheduler, no topology: nothing but the operator is measured.
pub fn configuration() -> OperatorConfiguration {
    let mut configuration = OperatorConfiguration {
        api_version: "operator.config.grove.io/v1alpha1".to_owned(),
        kind: "OperatorConfiguration".to_owned(),
        ..OperatorConfiguration::default()
    };
    let profile = SchedulerProfile { name: profile::DEFAULT_SCHEDULER.to_owned(), is_default: true, config: None };
    configuration.scheduler.profiles.push(profile);
    configuration
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use trellis_api::names::GANG_GATE;

    #[test]
    fn pods_are_gated_and_have_no_owner() {
        let workload = Workload::new("space", 3, 2).unwrap();
        let names: Vec<&str> = workload.pods.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], ["bench-0-expert-worker-0", "bench-0-expert-worker-1", "bench-1-expert-worker-0"]);
        assert_eq!(names.len(), 6);
        for (name, body) in &workload.pods {
            let pod: Value = serde_json::from_slice(body).unwrap();
            assert_eq!(pod["metadata"]["name"], name.as_str());
            assert_eq!(pod["metadata"]["namespace"], "space");
            assert!(pod["metadata"].get("ownerReferences").is_none(), "{pod}");
            assert_eq!(pod["spec"]["schedulingGates"], serde_json::json!([{ "name": GANG_GATE }]));
            assert_eq!(pod["spec"]["schedulerName"], profile::DEFAULT_SCHEDULER);
        }
    }
}
