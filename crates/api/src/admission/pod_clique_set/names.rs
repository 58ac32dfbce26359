//! Names of generated objects: short enough, unique, and not too many.

use super::super::{Verdict, form};
use crate::constraint::{group_of, is_constrained};
use crate::field::{FieldError, Path};
use crate::kinds::{CliqueTemplate, PodCliqueSet};
use crate::names::{COMBINED_NAME_MAX, GANG_BYTES_MAX, GANG_PODS_MAX, SET_PODS_MAX};

pub fn check(set: &PodCliqueSet, verdict: &mut Verdict) {
    lengths(set, &mut verdict.errors);
    collisions(set, &mut verdict.errors);
    limits(set, &mut verdict.errors);
}

/// Pods are called `<set>-<i>-<group>-<j>-<clique>-<k>`; 45 characters for the words leave 18 for the rest, enough for
/// the largest indices that [`limits`] admits.
fn lengths(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let name = form::name(&set.metadata);
    let template = &set.spec.template;
    let mut too_long = false;
    for (i, clique) in template.cliques.iter().enumerate() {
        let group = group_of(set, &clique.name);
        let length = name.len() + clique.name.len() + group.map_or(0, |(_, group)| group.name.len());
        if length <= COMBINED_NAME_MAX {
            continue;
        }
        too_long = true;
        let parts = match group {
            Some((_, group)) => {
                format!("PodCliqueSet '{name}', PodCliqueScalingGroup '{}', PodClique '{}'", group.name, clique.name)
            }
            None => format!("PodCliqueSet '{name}', PodClique '{}'", clique.name),
        };
        let message = format!(
            "combined resource name length {length} exceeds {COMBINED_NAME_MAX}-character limit required for pod naming. \
             Consider shortening: {parts}"
        );
        let path = Path::new("spec.template.cliques").index(i).child("name");
        errors.push(FieldError::invalid(&path, clique.name.as_str(), message));
    }
    if too_long {
        let message = format!(
            "combined resource name length of set, group and clique exceeds the {COMBINED_NAME_MAX}-character limit \
             required for pod naming"
        );
        errors.push(FieldError::invalid(&Path::new("metadata.name"), name, message));
    }
}

/// The names that one template entry can give: fixed text, or text with a replica index in it.
#[derive(Clone, Copy)]
pub enum Pattern<'a> {
    /// The name of a clique outside scaling groups, or of a scaling group.
    Text(&'a str),
    /// `<group>-<index>`, followed by `-<clique>` if there is one.
    Indexed(&'a str, Option<&'a str>),
}

impl<'a> Pattern<'a> {
    /// The names that a clique's PodCliques can have in one replica of the set.
    pub fn of(set: &'a PodCliqueSet, clique: &'a CliqueTemplate) -> Self {
        match group_of(set, &clique.name) {
            Some((_, group)) => Self::Indexed(&group.name, Some(&clique.name)),
            None => Self::Text(&clique.name),
        }
    }

    /// Prefix and suffix around the index.
    fn parts(self) -> (String, Option<String>) {
        match self {
            Self::Text(text) => (text.to_owned(), None),
            Self::Indexed(group, clique) => {
                (format!("{group}-"), Some(clique.map(|clique| format!("-{clique}")).unwrap_or_default()))
            }
        }
    }

    /// Whether two entries can give the same name, for any index at all: replicas may be added later.
    pub fn collides(self, other: Pattern<'_>) -> bool {
        match (self.parts(), other.parts()) {
            ((a, None), (b, None)) => a == b,
            ((text, None), (prefix, Some(suffix))) | ((prefix, Some(suffix)), (text, None)) => {
                fits(&text, &prefix, &suffix)
            }
            ((p, Some(s)), (q, Some(t))) => {
                let ((p, s), (q, t)) = if p.len() <= q.len() { ((p, s), (q, t)) } else { ((q, t), (p, s)) };
                match q.strip_prefix(p.as_str()) {
                    Some("") => s == t,
                    // What the longer prefix has more must begin with the index of the shorter one.
                    Some(rest) => {
                        rest.find('-').is_some_and(|end| is_index(&rest[..end]) && fits(&s, &rest[end..], &t))
                    }
                    None => false,
                }
            }
        }
    }
}

/// Whether `text` is `<prefix><index><suffix>`.
fn fits(text: &str, prefix: &str, suffix: &str) -> bool {
    text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)).is_some_and(is_index)
}

fn is_index(text: &str) -> bool {
    text == "0"
        || (!text.is_empty() && text.len() <= 6 && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()))
}

/// A template entry that gives names to generated objects.
struct Entry<'a> {
    pattern: Pattern<'a>,
    path: Path,
    name: &'a str,
    what: String,
}

/// No two PodCliques and no two groups of a gang may have the same name, nor may two HorizontalPodAutoscalers.
fn collisions(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let template = &set.spec.template;
    let groups_path = Path::new("spec.template.podCliqueScalingGroups");
    let groups = template.pod_clique_scaling_groups.iter().enumerate();
    let mut entries: Vec<Entry<'_>> = groups
        .clone()
        // Equal names are reported as such already, here and among the cliques.
        .filter(|(i, group)| {
            let earlier = &template.pod_clique_scaling_groups[..*i];
            group.topology_constraint.is_some() && earlier.iter().all(|earlier| earlier.name != group.name)
        })
        .map(|(i, group)| Entry {
            pattern: Pattern::Indexed(&group.name, None),
            path: groups_path.index(i).child("name"),
            name: &group.name,
            what: format!("a replica of scaling group '{}'", group.name),
        })
        .collect();
    for (i, clique) in template.cliques.iter().enumerate() {
        if template.cliques[..i].iter().any(|earlier| earlier.name == clique.name) {
            continue;
        }
        let pattern = Pattern::of(set, clique);
        let what = match pattern {
            Pattern::Indexed(group, _) => format!("clique '{}' in scaling group '{group}'", clique.name),
            Pattern::Text(_) => format!("clique '{}'", clique.name),
        };
        let path = Path::new("spec.template.cliques").index(i).child("name");
        entries.push(Entry { pattern, path, name: &clique.name, what });
    }
    for (i, entry) in entries.iter().enumerate() {
        if let Some(other) = entries[..i].iter().find(|earlier| earlier.pattern.collides(entry.pattern)) {
            let message = format!("{} would have the same name as {}", entry.what, other.what);
            errors.push(duplicate(&entry.path, entry.name, message));
        }
    }
    for (i, group) in groups.filter(|(_, group)| group.scale_config.is_some()) {
        let clique = template.cliques.iter().find(|clique| clique.name == group.name);
        if clique.is_some_and(|c| c.spec.auto_scaling_config.is_some() && group_of(set, &c.name).is_none()) {
            let message = format!(
                "the HorizontalPodAutoscalers of scaling group '{0}' and clique '{0}' would have the same name",
                group.name
            );
            errors.push(duplicate(&groups_path.index(i).child("name"), &group.name, message));
        }
    }
}

fn duplicate(path: &Path, name: &str, message: String) -> FieldError {
    FieldError { message, ..FieldError::duplicate(path, name) }
}

/// A set has at most 100 000 pods, a gang at most 5 000, however far it may be scaled.
fn limits(set: &PodCliqueSet, errors: &mut Vec<FieldError>) {
    let template = &set.spec.template;
    let count = |n: Option<i32>| i64::from(n.unwrap_or(1).max(0));
    let (mut base, mut all) = (0_i64, 0_i64);
    for clique in template.cliques.iter().filter(|clique| group_of(set, &clique.name).is_none()) {
        let most = clique.spec.auto_scaling_config.as_ref().map_or(0, |scaling| i64::from(scaling.max_replicas));
        let pods = count(clique.spec.replicas).max(most);
        base = base.saturating_add(pods);
        all = all.saturating_add(pods);
    }
    for (i, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let members = template.cliques.iter().filter(|clique| group.clique_names.contains(&clique.name));
        let replica: i64 = members.map(|clique| count(clique.spec.replicas)).sum();
        let most = group.scale_config.as_ref().map_or(0, |scaling| i64::from(scaling.max_replicas));
        base = base.saturating_add(replica.saturating_mul(count(group.min_available)));
        all = all.saturating_add(replica.saturating_mul(count(group.replicas).max(most)));
        if replica > GANG_PODS_MAX {
            let path = Path::new("spec.template.podCliqueScalingGroups").index(i);
            let message =
                format!("one replica of the group is a gang, and a gang may have at most {GANG_PODS_MAX} pods");
            errors.push(FieldError::too_many(&path, replica, message));
        }
    }
    if base > GANG_PODS_MAX {
        let message = format!("one replica of the set is a gang, and a gang may have at most {GANG_PODS_MAX} pods");
        errors.push(FieldError::too_many(&Path::new("spec.template.cliques"), base, message));
    } else {
        let bytes = base_gang_bytes(set);
        if bytes > GANG_BYTES_MAX {
            let message = format!(
                "one replica of the set is a gang, and its PodGang would have about {bytes} bytes of {GANG_BYTES_MAX}; \
                 fewer and larger cliques, a smaller minAvailable of scaling groups, or shorter names would do"
            );
            errors.push(FieldError::too_many(&Path::new("spec.template.cliques"), bytes, message));
        }
    }
    let pods = all.saturating_mul(i64::from(set.spec.replicas.max(0)));
    if pods > SET_PODS_MAX {
        let message =
            format!("a PodCliqueSet may have at most {SET_PODS_MAX} pods, counted as far as it may be scaled");
        errors.push(FieldError::too_many(&Path::new("spec.replicas"), pods, message));
    }
}

/// What the PodGang of a base gang takes as JSON, roughly: each PodClique and each pod once, by name. The entries for
/// scaling-group replicas are not counted; etcd takes half as much again, which covers them for keys of usual length.
fn base_gang_bytes(set: &PodCliqueSet) -> i64 {
    const PER_GROUP: i64 = 60;
    const PER_CONSTRAINT: i64 = 200;
    const PER_POD: i64 = 35;
    /// Indices of set, group and pod, with their dashes.
    const INDICES: i64 = 12;
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let count = |n: Option<i32>| i64::from(n.unwrap_or(1).max(0));
    let set_name = length(&form::name(&set.metadata));
    let namespace = length(set.metadata.namespace.as_deref().unwrap_or("default"));
    let constraint = if is_constrained(set) { PER_CONSTRAINT } else { 0 };
    let cliques = set.spec.template.cliques.iter().map(|clique| {
        let group = group_of(set, &clique.name).map(|(_, group)| group);
        let copies = group.map_or(1, |group| count(group.min_available));
        let name = set_name + group.map_or(0, |group| length(&group.name)) + length(&clique.name) + INDICES;
        let most = clique.spec.auto_scaling_config.as_ref().map_or(0, |scaling| i64::from(scaling.max_replicas));
        let pods = count(clique.spec.replicas).max(most).saturating_mul(PER_POD + namespace + name);
        copies.saturating_mul(pods.saturating_add(PER_GROUP + constraint + name))
    });
    cliques.fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::Pattern::{self, Indexed, Text};

    #[test]
    fn names_collide_when_some_index_makes_them_equal() {
        let check = |a: Pattern<'_>, b: Pattern<'_>, collide: bool| {
            assert_eq!(a.collides(b), collide, "{:?} {:?}", a.parts(), b.parts());
            assert_eq!(b.collides(a), collide, "{:?} {:?}", b.parts(), a.parts());
        };
        check(Text("a"), Text("a"), true);
        check(Text("a"), Text("b"), false);
        check(Text("sg-0-w"), Indexed("sg", Some("w")), true);
        check(Text("sg-17-w"), Indexed("sg", Some("w")), true);
        check(Text("sg-01-w"), Indexed("sg", Some("w")), false);
        check(Text("sg--w"), Indexed("sg", Some("w")), false);
        check(Text("sg-w"), Indexed("sg", Some("w")), false);
        check(Text("sg-0"), Indexed("sg", None), true);
        // a-0-0-b either way
        check(Indexed("a", Some("0-b")), Indexed("a-0", Some("b")), true);
        check(Indexed("a", Some("x-3-b")), Indexed("a-0-x", Some("b")), true);
        check(Indexed("a", Some("b")), Indexed("a-0", Some("b")), false);
        check(Indexed("a", Some("b")), Indexed("a", Some("b")), true);
        check(Indexed("a", Some("b")), Indexed("a", Some("c")), false);
        check(Indexed("a", Some("0")), Indexed("a-5", None), true);
        check(Indexed("a", None), Indexed("a-0", None), false);
    }
}
