//! Priorities, from PriorityClasses.

use super::faults::Faults;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use std::collections::BTreeMap;

/// Classes that every cluster has.
const BUILT_IN: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The PriorityClasses, and which ones were missed.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    classes: BTreeMap<String, i32>,
    default: Option<i32>,
    missing: BTreeMap<String, usize>,
}

impl Priorities {
    pub fn read(classes: &[&PriorityClass], faults: &mut Faults) -> Self {
        let mut read = Self::default();
        for (i, class) in classes.iter().enumerate() {
            let mut faults = faults.of("PriorityClass", i, &class.metadata);
            let Some(name) = faults.name() else { continue };
            if read.classes.insert(name.to_owned(), class.value).is_some() {
                faults.duplicate();
            }
            if class.global_default == Some(true) {
                // Of several the smallest counts, as in Kubernetes.
                read.default = Some(read.default.map_or(class.value, |value| value.min(class.value)));
            }
        }
        for (name, value) in BUILT_IN {
            read.classes.entry(name.to_owned()).or_insert(value);
        }
        read
    }

    /// The priority of a gang that names this class; `otherwise` where there is no default.
    pub fn of(&mut self, class: Option<&str>, otherwise: i32) -> i32 {
        let class = class.filter(|class| !class.is_empty());
        match class.map(|class| (class, self.classes.get(class))) {
            Some((_, Some(value))) => return *value,
            Some((class, None)) => *self.missing.entry(class.to_owned()).or_default() += 1,
            None => {}
        }
        self.default.unwrap_or(otherwise)
    }

    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|(class, count)| {
            let gangs = if *count == 1 { "gang names it and has" } else { "gangs name it and have" };
            format!("PriorityClass {class} is not there; {count} {gangs} the default priority")
        })
    }
}
