//! An object at rest.

use bytes::Bytes;
use serde_json::Value;

/// An object as it rests in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// JSON, without `apiVersion` and `kind`.
    pub text: Bytes,
    /// The revision of the change that wrote it, which is its `resourceVersion`.
    pub revision: u64,
    /// What is looked at without reading the text.
    pub index: Index,
}

/// What selectors, watches and garbage collection look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    /// The version in which it was written.
    pub version: Box<str>,
    /// The generation of the definition under which it was written; 0 for built-in kinds.
    pub schema: u64,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// Labels, sorted by key.
    pub labels: Vec<(Box<str>, Box<str>)>,
    /// Values that field selectors may ask for, beside name and namespace; empty ones are left out.
    pub fields: Vec<(Box<str>, Box<str>)>,
    /// Uids of the owners.
    pub owners: Vec<Box<str>>,
}

impl Index {
    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        let at = self.labels.binary_search_by(|(candidate, _)| candidate.as_ref().cmp(key)).ok()?;
        Some(&self.labels[at].1)
    }

    /// A selectable field's value; nothing is the same as empty.
    pub fn field(&self, path: &str) -> &str {
        self.fields.iter().find(|(candidate, _)| candidate.as_ref() == path).map_or("", |(_, value)| value)
    }
}

impl Object {
    /// Stamps the revision on an object and lays it to rest.
    pub fn seal(value: &mut Value, revision: u64, index: Index) -> Self {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        }
        let head = value.as_object_mut().map(|object| (object.remove("apiVersion"), object.remove("kind")));
        let text = Bytes::from(serde_json::to_vec(value).unwrap_or_default());
        if let (Some((api_version, kind)), Some(object)) = (head, value.as_object_mut()) {
            object.extend(api_version.map(|text| ("apiVersion".to_owned(), text)));
            object.extend(kind.map(|text| ("kind".to_owned(), text)));
        }
        Self { text, revision, index }
    }

    /// The object as data, with `apiVersion` and `kind`.
    pub fn value(&self, api_version: &str, kind: &str) -> Value {
        let mut value: Value = serde_json::from_slice(&self.text).unwrap_or_default();
        value["apiVersion"] = api_version.into();
        value["kind"] = kind.into();
        value
    }
}
