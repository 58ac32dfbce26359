//! `trellis render`

use crate::args::{RenderArgs, RenderOutput};
use crate::objects::{Object, Role};
use crate::{osmo, output, validate, world};
use anyhow::Result;
use serde_json::Value;
use trellis_api::admission::dynamo::DynamoReview;
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::review::{self, Defaulted, TopologyReview};
use trellis_api::admission::{Verdict, pod_clique_set_structure, validate_operator_configuration};
use trellis_api::dynamo::Graph;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::PodCliqueSet;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::names::profile;
use trellis_api::settings::Settings;
use trellis_lower::dynamo::follow_structure;
use trellis_lower::{Drift, DriftState, LiveReplicas, Lowered, Surroundings, kai, lower, scheduler};

/// Prints every object that follows from the sets of the input; returns whether all sets were fit for it.
pub fn run(args: &RenderArgs) -> Result<bool> {
    let config = match &args.input.config {
        Some(path) => Some(validate::read_config(path)?),
        None => None,
    };
    let objects = validate::read_objects(&args.input.files, &args.input.osmo.reading())?;
    let mut fit = config.as_ref().is_none_or(config_is_fit);
    let settings = world::settings(config.as_ref());
    let cluster: Vec<&Object> = objects.iter().collect();
    let view = world::view(&cluster, &settings);
    let (cliques, groups) = world::children(&cluster);
    for object in &objects {
        if let Some(fault) = &object.fault {
            fit = tell(object, &Verdict { errors: vec![fault.clone()], warnings: Vec::new() }) && fit;
        }
    }
    let first = validate::by_identity(&objects);
    let (mut sets, mut deployed): (Vec<PodCliqueSet>, Vec<PodCliqueSet>) = (Vec::new(), Vec::new());
    for object in &objects {
        let other =
            object.identity().and_then(|identity| first.get(&identity)).filter(|first| !std::ptr::eq(**first, object));
        if let Some(other) = other {
            let same = other.document.value == object.document.value;
            fit = (same || tell(object, &validate::twice(object, other))) && fit;
            continue;
        }
        match object.role {
            Role::Judged(Kind::ClusterTopology) => {
                let review = TopologyReview::of(&object.document.value, None);
                fit = tell(object, &review.judge(false, &view, &settings)) && fit;
            }
            Role::Judged(Kind::PodCliqueSet) => match set_if_fit(object, &settings) {
                Some(set) => sets.push(set),
                None => fit = false,
            },
            Role::Judged(Kind::DynamoGraphDeployment) => match deployment_if_fit(object, &settings) {
                Some(graph) => deployed.push(world::made(&graph, &settings)),
                None => fit = false,
            },
            Role::Judged(Kind::Pool | Kind::Workflow) => {
                fit = tell(object, &validate::judge(object, None, &view, &settings)?) && fit;
            }
            _ => {}
        }
    }
    if !fit {
        return Ok(false);
    }
    // What a user wrote is not printed again; the set of a deployment is made from it like everything else.
    let mut rendered: Vec<Value> = deployed.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    sets.extend(deployed);
    for set in &sets {
        let live = LiveReplicas::of(set, &cliques, &groups);
        let around = Surroundings { topologies: &view.topologies, live: &live, settings: &settings };
        let lowered = lower(set, &around);
        tell_drift(set, &lowered.drift);
        add(lowered, &mut rendered)?;
    }
    osmo::render(&objects, &view.pools, &mut rendered)?;
    let uses_kai = sets.iter().any(|set| scheduler(set, &settings) == profile::KAI)
        || (config.is_some() && settings.is_enabled(profile::KAI));
    if uses_kai && settings.create_kai_topologies && settings.topology_enabled {
        for topology in view.topologies.values() {
            for level in kai::levels(topology).1 {
                let name = topology.metadata.name.as_deref().unwrap_or_default();
                eprintln!(
                    "warning: ClusterTopology {name}: level '{}' is below {} and is left out of the KAI Topology",
                    level.domain,
                    trellis_api::names::label::HOSTNAME
                );
            }
            rendered.push(serde_json::to_value(kai::topology(topology))?);
        }
    }
    if let Some(topology) = settings.default_topology() {
        rendered.push(serde_json::to_value(topology)?);
    }
    rendered.sort_by_cached_key(sort_key);
    match args.output {
        RenderOutput::Json => {
            output::json(&serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": rendered }))?;
        }
        RenderOutput::Yaml => output::yaml(&rendered)?,
    }
    Ok(true)
}

fn sort_key(object: &Value) -> (String, String, String) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

fn config_is_fit(config: &Object) -> bool {
    let decoded: Decoded<OperatorConfiguration> = decode(Kind::OperatorConfiguration, config.document.value.clone());
    tell(config, &review::rules(decoded, validate_operator_configuration))
}

/// The set as it would be stored, unless its structure is faulty.
fn set_if_fit(object: &Object, settings: &Settings) -> Option<PodCliqueSet> {
    let Defaulted { mut decoded, warnings } = world::pod_clique_set(object, None, settings);
    let set = decoded.object.take();
    let mut verdict = set.as_ref().map(|set| pod_clique_set_structure(set, None, settings)).unwrap_or_default();
    if set.as_ref().is_some_and(|set| set.metadata.name.as_deref().unwrap_or_default().is_empty()) {
        let path = Path::new("metadata.name");
        verdict.errors.push(FieldError::required(&path, "a generated name is not known before the set is created"));
    }
    verdict.warnings.splice(0..0, warnings);
    let verdict = decoded.judged(verdict);
    set.filter(|_| tell(object, &verdict))
}

/// The deployment, unless its structure is faulty.
fn deployment_if_fit(object: &Object, settings: &Settings) -> Option<Graph> {
    let review = DynamoReview::of(&object.document.value, None);
    let (graph, mut verdict) = review.judge_structure(|graph| follow_structure(graph, settings));
    let named = |graph: &Graph| graph.object.metadata.name.as_deref().is_some_and(|name| !name.is_empty());
    if graph.as_ref().is_some_and(|graph| !named(graph)) {
        let path = Path::new("metadata.name");
        let message = "a generated name is not known before the deployment is created";
        verdict.errors.push(FieldError::required(&path, message));
    }
    graph.filter(|_| tell(object, &verdict))
}

/// Says on stderr what is wrong; returns whether nothing is.
pub fn tell(object: &Object, verdict: &Verdict) -> bool {
    for warning in &verdict.warnings {
        eprintln!("warning: {}: {warning}", object.title());
    }
    for error in &verdict.errors {
        match object.is_live() {
            true => eprintln!("warning: {}: {error}; it is left out", object.title()),
            false => eprintln!("error: {}: {}: {error}", object.document.place(&error.field), object.title()),
        }
    }
    verdict.allowed()
}

pub fn tell_drift(set: &PodCliqueSet, drift: &Drift) {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let topology = drift.topology.as_deref().unwrap_or_default();
    let what = match drift.state {
        DriftState::NotConstrained | DriftState::InSync => return,
        DriftState::Disabled => {
            "topology support is not enabled in the operator; all constraints are left out".to_owned()
        }
        DriftState::NotFound => format!("ClusterTopology {topology:?} is not there; all constraints are left out"),
        DriftState::LevelsMissing => {
            let missing: Vec<String> = drift.missing.iter().map(|domain| format!("'{domain}'")).collect();
            format!("ClusterTopology {topology:?} has no level {}; it is left out", missing.join(", "))
        }
    };
    eprintln!("warning: PodCliqueSet {namespace}/{name}: {what}");
}

fn add(lowered: Lowered, rendered: &mut Vec<Value>) -> Result<()> {
    fn all<T: serde::Serialize>(objects: impl IntoIterator<Item = T>, rendered: &mut Vec<Value>) -> Result<()> {
        for object in objects {
            rendered.push(serde_json::to_value(object)?);
        }
        Ok(())
    }
    all(lowered.service_account, rendered)?;
    all(lowered.role, rendered)?;
    all(lowered.role_binding, rendered)?;
    all(lowered.services, rendered)?;
    all(lowered.autoscalers, rendered)?;
    all(lowered.claims, rendered)?;
    all(lowered.pod_cliques, rendered)?;
    all(lowered.scaling_groups, rendered)?;
    all(lowered.gangs, rendered)?;
    all(lowered.pods, rendered)?;
    all(lowered.kai_pod_groups, rendered)
}
