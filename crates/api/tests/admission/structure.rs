//! Shape of a set: section 4.3 of the Grove reference, decision 46.

use crate::harness::set;

/// A fourth clique for the base set.
fn clique(name: &str, role: &str) -> String {
    format!(
        "cliques[3]: {{name: {name}, spec: {{roleName: {role}, podSpec: {{containers: [{{name: m, image: b}}]}}}}}}"
    )
}

#[test]
fn d46_set_names_are_dns_labels() {
    let check = |name: &str, errors: &[&str]| set(&[&format!("metadata.name: {name:?}")]).gives(errors);
    check("demo", &[]);
    check("a", &[]);
    check("d-7", &[]);
    for bad in ["Demo", "a.b", "a_b", "-a", "a-", "démo"] {
        check(
            bad,
            &[&format!(
                "metadata.name: Invalid value: {bad:?}: invalid PodCliqueSet name, must be a valid DNS label: …"
            )],
        );
    }
    check("", &["metadata.name: Required value: name or generateName is required"]);
    set(&["-metadata.name"]).gives(&["metadata.name: Required value: name or generateName is required"]);
    set(&["-metadata.name", "metadata.generateName: demo-"]).gives(&[]);
    set(&["-metadata.name", "metadata.generateName: Demo-"])
        .gives(&["metadata.name: Invalid value: \"Demo-xxxxx\": invalid PodCliqueSet name, …"]);
    set(&["metadata.namespace: Prod"])
        .gives(&["metadata.namespace: Invalid value: \"Prod\": invalid Namespace name, …"]);
    // Old clusters want Service names to start with a letter.
    set(&["metadata.name: 7b"]).warns(&["metadata.name: \"7b\" starts with a digit; …"]).gives(&[]);
}

#[test]
fn grove4_3_metadata_is_standard() {
    set(&["metadata.labels: {team: ml, example.com/a: ''}", "metadata.annotations: {Example.com/Note: any text}"])
        .gives(&[]);
    set(&["metadata.labels: {a b: c}"])
        .gives(&["metadata.labels: Invalid value: \"a b\": must be a valid label key: …"]);
    set(&["metadata.labels: {team: a b}"])
        .gives(&["metadata.labels[team]: Invalid value: \"a b\": must be a valid label value: …"]);
    set(&["metadata.annotations: {a b: c}"])
        .gives(&["metadata.annotations: Invalid value: \"a b\": must be a valid label key: …"]);
    let large = format!("metadata.annotations: {{a: {}}}", "x".repeat(256 * 1024));
    set(&[&large]).gives(&["metadata.annotations: Too long: may not be more than 262144 characters"]);
}

#[test]
fn grove4_3_at_least_one_clique() {
    let no_groups = "-podCliqueScalingGroups";
    set(&["cliques: []", no_groups])
        .gives(&["spec.template.cliques: Required value: at least one PodClique must be defined"]);
    set(&["-cliques", no_groups]).gives(&["spec.template.cliques: Required value"]);
    set(&["cliques: null", no_groups]).gives(&["spec.template.cliques: Required value"]);
    set(&["-spec.template"]).gives(&["spec.template: Required value"]);
    set(&["-spec"]).gives(&["spec: Required value"]);
}

#[test]
fn grove4_3_clique_names() {
    let check = |name: &str, errors: &[&str]| set(&[&format!("cliques[0].name: {name:?}")]).gives(errors);
    check("router", &[]);
    check("0", &[]);
    check("", &["spec.template.cliques[0].name: Required value: field cannot be empty"]);
    for bad in ["Router", "a.b", "a_b", "-a", "a-"] {
        let error = format!(
            "spec.template.cliques[0].name: Invalid value: {bad:?}: invalid PodClique name, must be a valid DNS label: …"
        );
        check(bad, &[&error]);
    }
    set(&["-cliques[0].name"]).gives(&["spec.template.cliques[0].name: Required value"]);
}

#[test]
fn grove4_3_clique_names_and_roles_unique() {
    set(&[&clique("extra", "extra")]).gives(&[]);
    set(&[&clique("router", "extra")]).gives(&["spec.template.cliques[3].name: Duplicate value: \"router\""]);
    set(&[&clique("extra", "router")]).gives(&["spec.template.cliques[3].spec.roleName: Duplicate value: \"router\""]);
    set(&[&clique("router", "router")]).gives(&[
        "spec.template.cliques[3].name: Duplicate value: \"router\"",
        "spec.template.cliques[3].spec.roleName: Duplicate value: \"router\"",
    ]);
    set(&["cliques[0].spec.roleName: ''"])
        .gives(&["spec.template.cliques[0].spec.roleName: Required value: field cannot be empty"]);
    set(&["-cliques[0].spec.roleName"]).gives(&["spec.template.cliques[0].spec.roleName: Required value"]);
}

#[test]
fn grove4_3_clique_labels_and_annotations_are_standard() {
    set(&["cliques[0].labels: {tier: front}", "cliques[0].annotations: {note: any text at all}"]).gives(&[]);
    // Ours to set.
    set(&["cliques[0].labels: {grove.io/podgang: x}"])
        .warns(&["spec.template.cliques[0].labels[grove.io/podgang]: the label is set by the operator, the value here is ignored"])
        .gives(&[]);
    set(&["cliques[0].labels: {tier: a b}"])
        .gives(&["spec.template.cliques[0].labels[tier]: Invalid value: \"a b\": must be a valid label value: …"]);
    set(&["cliques[0].labels: {-: x}"])
        .gives(&["spec.template.cliques[0].labels: Invalid value: \"-\": must be a valid label key: …"]);
    set(&["cliques[0].annotations: {a/b/c: x}"])
        .gives(&["spec.template.cliques[0].annotations: Invalid value: \"a/b/c\": must be a valid label key: …"]);
    set(&["podCliqueScalingGroups[0].annotations: {a/b/c: x}"]).gives(&[
        "spec.template.podCliqueScalingGroups[0].annotations: Invalid value: \"a/b/c\": must be a valid label key: …",
    ]);
}

#[test]
fn grove4_3_scaling_group_names() {
    let check =
        |name: &str, errors: &[&str]| set(&[&format!("podCliqueScalingGroups[0].name: {name:?}")]).gives(errors);
    let at = "spec.template.podCliqueScalingGroups[0].name";
    check("workers", &[]);
    // A group may be called like a clique: their objects are of two kinds.
    check("router", &[]);
    check("", &[&format!("{at}: Required value: field cannot be empty")]);
    for bad in ["Workers", "a.b", "a-"] {
        check(
            bad,
            &[&format!(
                "{at}: Invalid value: {bad:?}: invalid PodCliqueScalingGroup name, must be a valid DNS label: …"
            )],
        );
    }
    let second = |name: &str| format!("podCliqueScalingGroups[1]: {{name: {name}, cliqueNames: [router]}}");
    set(&[&second("routers")]).gives(&[]);
    set(&[&second("workers")]).gives(&["spec.template.podCliqueScalingGroups[1].name: Duplicate value: \"workers\""]);
}

/// The same fault with a constraint on the groups: still one fault.
#[test]
fn grove4_3_scaling_group_names_duplicate_is_told_once() {
    set(&[
        "podCliqueScalingGroups[0].topologyConstraint: {packDomain: rack}",
        "podCliqueScalingGroups[1]: {name: workers, cliqueNames: [router], topologyConstraint: {packDomain: rack}}",
    ])
    .gives(&["spec.template.podCliqueScalingGroups[1].name: Duplicate value: \"workers\""]);
}

#[test]
fn grove4_3_members_of_scaling_groups() {
    let at = "spec.template.podCliqueScalingGroups[0].cliqueNames";
    let check = |names: &str, errors: &[&str]| {
        set(&[&format!("podCliqueScalingGroups[0].cliqueNames: [{names}]")]).gives(errors);
    };
    check("leader, worker", &[]);
    check("worker", &[]);
    check("worker, prefill", &[&format!("{at}[1]: Invalid value: \"prefill\": unidentified PodClique names found…")]);
    check("''", &[&format!("{at}[0]: Invalid value: \"\": unidentified PodClique names found…")]);
    check("worker, worker", &[&format!("{at}[1]: Duplicate value: \"worker\"")]);
    check("", &[&format!("{at}: Required value: at least one PodClique must be named")]);
    let second = |names: &str| format!("podCliqueScalingGroups[1]: {{name: more, cliqueNames: [{names}]}}");
    set(&[&second("router")]).gives(&[]);
    set(&[&second("router, worker")])
        .gives(&["spec.template.podCliqueScalingGroups[1].cliqueNames[1]: Duplicate value: \"worker\""]);
    set(&["-podCliqueScalingGroups"]).gives(&[]);
    set(&["podCliqueScalingGroups: []"]).gives(&[]);
}

#[test]
fn grove4_3_termination_delay() {
    let check = |delay: &str, errors: &[&str]| set(&[&format!("terminationDelay: {delay:?}")]).gives(errors);
    let at = "spec.template.terminationDelay";
    for good in ["4h", "1s", "1h30m", "0.5h", "4h0m0s", "1ns"] {
        check(good, &[]);
    }
    for zero in ["0s", "0h0m0s", "-1s"] {
        check(zero, &[&format!("{at}: Invalid value: {zero:?}: terminationDelay must be greater than 0")]);
    }
    for bad in ["", "4", "four hours", "4d"] {
        check(bad, &[&format!("{at}: Invalid value: {bad:?}: must be a duration such as …")]);
    }
    set(&["terminationDelay: 4"]).gives(&["spec.template.terminationDelay: Invalid value: 4: must be of type string"]);
}

#[test]
fn grove1_1_update_strategy() {
    for good in ["RollingRecreate", "OnDelete"] {
        set(&[&format!("spec.updateStrategy.type: {good}")]).gives(&[]);
    }
    set(&["spec.updateStrategy.type: Recreate"]).gives(&[
        "spec.updateStrategy.type: Unsupported value: \"Recreate\": supported values: \"RollingRecreate\", \"OnDelete\"",
    ]);
}
