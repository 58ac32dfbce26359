//! The resources that are served now: the built-in ones, and those of the custom resource definitions that are there.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::resource::Resource;

/// All resources at one moment.
#[derive(Debug, Default)]
pub struct Table {
    /// Moves with every change, for those who keep what follows from the table.
    pub generation: u64,
    /// Built-in ones first.
    pub resources: Vec<Arc<Resource>>,
    places: HashMap<(String, String), usize>,
}

/// The table that is in force.
#[derive(Debug, Default)]
pub struct Registry {
    table: RwLock<Arc<Table>>,
}

impl Table {
    /// The resource of a plural in a group.
    pub fn find(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.places.get(&(group.to_owned(), plural.to_owned())).map(|&at| &self.resources[at])
    }

    /// The resource of a kind in a group.
    pub fn of_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|resource| resource.group == group && resource.kind == kind)
    }

    fn new(generation: u64, resources: Vec<Arc<Resource>>) -> Self {
        let place = |(at, resource): (usize, &Arc<Resource>)| ((resource.group.clone(), resource.plural.clone()), at);
        let places = resources.iter().enumerate().map(place).collect();
        Self { generation, resources, places }
    }
}

impl Registry {
    /// A registry of these.
    pub fn new(resources: Vec<Arc<Resource>>) -> Self {
        Self { table: RwLock::new(Arc::new(Table::new(0, resources))) }
    }

    /// The table in force.
    pub fn table(&self) -> Arc<Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves a resource, in the place of an earlier one of the same plural and group.
    pub fn put(&self, resource: Resource) {
        self.change(|resources| {
            let (group, plural) = (&resource.group, &resource.plural);
            let at = resources.iter().position(|other| other.group == *group && other.plural == *plural);
            match at {
                Some(at) => resources[at] = Arc::new(resource),
                None => resources.push(Arc::new(resource)),
            }
        });
    }

    /// Serves a resource no more.
    pub fn remove(&self, group: &str, plural: &str) {
        self.change(|resources| resources.retain(|other| other.group != group || other.plural != plural));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Resource>>)) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut resources = table.resources.clone();
        change(&mut resources);
        *table = Arc::new(Table::new(table.generation + 1, resources));
    }
}
