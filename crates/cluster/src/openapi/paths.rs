//! The requests of a document: which paths there are, and what each method takes and answers.

use serde_json::{Map, Value, json};

use super::path;
use super::schemas::{Kind, Schemas};
use crate::discovery::{Subresource, subresources, verbs};
use crate::resource::{Resource, Version};

/// Query parameters of requests that read many objects, in the order of their names.
const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
const READ: &[&str] = &["resourceVersion"];
const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE: &[&str] = &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
const DELETE_ALL: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
];

const TYPES: &[&str] = &["application/json", "application/yaml"];
const CUSTOM_PATCHES: &[&str] =
    &["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// One resource, or a subresource of it, for which operations are written.
struct Target<'a> {
    resource: &'a Resource,
    version: &'a Version,
    /// Of the operations: `{"group": …, "version": …, "kind": …}`.
    tag: Value,
    /// `the specified Gang`, `status of the specified Gang`
    subject: String,
    /// The end of `operationId`: `Status`; empty for the resource itself.
    id: String,
    /// The schema that is taken and answered.
    body: Value,
}

/// Adds the paths of a resource.
pub(super) fn add(
    paths: &mut Map<String, Value>,
    schemas: &mut Schemas<'_>,
    resource: &Resource,
    version: &Version,
    kind: &Kind,
) {
    let plural = &resource.plural;
    let root = format!("/{}", path(&resource.group, &version.name));
    let scoped = if resource.namespaced {
        format!("{root}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{root}/{plural}")
    };
    let target = Target::new(resource, version, kind);
    let can = |verb: &str| verbs(resource).contains(&verb);

    if resource.namespaced && can("list") {
        let mut list = target.operation("list", LIST);
        list["operationId"] = format!("list{}ForAllNamespaces", id(resource, version, "")).into();
        answer(&mut list, &[200], &kind.list);
        paths.insert(format!("{root}/{plural}"), item(&[], vec![("get", list)]));
    }
    let mut collection = Vec::new();
    if can("list") {
        let mut list = target.operation("list", LIST);
        answer(&mut list, &[200], &kind.list);
        collection.push(("get", list));
    }
    if can("create") {
        collection.push(("post", target.written("create", &[200, 201, 202])));
    }
    if can("deletecollection") {
        collection.push(("delete", target.deleted("deletecollection", schemas)));
    }
    paths.insert(scoped.clone(), item(scope(resource), collection));
    if !can("get") {
        return;
    }

    let one = format!("{scoped}/{{name}}");
    let names: Vec<&str> = std::iter::once("name").chain(scope(resource).iter().copied()).collect();
    let object = vec![
        ("get", target.read()),
        ("put", target.written("update", &[200, 201])),
        ("delete", target.deleted("delete", schemas)),
        ("patch", target.patched(schemas)),
    ];
    paths.insert(one.clone(), item(&names, object));
    for sub in subresources(resource, version) {
        // What carries no object has no schema to describe.
        if ["attach", "exec", "log", "portforward", "proxy"].contains(&sub.name) {
            continue;
        }
        let target = Target::sub(resource, version, &sub, schemas.subresource(&sub, kind));
        let operations = sub.verbs.iter().map(|verb| match *verb {
            "get" => ("get", target.read()),
            "update" => ("put", target.written("update", &[200, 201])),
            "patch" => ("patch", target.patched(schemas)),
            _ => ("post", target.written("create", &[200, 201, 202])),
        });
        paths.insert(format!("{one}/{}", sub.name), item(&names, operations.collect()));
    }
}

impl<'a> Target<'a> {
    fn new(resource: &'a Resource, version: &'a Version, kind: &Kind) -> Self {
        let tag = json!({"group": resource.group, "version": version.name, "kind": resource.kind});
        let subject = format!("the specified {}", resource.kind);
        Self { resource, version, tag, subject, id: String::new(), body: kind.object.clone() }
    }

    fn sub(resource: &'a Resource, version: &'a Version, sub: &Subresource, body: Value) -> Self {
        let tag = match sub.group_version {
            // A custom resource is asked about its own kind, whatever the kind of the subresource.
            Some((group, version)) if !resource.is_custom() => {
                json!({"group": group, "version": version, "kind": sub.kind})
            }
            Some(_) => json!({"group": resource.group, "version": version.name, "kind": resource.kind}),
            None => json!({"group": resource.group, "version": version.name, "kind": sub.kind}),
        };
        let subject = format!("{} of the specified {}", sub.name, resource.kind);
        Self { resource, version, tag, subject, id: camel(sub.name), body }
    }

    fn operation(&self, verb: &str, parameters: &[&str]) -> Value {
        let kind = &self.resource.kind;
        let namespaced = if self.resource.namespaced { "Namespaced" } else { "" };
        // For each verb of the API its names in `operationId`, in `x-kubernetes-action` and in sentences.
        let (method, action, description) = match verb {
            "list" => ("list", "list", format!("list or watch objects of kind {kind}")),
            "create" if self.id.is_empty() => ("create", "post", format!("create a {kind}")),
            "create" => ("create", "post", format!("create {}", self.subject)),
            "get" => ("read", "get", format!("read {}", self.subject)),
            "update" => ("replace", "put", format!("replace {}", self.subject)),
            "patch" => ("patch", "patch", format!("partially update {}", self.subject)),
            "deletecollection" => ("delete", "deletecollection", format!("delete collection of {kind}")),
            _ => ("delete", "delete", format!("delete a {kind}")),
        };
        let middle = if verb == "deletecollection" { format!("Collection{namespaced}") } else { namespaced.to_owned() };
        json!({
            "tags": [format!("{}_{}", group_word(self.resource), self.version.name)],
            "description": description,
            "operationId": format!("{method}{}{}", id(self.resource, self.version, &middle), self.id),
            "parameters": parameters.iter().map(|name| query(name)).collect::<Vec<_>>(),
            "responses": {"401": {"description": "Unauthorized"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self.tag,
        })
    }

    fn read(&self) -> Value {
        let mut read = self.operation("get", READ);
        answer(&mut read, &[200], &self.body);
        read
    }

    fn written(&self, verb: &str, codes: &[u16]) -> Value {
        let mut write = self.operation(verb, WRITE);
        write["requestBody"] = json!({"content": content(TYPES, &self.body), "required": true});
        answer(&mut write, codes, &self.body);
        write
    }

    fn patched(&self, schemas: &mut Schemas<'_>) -> Value {
        let mut patch = self.operation("patch", PATCH);
        let types = if self.resource.is_custom() { CUSTOM_PATCHES } else { PATCHES };
        patch["requestBody"] = json!({"content": content(types, &schemas.meta("Patch")), "required": true});
        answer(&mut patch, &[200, 201], &self.body);
        patch
    }

    fn deleted(&self, verb: &str, schemas: &mut Schemas<'_>) -> Value {
        let all = verb == "deletecollection";
        let mut delete = self.operation(verb, if all { DELETE_ALL } else { DELETE });
        delete["requestBody"] = json!({"content": content(TYPES, &schemas.meta("DeleteOptions"))});
        answer(&mut delete, if all { &[200] } else { &[200, 202] }, &schemas.meta("Status"));
        delete
    }
}

/// Adds the answers of an operation that went well.
fn answer(operation: &mut Value, codes: &[u16], schema: &Value) {
    for code in codes {
        let description = match code {
            201 => "Created",
            202 => "Accepted",
            _ => "OK",
        };
        operation["responses"][code.to_string()] =
            json!({"description": description, "content": content(TYPES, schema)});
    }
}

/// A path with its operations and the parameters that all of them have.
fn item(names: &[&str], operations: Vec<(&str, Value)>) -> Value {
    let text = json!({"type": "string", "uniqueItems": true});
    let in_path = |name: &&str| json!({"name": name, "in": "path", "required": true, "schema": text});
    let mut parameters: Vec<Value> = names.iter().map(in_path).collect();
    parameters.push(query("pretty"));
    let mut item: Map<String, Value> =
        operations.into_iter().map(|(method, operation)| (method.to_owned(), operation)).collect();
    item.insert("parameters".to_owned(), parameters.into());
    Value::Object(item)
}

fn scope(resource: &Resource) -> &'static [&'static str] {
    if resource.namespaced { &["namespace"] } else { &[] }
}

fn query(name: &str) -> Value {
    let kind = match name {
        "allowWatchBookmarks" | "force" | "orphanDependents" | "sendInitialEvents" | "watch" => "boolean",
        "gracePeriodSeconds" | "limit" | "timeoutSeconds" => "integer",
        _ => "string",
    };
    json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
}

fn content(types: &[&str], schema: &Value) -> Value {
    types.iter().map(|name| ((*name).to_owned(), json!({"schema": schema}))).collect::<Map<_, _>>().into()
}

/// `CoreV1NamespacedPod`
fn id(resource: &Resource, version: &Version, middle: &str) -> String {
    format!("{}{}{middle}{}", camel(&group_word(resource)), camel(&version.name), resource.kind)
}

/// `core`, `rbacAuthorization`, `discoExampleCom`
fn group_word(resource: &Resource) -> String {
    let group = if resource.group.is_empty() {
        "core"
    } else {
        resource.group.strip_suffix(".k8s.io").unwrap_or(&resource.group)
    };
    let mut words = group.split(|c: char| !c.is_ascii_alphanumeric());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| all + &camel(word))
}

/// With a capital at the beginning.
fn camel(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
