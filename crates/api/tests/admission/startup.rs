//! The order in which cliques start: section 4.3 of the Grove reference.

use crate::harness::{Case, set};

/// The base set started explicitly, with `startsAfter` of its three cliques.
fn explicit(starts_after: [&str; 3]) -> Case {
    let edits: Vec<String> = starts_after
        .iter()
        .enumerate()
        .map(|(i, parents)| format!("cliques[{i}].spec.startsAfter: [{parents}]"))
        .chain(["cliqueStartupType: CliqueStartupTypeExplicit".to_owned()])
        .collect();
    set(&crate::edit::texts(&edits))
}

fn at(i: usize, j: usize) -> String {
    format!("spec.template.cliques[{i}].spec.startsAfter[{j}]")
}

#[test]
fn grove4_3_startup_type() {
    for good in ["CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"] {
        set(&[&format!("cliqueStartupType: {good}")]).gives(&[]);
    }
    set(&["-cliqueStartupType"]).gives(&[]);
    for bad in ["Explicit", "anyorder", ""] {
        set(&[&format!("cliqueStartupType: {bad:?}")]).gives(&[&format!(
            "spec.template.cliqueStartupType: Unsupported value: {bad:?}: supported values: \"CliqueStartupTypeAnyOrder\", \
             \"CliqueStartupTypeInOrder\", \"CliqueStartupTypeExplicit\""
        )]);
    }
}

#[test]
fn grove4_3_starts_after_names_other_cliques() {
    explicit(["", "router", "router, leader"]).gives(&[]);
    explicit(["", "", ""]).gives(&[]);
    explicit(["", "''", ""]).gives(&[&format!("{}: Required value: clique dependency must not be empty", at(1, 0))]);
    explicit(["", "leader", ""])
        .gives(&[&format!("{}: Invalid value: \"leader\": clique dependency cannot refer to itself", at(1, 0))]);
    explicit(["", "router, router", ""]).gives(&[&format!("{}: Duplicate value: \"router\"", at(1, 1))]);
    let unknown = "unknown clique names found, all clique dependencies must be defined as cliques";
    explicit(["", "router, prefill", ""]).gives(&[&format!("{}: Invalid value: \"prefill\": {unknown}", at(1, 1))]);
    // A scaling group is no clique.
    explicit(["workers", "", ""]).gives(&[&format!("{}: Invalid value: \"workers\": {unknown}", at(0, 0))]);
}

#[test]
fn grove4_3_starts_after_has_no_circles() {
    let circle = |cliques: &str| {
        format!("spec.template.cliques: Invalid value: \"{cliques}\": clique must not have circular dependencies")
    };
    explicit(["leader", "router", ""]).gives(&[&circle("router, leader")]);
    explicit(["worker", "router", "leader"]).gives(&[&circle("router, leader, worker")]);
    // Who only waits for a circle is not in it.
    explicit(["leader", "router", "leader"]).gives(&[&circle("router, leader")]);
    // A diamond is no circle.
    explicit(["", "router", "leader, router"]).gives(&[]);
    explicit(["", "leader, worker", "leader"])
        .gives(&[&format!("{}: Invalid value: \"leader\": …", at(1, 0)), &circle("leader, worker")]);
}

/// "Explicit only": with another startup type the field means nothing.
#[test]
fn grove4_3_starts_after_counts_only_when_explicit() {
    let warning = "spec.template.cliques[1].spec.startsAfter: ignored for clique 'leader', because cliqueStartupType is not \
                   CliqueStartupTypeExplicit";
    let circle = ["cliques[1].spec.startsAfter: [leader, nobody]"];
    set(&circle).warns(&[warning]).gives(&[]);
    set(&["cliques[1].spec.startsAfter: [router]", "cliqueStartupType: CliqueStartupTypeInOrder"])
        .warns(&[warning])
        .gives(&[]);
    set(&["cliques[1].spec.startsAfter: []"]).gives(&[]);
}
