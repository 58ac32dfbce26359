//! Which PodCliques a PodClique starts after.

use crate::expand::Instance;
use std::collections::BTreeSet;
use trellis_api::kinds::{PodCliqueSet, StartupType};

/// A PodClique that others wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Name of the PodClique.
    pub name: String,
    /// Pods of it that must be ready.
    pub min_available: i32,
}

/// Cliques that a clique names as its parents, by the set's startup type.
fn direct<'a>(set: &'a PodCliqueSet, clique: &str) -> Vec<&'a str> {
    let template = &set.spec.template;
    let position = template.cliques.iter().position(|other| other.name == clique);
    match (template.clique_startup_type, position) {
        (StartupType::InOrder, Some(i)) if i > 0 => vec![template.cliques[i - 1].name.as_str()],
        (StartupType::Explicit, Some(i)) => {
            let parents = template.cliques[i].spec.starts_after.iter().map(String::as_str);
            parents.filter(|parent| *parent != clique).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether pods of a clique wait for others.
pub fn waits(set: &PodCliqueSet, clique: &str) -> bool {
    !direct(set, clique).is_empty()
}

/// The PodCliques that an instance of a gang starts after.
///
/// In the base gang these are all PodCliques of the parent cliques in that gang. A scaled gang knows only its own: a
/// parent that is not in it is stepped over, to the parents' own parents.
pub fn parents(set: &PodCliqueSet, instance: &Instance<'_>, gang: &[&Instance<'_>]) -> Vec<Parent> {
    if set.spec.template.clique_startup_type == StartupType::AnyOrder {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([instance.template.name.as_str()]);
    let mut todo = direct(set, &instance.template.name);
    todo.reverse();
    while let Some(parent) = todo.pop() {
        if !seen.insert(parent) {
            continue;
        }
        let before = found.len();
        found.extend(
            gang.iter()
                .filter(|other| other.template.name == parent)
                .map(|other| Parent { name: other.name.clone(), min_available: other.min_available() }),
        );
        if found.len() == before {
            todo.extend(direct(set, parent).into_iter().rev());
        }
    }
    found
}
