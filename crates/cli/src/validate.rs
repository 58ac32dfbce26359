//! `trellis validate`

use crate::args::{ValidateArgs, ValidateOutput};
use crate::objects::{BINDING, Object, Role};
use crate::osmo::{self, Reading};
use crate::{input, output, world};
use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trellis_api::admission::dynamo::{DynamoReview, TopologyRead};
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::review::{self, Leave, SetReview, TopologyReview, rules};
use trellis_api::admission::{ClusterView, Verdict, validate_operator_configuration};
use trellis_api::dynamo::Graph;
use trellis_api::field::FieldError;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::kinds::{PodClique, PodCliqueScalingGroup, PodGang};
use trellis_api::settings::Settings;
use trellis_lower::dynamo::follow;

/// What is said of one object.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    pub kind: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub allowed: bool,
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
    #[serde(skip)]
    pub object: &'a Object,
}

/// Judges every object of the input; returns whether all were admitted.
pub fn run(args: &ValidateArgs) -> Result<bool> {
    let config = match &args.input.config {
        Some(path) => Some(read_config(path)?),
        None => None,
    };
    let settings = world::settings(config.as_ref());
    let reading = args.input.osmo.reading();
    let objects = read_objects(&args.input.files, &reading)?;
    let old_objects = read_objects(&args.old, &reading)?;
    let (now, before) = (by_identity(&objects), by_identity(&old_objects));
    // What is only among the old objects is still in the cluster.
    let untouched = before.iter().filter(|(identity, _)| !now.contains_key(*identity)).map(|(_, old)| *old);
    let cluster: Vec<&Object> = objects.iter().chain(untouched).collect();
    let mut view = world::view(&cluster, &settings);
    // A set still holds the topology that it held before this request.
    view.sets.extend(world::view(&old_objects.iter().collect::<Vec<_>>(), &settings).sets);
    let mut rows = Vec::new();
    for object in config.iter().chain(&objects) {
        if matches!(object.role, Role::Pod | Role::Foreign) {
            continue;
        }
        let identity = object.identity();
        let first = identity.and_then(|identity| now.get(&identity)).filter(|first| !std::ptr::eq(**first, object));
        let verdict = match first {
            Some(first) if first.document.value == object.document.value => continue,
            Some(first) => twice(object, first),
            None => {
                let old = identity.and_then(|identity| before.get(&identity)).copied();
                judge(object, old, &view, &settings)?
            }
        };
        rows.push(Row {
            kind: &object.kind,
            namespace: &object.namespace,
            name: &object.name,
            allowed: verdict.allowed(),
            errors: verdict.errors,
            warnings: verdict.warnings,
            object,
        });
    }
    match args.output {
        ValidateOutput::Json => output::json(&rows)?,
        ValidateOutput::Table => output::verdicts(&rows)?,
    }
    Ok(rows.iter().all(|row| row.allowed))
}

/// The first object of each identity.
pub fn by_identity(objects: &[Object]) -> BTreeMap<(Role, &str, &str), &Object> {
    let mut found = BTreeMap::new();
    for object in objects {
        if let Some(identity) = object.identity() {
            found.entry(identity).or_insert(object);
        }
    }
    found
}

/// Reads and recognises objects; a topology under Grove's present name is noted.
pub fn read_objects(paths: &[PathBuf], reading: &Reading) -> Result<Vec<Object>> {
    let objects = osmo::objects(input::read(paths)?, reading)?;
    for object in objects.iter().filter(|object| object.kind == BINDING) {
        eprintln!("note: {}: {} is read as a ClusterTopology", object.document.place(""), object.title());
    }
    Ok(objects)
}

/// Reads the one OperatorConfiguration of a file.
pub fn read_config(path: &PathBuf) -> Result<Object> {
    let mut objects = read_objects(std::slice::from_ref(path), &Reading::default())?;
    objects.retain(|object| object.role == Role::Judged(Kind::OperatorConfiguration));
    match objects.len() {
        1 => Ok(objects.remove(0)),
        0 => bail!("{}: no OperatorConfiguration in it", path.display()),
        n => bail!("{}: {n} OperatorConfigurations in it, one is wanted", path.display()),
    }
}

/// Two versions of one object cannot both be meant.
pub fn twice(object: &Object, other: &Object) -> Verdict {
    let path = trellis_api::field::Path::new("metadata.name");
    let message = format!("another version of the object stands at {}", other.document.place(""));
    let error = FieldError { message, ..FieldError::duplicate(&path, object.name.as_str()) };
    let verdict = Verdict { errors: vec![error], warnings: Vec::new() };
    match &object.from_file {
        Some(file) => file.written.verdict(verdict),
        None => verdict,
    }
}

/// Judges an object of a kind of ours by its form, its rules and the cluster.
pub fn judge(object: &Object, old: Option<&Object>, view: &ClusterView, settings: &Settings) -> Result<Verdict> {
    let Role::Judged(kind) = object.role else {
        return Ok(Verdict { errors: object.fault.iter().cloned().collect(), warnings: Vec::new() });
    };
    let value = &object.document.value;
    let before = old.map(|old| &old.document.value);
    let mut verdict = match kind {
        Kind::PodCliqueSet => {
            old.map(|old| known(old, &world::stored_pod_clique_set(old, settings))).transpose()?;
            return Ok(SetReview::of(value, before, settings).judge(view, settings));
        }
        Kind::ClusterTopology => {
            old.map(|old| known(old, &world::cluster_topology(old))).transpose()?;
            return Ok(TopologyReview::of(value, before).judge(false, view, settings));
        }
        Kind::DynamoGraphDeployment => {
            old.map(|old| known(old, &Graph::read(&old.document.value))).transpose()?;
            return Ok(deployment(value, before, view, settings));
        }
        Kind::OperatorConfiguration => {
            let decoded: Decoded<OperatorConfiguration> = decode(kind, value.clone());
            rules(decoded, validate_operator_configuration)
        }
        // What the operator makes is judged by its form alone.
        Kind::PodClique => form::<PodClique>(kind, object),
        Kind::PodCliqueScalingGroup => form::<PodCliqueScalingGroup>(kind, object),
        Kind::PodGang => form::<PodGang>(kind, object),
        Kind::Pool => review::pool(value, before),
        Kind::Workflow => {
            let mut verdict = review::workflow(value, before, &view.pools);
            let workflow = osmo::with_pool(object, &view.pools).filter(|_| before.is_none());
            verdict.errors.extend(workflow.iter().flat_map(|(workflow, _)| view.workflows.check(workflow)));
            verdict
        }
    };
    if let Some(file) = &object.from_file {
        verdict = file.verdict(verdict);
    }
    Leave::of(value, before).excuse(&mut verdict);
    Ok(verdict)
}

/// Judges a deployment, and the PodCliqueSet that it becomes.
fn deployment(value: &Value, old: Option<&Value>, view: &ClusterView, settings: &Settings) -> Verdict {
    let review = DynamoReview::of(value, old);
    let wanted = review.wants_topology(settings);
    let topology = wanted.map_or(TopologyRead::Unread, |name| TopologyRead::in_view(view, name));
    review.judge(&topology, settings, |graph, old, view| follow(graph, old, view, settings))
}

fn form<T: serde::de::DeserializeOwned>(kind: Kind, object: &Object) -> Verdict {
    decode::<T>(kind, object.document.value.clone()).judged(Verdict::default())
}

/// An old version must at least be readable, or there is nothing to compare with.
fn known<T>(old: &Object, decoded: &Decoded<T>) -> Result<()> {
    if decoded.object.is_none() {
        bail!("{}: the old version of {} cannot be read", old.document.place(""), old.title());
    }
    Ok(())
}
