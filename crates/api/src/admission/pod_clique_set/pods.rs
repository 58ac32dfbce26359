//! Rules about the pod specs.

use super::super::Verdict;
use super::resources;
use crate::constraint::group_of;
use crate::field::{self, FieldError, Path};
use crate::kinds::{CliqueTemplate, PodCliqueSet, PodSpec};
use crate::names;
use crate::settings::Settings;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// Fields that would take placement out of our hands.
const NOT_ALLOWED: [&str; 2] = ["topologySpreadConstraints", "nodeName"];

pub fn check(set: &PodCliqueSet, old: Option<&PodCliqueSet>, settings: &Settings, verdict: &mut Verdict) {
    let cliques = &set.spec.template.cliques;
    for (i, clique) in cliques.iter().enumerate() {
        let path = Path::new("spec.template.cliques").index(i).child("spec").child("podSpec");
        let old = old.and_then(|old| old.spec.template.cliques.iter().find(|c| c.name == clique.name));
        form(&clique.spec.pod_spec, &path, verdict);
        not_allowed(clique, old, &path, &mut verdict.errors);
        containers(&clique.spec.pod_spec, &path, verdict);
        reserved_volume(&clique.spec.pod_spec, &path, &mut verdict.errors);
        resources::check(&clique.spec.pod_spec, &path, &mut verdict.errors);
        oddities(set, &clique.spec.pod_spec, &path, verdict);
        environment_oddities(set, clique, &path, verdict);
        scheduler(set, clique, settings, &path, &mut verdict.errors);
    }
}

/// The types of all fields; a field we do not know may be new in Kubernetes, or a slip of the pen.
fn form(pod: &PodSpec, path: &Path, verdict: &mut Verdict) {
    let warnings = &mut verdict.warnings;
    let mut unknown = |field: String| {
        let field = indexed(&field);
        warnings.push(format!("{path}.{field}: unknown field of a pod spec, handed on as it is"));
    };
    if let Err((field, message)) = pod.typed(&mut unknown) {
        let (path, field) = if field == "." { (path.clone(), "") } else { (path.child(&field), field.as_str()) };
        let written = field::at(&Value::Object((*pod.0).clone()), field).cloned().unwrap_or_default();
        verdict.errors.push(FieldError::invalid(&path, written, message));
    }
}

/// `containers.0.name`, as one crate writes it, is `containers[0].name`.
fn indexed(dotted: &str) -> String {
    let mut path = String::new();
    for part in dotted.split('.').filter(|part| *part != "?") {
        if part.bytes().all(|b| b.is_ascii_digit()) && !path.is_empty() {
            path.extend(["[", part, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(part);
        }
    }
    path
}

fn not_allowed(clique: &CliqueTemplate, old: Option<&CliqueTemplate>, path: &Path, errors: &mut Vec<FieldError>) {
    let set_in = |pod: &PodSpec, field: &str| {
        pod.0
            .get(field)
            .is_some_and(|value| !value.is_null() && value != "" && value.as_array().is_none_or(|a| !a.is_empty()))
    };
    for field in NOT_ALLOWED {
        let had_it = old.is_some_and(|old| set_in(&old.spec.pod_spec, field));
        if set_in(&clique.spec.pod_spec, field) && !had_it {
            errors.push(FieldError::forbidden(&path.child(field), "must not be set"));
        }
    }
}

fn containers(pod: &PodSpec, path: &Path, verdict: &mut Verdict) {
    if pod.objects("containers").next().is_none() {
        verdict.errors.push(FieldError::required(&path.child("containers"), "at least one container must be defined"));
    }
    let mut names_seen = BTreeSet::new();
    for (list, i, container) in
        ["initContainers", "containers"].into_iter().flat_map(|l| pod.objects(l).map(move |(i, c)| (l, i, c)))
    {
        let path = path.child(list).index(i);
        match container.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            None => verdict.errors.push(FieldError::required(&path.child("name"), "must not be empty")),
            Some(name) if !names_seen.insert(name.to_owned()) => {
                verdict.errors.push(FieldError::duplicate(&path.child("name"), name));
            }
            Some(names::WAIT_CONTAINER) => {
                let message = format!(
                    "{:?} is the name of the init container that keeps the startup order",
                    names::WAIT_CONTAINER
                );
                verdict.errors.push(FieldError::forbidden(&path.child("name"), message));
            }
            Some(_) => {}
        }
        if container.get("image").is_none_or(|image| image.is_null() || image == "") {
            verdict.warnings.push(format!("{}: no image; its pods cannot be created", path.child("image")));
        }
        env(container, &path.child("env"), verdict);
    }
}

/// Names that the startup order needs for itself.
fn reserved_volume(pod: &PodSpec, path: &Path, errors: &mut Vec<FieldError>) {
    for (i, _) in pod.objects("volumes").filter(|(_, v)| v.get("name").is_some_and(|n| n == names::WAIT_TOKEN_VOLUME)) {
        let message = format!("{:?} is the name of a volume that keeps the startup order", names::WAIT_TOKEN_VOLUME);
        errors.push(FieldError::forbidden(&path.child("volumes").index(i).child("name"), message));
    }
}

fn env(container: &Map<String, Value>, path: &Path, verdict: &mut Verdict) {
    let mut seen = BTreeSet::new();
    let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
    for (i, variable) in variables.enumerate() {
        let path = path.index(i).child("name");
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            verdict.errors.push(FieldError::required(&path, "must not be empty"));
        } else if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
            let message =
                "a valid environment variable name must consist only of printable ASCII characters other than '='";
            verdict.errors.push(FieldError::invalid(&path, name, message));
        } else if !seen.insert(name) {
            verdict.errors.push(FieldError::duplicate(&path, name));
        }
    }
}

/// Variables that the operator sets itself.
fn environment_oddities(set: &PodCliqueSet, clique: &CliqueTemplate, path: &Path, verdict: &mut Verdict) {
    let in_group = group_of(set, &clique.name).is_some();
    let ours = |name: &str| names::env::ALL.contains(&name) && (in_group || !names::env::OF_GROUPS.contains(&name));
    for list in ["initContainers", "containers"] {
        for (i, container) in clique.spec.pod_spec.objects(list) {
            let variables = container.get("env").and_then(Value::as_array).into_iter().flatten().enumerate();
            for (j, name) in variables.filter_map(|(j, variable)| Some((j, variable.get("name")?.as_str()?))) {
                if ours(name) {
                    let path = path.child(list).index(i).child("env").index(j).child("name");
                    verdict.warnings.push(format!("{path}: {name} is set by the operator, the value here is ignored"));
                }
            }
        }
    }
}

fn oddities(set: &PodCliqueSet, pod: &PodSpec, path: &Path, verdict: &mut Verdict) {
    for field in ["hostname", "subdomain"].into_iter().filter(|field| pod.str(field).is_some()) {
        verdict.warnings.push(format!("{}: set by the operator, the value here is ignored", path.child(field)));
    }
    let policy = pod.str("restartPolicy").filter(|policy| *policy != "Always");
    if let Some(policy) = policy.filter(|policy| !RESTART_POLICIES.contains(policy)) {
        verdict.errors.push(FieldError::not_supported(&path.child("restartPolicy"), policy, &RESTART_POLICIES));
    } else if let Some(policy) = policy {
        verdict.warnings.push(format!(
            "{}: with {policy:?} a pod that has finished is not made anew, and a gang whose pods have all succeeded is done",
            path.child("restartPolicy")
        ));
    }
    let own = set.spec.template.priority_class_name.as_deref().filter(|class| !class.is_empty());
    if let (Some(class), Some(gang)) = (pod.str("priorityClassName"), own)
        && class != gang
    {
        verdict.warnings.push(format!(
            "{}: {class:?} differs from {gang:?} in spec.template.priorityClassName, by which the gang is scheduled",
            path.child("priorityClassName")
        ));
    }
}

/// One scheduler serves the whole set, and it must be enabled.
fn scheduler(
    set: &PodCliqueSet,
    clique: &CliqueTemplate,
    settings: &Settings,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let path = path.child("schedulerName");
    let first = set.spec.template.cliques.first().and_then(|first| first.spec.pod_spec.scheduler_name());
    let (first, own) = (settings.profile(first), settings.profile(clique.spec.pod_spec.scheduler_name()));
    if own != first {
        errors.push(FieldError::invalid(&path, own, "the schedulerName for all pods have to be the same"));
    }
    if !settings.is_enabled(own) {
        let message = format!(
            "schedulerName must be an enabled scheduler backend; this scheduler is not enabled in OperatorConfiguration, \
             enabled are: {}",
            settings.profiles.join(", ")
        );
        errors.push(FieldError::invalid(&path, own, message));
    }
}
