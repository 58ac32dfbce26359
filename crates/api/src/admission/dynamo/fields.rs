//! Fields that are kept but not acted on. What would change where pods stand is refused, since it would be ignored; the rest is warned of.

mod placing;

use super::super::Verdict;
use crate::dynamo::{Graph, POD_FIELDS, Shape};
use crate::field::{FieldError, Path};
use crate::names::dynamo::annotation;
use crate::schema::nearest;
use serde_json::Value;

/// Fields of a spec that both versions have.
const SPEC: [&str; 6] =
    ["topologyConstraint", "backendFramework", "labels", "annotations", "priorityClassName", "experimental"];
/// Fields of a component that both versions have.
const COMPONENT: [&str; 7] = [
    "name",
    "replicas",
    "minAvailable",
    "multinode",
    "topologyConstraint",
    "globalDynamoNamespace",
    "compilationCache",
];
/// Fields of v1beta1's components.
const BETA: [&str; 6] =
    ["type", "podTemplate", "sharedMemorySize", "experimental", "frontendSidecar", "runtimeVersionOverride"];
/// Fields of v1alpha1's services, beside those for their pods.
const ALPHA: [&str; 4] = ["componentType", "subComponentType", "sharedMemory", "podTemplate"];
/// Known to Dynamo's operator, and without effect here.
const SPEC_IDLE: [&str; 2] = ["restart", "pvcs"];
const COMPONENT_IDLE: [&str; 10] = [
    "scalingAdapter",
    "autoscaling",
    "ingress",
    "checkpoint",
    "modelRef",
    "eppConfig",
    "dynamoNamespace",
    "serviceName",
    "gpuMemoryService",
    "failover",
];
/// Trials of Dynamo's that are known, and without effect here.
const SPEC_TRIALS_IDLE: [&str; 1] = ["kvTransferPolicy"];
const TRIALS_IDLE: [&str; 3] = ["checkpoint", "gpuMemoryService", "failover"];
const STRATEGIES: [&str; 2] = ["RollingRecreate", "OnDelete"];

pub fn check(graph: &Graph, verdict: &mut Verdict) {
    annotations(graph, None, verdict);
    placing::check(graph, verdict);
    let spec = Path::new("spec");
    let is_beta = graph.shape == Shape::Components;
    let env = if is_beta { "env" } else { "envs" };
    let mut known: Vec<&str> = SPEC.to_vec();
    known.extend([env, "services", "components", "providerOverride"]);
    fields(graph.written_spec(), &spec, &known, &SPEC_IDLE, verdict);
    overridden(graph.written_spec(), &spec, verdict);
    fields(&graph.written_spec()["experimental"], &spec.child("experimental"), &[], &SPEC_TRIALS_IDLE, verdict);
    for i in 0..graph.components().len() {
        let (path, written) = (graph.path(i), graph.written(i));
        let mut known: Vec<&str> = COMPONENT.to_vec();
        known.extend(if is_beta { BETA.to_vec() } else { ALPHA.iter().chain(&POD_FIELDS).copied().collect() });
        known.push("providerOverride");
        more_pods(written, &path, verdict);
        more_pods(&written["experimental"], &path.child("experimental"), verdict);
        fields(written, &path, &known, &COMPONENT_IDLE, verdict);
        if is_beta {
            fields(&written["experimental"], &path.child("experimental"), &["grove"], &TRIALS_IDLE, verdict);
        }
        overridden(written, &path, verdict);
        for role in ["leader", "worker"] {
            overridden(&written["multinode"][role], &path.child("multinode").child(role), verdict);
        }
    }
}

fn fields(written: &Value, path: &Path, known: &[&str], idle: &[&str], verdict: &mut Verdict) {
    for (field, _) in written.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let path = path.child(field);
        // What is refused is not said to be kept.
        let is_refused = |error: &FieldError| error.field.starts_with(&path.to_string());
        if idle.contains(&field.as_str()) && verdict.errors.iter().any(is_refused) {
            continue;
        }
        if idle.contains(&field.as_str()) {
            verdict.warnings.push(format!("{path}: kept as it is, and without effect here"));
        } else if !known.contains(&field.as_str()) {
            let meant = meant(field, known).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
            verdict.warnings.push(format!("{path}: unknown field, kept as it is{meant}"));
        }
    }
}

/// The known field that is spelt nearly like this one.
fn meant(field: &str, known: &[&str]) -> Option<String> {
    let names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
    nearest(field, names.iter()).map(str::to_owned)
}

/// An override would put constraints past everything that is checked here.
fn overridden(written: &Value, path: &Path, verdict: &mut Verdict) {
    if written.get("providerOverride").is_some_and(|value| !value.is_null()) {
        let message = "is not supported: constraints are written as topologyConstraint, where they can be checked";
        verdict.errors.push(FieldError::forbidden(&path.child("providerOverride"), message));
    }
}

/// Options that ask for pods which are not made here.
fn more_pods(written: &Value, path: &Path, verdict: &mut Verdict) {
    let memory = &written["gpuMemoryService"];
    let is_across = memory["mode"].as_str().is_some_and(|mode| mode.eq_ignore_ascii_case("interpod"));
    if is_across && memory["enabled"] != false {
        let message = "GPU memory that pods share across pods is not supported";
        verdict.errors.push(FieldError::forbidden(&path.child("gpuMemoryService").child("mode"), message));
    }
    let failover = &written["failover"];
    if failover.is_object() && failover["enabled"] != false {
        let message = "shadow pods are not supported";
        verdict.errors.push(FieldError::forbidden(&path.child("failover"), message));
    }
}

/// Annotations that are acted on. What stood there before is not held against an update.
pub fn annotations(graph: &Graph, old: Option<&Graph>, verdict: &mut Verdict) {
    let path = |key: &str| Path::new("metadata.annotations").key(key);
    let given = |key: &str| {
        let given = graph.annotation(key)?;
        old.is_none_or(|old| old.annotation(key) != Some(given)).then_some(given)
    };
    if let Some(strategy) = given(annotation::UPDATE_STRATEGY).filter(|given| !STRATEGIES.contains(given)) {
        let path = path(annotation::UPDATE_STRATEGY);
        verdict.errors.push(FieldError::not_supported(&path, strategy, &STRATEGIES));
    }
    if given(annotation::ENABLE_GROVE).is_some_and(|given| given.eq_ignore_ascii_case("false")) {
        let path = path(annotation::ENABLE_GROVE);
        verdict.warnings.push(format!("{path}: without effect here: a deployment always becomes a PodCliqueSet"));
    }
}
