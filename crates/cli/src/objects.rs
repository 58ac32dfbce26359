//! Tells apart what stands in the input: kinds that are judged, kinds that only inform, kinds that are not ours.

use crate::input::Document;
use anyhow::{Result, bail};
use serde_json::Value;
use std::rc::Rc;
use trellis_api::admission::Verdict;
use trellis_api::admission::object::Kind;
use trellis_api::field::{FieldError, Path};
use trellis_api::names::group;
use trellis_api::osmo::Written;

/// What Grove calls a ClusterTopology today.
pub const BINDING: &str = "ClusterTopologyBinding";

/// How the source of an object begins that was read from a cluster.
pub const LIVE: &str = "cluster: ";

/// What an object is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Judged by admission.
    Judged(Kind),
    /// Under one of our names, but no kind of ours; refused.
    Unknown,
    /// A pod: shows which sets are scheduled.
    Pod,
    /// Not ours.
    Foreign,
}

/// An object of the input.
#[derive(Clone, Debug)]
pub struct Object {
    pub document: Document,
    pub role: Role,
    /// The kind as written.
    pub kind: String,
    pub namespace: String,
    /// The name, or the prefix of the one that the server will generate.
    pub name: String,
    has_name: bool,
    /// What is wrong with an unknown kind.
    pub fault: Option<FieldError>,
    /// Where the parts of an object stand that was made of a file of OSMO's, and what is wrong with that file.
    pub from_file: Option<Rc<FromFile>>,
}

/// What is known of an object that was made of a file of OSMO's.
#[derive(Debug, Default)]
pub struct FromFile {
    pub written: Written,
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
}

impl FromFile {
    /// A verdict in the user's own places, with what is wrong with the file.
    pub fn verdict(&self, verdict: Verdict) -> Verdict {
        let Verdict { errors, warnings } = self.written.verdict(verdict);
        // What the file lacks, the object lacks too; it is told once.
        let told = |error: &FieldError| self.errors.iter().any(|own| own.field == error.field);
        let errors = self.errors.iter().cloned().chain(errors.into_iter().filter(|error| !told(error))).collect();
        Verdict { errors, warnings: self.warnings.iter().cloned().chain(warnings).collect() }
    }
}

impl Object {
    /// Whether it was read from a cluster: then it is not the user's to mend.
    pub fn is_live(&self) -> bool {
        self.document.source.file.starts_with(LIVE)
    }

    /// Recognises an object. Something that is no Kubernetes object at all makes the input unreadable.
    pub fn recognise(mut document: Document) -> Result<Self> {
        if document.value["kind"] == BINDING
            && let Some(spec) = document.value.get_mut("spec").and_then(Value::as_object_mut)
        {
            // Which of a backend's own objects it is bound to; ours are always called alike.
            spec.remove("schedulerTopologyBindings");
        }
        let text =
            |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        if api_version.is_empty() || kind.is_empty() {
            let missing = if kind.is_empty() { "kind" } else { "apiVersion" };
            let source = &document.source;
            bail!(
                "{} (document {}): not a Kubernetes object: `{missing}` is missing",
                document.place(""),
                source.number
            );
        }
        let (role, fault) = role(&api_version, &kind);
        let namespace = match role {
            Role::Judged(kind) if !kind.is_namespaced() => String::new(),
            Role::Judged(_) | Role::Pod | Role::Unknown => {
                Some(text("/metadata/namespace")).filter(|ns| !ns.is_empty()).unwrap_or("default".to_owned())
            }
            Role::Foreign => text("/metadata/namespace"),
        };
        let name = text("/metadata/name");
        let has_name = !name.is_empty();
        let name = if has_name { name } else { text("/metadata/generateName") };
        Ok(Self { document, role, kind, namespace, name, has_name, fault, from_file: None })
    }

    /// What makes it one and the same object in a cluster; nothing for what is not judged or has no name there.
    pub fn identity(&self) -> Option<(Role, &str, &str)> {
        let has_identity = match self.role {
            Role::Judged(kind) => kind != Kind::OperatorConfiguration,
            Role::Pod => true,
            Role::Unknown | Role::Foreign => false,
        };
        (has_identity && self.has_name).then_some((self.role, self.namespace.as_str(), self.name.as_str()))
    }

    /// `file:line` of the object; of the part of the file that it was made of, where it was.
    pub fn place(&self) -> String {
        let part = self.from_file.as_ref().map(|file| file.written.place("spec"));
        self.document.place(part.as_deref().unwrap_or_default())
    }

    /// `Kind namespace/name`, for people.
    pub fn title(&self) -> String {
        match (self.namespace.as_str(), self.name.as_str()) {
            (_, "") => self.kind.clone(),
            ("", name) => format!("{} {name}", self.kind),
            (namespace, name) => format!("{} {namespace}/{name}", self.kind),
        }
    }
}

fn role(api_version: &str, kind: &str) -> (Role, Option<FieldError>) {
    if (api_version, kind) == ("v1", "Pod") {
        return (Role::Pod, None);
    }
    let (api_group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    // What Grove calls a topology today; the contents are the same.
    let named = if kind == BINDING { Some(Kind::ClusterTopology) } else { Kind::named(kind) };
    match named {
        Some(known) if known.serves(api_version) => (Role::Judged(known), None),
        Some(Kind::DynamoGraphDeployment) if api_group == group::NVIDIA => {
            let known = [group::V1BETA1, group::V1ALPHA1].map(|version| format!("{}/{version}", group::NVIDIA));
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            (Role::Unknown, Some(FieldError::not_supported(&Path::new("apiVersion"), api_version, &known)))
        }
        // Another group's kind of the same name is not ours; a slip in the name of our group is.
        Some(_) if !api_group.contains("grove") && api_group != group::TRELLIS => (Role::Foreign, None),
        Some(known) => {
            let path = Path::new("apiVersion");
            let fault = FieldError::not_supported(&path, api_version, &[&known.api_version()]);
            (Role::Unknown, Some(fault))
        }
        None if [group::GROVE, group::SCHEDULER, group::CONFIG].contains(&api_group) => {
            let known = Kind::ALL.into_iter().filter(|known| known.api_version().starts_with(&format!("{api_group}/")));
            let known: Vec<&str> = known.map(Kind::as_str).collect();
            (Role::Unknown, Some(FieldError::not_supported(&Path::new("kind"), kind, &known)))
        }
        None => (Role::Foreign, None),
    }
}
