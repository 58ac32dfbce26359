//! From JSON to a typed object, with all that is wrong with its form: what an API server does before any webhook.

use super::Verdict;
use crate::crd;
use crate::dynamo::Shape;
use crate::field::{FieldError, Path};
use crate::kinds::config::OperatorConfiguration;
use crate::kinds::dynamo::{map_of_services, services_list};
use crate::names::group;
use crate::schema::{self, Checked, Cut};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A kind that admission judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `grove.io/v1alpha1` PodCliqueSet.
    PodCliqueSet,
    /// `grove.io/v1alpha1` PodCliqueScalingGroup.
    PodCliqueScalingGroup,
    /// `grove.io/v1alpha1` PodClique.
    PodClique,
    /// `grove.io/v1alpha1` ClusterTopology.
    ClusterTopology,
    /// `scheduler.grove.io/v1alpha1` PodGang.
    PodGang,
    /// `operator.config.grove.io/v1alpha1` OperatorConfiguration.
    OperatorConfiguration,
    /// `nvidia.com/v1beta1` and `nvidia.com/v1alpha1` DynamoGraphDeployment.
    DynamoGraphDeployment,
    /// `trellis.dev/v1alpha1` Pool.
    Pool,
    /// `trellis.dev/v1alpha1` Workflow.
    Workflow,
}

impl Kind {
    /// All kinds that admission judges.
    pub const ALL: [Self; 9] = [
        Self::PodCliqueSet,
        Self::PodCliqueScalingGroup,
        Self::PodClique,
        Self::ClusterTopology,
        Self::PodGang,
        Self::OperatorConfiguration,
        Self::DynamoGraphDeployment,
        Self::Pool,
        Self::Workflow,
    ];

    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PodCliqueSet => "PodCliqueSet",
            Self::PodCliqueScalingGroup => "PodCliqueScalingGroup",
            Self::PodClique => "PodClique",
            Self::ClusterTopology => "ClusterTopology",
            Self::PodGang => "PodGang",
            Self::OperatorConfiguration => "OperatorConfiguration",
            Self::DynamoGraphDeployment => "DynamoGraphDeployment",
            Self::Pool => "Pool",
            Self::Workflow => "Workflow",
        }
    }

    /// The kind's API group and version; of several versions, the one that is stored.
    pub fn api_version(self) -> String {
        if self == Self::DynamoGraphDeployment {
            return format!("{}/{}", group::NVIDIA, group::V1BETA1);
        }
        let group = match self {
            Self::PodGang => group::SCHEDULER,
            Self::OperatorConfiguration => group::CONFIG,
            Self::Pool | Self::Workflow => group::TRELLIS,
            _ => group::GROVE,
        };
        format!("{group}/{}", group::V1ALPHA1)
    }

    /// Whether objects of the kind may be written in this group and version.
    pub fn serves(self, api_version: &str) -> bool {
        let older = format!("{}/{}", group::NVIDIA, group::V1ALPHA1);
        api_version == self.api_version() || (self == Self::DynamoGraphDeployment && api_version == older)
    }

    /// The kind of that name, whatever its group.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether objects of the kind live in namespaces.
    pub fn is_namespaced(self) -> bool {
        !matches!(self, Self::ClusterTopology | Self::OperatorConfiguration | Self::Pool)
    }
}

static CRD_SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let schema = |crd: &_| serde_json::to_value(crd).ok()?.pointer("/spec/versions/0/schema/openAPIV3Schema").cloned();
    crd::own().iter().filter_map(|crd| Some((crd.spec.names.kind.clone(), schema(crd)?))).collect()
});
static CONFIG_SCHEMA: LazyLock<Value> = LazyLock::new(schema::derived::<OperatorConfiguration>);
/// What a deployment has to look like in each of its shapes. An API server takes services as they come; here they are looked at.
static DYNAMO_SCHEMAS: LazyLock<BTreeMap<Shape, Value>> = LazyLock::new(|| {
    let crd = serde_json::to_value(crd::dynamo()).unwrap_or_default();
    let versions = crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| {
        let version = versions.iter().find(|version| version["name"] == name);
        version.map(|version| version["schema"]["openAPIV3Schema"].clone()).unwrap_or_default()
    };
    let with = |services: Value| {
        let mut schema = of(group::V1ALPHA1);
        schema["properties"]["spec"]["properties"]["services"] = services;
        schema
    };
    BTreeMap::from([
        (Shape::List, with(services_list())),
        (Shape::Map, with(map_of_services())),
        (Shape::Components, of(group::V1BETA1)),
    ])
});

/// An object read from JSON.
#[derive(Debug)]
pub struct Decoded<T> {
    /// The object, as far as anything could be made of it.
    pub object: Option<T>,
    form: Checked,
}

impl<T> Decoded<T> {
    /// The object, if it is whole: nothing had to be cut out of it.
    pub fn whole(self) -> Option<T> {
        self.object.filter(|_| self.form.cut.is_empty())
    }

    /// Goes on from what could be read. What is wrong there is told only if the form has not told it.
    pub fn and_then<U>(mut self, next: impl FnOnce(T) -> Result<U, FieldError>) -> Decoded<U> {
        let object = match self.object.map(next) {
            Some(Ok(object)) => Some(object),
            Some(Err(error)) => {
                if self.form.errors.is_empty() {
                    self.form.errors.push(error);
                }
                None
            }
            None => None,
        };
        Decoded { object, form: self.form }
    }

    /// What is wrong with the form, together with what the rules say of the object. A fault that both found is told in
    /// the rules' words; a rule that only missed what the form had to cut out is not heard.
    pub fn judged(self, rules: Verdict) -> Verdict {
        let Verdict { errors, warnings } = rules;
        let about_cut = |error: &FieldError| self.form.cut.iter().any(|cut| follows_from(error, cut));
        let errors: Vec<FieldError> = errors.into_iter().filter(|error| !about_cut(error)).collect();
        let repeated =
            |form: &FieldError| errors.iter().any(|error| error.field == form.field && error.type_ == form.type_);
        let mut all: Vec<FieldError> = self.form.errors.into_iter().filter(|form| !repeated(form)).collect();
        all.extend(errors);
        // An oddity of an object that lacks a value may be an oddity of what stands in for it.
        let odd = |warning: &String| self.form.cut.iter().any(|cut| parent(&cut.path) == parent(place_of(warning)));
        let warnings = warnings.into_iter().filter(|warning| !odd(warning)).collect();
        Verdict { errors: all, warnings }
    }
}

/// The path of the object or list around a field.
fn parent(path: &str) -> Option<&str> {
    path.rfind(['.', '[']).map(|end| &path[..end])
}

/// The path that a warning begins with.
fn place_of(warning: &str) -> &str {
    warning.split(": ").next().unwrap_or_default()
}

/// Whether a fault is only what follows from a value's having been cut out: it is about that value, or about the object
/// that lacks just this, or it compares a number with one that is not there.
fn follows_from(error: &FieldError, cut: &Cut) -> bool {
    let within = error.field.strip_prefix(&cut.path);
    within.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        || parent(&cut.path) == Some(&error.field)
        || (cut.is_number && error.value.is_number() && parent(&cut.path) == parent(&error.field))
}

/// Reads an object of a kind: types, ranges, enums, unknown fields and schema defaults by its schema.
pub fn decode<T: DeserializeOwned>(kind: Kind, value: Value) -> Decoded<T> {
    let mut form = Checked::default();
    let Value::Object(mut fields) = value else {
        form.errors.push(FieldError::invalid(&Path::root(), Value::Null, "must be an object"));
        return Decoded { object: None, form };
    };
    // A kind that is read under another name, such as ClusterTopologyBinding, counts as ours from here on.
    let written = fields.get("apiVersion").and_then(Value::as_str).filter(|written| kind.serves(written));
    let api_version = written.map_or_else(|| kind.api_version(), str::to_owned);
    fields.insert("kind".to_owned(), kind.as_str().into());
    let schema = match kind {
        Kind::DynamoGraphDeployment => {
            &DYNAMO_SCHEMAS[&Shape::of(fields.get("spec").unwrap_or(&Value::Null), &api_version)]
        }
        Kind::OperatorConfiguration => &CONFIG_SCHEMA,
        _ => &CRD_SCHEMAS[kind.as_str()],
    };
    fields.insert("apiVersion".to_owned(), api_version.into());
    if kind == Kind::OperatorConfiguration {
        let mut value = Value::Object(fields);
        form = schema::check(schema, &mut value, &Path::root());
        return finish(value, form);
    }
    let head: Map<_, _> = ["apiVersion", "kind"].into_iter().filter_map(|key| fields.remove_entry(key)).collect();
    let metadata = fields.remove("metadata").filter(|metadata| !metadata.is_null());
    let metadata = metadata_form(metadata.unwrap_or_else(|| Value::Object(Map::new())), &mut form);
    let mut body = Value::Object(fields);
    let checked = schema::check(schema, &mut body, &Path::root());
    form.errors.extend(checked.errors);
    form.cut.extend(checked.cut);
    if let Value::Object(fields) = &mut body {
        fields.extend(head);
        fields.insert("metadata".to_owned(), metadata);
    }
    finish(body, form)
}

fn finish<T: DeserializeOwned>(value: Value, mut form: Checked) -> Decoded<T> {
    match serde_path_to_error::deserialize(value) {
        Ok(object) => Decoded { object: Some(object), form },
        Err(error) => {
            // The schema has told what is wrong; if it has not, the types know more than the schema.
            if form.errors.is_empty() {
                let path = Path::new(&error.path().to_string());
                form.errors.push(FieldError::invalid(&path, Value::Null, error.inner().to_string()));
            }
            Decoded { object: None, form }
        }
    }
}

/// Checks metadata; of what is wrong nothing is kept.
fn metadata_form(metadata: Value, form: &mut Checked) -> Value {
    let path = Path::new("metadata");
    let mut unknown = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(&metadata, &mut track);
    let result: Result<ObjectMeta, _> =
        serde_ignored::deserialize(deserializer, |field| unknown.push(field.to_string()));
    for field in unknown {
        let value = metadata.get(&field).cloned().unwrap_or_default();
        form.errors.push(FieldError::invalid(&path.child(&field), value, "unknown field"));
    }
    match result {
        Ok(_) => metadata,
        Err(error) => {
            let at = track.path().to_string();
            let value = metadata.pointer(&format!("/{}", at.replace('.', "/"))).cloned().unwrap_or_default();
            let at = if at == "." { path } else { path.child(&at) };
            form.errors.push(FieldError::invalid(&at, value, error.to_string()));
            form.cut.push(Cut { path: "metadata".to_owned(), is_number: false });
            Value::Object(Map::new())
        }
    }
}
