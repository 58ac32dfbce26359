//! What the chosen scheduler can do: decision 20, and KAI's limits in sections 5.2 and 5.3 of the Grove reference.

use crate::harness::{Case, set};

const QUEUE: &str = "metadata.labels[kai.scheduler/queue]: test";

/// The base set with all pods on one scheduler.
fn on(scheduler: &str, edits: &[&str]) -> Case {
    let names: Vec<String> = (0..3).map(|i| format!("cliques[{i}].spec.podSpec.schedulerName: {scheduler}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).chain(edits.iter().copied()).collect();
    set(&all)
}

fn cannot(path: &str) -> String {
    format!(
        "spec.template.{path}: Forbidden: scheduler \"default-scheduler\" cannot enforce required topology constraints; use \
         \"trellis\" or \"kai-scheduler\""
    )
}

#[test]
fn d20_required_is_refused_where_it_cannot_be_enforced() {
    let rack = "topologyConstraint: {packDomain: rack}";
    on("trellis", &[rack]).gives(&[]);
    on("kai-scheduler", &[rack, QUEUE]).gives(&[]);
    on("default-scheduler", &[]).gives(&[]);
    on("default-scheduler", &[rack]).gives(&[&cannot("topologyConstraint.packDomain")]);
    on("default-scheduler", &["topologyConstraint: {pack: {required: rack, preferred: host}}"])
        .warns(&[
            "spec.template.topologyConstraint.pack.preferred: scheduler \"default-scheduler\" knows no topology, …",
        ])
        .gives(&[&cannot("topologyConstraint.pack.required")]);
    on(
        "default-scheduler",
        &[
            "cliques[1].topologyConstraint: {packDomain: host}",
            "podCliqueScalingGroups[0].topologyConstraint: {packDomain: rack}",
        ],
    )
    .gives(&[
        &cannot("podCliqueScalingGroups[0].topologyConstraint.packDomain"),
        &cannot("cliques[1].topologyConstraint.packDomain"),
    ]);
    // A preference may go unmet, which is said.
    let ignored = "spec.template.topologyConstraint.pack.preferred: scheduler \"default-scheduler\" knows no topology, the \
                   preference is ignored";
    on("default-scheduler", &["topologyConstraint: {pack: {preferred: rack}}"]).warns(&[ignored]).gives(&[]);
}

/// A set that was stored so, before the default profile changed, can still be scaled.
#[test]
fn d20_is_held_against_what_an_update_adds() {
    let kube = ["scheduler.profiles: [{name: default-scheduler}]"];
    let rack = "topologyConstraint: {packDomain: rack}";
    set(&[rack, "spec.replicas: 2"]).old(&[rack]).config(&kube).gives(&[]);
    set(&[rack]).old(&[]).config(&kube).gives(&[
        &cannot("topologyConstraint.packDomain"),
        "spec.template.topologyConstraint: Forbidden: PodCliqueSet topology constraint cannot be added after creation",
    ]);
}

#[test]
fn d20_default_profile_counts_for_pods_that_name_none() {
    let rack = "topologyConstraint: {packDomain: rack}";
    let kube = ["scheduler.profiles: [{name: default-scheduler, default: true}, {name: trellis}]"];
    set(&[rack]).config(&kube).gives(&[&cannot("topologyConstraint.packDomain")]);
    on("trellis", &[rack]).config(&kube).gives(&[]);
}

#[test]
fn d20_kai_knows_no_level_below_the_host() {
    let numa = "cliques[0].topologyConstraint: {packDomain: numa}";
    let below = "spec.template.cliques[0].topologyConstraint.packDomain: Forbidden: scheduler \"kai-scheduler\" cannot enforce \
                 'numa': it knows no level below kubernetes.io/hostname";
    on("kai-scheduler", &[QUEUE, numa]).gives(&[below]);
    on("kai-scheduler", &[QUEUE, "cliques[0].topologyConstraint: {packDomain: host}"]).gives(&[]);
    on("kai-scheduler", &[QUEUE, "cliques[0].topologyConstraint: {pack: {preferred: numa}}"]).gives(&[]);
    on("trellis", &[numa]).gives(&[]);
    // Without the kubelet's label among the levels KAI takes them all.
    on("kai-scheduler", &[QUEUE, numa]).topology("grove-topology", "rack numa").gives(&[]);
}

#[test]
fn grove5_3_kai_queue() {
    let none = "metadata.labels[kai.scheduler/queue]: no KAI queue is configured on the PodCliqueSet or its cliques; KAI \
                schedules nothing without one";
    on("kai-scheduler", &[]).warns(&[none]).gives(&[]);
    on("trellis", &[]).gives(&[]);
    on("kai-scheduler", &[QUEUE]).gives(&[]);
    on("kai-scheduler", &["metadata.annotations[kai.scheduler/queue]: test"]).gives(&[]);
    on("kai-scheduler", &["cliques[1].labels[kai.scheduler/queue]: test"]).gives(&[]);
    on("kai-scheduler", &[QUEUE, "cliques[1].annotations[kai.scheduler/queue]: test"]).gives(&[]);
    let conflict = |queues: &str| {
        format!(
            "metadata.labels[kai.scheduler/queue]: Invalid value: \"test\": conflicting KAI queues on the PodCliqueSet and its \
             cliques: {queues}"
        )
    };
    on("kai-scheduler", &[QUEUE, "cliques[1].labels[kai.scheduler/queue]: other"]).gives(&[&conflict("test, other")]);
    on(
        "kai-scheduler",
        &["cliques[0].labels[kai.scheduler/queue]: test", "cliques[2].labels[kai.scheduler/queue]: other"],
    )
    .gives(&[&conflict("test, other")]);
    on("trellis", &[QUEUE, "cliques[1].labels[kai.scheduler/queue]: other"]).gives(&[]);
}
