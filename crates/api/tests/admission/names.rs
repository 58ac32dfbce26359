//! Names of generated objects: long enough to collide, short enough for pods. Section 4.3 of the Grove reference, decision
//! 46.

use crate::harness::set;

const POD: &str = "podSpec: {containers: [{name: m, image: b}]}";

fn clique(name: &str) -> String {
    format!("cliques[3]: {{name: {name}, spec: {{roleName: extra, {POD}}}}}")
}

#[test]
fn grove4_3_combined_names_have_at_most_45_characters() {
    let on_set = |name: &str| {
        format!(
            "metadata.name: Invalid value: \"{name}\": combined resource name length of set, group and clique exceeds …"
        )
    };
    let too_long = |i: usize, name: &str, length: usize, parts: &str| {
        format!(
            "spec.template.cliques[{i}].name: Invalid value: \"{name}\": combined resource name length {length} exceeds \
             45-character limit required for pod naming. Consider shortening: {parts}"
        )
    };
    // `demo` has four characters.
    let fits = "r".repeat(41);
    set(&[&format!("cliques[0].name: {fits}")]).gives(&[]);
    let long = "r".repeat(42);
    set(&[&format!("cliques[0].name: {long}")])
        .gives(&[&too_long(0, &long, 46, &format!("PodCliqueSet 'demo', PodClique '{long}'")), &on_set("demo")]);
    // In a group, its name counts too: 4 + 35 + 6.
    set(&[&format!("podCliqueScalingGroups[0].name: {}", "g".repeat(35))]).gives(&[]);
    let group = "g".repeat(36);
    let parts = |clique: &str| format!("PodCliqueSet 'demo', PodCliqueScalingGroup '{group}', PodClique '{clique}'");
    set(&[&format!("podCliqueScalingGroups[0].name: {group}")]).gives(&[
        &too_long(1, "leader", 46, &parts("leader")),
        &too_long(2, "worker", 46, &parts("worker")),
        &on_set("demo"),
    ]);
    // 45 - 7 - 6 is left for the set.
    set(&[&format!("metadata.name: {}", "s".repeat(32))]).gives(&[]);
    let name = "s".repeat(33);
    set(&[&format!("metadata.name: {name}")]).gives(&[
        "spec.template.cliques[1].name: Invalid value: \"leader\": combined resource name length 46 exceeds …",
        "spec.template.cliques[2].name: Invalid value: \"worker\": combined resource name length 46 exceeds …",
        &on_set(&name),
    ]);
}

/// The server appends five characters to a generated name.
#[test]
fn grove4_3_combined_length_of_generated_names() {
    let generated = |n: usize| format!("metadata.generateName: {}", "s".repeat(n));
    set(&["-metadata.name", &generated(27)]).gives(&[]);
    set(&["-metadata.name", &generated(28)]).gives(&[
        "spec.template.cliques[1].name: Invalid value: \"leader\": combined resource name length 46 exceeds …",
        "spec.template.cliques[2].name: Invalid value: \"worker\": combined resource name length 46 exceeds …",
        "metadata.name: Invalid value: …",
    ]);
}

/// An empty name is none: the prefix counts, as in the check of the name itself.
#[test]
fn grove4_3_combined_length_beside_an_empty_name() {
    set(&["metadata.name: ''", &format!("metadata.generateName: {}", "s".repeat(28))]).gives(&[
        "spec.template.cliques[1].name: Invalid value: \"leader\": combined resource name length 46 exceeds …",
        "spec.template.cliques[2].name: Invalid value: \"worker\": combined resource name length 46 exceeds …",
        "metadata.name: Invalid value: …",
    ]);
}

/// "two objects of one kind of a set with the same name are an error": PodCliques.
#[test]
fn d46_two_pod_cliques_with_one_name() {
    set(&[&clique("workers-0")]).gives(&[]);
    set(&[&clique("workers-leader")]).gives(&[]);
    set(&[&clique("workers-00-leader")]).gives(&[]);
    // Replicas may be added, so any index counts.
    for name in ["workers-0-leader", "workers-7-leader"] {
        set(&[&clique(name)]).gives(&[&format!(
            "spec.template.cliques[3].name: Duplicate value: \"{name}\": clique '{name}' would have the same name as clique \
             'leader' in scaling group 'workers'"
        )]);
    }
    // `a-0-0-b` either way.
    let two_groups = [
        "podCliqueScalingGroups: [{name: a, cliqueNames: [0-b]}, {name: a-0, cliqueNames: [b]}]",
        "cliques[0].name: 0-b",
        "cliques[1].name: b",
    ];
    set(&two_groups).gives(&[
        "spec.template.cliques[1].name: Duplicate value: \"b\": clique 'b' in scaling group 'a-0' would have the same name as \
         clique '0-b' in scaling group 'a'",
    ]);
}

/// Groups of a gang: a replica of a constrained scaling group, and a PodClique.
#[test]
fn d46_two_groups_of_a_gang_with_one_name() {
    let constrained = "podCliqueScalingGroups[0].topologyConstraint: {packDomain: rack}";
    set(&[constrained]).gives(&[]);
    set(&[constrained, &clique("workers-1")]).gives(&[
        "spec.template.cliques[3].name: Duplicate value: \"workers-1\": clique 'workers-1' would have the same name as a \
         replica of scaling group 'workers'",
    ]);
    set(&[constrained, &clique("workers-x")]).gives(&[]);
}

#[test]
fn d46_two_autoscalers_with_one_name() {
    let scaled = "podCliqueScalingGroups[0].scaleConfig: {maxReplicas: 3}";
    let auto = "cliques[3].spec.autoScalingConfig: {maxReplicas: 3}";
    set(&[&clique("workers")]).gives(&[]);
    set(&[&clique("workers"), scaled]).gives(&[]);
    set(&[&clique("workers"), auto]).gives(&[]);
    set(&[&clique("workers"), auto, scaled]).gives(&[
        "spec.template.podCliqueScalingGroups[0].name: Duplicate value: \"workers\": the HorizontalPodAutoscalers of scaling \
         group 'workers' and clique 'workers' would have the same name",
    ]);
}

/// Claims are called `<owner>-all-<template>` and `<owner>-<index>-<template>`: one of the set's first replica and one of
/// its clique `router` would both be `demo-0-router-all-gpu`, made of two different templates.
#[test]
fn d46_two_resource_claims_with_one_name() {
    let template =
        |name: &str| format!("{{name: {name}, templateSpec: {{spec: {{devices: {{requests: [{{name: r}}]}}}}}}}}");
    let templates = |a: &str, b: &str| format!("resourceClaimTemplates: [{}, {}]", template(a), template(b));
    let of_set = |name: &str| format!("resourceSharing: [{{name: {name}, scope: PerReplica}}]");
    let of_clique = "cliques[0].resourceSharing: [{name: gpu, scope: AllReplicas}]";
    set(&[&templates("gpu", "nic"), &of_set("nic"), of_clique]).gives(&[]);
    set(&[&templates("gpu", "router-all-gpu"), &of_set("router-all-gpu"), of_clique]).gives(&["… Duplicate value: …"]);
}

/// The same template on a scaling group and a clique that are called alike: the names are equal only if the scopes are.
#[test]
fn d46_two_owners_of_resource_claims_with_one_name() {
    let template = "resourceClaimTemplates: [{name: gpu, templateSpec: {spec: {devices: {requests: [{name: r}]}}}}]";
    let share = |place: &str, scope: &str| format!("{place}.resourceSharing: [{{name: gpu, scope: {scope}}}]");
    let check = |name: &str, group: &str, clique_scope: &str, errors: &[&str]| {
        let (group, own) = (share("podCliqueScalingGroups[0]", group), share("cliques[3]", clique_scope));
        set(&[template, &clique(name), &group, &own]).gives(errors);
    };
    let alike = "spec.template.podCliqueScalingGroups[0].name: Duplicate value: \"workers\": claims of scaling group \
                 'workers' and clique 'workers' would have the same names";
    check("workers", "AllReplicas", "AllReplicas", &[alike]);
    check("workers", "PerReplica", "PerReplica", &[alike]);
    check("workers", "AllReplicas", "PerReplica", &[]);
    check("workers", "PerReplica", "AllReplicas", &[]);
    check("extra", "AllReplicas", "AllReplicas", &[]);
}
