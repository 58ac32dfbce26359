//! Which PodCliques a set has, by grove.md 2.1 and 3.2, worked out without the code under test.

use trellis_api::kinds::PodCliqueSet;

/// A PodClique that has to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Name of the clique in the template.
    pub clique: String,
    pub name: String,
    pub gang: String,
    pub base_gang: Option<String>,
    pub set_index: usize,
    /// Name of the PodCliqueScalingGroup, name of the group in the template, and replica.
    pub group: Option<(String, String, usize)>,
    pub pods: usize,
    pub min: usize,
}

/// The replica count of the PodClique (`true`) or scaling group of that name.
pub type Live<'a> = &'a dyn Fn(bool, &str) -> Option<usize>;

fn count(n: Option<i32>) -> usize {
    usize::try_from(n.expect("a defaulted set has all counts")).expect("an admitted set has no negative counts")
}

/// The PodCliques of a defaulted and admitted set, in no particular order.
pub fn expected(set: &PodCliqueSet, live: Live<'_>) -> Vec<Expected> {
    let template = &set.spec.template;
    let set_name = set.metadata.name.as_deref().expect("an admitted set has a name");
    let mut found = Vec::new();
    for i in 0..count(Some(set.spec.replicas)) {
        let base = format!("{set_name}-{i}");
        for clique in &template.cliques {
            let group = template.pod_clique_scaling_groups.iter().find(|g| g.clique_names.contains(&clique.name));
            let (pods, min) = (count(clique.spec.replicas), count(clique.spec.min_available));
            let Some(group) = group else {
                let name = format!("{base}-{}", clique.name);
                found.push(Expected {
                    clique: clique.name.clone(),
                    gang: base.clone(),
                    base_gang: None,
                    set_index: i,
                    group: None,
                    pods: live(true, &name).unwrap_or(pods),
                    min,
                    name,
                });
                continue;
            };
            let scaling_group = format!("{base}-{}", group.name);
            let in_base = count(group.min_available);
            for j in 0..live(false, &scaling_group).unwrap_or(count(group.replicas)) {
                let scaled = j >= in_base;
                found.push(Expected {
                    clique: clique.name.clone(),
                    name: format!("{scaling_group}-{j}-{}", clique.name),
                    gang: if scaled { format!("{scaling_group}-{}", j - in_base) } else { base.clone() },
                    base_gang: scaled.then(|| base.clone()),
                    set_index: i,
                    group: Some((scaling_group.clone(), group.name.clone(), j)),
                    pods,
                    min,
                });
            }
        }
    }
    found
}

/// The same by the template alone.
pub fn by_template(set: &PodCliqueSet) -> Vec<Expected> {
    expected(set, &|_, _| None)
}
