//! Admission of the OperatorConfiguration.

use super::{Verdict, cluster_topology};
use crate::duration;
use crate::field::{FieldError, Path};
use crate::kinds::config::{
    DefaultSchedulerConfig, KaiConfig, LeaderElection, OperatorConfiguration, Scheduler, SchedulerProfile,
    TrellisConfig,
};
use crate::names::profile;
use crate::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

/// Whether the operator can start with this configuration.
pub fn validate_operator_configuration(config: &OperatorConfiguration) -> Verdict {
    let mut verdict = Verdict::default();
    let errors = &mut verdict.errors;
    let burst = config.runtime_client_connection.burst;
    if let Some(burst) = burst.filter(|burst| *burst < 0) {
        let path = Path::new("runtimeClientConnection.burst");
        errors.push(FieldError::invalid(&path, burst, "must be non-negative"));
    }
    leader_election(&config.leader_election, errors);
    let controllers = &config.controllers;
    for (name, controller) in [
        ("podCliqueSet", &controllers.pod_clique_set),
        ("podClique", &controllers.pod_clique),
        ("podCliqueScalingGroup", &controllers.pod_clique_scaling_group),
        ("podGang", &controllers.pod_gang),
    ] {
        if let Some(syncs) = controller.concurrent_syncs.filter(|syncs| *syncs <= 0) {
            let path = Path::new("controllers").child(name).child("concurrentSyncs");
            errors.push(FieldError::invalid(&path, syncs, "must be greater than 0"));
        }
    }
    topology(config, &mut verdict);
    let errors = &mut verdict.errors;
    if config.network.auto_mnnvl_enabled {
        errors.push(FieldError::not_supported(&Path::new("network.autoMNNVLEnabled"), true, &["false"]));
    }
    scheduler(&config.scheduler, errors);
    verdict
}

fn leader_election(election: &LeaderElection, errors: &mut Vec<FieldError>) {
    if !election.enabled {
        return;
    }
    let path = Path::new("leaderElection");
    let mut positive = |field: &str, text: Option<&str>, default: &str| -> Option<Duration> {
        let text = text.unwrap_or(default);
        let parsed = duration::parse(text);
        match parsed {
            None if !text.starts_with('-') => {
                let message = "must be a duration such as \"15s\"";
                errors.push(FieldError::invalid(&path.child(field), text, message));
                None
            }
            None | Some(Duration::ZERO) => {
                errors.push(FieldError::invalid(&path.child(field), text, "must be greater than 0"));
                None
            }
            Some(_) => parsed,
        }
    };
    let lease = positive("leaseDuration", election.lease_duration.as_deref(), "15s");
    let renew = positive("renewDeadline", election.renew_deadline.as_deref(), "10s");
    let retry = positive("retryPeriod", election.retry_period.as_deref(), "2s");
    if let (Some(lease), Some(renew)) = (lease, renew)
        && lease <= renew
    {
        let value = election.lease_duration.as_deref().unwrap_or("15s");
        let message = "LeaseDuration must be greater than RenewDeadline";
        errors.push(FieldError::invalid(&path.child("leaseDuration"), value, message));
    }
    if let (Some(renew), Some(retry)) = (renew, retry)
        && renew <= retry
    {
        let value = election.renew_deadline.as_deref().unwrap_or("10s");
        let message = "RenewDeadline must be greater than RetryPeriod";
        errors.push(FieldError::invalid(&path.child("renewDeadline"), value, message));
    }
    match election.resource_lock.as_deref() {
        Some("") => errors.push(FieldError::required(&path.child("resourceLock"), "resourceLock is required")),
        Some(lock) if lock != "leases" => {
            errors.push(FieldError::not_supported(&path.child("resourceLock"), lock, &["leases"]));
        }
        _ => {}
    }
    if election.resource_name.as_deref() == Some("") {
        errors.push(FieldError::required(&path.child("resourceName"), "resourceName is required"));
    }
}

fn topology(config: &OperatorConfiguration, verdict: &mut Verdict) {
    let topology = &config.topology_aware_scheduling;
    if !topology.enabled {
        return;
    }
    let path = Path::new("topologyAwareScheduling.levels");
    if topology.levels.is_empty() {
        verdict.errors.push(FieldError::required(&path, "levels are required when topology is enabled"));
        return;
    }
    cluster_topology::check_levels(&topology.levels, &path, verdict);
}

fn scheduler(scheduler: &Scheduler, errors: &mut Vec<FieldError>) {
    let path = Path::new("scheduler");
    let profiles = &scheduler.profiles;
    let mut seen = BTreeSet::new();
    for (i, profile) in profiles.iter().enumerate() {
        let path = path.child("profiles").index(i);
        let name_path = path.child("name");
        if profile.name.is_empty() {
            errors.push(FieldError::required(&name_path, "scheduler profile name is required"));
        } else if !profile::ALL.contains(&profile.name.as_str()) {
            errors.push(FieldError::not_supported(&name_path, profile.name.as_str(), &profile::ALL));
        } else if !seen.insert(profile.name.as_str()) {
            errors.push(FieldError::duplicate(&name_path, profile.name.as_str()));
        }
        profile_config(profile, &path.child("config"), errors);
    }
    let marked: Vec<(usize, &SchedulerProfile)> =
        profiles.iter().enumerate().filter(|(_, profile)| profile.is_default).collect();
    for (i, _) in marked.iter().skip(1) {
        let path = path.child("profiles").index(*i).child("default");
        errors.push(FieldError::invalid(&path, true, "only one profile can be the default"));
    }
    let Some(named) = scheduler.default_profile_name.as_deref().filter(|name| !name.is_empty()) else { return };
    let path = path.child("defaultProfileName");
    // Without a list there is `trellis`; Kubernetes' own scheduler is always there.
    let enabled = seen.contains(named)
        || named == profile::DEFAULT_SCHEDULER
        || (profiles.is_empty() && named == profile::TRELLIS);
    if !enabled {
        let message = "default profile must be one of the configured profiles";
        errors.push(FieldError::invalid(&path, named, message));
    } else if let Some((i, other)) = marked.first().filter(|(_, profile)| profile.name != named) {
        let message =
            format!("disagrees with scheduler.profiles[{i}], {:?}, which is marked as the default", other.name);
        errors.push(FieldError::invalid(&path, named, message));
    }
}

static KAI_SCHEMA: LazyLock<Value> = LazyLock::new(schema::derived::<KaiConfig>);
static TRELLIS_SCHEMA: LazyLock<Value> = LazyLock::new(schema::derived::<TrellisConfig>);
static DEFAULT_SCHEMA: LazyLock<Value> = LazyLock::new(schema::derived::<DefaultSchedulerConfig>);

/// The options of a profile: no unknown ones, and of the right types.
fn profile_config(profile: &SchedulerProfile, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(config) = &profile.config else { return };
    let schema: &Value = match profile.name.as_str() {
        profile::KAI => &KAI_SCHEMA,
        profile::TRELLIS => &TRELLIS_SCHEMA,
        profile::DEFAULT_SCHEDULER => &DEFAULT_SCHEMA,
        _ => return,
    };
    let mut value = Value::Object(config.clone());
    errors.extend(schema::check(schema, &mut value, path).errors);
    let reserve_path = path.child("reserveAfter");
    match value.get("reserveAfter") {
        Some(Value::String(text)) if duration::parse(text).is_none() => {
            let message = "must be a duration such as \"10m\", or 0 for never";
            errors.push(FieldError::invalid(&reserve_path, text.as_str(), message));
        }
        Some(Value::Number(number)) if number.as_i64() != Some(0) => {
            let message = "must be a duration with a unit such as \"10m\", or 0 for never";
            errors.push(FieldError::invalid(&reserve_path, Value::Number(number.clone()), message));
        }
        _ => {}
    }
}
