//! Shared resource claims: "resource sharing" in sections 1.7 and 4.3 of the Grove reference.

use crate::harness::{Case, set};

const GPU: &str = "{name: gpu, templateSpec: {spec: {devices: {requests: [{name: gpu}]}}}}";

/// The base set with one template, `gpu`, and more.
fn sharing(edits: &[&str]) -> Case {
    let templates = format!("resourceClaimTemplates: [{GPU}]");
    set(&[&[templates.as_str()], edits].concat())
}

#[test]
fn grove4_3_claim_templates() {
    let at = "spec.template.resourceClaimTemplates";
    let check =
        |templates: &str, errors: &[&str]| set(&[&format!("resourceClaimTemplates: [{templates}]")]).gives(errors);
    check(GPU, &[]);
    check("", &[]);
    check(&GPU.replace("name: gpu,", "name: '',"), &[&format!("{at}[0].name: Required value: field cannot be empty")]);
    check(&[GPU, GPU].join(", "), &[&format!("{at}[1].name: Duplicate value: \"gpu\"")]);
    check(
        &GPU.replace("name: gpu,", "name: a_b,"),
        &[&format!(
            "{at}[0].name: Invalid value: \"a_b\": invalid ResourceClaimTemplate name, must be a valid DNS label: …"
        )],
    );
    let requests = format!(
        "{at}[0].templateSpec.spec.devices.requests: Required value: at least one device request must be defined"
    );
    check("{name: gpu, templateSpec: {spec: {devices: {requests: []}}}}", &[&requests]);
    check("{name: gpu, templateSpec: {spec: {devices: {}}}}", &[&requests]);
    check("{name: gpu, templateSpec: {}}", &[&requests]);
    check("{name: gpu}", &[&format!("{at}[0].templateSpec: Required value")]);
}

#[test]
fn grove4_3_sharing_references() {
    for (at, place) in [
        ("spec.template.resourceSharing", "resourceSharing"),
        ("spec.template.podCliqueScalingGroups[0].resourceSharing", "podCliqueScalingGroups[0].resourceSharing"),
        ("spec.template.cliques[1].resourceSharing", "cliques[1].resourceSharing"),
    ] {
        let check = |entries: &str, errors: &[&str]| sharing(&[&format!("{place}: [{entries}]")]).gives(errors);
        check("{name: gpu, scope: AllReplicas}", &[]);
        check("{name: gpu, scope: PerReplica}", &[]);
        check("{name: gpu, namespace: '', scope: PerReplica}", &[]);
        check("{name: '', scope: PerReplica}", &[&format!("{at}[0].name: Required value: field cannot be empty")]);
        check(
            "{name: gpu, scope: PerReplica}, {name: gpu, scope: AllReplicas}",
            &[&format!("{at}[1].name: Duplicate value: \"gpu\"")],
        );
        check(
            "{name: gpu, namespace: prod, scope: PerReplica}",
            &[&format!(
                "{at}[0].namespace: Invalid value: \"prod\": namespace must be empty when name matches an internal \
             resourceClaimTemplate"
            )],
        );
        check(
            "{name: gpu, scope: Sometimes}",
            &[&format!(
                "{at}[0].scope: Unsupported value: \"Sometimes\": supported values: \"AllReplicas\", \"PerReplica\""
            )],
        );
        check("{name: gpu}", &[&format!("{at}[0].scope: Required value")]);
        // Templates outside the set are not supported, and said to be not.
        check(
            "{name: nic, scope: PerReplica}",
            &[&format!("{at}[0].name: Not found: \"nic\": must be one of spec.template.resourceClaimTemplates; …")],
        );
    }
}

#[test]
fn grove4_3_sharing_filters() {
    let entry = |filter: &str| format!("[{{name: gpu, scope: PerReplica, filter: {{{filter}}}}}]");
    let on_set = |filter: &str, errors: &[&str]| {
        let errors: Vec<String> =
            errors.iter().map(|e| format!("spec.template.resourceSharing[0].filter{e}")).collect();
        sharing(&[&format!("resourceSharing: {}", entry(filter))]).gives(&crate::edit::texts(&errors));
    };
    on_set("childCliqueNames: [router, worker]", &[]);
    on_set("childScalingGroupNames: [workers]", &[]);
    on_set("childCliqueNames: [router], childScalingGroupNames: [workers]", &[]);
    on_set("", &[": Required value: must name at least one child"]);
    on_set("childCliqueNames: []", &[": Required value: must name at least one child"]);
    on_set("childCliqueNames: [router, nobody]", &[".childCliqueNames[1]: Not found: \"nobody\""]);
    on_set("childScalingGroupNames: [router]", &[".childScalingGroupNames[0]: Not found: \"router\""]);

    // A group chooses among its own cliques.
    let at = "spec.template.podCliqueScalingGroups[0].resourceSharing[0].filter";
    let on_group = |filter: &str, errors: &[&str]| {
        sharing(&[&format!("podCliqueScalingGroups[0].resourceSharing: {}", entry(filter))]).gives(errors);
    };
    on_group("childCliqueNames: [worker]", &[]);
    on_group("childCliqueNames: [router]", &[&format!("{at}.childCliqueNames[0]: Not found: \"router\"")]);
    on_group(
        "childScalingGroupNames: [workers]",
        &[&format!("{at}.childScalingGroupNames[0]: Not found: \"workers\"")],
    );

    // A clique has nothing to choose from.
    sharing(&[&format!("cliques[0].resourceSharing: {}", entry("childCliqueNames: [router]"))]).gives(&[
        "spec.template.cliques[0].resourceSharing[0].filter: Forbidden: a clique has no children to choose from",
    ]);
}
