//! Replicas, minima, autoscaling bounds and sizes: section 4.3 of the Grove reference, decision 46.

use crate::edit::texts;
use crate::harness::set;

const CLIQUE: &str = "spec.template.cliques[2].spec";
const GROUP: &str = "spec.template.podCliqueScalingGroups[0]";

/// Cases of a clique (4 replicas) or a group (2 replicas): edits below `at`, errors below `at`.
#[track_caller]
fn check(at: &str, edits: &[&str], errors: &[&str]) {
    let edits: Vec<String> = edits.iter().map(|edit| format!("{at}.{edit}")).collect();
    let errors: Vec<String> = errors.iter().map(|error| format!("{at}.{error}")).collect();
    set(&texts(&edits)).gives(&texts(&errors));
}

#[test]
fn grove4_3_replicas_of_the_set_not_negative() {
    set(&["spec.replicas: 0"]).gives(&[]);
    set(&["spec.replicas: 1"]).gives(&[]);
    set(&["spec.replicas: -1"]).gives(&["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]);
}

#[test]
fn grove4_3_replicas_of_a_clique_positive() {
    check(CLIQUE, &["replicas: 1"], &[]);
    check(CLIQUE, &["replicas: 4"], &[]);
    check(CLIQUE, &["replicas: -1", "minAvailable: 1"], &["replicas: Invalid value: -1: must be greater than 0"]);
}

#[test]
fn grove4_3_replicas_of_a_group_positive() {
    check(GROUP, &["replicas: 1"], &[]);
    check(GROUP, &["replicas: 0"], &["replicas: Invalid value: 0: must be greater than 0"]);
    check(GROUP, &["replicas: -2"], &["replicas: Invalid value: -2: must be greater than 0"]);
}

#[test]
fn grove4_3_min_available_between_one_and_replicas() {
    check(CLIQUE, &["minAvailable: 1"], &[]);
    check(CLIQUE, &["minAvailable: 4"], &[]);
    check(
        CLIQUE,
        &["minAvailable: 5"],
        &["minAvailable: Invalid value: 5: minAvailable must not be greater than replicas"],
    );
    check(CLIQUE, &["minAvailable: 0"], &["minAvailable: Invalid value: 0: must be greater than 0"]);
    check(CLIQUE, &["minAvailable: -1"], &["minAvailable: Invalid value: -1: must be greater than 0"]);
    check(GROUP, &["minAvailable: 2"], &[]);
    check(
        GROUP,
        &["minAvailable: 3"],
        &["minAvailable: Invalid value: 3: minAvailable must not be greater than replicas"],
    );
    check(GROUP, &["minAvailable: 0"], &["minAvailable: Invalid value: 0: must be greater than 0"]);
    // On update a smaller replicas meets the old minimum.
    set(&["cliques[2].spec.replicas: 3"]).old(&[]).gives(&[
        "spec.template.cliques[2].spec.minAvailable: Invalid value: 4: minAvailable must not be greater than replicas",
    ]);
}

#[test]
fn grove4_3_autoscaling_of_a_clique() {
    let at = "spec.template.cliques[0].spec";
    let auto = |bounds: &str| format!("autoScalingConfig: {{{bounds}}}");
    let check = |bounds: &str, errors: &[&str]| check(at, &[&auto(bounds)], errors);
    check("maxReplicas: 2", &[]);
    check("minReplicas: 2, maxReplicas: 9", &[]);
    check(
        "minReplicas: 1, maxReplicas: 5",
        &[
            "autoScalingConfig.minReplicas: Invalid value: 1: must be greater than or equal to podCliqueSpec.minAvailable",
        ],
    );
    check(
        "minReplicas: 4, maxReplicas: 3",
        &[
            "autoScalingConfig.maxReplicas: Invalid value: 3: must be greater than or equal to podCliqueSpec.minReplicas",
        ],
    );
    check(
        "minReplicas: 2, maxReplicas: 1",
        &[
            "autoScalingConfig.maxReplicas: Invalid value: 1: must be greater than or equal to podCliqueSpec.minReplicas",
            "autoScalingConfig.maxReplicas: Invalid value: 1: must be greater than or equal to replicas",
        ],
    );
    check("minReplicas: 2", &["autoScalingConfig.maxReplicas: Required value"]);
    // Below replicas, but not below the minimum.
    let spread = ["replicas: 5", "minAvailable: 1", "autoScalingConfig: {minReplicas: 1, maxReplicas: 4}"];
    self::check(
        at,
        &spread,
        &["autoScalingConfig.maxReplicas: Invalid value: 4: must be greater than or equal to replicas"],
    );
}

#[test]
fn grove4_3_scaling_of_a_group() {
    let check = |bounds: &str, errors: &[&str]| check(GROUP, &[&format!("scaleConfig: {{{bounds}}}")], errors);
    check("maxReplicas: 2", &[]);
    check("minReplicas: 1, maxReplicas: 9", &[]);
    check(
        "minReplicas: 3, maxReplicas: 2",
        &["scaleConfig.maxReplicas: Invalid value: 2: must be greater than or equal to minReplicas"],
    );
    check(
        "minReplicas: 1, maxReplicas: 1",
        &["scaleConfig.maxReplicas: Invalid value: 1: must be greater than or equal to replicas"],
    );
}

#[test]
fn grove4_3_scaling_of_a_group_not_below_its_minimum() {
    check(GROUP, &["minAvailable: 2", "scaleConfig: {minReplicas: 2, maxReplicas: 3}"], &[]);
    check(
        GROUP,
        &["minAvailable: 2", "scaleConfig: {minReplicas: 1, maxReplicas: 3}"],
        &[
            "scaleConfig.minReplicas: Invalid value: 1: scaleConfig.minReplicas must be greater than or equal to minAvailable",
        ],
    );
}

#[test]
fn grove4_3_no_autoscaling_inside_a_group() {
    let auto = "spec.autoScalingConfig: {maxReplicas: 9}";
    set(&[&format!("cliques[0].{auto}")]).gives(&[]);
    set(&[&format!("cliques[2].{auto}")]).gives(&[
        "spec.template.podCliqueScalingGroups[0].cliqueNames[1]: Invalid value: \"worker\": AutoScalingConfig is not allowed to \
         be defined for PodClique that is part of scaling group",
    ]);
}

#[test]
fn d46_gang_has_at_most_5000_pods() {
    let too_many = |n: i64| {
        format!(
            "spec.template.cliques: Too many: {n}: one replica of the set is a gang, and a gang may have at most 5000 pods"
        )
    };
    // The rest of the base gang: one leader and four workers.
    set(&["cliques[0].spec.replicas: 4995"]).gives(&[]);
    set(&["cliques[0].spec.replicas: 4996"]).gives(&[&too_many(5001)]);
    // The minimum of a group is in the base gang, the rest is not.
    let group = |replicas: u32, min: u32| {
        [
            format!("podCliqueScalingGroups[0].replicas: {replicas}"),
            format!("podCliqueScalingGroups[0].minAvailable: {min}"),
        ]
    };
    let [replicas, min] = group(1000, 999);
    set(&[&replicas, &min]).gives(&[]);
    let [replicas, min] = group(1000, 1000);
    set(&[&replicas, &min]).gives(&[&too_many(5002)]);
    // A gang may be scaled up to its limit, not past it.
    set(&["cliques[0].spec.autoScalingConfig: {maxReplicas: 4995}"]).gives(&[]);
    set(&["cliques[0].spec.autoScalingConfig: {maxReplicas: 4996}"]).gives(&[&too_many(5001)]);
    // One replica of a group above the minimum is a gang too.
    set(&["cliques[2].spec.replicas: 5000", "cliques[0].spec.replicas: 1"]).gives(&[
        "spec.template.podCliqueScalingGroups[0]: Too many: 5001: one replica of the group is a gang, and a gang may have at \
         most 5000 pods",
        &too_many(5002),
    ]);
}

/// "its PodGang has to stay under 1 MiB": many small PodCliques with constraints take more room than their pods.
#[test]
fn d46_gang_fits_in_its_object() {
    let small = ["cliques[2].spec.replicas: 1", "podCliqueScalingGroups[0].replicas: 2400"];
    let large = [&small[..], &["podCliqueScalingGroups[0].minAvailable: 2400"]].concat();
    set(&large).gives(&[]);
    let constrained = [&large[..], &["topologyConstraint: {packDomain: zone}"]].concat();
    set(&constrained).gives(&["spec.template.cliques: Too many: … its PodGang would have about … bytes of 1048576; …"]);
    // Replicas above the minimum are gangs of their own.
    set(&[&small[..], &["topologyConstraint: {packDomain: zone}"]].concat()).gives(&[]);
}

#[test]
fn d46_set_has_at_most_100000_pods() {
    // Two routers and two groups of five: twelve pods in each replica.
    set(&["spec.replicas: 8333"]).gives(&[]);
    set(&["spec.replicas: 8334"]).gives(&[
        "spec.replicas: Too many: 100008: a PodCliqueSet may have at most 100000 pods, counted as far as it may be scaled",
    ]);
    set(&["podCliqueScalingGroups[0].scaleConfig: {maxReplicas: 19999}"]).gives(&[]);
    set(&["podCliqueScalingGroups[0].scaleConfig: {maxReplicas: 20000}"]).gives(&[
        "spec.replicas: Too many: 100002: a PodCliqueSet may have at most 100000 pods, counted as far as it may be scaled",
    ]);
    set(&["spec.replicas: 0", "podCliqueScalingGroups[0].replicas: 50000"]).gives(&[]);
}
