//! What an update may not change: "Update immutability" in section 4.3 of the Grove reference. Topology constraints are in
//! `constraints`, the topology's name in `topology_name`.

use crate::harness::set;

/// The whole of a clique that may stand anywhere in the list.
fn clique(name: &str) -> String {
    let replicas = match name {
        "router" => 2,
        "leader" => 1,
        _ => 4,
    };
    format!(
        "{{name: {name}, spec: {{roleName: {name}, replicas: {replicas}, podSpec: {{containers: [{{name: main, image: \
         busybox}}]}}}}}}"
    )
}

fn immutable(path: &str, value: &str) -> String {
    format!("spec.template.{path}: Invalid value: {value}: field is immutable")
}

#[test]
fn grove4_3_immutable_number_of_cliques() {
    let composition = "spec.template.cliques: Forbidden: not allowed to change clique composition";
    let no_groups = "-podCliqueScalingGroups";
    set(&[no_groups]).old(&[no_groups]).gives(&[]);
    set(&[no_groups, "-cliques[2]"]).old(&[no_groups]).gives(&[composition]);
    set(&[no_groups, &format!("cliques[3]: {}", clique("extra"))]).old(&[no_groups]).gives(&[
        composition,
        "spec.template.cliques[3].name: Forbidden: not allowed to change clique composition, new clique name 'extra' is not \
         allowed",
    ]);
}

#[test]
fn grove4_3_immutable_clique_names() {
    set(&["cliques[0].name: gateway"]).old(&[]).gives(&[
        "spec.template.cliques[0].name: Forbidden: not allowed to change clique composition, new clique name 'gateway' is not \
         allowed",
    ]);
}

#[test]
fn grove4_3_immutable_clique_order_when_it_counts() {
    let swapped = [format!("cliques[0]: {}", clique("leader")), format!("cliques[1]: {}", clique("router"))];
    let check = |startup: &str, errors: &[&str]| {
        let startup = format!("cliqueStartupType: CliqueStartupType{startup}");
        set(&[&swapped[0], &swapped[1], &startup]).old(&[&startup]).gives(errors);
    };
    let moved = |i: usize, expected: &str, got: &str| {
        format!(
            "spec.template.cliques[{i}].name: Invalid value: \"{got}\": clique order cannot be changed when StartupType is \
             InOrder or Explicit. Expected '{expected}' at position {i}, got '{got}'"
        )
    };
    check("AnyOrder", &[]);
    for startup in ["InOrder", "Explicit"] {
        check(startup, &[&moved(0, "router", "leader"), &moved(1, "leader", "router")]);
    }
}

#[test]
fn grove4_3_immutable_fields_of_a_clique() {
    let check = |old: &str, new: &str, errors: &[&str]| {
        let edit =
            |edit: &str| edit.strip_prefix('-').map_or(format!("cliques[0].{edit}"), |e| format!("-cliques[0].{e}"));
        set(&[&edit(new), "spec.replicas: 2"]).old(&[&edit(old)]).gives(errors);
    };
    check("spec.roleName: router", "spec.roleName: gateway", &[&immutable("cliques[0].spec.roleName", "\"gateway\"")]);
    check("spec.minAvailable: 2", "spec.minAvailable: 2", &[]);
    check("spec.minAvailable: 2", "spec.minAvailable: 1", &[&immutable("cliques[0].spec.minAvailable", "1")]);
    check("-spec.minAvailable", "spec.minAvailable: 2", &[]);
    check("-spec.minAvailable", "spec.minAvailable: 1", &[&immutable("cliques[0].spec.minAvailable", "1")]);
    let scheduler = "spec.podSpec.schedulerName";
    // The same scheduler, by name or by default.
    check("-spec.podSpec.schedulerName", &format!("{scheduler}: trellis"), &[]);
    check(&format!("{scheduler}: trellis"), &format!("{scheduler}: ''"), &[]);
}

#[test]
fn grove4_3_immutable_starts_after() {
    let explicit = "cliqueStartupType: CliqueStartupTypeExplicit";
    let after = |names: &str| format!("cliques[2].spec.startsAfter: [{names}]");
    set(&[explicit, &after("router"), "spec.replicas: 2"]).old(&[explicit, &after("router")]).gives(&[]);
    set(&[explicit, &after("router, leader")])
        .old(&[explicit, &after("router")])
        .gives(&[&immutable("cliques[2].spec.startsAfter", "[\"router\",\"leader\"]")]);
    set(&[explicit]).old(&[explicit, &after("router")]).gives(&[&immutable("cliques[2].spec.startsAfter", "[]")]);
}

#[test]
fn grove4_3_immutable_scheduler() {
    let all = |scheduler: &str| -> Vec<String> {
        (0..3).map(|i| format!("cliques[{i}].spec.podSpec.schedulerName: {scheduler}")).collect()
    };
    let (old, new) = (all("trellis"), all("default-scheduler"));
    let errors: Vec<String> = (0..3)
        .map(|i| immutable(&format!("cliques[{i}].spec.podSpec.schedulerName"), "\"default-scheduler\""))
        .collect();
    let texts = crate::edit::texts;
    set(&texts(&new)).old(&texts(&old)).gives(&texts(&errors));
    set(&texts(&new)).old(&[]).gives(&texts(&errors));
}

#[test]
fn grove4_3_immutable_startup_type() {
    let in_order = "cliqueStartupType: CliqueStartupTypeInOrder";
    set(&[in_order]).old(&[]).gives(&[&immutable("cliqueStartupType", "\"CliqueStartupTypeInOrder\"")]);
    set(&[]).old(&[in_order]).gives(&[&immutable("cliqueStartupType", "\"CliqueStartupTypeAnyOrder\"")]);
    // Left out is the default, which is no change.
    set(&["spec.replicas: 2"]).old(&["cliqueStartupType: CliqueStartupTypeAnyOrder"]).gives(&[]);
}

#[test]
fn grove4_3_immutable_scaling_groups() {
    let count =
        "spec.template.podCliqueScalingGroups: Forbidden: not allowed to add or remove PodCliqueScalingGroupConfigs";
    let second = "podCliqueScalingGroups[1]: {name: routers, cliqueNames: [router]}";
    set(&[second, "spec.replicas: 2"]).old(&[second]).gives(&[]);
    set(&["-podCliqueScalingGroups"]).old(&[]).gives(&[count]);
    set(&[second]).old(&[]).gives(&[
        count,
        "spec.template.podCliqueScalingGroups[1].name: Forbidden: not allowed to add or remove PodCliqueScalingGroupConfigs, \
         'routers' is new",
    ]);
    set(&["podCliqueScalingGroups[0].name: team"]).old(&[]).gives(&[
        "spec.template.podCliqueScalingGroups[0].name: Forbidden: not allowed to add or remove PodCliqueScalingGroupConfigs, \
         'team' is new",
    ]);
    let group = "podCliqueScalingGroups[0]";
    set(&["podCliqueScalingGroups[0].cliqueNames: [worker]"])
        .old(&[])
        .gives(&[&immutable(&format!("{group}.cliqueNames"), "[\"worker\"]")]);
    set(&["podCliqueScalingGroups[0].minAvailable: 2"])
        .old(&[])
        .gives(&[&immutable(&format!("{group}.minAvailable"), "2")]);
}

#[test]
fn grove4_3_immutable_resource_sharing() {
    let template = |request: &str| {
        format!(
            "resourceClaimTemplates: [{{name: gpu, templateSpec: {{spec: {{devices: {{requests: [{{name: {request}}}]}}}}}}}}]"
        )
    };
    let gpu = template("gpu");
    set(&[&template("other")])
        .old(&[&gpu])
        .gives(&["spec.template.resourceClaimTemplates: Invalid value: …: field is immutable"]);
    set(&[&gpu]).old(&[]).gives(&["spec.template.resourceClaimTemplates: Invalid value: …: field is immutable"]);
    for place in ["resourceSharing", "cliques[1].resourceSharing", "podCliqueScalingGroups[0].resourceSharing"] {
        let sharing = |scope: &str| format!("{place}: [{{name: gpu, scope: {scope}}}]");
        let fault = format!("spec.template.{place}: Invalid value: …: field is immutable");
        set(&[&gpu, &sharing("PerReplica"), "spec.replicas: 2"]).old(&[&gpu, &sharing("PerReplica")]).gives(&[]);
        set(&[&gpu, &sharing("PerReplica")]).old(&[&gpu, &sharing("AllReplicas")]).gives(&[&fault]);
        set(&[&gpu, &sharing("PerReplica")]).old(&[&gpu]).gives(&[&fault]);
        set(&[&gpu]).old(&[&gpu, &sharing("PerReplica")]).gives(&[&fault]);
    }
}

/// "Not immutable: podSpec, labels, annotations, replicas, priorityClassName, terminationDelay, autoscaling, updateStrategy,
/// headlessServiceConfig."
#[test]
fn grove4_3_immutable_is_nothing_else() {
    for edit in [
        "spec.replicas: 5",
        "spec.replicas: 0",
        "spec.updateStrategy: {type: OnDelete}",
        "priorityClassName: high",
        "terminationDelay: 10m",
        "headlessServiceConfig: {publishNotReadyAddresses: false}",
        "cliques[0].labels: {a: b}",
        "cliques[0].annotations: {a: b}",
        "cliques[0].spec.replicas: 9",
        "cliques[0].spec.autoScalingConfig: {maxReplicas: 9}",
        "cliques[0].spec.podSpec.containers[0].image: busybox:2",
        "cliques[0].spec.podSpec.nodeSelector: {a: b}",
        "podCliqueScalingGroups[0].replicas: 9",
        "podCliqueScalingGroups[0].annotations: {a: b}",
        "podCliqueScalingGroups[0].scaleConfig: {maxReplicas: 9}",
        "metadata.labels: {a: b}",
        "metadata.annotations: {a: b}",
    ] {
        set(&[edit]).old(&[]).gives(&[]);
        set(&[edit]).old(&[]).scheduled("default", "demo").gives(&[]);
        set(&[]).old(&[edit]).gives(match edit {
            // The old minimum of a clique was its old replicas.
            "cliques[0].spec.replicas: 9" => &[
                "spec.template.cliques[0].spec.minAvailable: Invalid value: 9: minAvailable must not be greater than replicas",
            ],
            _ => &[],
        });
    }
}
