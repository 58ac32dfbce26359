//! Faults and warnings as they are collected.

use super::Fault;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use trellis_api::field::{FieldError, Path};

/// What is wrong with the objects.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    /// Collects for one object: the `index`th of its kind.
    pub fn of<'a>(&'a mut self, kind: &'static str, index: usize, meta: &'a ObjectMeta) -> Of<'a> {
        Of { all: &mut self.0, kind, index, meta }
    }

    /// All of them in a fixed order, whatever the order of the objects.
    pub fn sorted(mut self) -> Vec<Fault> {
        fn key(fault: &Fault) -> (&str, &str, &str, &str, &str) {
            (fault.kind, &fault.namespace, &fault.name, &fault.error.field, &fault.error.message)
        }
        self.0.sort_by(|a, b| key(a).cmp(&key(b)).then(a.index.cmp(&b.index)));
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Collects what is wrong with one object.
#[derive(Debug)]
pub(super) struct Of<'a> {
    all: &'a mut Vec<Fault>,
    kind: &'static str,
    index: usize,
    meta: &'a ObjectMeta,
}

impl<'a> Of<'a> {
    pub fn push(&mut self, error: FieldError) {
        self.all.push(Fault {
            kind: self.kind,
            namespace: self.meta.namespace.clone().unwrap_or_default(),
            name: self.meta.name.clone().unwrap_or_default(),
            index: self.index,
            error,
        });
    }

    pub fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        errors.into_iter().for_each(|error| self.push(error));
    }

    /// The object's name; without one it is at fault.
    pub fn name(&mut self) -> Option<&'a str> {
        let name = self.meta.name.as_deref().filter(|name| !name.is_empty());
        if name.is_none() {
            self.push(FieldError::required(&Path::new("metadata.name"), "objects are told apart by their names"));
        }
        name
    }

    /// There is another one of that name.
    pub fn duplicate(&mut self) {
        let name = self.meta.name.clone().unwrap_or_default();
        self.push(FieldError::duplicate(&Path::new("metadata.name"), name));
    }
}

/// Something that happens to many objects, said once.
#[derive(Debug, Default)]
pub(super) struct Tally {
    count: usize,
    first: String,
}

impl Tally {
    /// Counts one more. Objects are counted in the order of their names, so the first is always the same.
    pub fn count(&mut self, example: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = example();
        }
        self.count += 1;
    }

    /// `<object> <example> <what>`, if there was any, and how many more there are.
    pub fn warning(&self, object: &str, what: &str) -> Option<String> {
        let more = if self.count > 1 { format!(" ({} more like it)", self.count - 1) } else { String::new() };
        (self.count > 0).then(|| format!("{object} {} {what}{more}", self.first))
    }
}
