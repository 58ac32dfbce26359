//! Tables: a set, what happens step by step, and what must then stand in the statuses. Every row also shows that a second look writes
//! nothing more.

mod scene;

use scene::{Scene, check};
use trellis_api::names::label;

#[test]
fn cliques() {
    let breached = |row: &str| format!("s-0-a MinAvailableBreached={row}");
    let scheduled = |row: &str| format!("s-0-a PodCliqueScheduled={row}");
    let short = "True/ScheduledReplicasBelowMinAvailable";
    let rows = [
        ("s-0-a:", "False/InsufficientScheduledPods", short, "replicas=0"),
        ("s-0-a: g g g", "False/InsufficientScheduledPods", short, "scheduleGatedReplicas=3"),
        ("s-0-a: p p p", "False/InsufficientScheduledPods", short, "scheduleGatedReplicas=0"),
        ("s-0-a: s p p", "False/InsufficientScheduledPods", short, "scheduledReplicas=1"),
        ("s-0-a: s s p", "True/SufficientScheduledPods", "False/SufficientReadyPods", "readyReplicas=0"),
        ("s-0-a: R R R", "True/SufficientScheduledPods", "False/SufficientReadyPods", "readyReplicas=3"),
        ("s-0-a: R f f", "True/SufficientScheduledPods", "True/InsufficientReadyPods", "readyReplicas=1"),
        ("s-0-a: R R f", "True/SufficientScheduledPods", "False/SufficientReadyPods", "scheduledReplicas=3"),
        // What has succeeded counts for ever.
        ("s-0-a: S S S", "True/SufficientScheduledPods", "False/SufficientReadyPods", "readyReplicas=3"),
        ("s-0-a: S f f", "True/SufficientScheduledPods", "True/InsufficientReadyPods", "replicas=3"),
        // Failed pods and those on their way out do not count.
        ("s-0-a: R t F", "False/InsufficientScheduledPods", short, "replicas=1"),
        ("s-0-a: R R Ro", "True/SufficientScheduledPods", "False/SufficientReadyPods", "updatedReplicas=2"),
    ];
    for (steps, is_scheduled, is_breached, count) in rows {
        // Left to whoever deletes pods, outdated ones are no update under way.
        let steps = format!("OnDelete; {steps}");
        let expected = [scheduled(is_scheduled), breached(is_breached), format!("s-0-a {count}")];
        check("1 a=3/2", &steps, &expected.each_ref().map(String::as_str));
    }
}

#[test]
fn cliques_of_groups_are_scaled_with_the_group() {
    let set = "1 a=1/1 x:2/1 x.b=1/1";
    let of = |narrower: &str| format!("{}=grove-operator,{}=s,{narrower}", label::MANAGED_BY, label::PART_OF);
    let clique = format!("s-0-a hpaPodSelector={}", of("grove.io/podclique=s-0-a"));
    let group = format!("s-0-x selector={}", of("grove.io/podcliquescalinggroup=s-0-x"));
    check(set, "", &[&clique, &group, "! s-0-x-0-b hpaPodSelector"]);
    let whole = format!("s hpaPodSelector={}=grove-operator,{}=s", label::MANAGED_BY, label::PART_OF);
    check(set, "", &[&whole]);
}

#[test]
fn groups() {
    let set = "1 x:3/2 x.b=2/1 x.c=1/1";
    let enough = "s-0-x MinAvailableBreached=False/SufficientAvailablePodCliqueScalingGroupReplicas";
    let short = "s-0-x MinAvailableBreached=True/InsufficientAvailablePodCliqueScalingGroupReplicas";
    check(set, "", &[enough, "s-0-x replicas=3", "s-0-x scheduledReplicas=3", "s-0-x availableReplicas=3"]);
    check(set, "", &["s-0-x updatedReplicas=3", "! s-0-x GangTerminationInProgress", "! s-0-x updateProgress"]);
    // One may be missing, two may not.
    check(set, "s-0-x-2-c: p", &[enough, "s-0-x scheduledReplicas=2", "s-0-x availableReplicas=2"]);
    check(set, "s-0-x-2-c: p; s-0-x-0-c: f", &[short, "s-0-x scheduledReplicas=2", "s-0-x availableReplicas=1"]);
    // Starting is not broken, and not available.
    check(set, "s-0-x-2-c: s; s-0-x-0-c: s; s-0-x-1-c: s", &[enough, "s-0-x availableReplicas=0"]);
    check(set, "s-0-x-0-b: R Ro; OnDelete", &[enough, "s-0-x updatedReplicas=2"]);
    check(set, "s-0-x-1-b: R -", &[enough, "s-0-x updatedReplicas=2", "s-0-x availableReplicas=3"]);
    check(set, "no s-0-x-1-c", &["s-0-x replicas=2"]);
    // The base gang, or one of its own.
    let down = "s-0-x GangTerminationInProgress=True/GangTerminationActive";
    check(set, "s-0 down", &[down]);
    check(set, "s-0-x-0 down", &[down]);
    check(set, "s-0-x-0 down; settle; s-0-x-0 recreated", &["! s-0-x GangTerminationInProgress"]);
    check(set, "s-0-x-0 preempted", &["! s-0-x GangTerminationInProgress"]);
}

#[test]
fn phases_of_gangs() {
    let rows = [
        ("s-0-a: g g; s-0-b: g", "Pending", "False/MinimumNotReady"),
        ("s-0-a: R -; s-0-b: p", "Pending", "False/MinimumNotReady"),
        ("s-0-a: s -; s-0-b: R", "Starting", "False/MinimumNotReady"),
        ("s-0-a: R -; s-0-b: R", "Running", "True/MinimumReady"),
        ("s-0-a: R R; s-0-b: R", "Running", "True/MinimumReady"),
        ("s-0-a: S R; s-0-b: S", "Running", "True/MinimumReady"),
        ("s-0-a: S -; s-0-b: S", "Running", "True/MinimumReady"),
        ("s-0-a: S S; s-0-b: S", "Succeeded", "True/MinimumReady"),
        ("s-0 down", "Failed", "True/MinimumReady"),
        ("s-0 recreated", "Running", "True/MinimumReady"),
        ("s-0 preempted", "Running", "True/MinimumReady"),
    ];
    for (steps, phase, ready) in rows {
        let (phase, ready) = (format!("s-0 phase={phase}"), format!("s-0 Ready={ready}"));
        check("1 a=2/1 b=1/1", steps, &[&phase, &ready]);
    }
}

#[test]
fn conditions_of_gangs() {
    let new = "s-0 Initialized=False/PodGangPodsCreationPending";
    check("1 a=1/1", "", &[new, "! s-0 Scheduled"]);
    check("1 a=1/1", "initialized s-0", &["s-0 Initialized=True/PodGangPodsCreated"]);
    check("1 a=1/1", "initialized s-0; s-0-a: p", &["s-0 Initialized=True/PodGangPodsCreated", "s-0 phase=Pending"]);
    for profile in ["kai-scheduler", "default-scheduler"] {
        let steps = format!("profile {profile}");
        check("1 a=1/1", &steps, &["s-0 Scheduled=True/MinimumScheduled"]);
        check("1 a=1/1", &format!("{steps}; s-0-a: p"), &["s-0 Scheduled=False/MinimumNotScheduled"]);
    }
}

/// An apply takes away what it leaves out, so it never leaves out what is ours, and never speaks of what is not.
#[test]
fn applies_of_gangs_are_whole() {
    for (steps, expected) in [
        ("s-0-a: p", "Initialized Ready"),
        ("s-0 down", "Initialized Ready DisruptionTarget"),
        ("s-0 recreated", "Initialized Ready DisruptionTarget"),
        ("s-0 preempted", "Initialized Ready"),
        ("profile kai-scheduler; s-0-a: p", "Initialized Ready Scheduled"),
    ] {
        let scene = Scene::given("1 a=1/1", steps);
        assert_eq!(scene.applied("s-0"), expected.split(' ').collect::<Vec<_>>(), "{steps}");
    }
}

#[test]
fn replicas_of_sets() {
    let set = "2 a=2/1 x:2/1 x.b=1/1";
    check(set, "", &["s replicas=2", "s availableReplicas=2", "s updatedReplicas=2"]);
    check(set, "s-0-a: R s", &["s availableReplicas=2", "s updatedReplicas=2"]);
    check(set, "s-0-a: s s", &["s availableReplicas=1", "s updatedReplicas=1"]);
    // A scaling group may spare one.
    check(set, "s-1-x-1-b: p", &["s availableReplicas=2"]);
    check(set, "s-1-x-1-b: p; s-1-x-0-b: s", &["s availableReplicas=1"]);
    check(set, "OnDelete; s-1-x-1-b: Ro", &["s availableReplicas=2", "s updatedReplicas=1"]);
    check(set, "s-0-a: S S; s-0-x-0-b: S; s-0-x-1-b: S", &["s availableReplicas=2"]);
    check(set, "no s-0-a", &["s availableReplicas=1"]);
    check("0 a=1/1", "", &["s replicas=0", "s availableReplicas=0", "s Ready=True/AllReplicasAvailable"]);
}

#[test]
fn readiness_of_sets() {
    let set = "1 a=2/2 b=1/1 x:2/2 x.c=1/1";
    check(set, "", &["s Ready=True/AllReplicasAvailable"]);
    let short = "s Ready=False/ReplicasUnavailable";
    check(set, "s-0-a: R s", &[short, "s Ready: too few ready pods: s-0-a"]);
    check(set, "s-0-a: R p", &[short, "s Ready: too few pods with nodes: s-0-a"]);
    check(set, "s-0-a: R g", &[short, "s Ready: pods held by their gate: s-0-a"]);
    check(set, "s-0-a: R", &[short, "s Ready: too few pods made: s-0-a"]);
    check(set, "no s-0-a", &[short, "s Ready: too few pods made: s-0-a"]);
    check(set, "s-0-a: R p; s-0-b: s", &["s Ready: too few pods with nodes: s-0-a; too few ready pods: s-0-b"]);
    check(set, "s-0-x-1-c: s", &["s Ready: too few ready pods: s-0-x-1-c"]);
    check(
        "9 a=1/1",
        &(0..9).map(|i| format!("s-{i}-a: s;")).collect::<String>(),
        &["s Ready: too few ready pods: s-0-a, s-1-a, s-2-a and others"],
    );
    check(set, "group s-0-x 1", &[short, "s Ready: scaled in below the minimum: s-0-x"]);
    // `kubectl wait` looks at the generation.
    check(set, "generation 7", &["s observedGeneration=7", "s Ready@7"]);
}

#[test]
fn topology_levels_of_sets() {
    let condition = |said: &str| format!("s TopologyLevelsUnavailable={said}");
    let rows = [
        ("", "False/AllClusterTopologyLevelsAvailable", "No topology constraints defined"),
        ("tas off", "False/AllClusterTopologyLevelsAvailable", "No topology constraints defined"),
        ("ask rack; tas off", "Unknown/TopologyAwareSchedulingDisabled", ""),
        ("ask rack; levels none", "Unknown/ClusterTopologyNotFound", ""),
        ("ask rack; levels zone rack", "False/AllClusterTopologyLevelsAvailable", ""),
        ("ask rack; levels zone", "True/ClusterTopologyLevelsUnavailable", "not in force: rack"),
        ("ask rack host; levels zone", "True/ClusterTopologyLevelsUnavailable", "not in force: rack, host"),
    ];
    for (steps, said, message) in rows {
        check("1 a=1/1", steps, &[&condition(said), &format!("s TopologyLevelsUnavailable: {message}")]);
    }
}

#[test]
fn admission_of_sets() {
    check("1 a=1/1", "", &["! s Admitted"]);
    check("1 a=1/1", "judges", &["s Admitted=True/Valid"]);
    check("1 a=1/1", "judges; settle; webhooks", &["! s Admitted"]);
    let refused = ["s Admitted=False/Invalid", "s Ready=False/NotAdmitted", "s Admitted: spec.x: no; spec.y: never"];
    check("1 a=1/1", "judges; refuse spec.x=no spec.y=never", &refused);
    // What was said of its replicas stays.
    let steps = "judges; settle; s-0-a: p; generation 3; refuse spec.x=no";
    check("1 a=1/1", steps, &["s availableReplicas=1", "s observedGeneration=3", "s-0 phase=Running"]);
}

#[test]
fn errors_of_sets() {
    check("1 a=1/1", "", &["! s lastErrors"]);
    let steps = "fail ERR_CREATE_POD quota; settle; wait 60; fail ERR_CREATE_POD quota; fail ERR_X other";
    let first = "s lastErrors.0=ERR_CREATE_POD quota 60s ago";
    check("1 a=1/1", steps, &[first, "s lastErrors.1=ERR_X other 0s ago"]);
    check("1 a=1/1", &format!("{steps}; settle; works"), &["! s lastErrors"]);
    check("1 a=1/1", &"fail E same;".repeat(3), &["s lastErrors.0=E same 0s ago", "! s lastErrors.1"]);
}

#[test]
fn a_rolling_update() {
    let set = "2 a=2/2 b=1/1";
    let begun = "settle; wait 60; image a two";
    let running = [
        "s Ready=False/UpdateInProgress",
        "s updateProgress.updateStartedAt=0s ago",
        "! s updateProgress.updateEndedAt",
        "s updateProgress.currentlyUpdating.0.replicaIndex=0",
        "s updateProgress.updatedPodCliquesCount=2",
        "s updateProgress.totalPodCliquesCount=4",
        "s currentGenerationHash=old",
        "s-0-a MinAvailableBreached=Unknown/UpdateInProgress",
        "s-0-a updateProgress.updateStartedAt=0s ago",
        "s-0-a currentPodTemplateHash=old",
        "s-0-a updatedReplicas=0",
        // What has not changed, and whose turn has not come, goes on as before.
        "s-0-b MinAvailableBreached=False/SufficientReadyPods",
        "! s-0-b updateProgress",
        "s-1-a MinAvailableBreached=False/SufficientReadyPods",
        "! s-1-a updateProgress",
        "s-1-a currentPodTemplateHash=old",
    ];
    check(set, begun, &running);
    // The second replica has its turn.
    let second = format!("{begun}; settle; wait 10; s-0-a: R R");
    check(
        set,
        &second,
        &[
            "s-0-a updateProgress.updateStartedAt=10s ago",
            "s-0-a updateProgress.updateEndedAt=0s ago",
            "s-0-a currentPodTemplateHash=now",
            "s-0-a MinAvailableBreached=False/SufficientReadyPods",
            "s updateProgress.updatedPodCliquesCount=3",
            "s updateProgress.currentlyUpdating.0.replicaIndex=1",
            "s updateProgress.currentlyUpdating.0.updateStartedAt=0s ago",
            "s updateProgress.updateStartedAt=10s ago",
            "s-1-a MinAvailableBreached=Unknown/UpdateInProgress",
        ],
    );
    // Without old pods, but not available yet.
    check(
        set,
        &format!("{second}; settle; s-1-a: R s"),
        &[
            "s Ready=False/UpdateInProgress",
            "s currentGenerationHash=old",
            "s-1-a MinAvailableBreached=Unknown/UpdateInProgress",
        ],
    );
    let ended = format!("{second}; settle; wait 5; s-1-a: R R");
    check(
        set,
        &ended,
        &[
            "s Ready=True/AllReplicasAvailable",
            "s updateProgress.updateStartedAt=15s ago",
            "s updateProgress.updateEndedAt=0s ago",
            "s updateProgress.updatedPodCliquesCount=4",
            "! s updateProgress.currentlyUpdating",
            "s currentGenerationHash=now",
            "s-1-a updateProgress.updateEndedAt=0s ago",
        ],
    );
    // What comes later is no part of it.
    check(
        set,
        &format!("{ended}; settle; wait 5; s-1-a: R s"),
        &[
            "s updateProgress.updateEndedAt=5s ago",
            "s Ready=False/ReplicasUnavailable",
            "s-1-a MinAvailableBreached=False/SufficientReadyPods",
        ],
    );
    // A change of mind is an update too, as long as a pod of the other template is left.
    check(set, &format!("{begun}; settle; s-0-a: R Ro; image a one"), &["s Ready=False/UpdateInProgress"]);
    check(
        set,
        &format!("{begun}; settle; image a one; s-0-a: R R; s-1-a: R R"),
        &["s Ready=True/AllReplicasAvailable", "s updateProgress.updateEndedAt=0s ago", "s currentGenerationHash=now"],
    );
}

#[test]
fn a_rolling_update_of_a_group() {
    let set = "1 x:2/1 x.b=1/1";
    let begun = "settle; wait 60; image two";
    check(
        set,
        begun,
        &[
            "s-0-x MinAvailableBreached=Unknown/UpdateInProgress",
            "s-0-x updateProgress.updateStartedAt=0s ago",
            "s-0-x updateProgress.updatedPodCliquesCount=0",
            "s-0-x updateProgress.totalPodCliquesCount=2",
            "s-0-x currentPodCliqueSetGenerationHash=old",
            "s updateProgress.updatedPodCliqueScalingGroupsCount=0",
            "s updateProgress.totalPodCliqueScalingGroupsCount=1",
        ],
    );
    let ended = format!("{begun}; settle; wait 5; s-0-x-0-b: R; s-0-x-1-b: R");
    check(
        set,
        &ended,
        &[
            "s-0-x MinAvailableBreached=False/SufficientAvailablePodCliqueScalingGroupReplicas",
            "s-0-x updateProgress.updateEndedAt=0s ago",
            "s-0-x updateProgress.updatedPodCliquesCount=2",
            "s-0-x currentPodCliqueSetGenerationHash=now",
            "s updateProgress.updatedPodCliqueScalingGroupsCount=1",
            "s currentGenerationHash=now",
        ],
    );
}

/// An update waits for nobody who never had a place.
#[test]
fn an_update_of_what_never_had_a_place() {
    let new = "s-0 new; s-0-a: p; settle; image two";
    check(
        "1 a=1/1",
        &format!("{new}; settle; s-0-a: p"),
        &[
            "s Ready=False/ReplicasUnavailable",
            "s updateProgress.updateEndedAt=0s ago",
            "s currentGenerationHash=now",
            "s-0-a MinAvailableBreached=True/ScheduledReplicasBelowMinAvailable",
            "s-0-a currentPodTemplateHash=now",
        ],
    );
    check("0 a=1/1", "settle; image two", &["s updateProgress.updateEndedAt=0s ago", "s currentGenerationHash=now"]);
    check("1 a=1/1", "", &["! s updateProgress", "s currentGenerationHash=now", "! s-0-a updateProgress"]);
}

#[test]
fn an_update_on_delete() {
    let set = "1 a=2/1 x:1/1 x.b=1/1";
    let begun = "OnDelete; settle; wait 60; image two";
    let ended = [
        "s Ready=True/AllReplicasAvailable",
        "s updateProgress.updateStartedAt=0s ago",
        "s updateProgress.updateEndedAt=0s ago",
        "s updateProgress.updatedPodCliquesCount=0",
        "! s updateProgress.currentlyUpdating",
        "s updatedReplicas=0",
        "s currentGenerationHash=now",
        "s-0-a updateProgress.updateEndedAt=0s ago",
        "s-0-a currentPodTemplateHash=now",
        "s-0-a updatedReplicas=0",
        "s-0-a MinAvailableBreached=False/SufficientReadyPods",
        "s-0-x updateProgress.updateEndedAt=0s ago",
        "s-0-x MinAvailableBreached=False/SufficientAvailablePodCliqueScalingGroupReplicas",
    ];
    check(set, begun, &ended);
    // Somebody deletes one.
    let one = format!("{begun}; settle; wait 9; s-0-a: R Ro");
    check(set, &one, &["s-0-a updatedReplicas=1", "s-0-a updateProgress.updateEndedAt=9s ago"]);
    // From there to rolling and back.
    let rolling = format!("{begun}; settle; wait 9; Rolling");
    check(
        set,
        &rolling,
        &[
            "s Ready=False/UpdateInProgress",
            "s updateProgress.updateStartedAt=0s ago",
            "s-0-a updateProgress.updateStartedAt=0s ago",
            "! s-0-a updateProgress.updateEndedAt",
        ],
    );
    check(
        set,
        &format!("{rolling}; settle; wait 1; OnDelete"),
        &[
            "s Ready=True/AllReplicasAvailable",
            "s updateProgress.updateEndedAt=0s ago",
            "s-0-a updateProgress.updateEndedAt=0s ago",
        ],
    );
}

/// The time of a condition moves with its status, not with its reason or with anything else.
#[test]
fn times_of_conditions() {
    let steps = "s-0-a: p p; settle; wait 60; s-0-a: s p";
    check("1 a=2/2", steps, &["s-0-a scheduledReplicas=1", "s-0-a MinAvailableBreached 60s ago"]);
    let failing = format!("{steps}; settle; wait 10; s-0-a: f f");
    check(
        "1 a=2/2",
        &failing,
        &[
            "s-0-a MinAvailableBreached=True/InsufficientReadyPods",
            "s-0-a MinAvailableBreached 70s ago",
            "s-0-a PodCliqueScheduled 0s ago",
        ],
    );
    let generation = format!("{failing}; settle; wait 5; generation 4");
    check("1 a=2/2", &generation, &["s Ready@4", "s Ready 75s ago"]);
}

#[test]
fn conditions_of_others_stay() {
    check("1 a=1/1", "other s; settle; s-0-a: p", &["s Others=True/Because", "s Ready=False/ReplicasUnavailable"]);
}

#[test]
fn notes() {
    let check = |steps: &str, expected: &[&str]| {
        let notes = Scene::given("1 a=1/1", steps).notes();
        assert_eq!(notes, expected, "{steps}");
    };
    check("", &[]);
    check("ask rack; levels rack", &[]);
    check("ask rack; levels none", &["warning TopologyDriftDetected"]);
    check("ask rack; levels rack; settle; levels zone", &["warning TopologyDriftDetected"]);
    check("ask rack; levels zone; settle; levels zone", &[]);
    check("ask rack; levels zone; settle; tas off", &["warning TopologyDriftDetected"]);
    check("ask rack; levels zone; settle; levels rack", &["TopologyInSync"]);
    check("settle; image two", &["UpdateStarted"]);
    check("settle; image two; settle", &[]);
    check("settle; image two; settle; s-0-a: R", &["UpdateFinished"]);
    check("OnDelete; settle; image two", &["UpdateStarted"]);
    check("judges; refuse spec.x=no", &["warning NotAdmitted"]);
    check("judges; refuse spec.x=no; settle", &[]);
    check("judges; refuse spec.x=no; settle; admit", &[]);
}

/// Patches name the version that they were decided on, and only what changed.
#[test]
fn patches_are_small() {
    let scene = Scene::given("1 a=2/1", "settle; s-0-a: R s");
    let patch = scene.patch("s-0-a").expect("a count has changed");
    let expected = serde_json::json!({
        "metadata": { "resourceVersion": "s-0-a@1", "uid": patch["metadata"]["uid"] },
        "status": { "readyReplicas": 1 },
    });
    assert_eq!(patch, expected);
    assert!(patch["metadata"]["uid"].is_string());
    let scene = Scene::given("1 a=2/1", "settle; wait 60");
    assert!(scene.plan().statuses.is_empty(), "nothing has changed");
    // What goes is taken away.
    let scene = Scene::given("1 a=2/1", "fail E x; settle; works");
    assert_eq!(scene.patch("s").expect("an error has gone")["status"], serde_json::json!({ "lastErrors": null }));
    // What is on its way out gets none.
    let scene = Scene::given("1 a=2/1", "going s-0-a; s-0-a: p p");
    assert!(scene.patch("s-0-a").is_none());
}
