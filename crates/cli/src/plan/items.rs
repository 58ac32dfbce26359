//! Objects of one kind, with where they were read.

use crate::objects::Object;
use crate::{render, validate};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use trellis_api::admission::Verdict;
use trellis_api::field::{FieldError, Path};

/// Where an object comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// It stands in the input.
    Written(Rc<Object>),
    /// It follows from a set that does.
    Rendered(Rc<Object>),
}

/// Objects of one kind. Each name is there once.
#[derive(Debug)]
pub struct Items<T> {
    pub objects: Vec<T>,
    pub origins: Vec<Origin>,
    by_name: HashMap<(String, String), usize>,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self { objects: Vec::new(), origins: Vec::new(), by_name: HashMap::new() }
    }
}

impl<T: DeserializeOwned + PartialEq> Items<T> {
    /// Takes an object of the input. Returns whether it is fit; if not, it has been said why.
    pub fn add(&mut self, mut object: Object) -> bool {
        let value = object.document.value.take();
        let typed = match typed::<T>(&value) {
            Ok(typed) => typed,
            Err(error) => return render::tell(&object, &refusal(error)),
        };
        // One without a name is at fault, and is told so by the translation.
        let key = (object.namespace.clone(), value["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        if let Some(first) = self.by_name.get(&key).filter(|_| !key.1.is_empty()) {
            let Origin::Written(other) = &self.origins[*first] else { return true };
            return self.objects[*first] == typed || render::tell(&object, &validate::twice(&object, other));
        }
        self.push(key, typed, Origin::Written(Rc::new(object)));
        true
    }

    /// Takes an object that follows from a set, unless the input has it.
    pub fn add_rendered(&mut self, namespace: &str, name: &str, object: T, set: &Rc<Object>) {
        let key = (namespace.to_owned(), name.to_owned());
        if !self.by_name.contains_key(&key) {
            self.push(key, object, Origin::Rendered(set.clone()));
        }
    }

    fn push(&mut self, key: (String, String), object: T, origin: Origin) {
        self.by_name.insert(key, self.objects.len());
        self.objects.push(object);
        self.origins.push(origin);
    }
}

impl<T> Items<T> {
    /// Leaves out those at these places.
    pub fn leave_out(&mut self, places: Option<&BTreeSet<usize>>) {
        let Some(places) = places else { return };
        let (mut object, mut origin) = (0.., 0..);
        self.objects.retain(|_| object.next().is_none_or(|at: usize| !places.contains(&at)));
        self.origins.retain(|_| origin.next().is_none_or(|at: usize| !places.contains(&at)));
        let place = |at: usize| {
            let before = places.range(..at).count();
            (!places.contains(&at)).then(|| at - before)
        };
        self.by_name = self.by_name.drain().filter_map(|(name, at)| Some((name, place(at)?))).collect();
    }

    /// The object of a name.
    pub fn find(&self, namespace: &str, name: &str) -> Option<&T> {
        let i = *self.by_name.get(&(namespace.to_owned(), name.to_owned()))?;
        Some(&self.objects[i])
    }

    pub fn find_mut(&mut self, namespace: &str, name: &str) -> Option<&mut T> {
        let i = *self.by_name.get(&(namespace.to_owned(), name.to_owned()))?;
        Some(&mut self.objects[i])
    }

    pub fn refs(&self) -> Vec<&T> {
        self.objects.iter().collect()
    }
}

/// A verdict with one fault.
pub fn refusal(error: FieldError) -> Verdict {
    Verdict { errors: vec![error], warnings: Vec::new() }
}

/// Reads JSON into a type, or says which field is wrong.
pub fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    // The way to the field is only looked for when there is something wrong.
    T::deserialize(value).or_else(|_| {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { path };
            let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
            let found = value.pointer(&pointer).cloned().unwrap_or_default();
            FieldError::invalid(&Path::new(&path), found, error.inner().to_string())
        })
    })
}
