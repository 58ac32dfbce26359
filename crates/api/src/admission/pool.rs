//! Admission of pools: levels that a scheduler can take, platforms that are there, times that are times.

use super::{Verdict, form};
use crate::field::{FieldError, Path};
use crate::kinds::osmo::{Pool, PoolSpec};
use crate::names::{LABEL_KEY_MAX, label};
use crate::osmo::{config, units};
use crate::schema;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most levels of a pool: KAI's limit.
const LEVELS_MAX: usize = 16;
/// The scheduler types; the last knows no topology.
const SCHEDULER_TYPES: [&str; 3] = ["kai", "trellis", "default"];

/// Whether the pool may be created, or may replace another version of itself.
pub fn validate_pool(pool: &Pool) -> Verdict {
    let mut verdict = Verdict::default();
    if pool.metadata.deletion_timestamp.is_some() {
        return verdict;
    }
    form::cluster_scoped_name(&pool.metadata, &mut verdict.errors);
    let path = Path::new("spec");
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    check_scheduler(&pool.spec, name, &path, &mut verdict.errors);
    check_levels(&pool.spec, &path.child("topology_keys"), &mut verdict.errors);
    check_platforms(&pool.spec, &path, &mut verdict.errors);
    check_times(&pool.spec, &path, &mut verdict.errors);
    check_share(&pool.spec, &path, &mut verdict.errors);
    check_templates(&pool.spec, &path, &mut verdict);
    check_rest(&pool.spec, &path, &mut verdict);
    verdict
}

fn check_scheduler(spec: &PoolSpec, name: &str, path: &Path, errors: &mut Vec<FieldError>) {
    let kind = spec.scheduler_type();
    if !SCHEDULER_TYPES.contains(&kind) {
        let path = path.child("scheduler_settings").child("scheduler_type");
        errors.push(FieldError::not_supported(&path, kind, &SCHEDULER_TYPES));
    }
    if !spec.knows_topology() && !spec.topology_keys.is_empty() {
        let backend = spec.backend.as_deref().map(|backend| format!(" backend {backend:?}")).unwrap_or_default();
        let message = format!(
            "pool {name:?} cannot have topology keys: its{backend} scheduler {kind:?} does not support topology constraints; \
             use \"kai\" or \"trellis\", or leave the keys out"
        );
        errors.push(FieldError::forbidden(&path.child("topology_keys"), message));
    }
    if let Some(namespace) = spec.k8s_namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        form::dns_label(&path.child("k8s_namespace"), namespace, "Namespace", errors);
    }
}

fn check_levels(spec: &PoolSpec, path: &Path, errors: &mut Vec<FieldError>) {
    let levels = &spec.topology_keys;
    if levels.len() > LEVELS_MAX {
        errors.push(FieldError::too_many(path, levels.len(), format!("must have at most {LEVELS_MAX} items")));
    }
    let (mut keys, mut labels) = (BTreeSet::new(), BTreeSet::new());
    for (i, level) in levels.iter().enumerate() {
        let path = path.index(i);
        let (key_path, label_path) = (path.child("key"), path.child("label"));
        if level.key.is_empty() {
            errors.push(FieldError::required(&key_path, "the name is needed by which workflows speak of the level"));
        } else if !form::is_qualified_part(&level.key) {
            let message = "must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit \
                           (e.g. 'gpu-clique')";
            errors.push(FieldError::invalid(&key_path, level.key.as_str(), message));
        } else if !keys.insert(level.key.as_str()) {
            errors.push(FieldError::duplicate(&key_path, level.key.as_str()));
        }
        if level.label.is_empty() {
            errors.push(FieldError::required(&label_path, "a node label key is needed"));
            continue;
        }
        if level.label.len() > LABEL_KEY_MAX {
            errors.push(FieldError::too_long(&label_path, level.label.as_str(), LABEL_KEY_MAX));
        } else if let Some(fault) = form::label_key_fault(&level.label) {
            errors.push(FieldError::invalid(&label_path, level.label.as_str(), fault));
        }
        if !labels.insert(level.label.as_str()) {
            errors.push(FieldError::duplicate(&label_path, level.label.as_str()));
        }
        if level.label == label::HOSTNAME && i + 1 < levels.len() {
            let message = "nothing is finer than a host: this label can only be that of the last level";
            errors.push(FieldError::invalid(&label_path, level.label.as_str(), message));
        }
    }
}

fn check_platforms(spec: &PoolSpec, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(default) = spec.default_platform.as_deref().filter(|name| !name.is_empty()) else { return };
    if !spec.platforms.contains_key(default) {
        let known: Vec<&str> = spec.platforms.keys().map(String::as_str).collect();
        let message = match known.as_slice() {
            [] => "must be one of the pool's platforms, and it has none".to_owned(),
            known => format!("must be one of the pool's platforms: {}", known.join(", ")),
        };
        errors.push(FieldError::not_found(&path.child("default_platform"), default, message));
    }
}

/// What is said of a time that is none.
pub(super) const TIME: &str = "must be seconds, a whole number with a unit (d, h, m, s, ms, us), or ISO 8601 (e.g. 3600, '2h', \
                               'PT1H30M')";

fn check_times(spec: &PoolSpec, path: &Path, errors: &mut Vec<FieldError>) {
    for (field, value) in [
        ("default_exec_timeout", &spec.default_exec_timeout),
        ("max_exec_timeout", &spec.max_exec_timeout),
        ("default_queue_timeout", &spec.default_queue_timeout),
        ("max_queue_timeout", &spec.max_queue_timeout),
        ("start_timeout", &spec.start_timeout),
    ] {
        // OSMO writes an empty text where there is no time.
        let written = value.as_ref().filter(|value| value.as_str() != Some(""));
        if let Some(value) = written.filter(|value| units::time(value).is_none_or(|time| time.is_zero())) {
            errors.push(FieldError::invalid(&path.child(field), value.clone(), TIME));
        }
    }
}

fn check_share(spec: &PoolSpec, path: &Path, errors: &mut Vec<FieldError>) {
    let gpu = spec.gpu();
    if gpu.maximum >= 0 && gpu.guarantee > gpu.maximum {
        let message = format!("must not be more than maximum, which is {}", gpu.maximum);
        errors.push(FieldError::invalid(&path.child("resources.gpu.guarantee"), gpu.guarantee, message));
    }
}

/// What keeps pods to the nodes of the pool has to be there and has to be readable: it is not dropped in silence.
fn check_templates(spec: &PoolSpec, path: &Path, verdict: &mut Verdict) {
    check_template(spec.pod_template.as_ref(), &path.child("pod_template"), verdict);
    warn_of_names(&spec.rest, "common_pod_template", path, verdict);
    for (name, platform) in &spec.platforms {
        check_template(platform.pod_template.as_ref(), &config::platform_template(name), verdict);
        warn_of_names(&platform.rest, "override_pod_template", &path.child("platforms").key(name), verdict);
    }
}

fn check_template(template: Option<&Map<String, Value>>, path: &Path, verdict: &mut Verdict) {
    let Some(template) = template else { return };
    for (part, field, value) in config::pod_fields(template) {
        let pod = json!({ part: { field: value } });
        if let Err(error) = serde_json::from_value::<Pod>(pod) {
            let path = path.child(part).child(field);
            let message =
                format!("must be what a pod has there: {error}; texts that look like numbers or truths need quotes");
            verdict.errors.push(FieldError::invalid(&path, value, message));
        }
    }
    for token in config::tokens_of(template, path) {
        verdict.warnings.push(format!("{token}: left out, because nothing fills it in; pods have nothing there"));
    }
}

/// Names of templates that were not given with the pool.
fn warn_of_names(rest: &Map<String, Value>, field: &str, path: &Path, verdict: &mut Verdict) {
    let names = rest.get(field).and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    if !names.is_empty() {
        verdict.warnings.push(format!(
            "{}: {} not given, so pods have nothing of it, such as what keeps them to the pool's nodes; write it as pod_template",
            path.child(field),
            if names.len() == 1 { format!("{} is", names[0]) } else { format!("{} are", names.join(", ")) },
        ));
    }
}

/// Fields that OSMO may have and we do not know. One that is spelt like one of ours was meant to be it.
fn check_rest(spec: &PoolSpec, path: &Path, verdict: &mut Verdict) {
    let known: Vec<String> = [
        "description",
        "backend",
        "scheduler_settings",
        "k8s_namespace",
        "topology_keys",
        "platforms",
        "default_platform",
        "resources",
        "common_default_variables",
        "pod_template",
        "default_exec_timeout",
        "max_exec_timeout",
        "default_queue_timeout",
        "max_queue_timeout",
        "start_timeout",
    ]
    .map(str::to_owned)
    .to_vec();
    for (field, value) in spec.rest.iter().filter(|(field, _)| !PoolSpec::KEPT.contains(&field.as_str())) {
        match schema::nearest(field, known.iter()) {
            Some(meant) => {
                let message = format!("unknown field; did you mean `{meant}`?");
                let value = if value.is_object() || value.is_array() { Value::Null } else { value.clone() };
                verdict.errors.push(FieldError::invalid(&path.child(field), value, message));
            }
            None => verdict.warnings.push(format!("{}: unknown field, passed over", path.child(field))),
        }
    }
}
