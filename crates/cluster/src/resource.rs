//! What the API serves: one [`Resource`] for each plural in a group, built in or from a custom resource definition.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;
use crate::schema::rules::Rules;
use crate::status::About;

/// A resource and the versions in which it is served.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// As in paths: `pods`.
    pub plural: String,
    /// As on command lines: `pod`.
    pub singular: String,
    /// As in objects: `Pod`.
    pub kind: String,
    /// `PodList`
    pub list_kind: String,
    /// `po`
    pub short_names: Vec<String>,
    /// `all`
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// At least one, the preferred one first.
    pub versions: Vec<Version>,
    /// The name of the version that is stored.
    pub storage: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a resource comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// Kubernetes' own.
    BuiltIn,
    /// Kubernetes' own and never stored: an answer is computed for each create, as for access reviews.
    Virtual,
    /// A custom resource definition.
    Custom {
        /// The uid of the definition; a definition made anew starts without objects.
        uid: String,
        /// How versions are converted.
        conversion: Conversion,
        /// The generation of the definition: objects that were written under another one are read by the present schema.
        generation: u64,
    },
}

/// How objects get from one version to another.
#[derive(Debug, Clone)]
pub enum Conversion {
    /// Only `apiVersion` changes.
    None,
    /// A webhook converts: `spec.conversion.webhook` as it was written.
    Webhook(Value),
}

/// One version of a resource.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1alpha1`
    pub name: String,
    /// Whether requests for it are answered.
    pub served: bool,
    /// The warning header sent with every answer if the version is deprecated.
    pub deprecation: Option<String>,
    /// What objects look like, `apiVersion`, `kind` and `metadata` included.
    pub schema: Arc<Schema>,
    /// The rules of the schema, compiled.
    pub rules: Arc<Rules>,
    /// The schema as it is published in OpenAPI, with `$ref` to `#/components/schemas/…` where it is built in.
    pub published: Arc<Value>,
    /// Subresources beside the object itself.
    pub subresources: Subresources,
    /// Columns of tables, without the name, which always comes first.
    pub columns: Vec<Column>,
    /// Fields that field selectors may name, beside `metadata.name` and `metadata.namespace`: `spec.nodeName`.
    pub selectable: Vec<String>,
}

/// Which subresources a version has.
#[derive(Debug, Clone, Default)]
pub struct Subresources {
    /// `/status`
    pub status: bool,
    /// `/scale`, with the paths that it reads and writes.
    pub scale: Option<Scale>,
    /// `/binding`, `/eviction`, `/token`, `/approve` and the like, which only built-in kinds have.
    pub others: Vec<&'static str>,
}

/// Where `/scale` finds its numbers: paths such as `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// `specReplicasPath`
    pub spec: String,
    /// `statusReplicasPath`
    pub status: String,
    /// `labelSelectorPath`
    pub selector: Option<String>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `date`…
    pub kind: String,
    /// `name` and the like; empty if none.
    pub format: String,
    /// What the column shows.
    pub description: String,
    /// 0 is always shown, others only with `-o wide`.
    pub priority: i32,
    /// Where the cell comes from.
    pub source: Source,
}

/// Where a cell comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A path in the object, such as `.spec.replicas` or `.status.conditions[?(@.type=="Ready")].status`.
    Path(String),
    /// A function, for built-in kinds.
    Function(fn(&Value, i64) -> Value),
}

impl Resource {
    /// The version of this name, if it is served.
    pub fn served(&self, version: &str) -> Option<&Version> {
        self.versions.iter().find(|candidate| candidate.served && candidate.name == version)
    }

    /// The version that is stored.
    ///
    /// # Panics
    /// If the resource was put together without its storage version.
    pub fn stored(&self) -> &Version {
        self.versions
            .iter()
            .find(|version| version.name == self.storage)
            .expect("the storage version is one of the versions")
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// For messages that name the plural.
    pub fn about<'a>(&'a self, name: &'a str) -> About<'a> {
        About { group: &self.group, kind: &self.plural, name }
    }

    /// For messages about invalid objects, which name the kind.
    pub fn about_kind<'a>(&'a self, name: &'a str) -> About<'a> {
        About { group: &self.group, kind: &self.kind, name }
    }

    /// The generation of the definition; 0 for built-in kinds.
    pub fn generation(&self) -> u64 {
        if let Origin::Custom { generation, .. } = self.origin { generation } else { 0 }
    }

    /// Whether objects of it come from a custom resource definition.
    pub fn is_custom(&self) -> bool {
        matches!(self.origin, Origin::Custom { .. })
    }
}
