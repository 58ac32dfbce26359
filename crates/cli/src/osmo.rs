//! OSMO's files among the input: workflows are rendered and read, configuration becomes pools, and both become objects like
//! all others.

use crate::input::{self, Document, Source};
use crate::objects::{FromFile, Object, Role};
use anyhow::{Result, anyhow};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{Pools, pool_of_workflow};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::osmo::config::{Config, PoolEntry, pool_object};
use trellis_api::osmo::{template, workflow};
use trellis_lower::osmo::{GroupObjects, pool_objects, priority_classes, workflow_objects};

/// How workflows are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Values for templates.
    pub values: template::Values,
    /// The pool for all workflows, instead of the one that they name.
    pub pool: Option<String>,
}

/// What a document is, before all have been read.
enum Found {
    Object(Object),
    Config(Document, Config),
    Workflow(Document),
}

/// The objects of documents. Those without `apiVersion` and `kind` are OSMO's, or the input is unreadable.
pub fn objects(documents: Vec<Document>, reading: &Reading) -> Result<Vec<Object>> {
    let mut found = Vec::new();
    for document in documents {
        let is_kubernetes = document.value.get("apiVersion").is_some() || document.value.get("kind").is_some();
        found.push(if document.is_workflow {
            Found::Workflow(rendered(&document, reading)?)
        } else if !is_kubernetes && document.value.get("workflow").is_some() {
            Found::Workflow(document)
        } else if let Some(config) = Config::read(&document.value) {
            Found::Config(document, config)
        } else {
            Found::Object(Object::recognise(document)?)
        });
    }
    let (mut backends, mut templates) = (BTreeMap::new(), BTreeMap::new());
    for config in
        found.iter_mut().filter_map(|found| if let Found::Config(_, config) = found { Some(config) } else { None })
    {
        backends.append(&mut config.backends);
        templates.append(&mut config.templates);
    }
    let (mut objects, mut workflows) = (Vec::new(), Vec::new());
    for found in found {
        match found {
            Found::Object(object) => objects.push(object),
            Found::Config(document, config) => pools(&document, config, &backends, &templates, &mut objects)?,
            Found::Workflow(document) => {
                workflows.push((objects.len(), document));
            }
        }
    }
    let pools = pools_of(&objects);
    for (n, (at, document)) in workflows.into_iter().enumerate() {
        objects.insert(at + n, workflow_object(document, reading, &pools)?);
    }
    choose_pool(&mut objects, reading);
    Ok(objects)
}

/// A workflow without its templates.
fn rendered(document: &Document, reading: &Reading) -> Result<Document> {
    let source = &document.source;
    let rendered = template::render(&source.text, &reading.values).map_err(|error| {
        let line = source.line(error.line);
        anyhow!("{}:{line} (document {}): {}", source.file, source.number, error.message)
    })?;
    let mut plain = Source::new(&source.file, source.number, source.line_offset, rendered.text);
    plain.written_on = Some(rendered.lines);
    let value = input::read_yaml(&plain)?;
    Ok(Document { source: Rc::new(plain), prefix: String::new(), value, is_workflow: true })
}

/// The pools of a document of configuration.
fn pools(
    document: &Document,
    config: Config,
    backends: &BTreeMap<String, Value>,
    templates: &BTreeMap<String, Value>,
    objects: &mut Vec<Object>,
) -> Result<()> {
    let mut errors = config.errors;
    if config.pools.is_empty()
        && let Some(first) = errors.first().cloned()
    {
        // Nothing else of the document can be shown.
        let value = serde_json::json!({"apiVersion": Kind::Pool.api_version(), "kind": "Pool"});
        let mut object = Object::recognise(Document { value, ..document.clone() })?;
        (object.role, object.fault) = (Role::Unknown, Some(first));
        objects.push(object);
    }
    for entry in config.pools {
        let (value, written, more) = pool_object(&entry, backends, templates);
        let mut object = Object::recognise(Document { value, ..document.clone() })?;
        let (own, others) = errors.into_iter().partition::<Vec<_>, _>(|error| error.field.starts_with(&entry.place));
        errors = others;
        let mut own = [own, more].concat();
        // Faults of the document that no pool has are told with the first.
        if entry.place.is_empty() || objects.is_empty() {
            own.append(&mut errors);
        }
        object.from_file = Some(Rc::new(FromFile { written, errors: own, warnings: unnamed(&entry) }));
        objects.push(object);
    }
    if let (Some(object), false) = (objects.last_mut(), errors.is_empty())
        && let Some(file) = object.from_file.as_mut().and_then(Rc::get_mut)
    {
        file.errors.append(&mut errors);
    }
    Ok(())
}

fn unnamed(entry: &PoolEntry) -> Vec<String> {
    let warning = format!("name: the pool has none, and is called {:?}", entry.name);
    if entry.is_named { Vec::new() } else { vec![warning] }
}

/// The pools among objects.
fn pools_of(objects: &[Object]) -> Pools {
    let pools = objects.iter().filter(|object| object.role == Role::Judged(Kind::Pool));
    pools
        .filter_map(|object| {
            let pool = decode::<Pool>(Kind::Pool, object.document.value.clone()).object?;
            Some((object.name.clone(), pool))
        })
        .collect()
}

/// The object of a workflow file. It lives where its pool's pods do.
fn workflow_object(document: Document, reading: &Reading, pools: &Pools) -> Result<Object> {
    let mut file = workflow(&document.value);
    if let Some(pool) = &reading.pool {
        file.object["spec"]["pool"] = pool.as_str().into();
    }
    let decoded = decode::<Workflow>(Kind::Workflow, file.object.clone()).object;
    let pool = decoded.as_ref().and_then(|workflow| pool_of_workflow(&workflow.spec, pools));
    file.object["metadata"]["namespace"] = pool.map_or("default", |pool| pool.spec.namespace()).into();
    let mut object = Object::recognise(Document { value: file.object, ..document })?;
    let from_file = FromFile { written: file.written, errors: file.errors, warnings: Vec::new() };
    object.from_file = Some(Rc::new(from_file));
    Ok(object)
}

/// The pool of the command line goes before what a workflow says, written as a kind too.
fn choose_pool(objects: &mut [Object], reading: &Reading) {
    let Some(pool) = &reading.pool else { return };
    for object in objects.iter_mut().filter(|object| object.role == Role::Judged(Kind::Workflow)) {
        if let Some(spec) = object.document.value.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("pool".to_owned(), pool.as_str().into());
        }
    }
}

/// The workflows of the input that can be read, each with its pool.
pub fn workflows<'a>(objects: &'a [Object], pools: &'a Pools) -> Vec<(&'a Object, Workflow, &'a Pool)> {
    let all = objects.iter().filter(|object| object.role == Role::Judged(Kind::Workflow));
    all.filter_map(|object| {
        let (workflow, pool) = with_pool(object, pools)?;
        Some((object, workflow, pool))
    })
    .collect()
}

/// A workflow and its pool.
pub fn with_pool<'a>(object: &Object, pools: &'a Pools) -> Option<(Workflow, &'a Pool)> {
    let mut workflow = decode::<Workflow>(Kind::Workflow, object.document.value.clone()).object?;
    let pool = pool_of_workflow(&workflow.spec, pools)?;
    // A file says nothing of namespaces: the workflow lives where its pool's pods do, wherever the pool was found.
    let namespace = if object.from_file.is_some() { pool.spec.namespace() } else { &object.namespace };
    workflow.metadata.namespace = Some(namespace.to_owned());
    // What follows is named by the pool that it runs in, whoever named it.
    workflow.spec.pool = pool.metadata.name.clone();
    Some((workflow, pool))
}

/// Adds every object that follows from pools and workflows.
pub fn render(objects: &[Object], pools: &Pools, rendered: &mut Vec<Value>) -> Result<()> {
    let mut parents = BTreeSet::new();
    for pool in pools.values() {
        let made = pool_objects(pool);
        if let Some(parent) = made.parent_queue.filter(|parent| parents.insert(parent.metadata.name.clone())) {
            rendered.push(serde_json::to_value(parent)?);
        }
        rendered.extend(made.queue.map(serde_json::to_value).transpose()?);
        rendered.extend(made.topology.map(serde_json::to_value).transpose()?);
    }
    if pools.values().any(|pool| pool.spec.knows_topology()) {
        for class in priority_classes() {
            rendered.push(serde_json::to_value(class)?);
        }
    }
    let mut seen = BTreeSet::new();
    for (_, workflow, pool) in workflows(objects, pools) {
        if !seen.insert((workflow.metadata.namespace.clone(), workflow.metadata.name.clone())) {
            continue;
        }
        for (_, GroupObjects { pod_group, service, files, pods }) in workflow_objects(&workflow, pool) {
            rendered.extend(pod_group.map(serde_json::to_value).transpose()?);
            rendered.extend(service.map(serde_json::to_value).transpose()?);
            for file in files {
                rendered.push(serde_json::to_value(file)?);
            }
            for pod in pods {
                rendered.push(serde_json::to_value(pod)?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
