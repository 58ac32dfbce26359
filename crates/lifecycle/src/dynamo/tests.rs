//! Every row of 003's table of conditions, and what else is said of a deployment.

use super::*;
use crate::plan::{Action, Note, Write};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trellis_api::kinds::dynamo::DynamoState;
use trellis_api::settings::Settings;

const NOW: &str = "2026-11-16T12:00:00Z";

/// A deployment of a frontend with two replicas and of a worker over two nodes, with or without a constraint.
fn deployment(constraint: Option<&str>, status: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
        "metadata": { "name": "d", "namespace": "ns", "uid": "u", "generation": 3, "resourceVersion": "1" },
        "spec": { "components": [
            { "name": "Front", "type": "frontend", "replicas": 2 },
            { "name": "work", "type": "worker", "multinode": { "nodeCount": 2 } },
        ]},
        "status": status,
    });
    if let Some(domain) = constraint {
        object["spec"]["topologyConstraint"] = json!({ "packDomain": domain });
    }
    object
}

/// What was seen, piece by piece.
struct Scene {
    object: Value,
    seen: DynamoObserved,
    failures: Vec<Failure>,
    judges: bool,
}

impl Scene {
    fn new(constraint: Option<&str>) -> Self {
        let object = deployment(constraint, &Value::Null);
        Self {
            object,
            seen: DynamoObserved { name: "d".to_owned(), ..DynamoObserved::default() },
            failures: Vec::new(),
            judges: false,
        }
    }

    fn plan(&self) -> Plan {
        let deployment = Some(Arc::new(Deployment::read(self.object.clone())));
        let (topologies, settings) = (BTreeMap::new(), Settings::default());
        let now = NOW.parse().expect("a time");
        let around = Around { topologies: &topologies, settings: &settings, now, judges: self.judges };
        decide(&DynamoObserved { deployment, ..self.seen.clone() }, around, &self.failures)
    }

    /// What was due is done.
    fn settle(mut self) -> Self {
        let plan = self.plan();
        for write in plan.writes {
            match (&write.action, write.target.kind) {
                (Action::Create(set), Kind::PodCliqueSet) => {
                    let mut set = set.clone();
                    set["metadata"]["uid"] = "s".into();
                    set["metadata"]["resourceVersion"] = "1".into();
                    set["metadata"]["generation"] = 1.into();
                    self.seen.sets.insert(write.target.name, Arc::new(serde_json::from_value(set).expect("a set")));
                }
                (Action::Patch(patch), Kind::PodCliqueSet) => {
                    let set = self.set();
                    let mut changed = json!(set);
                    merge(&mut changed, patch);
                    *set = serde_json::from_value(changed).expect("a set");
                    set.metadata.generation = set.metadata.generation.map(|generation| generation + 1);
                }
                other => panic!("not expected here: {other:?}"),
            }
        }
        if let Some(status) = self.status_patch() {
            merge(&mut self.object["status"], &status);
        }
        self
    }

    fn status_patch(&self) -> Option<Value> {
        let plan = self.plan();
        let mut patches = plan.statuses.iter().map(|write| match &write.action {
            Action::PatchStatus(patch) => patch["status"].clone(),
            other => panic!("no patch of a status: {other:?}"),
        });
        patches.next()
    }

    /// What the status is to say.
    fn status(&self) -> DynamoGraphDeploymentStatus {
        let mut status = self.object["status"].clone();
        merge(&mut status, &self.status_patch().unwrap_or_else(|| json!({})));
        serde_json::from_value(status).expect("a status")
    }

    fn set(&mut self) -> &mut PodCliqueSet {
        Arc::make_mut(self.seen.sets.get_mut("d").expect("a set"))
    }

    /// The set says this of itself.
    fn says(mut self, type_: &str, status: &str, reason: &str) -> Self {
        let condition = json!({
            "type": type_, "status": status, "reason": reason, "message": "the set's words", "lastTransitionTime": NOW,
        });
        let status = self.set().status.get_or_insert_default();
        status.conditions = serde_json::from_value(json!([condition])).expect("a condition");
        self
    }

    /// The set says this of its levels.
    fn levels(self, status: &str, reason: &str) -> Self {
        self.says("TopologyLevelsUnavailable", status, reason)
    }

    /// The set has seen all that it is asked for, and so many of its replicas are made of it.
    fn follows(mut self, updated: i32) -> Self {
        let set = self.set();
        let status = set.status.get_or_insert_default();
        (status.observed_generation, status.updated_replicas) = (set.metadata.generation, updated);
        self
    }

    /// Counts of the frontend's clique and of the worker's group: replicas, updated, scheduled, working. The set has followed.
    fn counts(self, front: [i32; 4], work: [i32; 4]) -> Self {
        self.follows(1).parts(front, work)
    }

    /// The same, without a word of the set.
    fn parts(mut self, front: [i32; 4], work: [i32; 4]) -> Self {
        let clique = json!({
            "metadata": { "name": "d-0-front", "namespace": "ns", "uid": "c", "resourceVersion": "1", "generation": 1 },
            "spec": { "roleName": "front", "podSpec": { "containers": [] }, "replicas": front[0] },
            "status": {
                "observedGeneration": 1, "replicas": front[0], "updatedReplicas": front[1], "scheduledReplicas": front[2],
                "readyReplicas": front[3],
            },
        });
        let group = json!({
            "metadata": { "name": "d-0-work", "namespace": "ns", "uid": "g", "resourceVersion": "1", "generation": 1 },
            "spec": { "replicas": work[0], "minAvailable": 1, "cliqueNames": ["work-ldr", "work-wkr"] },
            "status": {
                "observedGeneration": 1, "replicas": work[0], "updatedReplicas": work[1], "scheduledReplicas": work[2],
                "availableReplicas": work[3],
            },
        });
        self.seen.cliques = ByName::from([("d-0-front".to_owned(), Arc::new(typed("PodClique", clique)))]);
        self.seen.groups = ByName::from([("d-0-work".to_owned(), Arc::new(typed("PodCliqueScalingGroup", group)))]);
        self
    }

    /// What a condition says, as `Status/Reason`; nothing if it is not there.
    fn said(&self, type_: &str) -> String {
        let status = self.status();
        let found = status.conditions.iter().find(|condition| condition.type_ == type_);
        found.map_or(String::new(), |condition| format!("{}/{}", condition.status, condition.reason))
    }

    fn notes(&self) -> Vec<String> {
        let word = |note: &Note| format!("{}{}", if note.warning { "warning " } else { "" }, note.reason);
        self.plan().status_notes.iter().map(word).collect()
    }

    /// What is written, as `site target`.
    fn writes(&self) -> Vec<String> {
        self.plan().writes.iter().map(|write| format!("{}: {}", write.site, write.target.name)).collect()
    }
}

/// Carries a merge patch out.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, change) in changes {
        match change {
            Value::Null => drop(value.as_object_mut().and_then(|fields| fields.remove(key))),
            change => merge(&mut value[key], change),
        }
    }
}

fn typed<T: serde::de::DeserializeOwned>(kind: &str, mut value: Value) -> T {
    value["apiVersion"] = "grove.io/v1alpha1".into();
    value["kind"] = kind.into();
    serde_json::from_value(value).expect(kind)
}

#[test]
fn s003_status_every_row_of_the_table() {
    let check = |status: &str, reason: &str, expected: &str| {
        let scene = Scene::new(Some("rack")).settle().levels(status, reason);
        assert_eq!(scene.said(ENFORCED), expected, "{status}/{reason}");
    };
    check("False", "AllClusterTopologyLevelsAvailable", "True/AllTopologyLevelsAvailable");
    check("True", "ClusterTopologyLevelsUnavailable", "False/TopologyLevelsUnavailable");
    check("Unknown", "ClusterTopologyNotFound", "False/TopologyDefinitionNotFound");
    // As Grove's documents have it, though it never says so.
    check("True", "ClusterTopologyNotFound", "False/TopologyDefinitionNotFound");
    // Switched off, nobody enforces anything.
    check("Unknown", "TopologyAwareSchedulingDisabled", "False/TopologyLevelsUnavailable");
}

#[test]
fn s003_status_no_condition_without_constraints() {
    let scene = Scene::new(None).settle().levels("False", "AllClusterTopologyLevelsAvailable");
    assert_eq!(scene.said(ENFORCED), "");
    // One that is there from before goes.
    let mut scene = Scene::new(Some("rack")).settle().levels("False", "AllClusterTopologyLevelsAvailable").settle();
    assert_eq!(scene.said(ENFORCED), "True/AllTopologyLevelsAvailable");
    scene.object = deployment(None, &scene.object["status"]);
    assert_eq!(scene.said(ENFORCED), "");
}

#[test]
fn s003_status_before_the_set_speaks() {
    let scene = Scene::new(Some("rack"));
    assert_eq!(scene.said(ENFORCED), "");
    assert_eq!(scene.settle().said(ENFORCED), "Unknown/TopologyConditionPending");
    // A set that is not seen for a moment changes nothing.
    let mut scene = Scene::new(Some("rack")).settle().levels("False", "AllClusterTopologyLevelsAvailable").settle();
    scene.seen.sets.clear();
    assert_eq!(scene.said(ENFORCED), "True/AllTopologyLevelsAvailable");
}

#[test]
fn s003_status_copies_the_message_and_does_not_touch_readiness() {
    let scene =
        Scene::new(Some("rack")).settle().counts([2; 4], [1; 4]).levels("True", "ClusterTopologyLevelsUnavailable");
    assert_eq!(scene.said(READY), "True/all_resources_are_ready");
    let status = scene.status();
    let condition = status.conditions.iter().find(|condition| condition.type_ == ENFORCED).expect("it is there");
    assert_eq!(condition.message, "the set's words");
    assert_eq!(condition.observed_generation, Some(3));
}

/// The example of 003's section on status: everything runs on, and a level has gone. The message is the set's own.
#[test]
fn s003_status_example() {
    let mut scene =
        Scene::new(Some("rack")).settle().counts([2; 4], [1; 4]).levels("True", "ClusterTopologyLevelsUnavailable");
    let words = "Topology level 'rack' is no longer available in the cluster topology";
    scene.set().status.as_mut().expect("a status").conditions[0].message = words.to_owned();
    let expected = json!({
        "observedGeneration": 3,
        "state": "successful",
        "conditions": [
            {
                "type": "Ready", "status": "True", "reason": "all_resources_are_ready", "message": "all components are ready",
                "observedGeneration": 3, "lastTransitionTime": NOW,
            },
            {
                "type": "TopologyConstraintsEnforced", "status": "False", "reason": "TopologyLevelsUnavailable",
                "message": words, "observedGeneration": 3, "lastTransitionTime": NOW,
            },
        ],
        "components": {
            "Front": {
                "componentKind": "PodClique", "componentNames": ["d-0-front"], "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
                "scheduledReplicas": 2,
            },
            "work": {
                "componentKind": "PodCliqueScalingGroup", "componentNames": ["d-0-work"], "replicas": 1, "updatedReplicas": 1,
                "availableReplicas": 1, "scheduledReplicas": 1,
            },
        },
    });
    assert_eq!(json!(scene.status()), expected);
}

#[test]
fn s003_events_once_per_change() {
    let fine = ("False", "AllClusterTopologyLevelsAvailable");
    let gone = ("True", "ClusterTopologyLevelsUnavailable");
    let deleted = ("Unknown", "ClusterTopologyNotFound");
    let off = ("Unknown", "TopologyAwareSchedulingDisabled");
    let mut scene = Scene::new(Some("rack"));
    let rows: [((&str, &str), &[&str]); 9] = [
        (fine, &["TopologyConstraintsApplied"]),
        (fine, &[]),
        (gone, &["warning TopologyLevelsUnavailable"]),
        (gone, &[]),
        (deleted, &["warning TopologyDefinitionNotFound"]),
        (deleted, &[]),
        (fine, &["TopologyConstraintsApplied"]),
        (off, &["warning TopologyLevelsUnavailable"]),
        (fine, &["TopologyConstraintsApplied"]),
    ];
    assert_eq!(scene.notes(), [""; 0]);
    for ((status, reason), expected) in rows {
        scene = scene.settle().levels(status, reason);
        assert_eq!(scene.notes(), expected, "{status}/{reason}");
    }
    assert_eq!(Scene::new(None).settle().levels("Unknown", "ClusterTopologyNotFound").notes(), [""; 0]);
}

#[test]
fn dynamo1_3_reasons_and_states() {
    let check = |front: [i32; 4], work: [i32; 4], expected: &str, state: DynamoState| {
        let scene = Scene::new(None).settle().counts(front, work);
        assert_eq!(scene.said(READY), expected, "{front:?} {work:?}");
        assert_eq!(scene.status().state, state);
    };
    check([2, 2, 2, 2], [1, 1, 1, 1], "True/all_resources_are_ready", DynamoState::Successful);
    check([2, 2, 1, 1], [1, 1, 1, 1], "False/insufficient_capacity", DynamoState::Pending);
    check([2, 2, 2, 1], [1, 1, 1, 1], "False/pods_not_ready", DynamoState::Pending);
    check([2, 1, 2, 2], [1, 1, 1, 1], "False/updating", DynamoState::Pending);
    check([1, 1, 1, 1], [1, 1, 1, 1], "False/updating", DynamoState::Pending);
    check([2, 2, 2, 1], [1, 1, 0, 0], "False/mixed_not_ready_reasons", DynamoState::Pending);
    let scene = Scene::new(None);
    assert_eq!(scene.said(READY), "False/some_resources_are_not_ready");
    assert_eq!(scene.settle().said(READY), "False/some_resources_are_not_ready");
    let mut scene = Scene::new(None).settle().counts([2; 4], [1; 4]);
    scene.failures = vec![Failure { code: "ERR".to_owned(), description: "the server is busy".to_owned() }];
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
    assert_eq!(scene.status().state, DynamoState::Failed);
}

/// Pods that cannot be made are not said to wait for nodes.
#[test]
fn dynamo1_3_pods_that_are_not_made() {
    let mut scene = Scene::new(None).settle().counts([0, 0, 0, 0], [1; 4]);
    let clique = Arc::make_mut(scene.seen.cliques.get_mut("d-0-front").expect("a clique"));
    let short = json!([{
        "type": "PodCliqueScheduled", "status": "False", "reason": "InsufficientScheduledPods", "message": "", "lastTransitionTime": NOW,
    }]);
    clique.status.get_or_insert_default().conditions = serde_json::from_value(short).expect("a condition");
    assert_eq!(scene.said(READY), "False/updating");
    let error =
        json!([{ "code": "ERR_CREATE_POD", "description": "pods \"d-0-front-0\" is forbidden", "observedAt": NOW }]);
    scene.set().status.get_or_insert_default().last_errors = serde_json::from_value(error).expect("an error");
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
    let status = scene.status();
    assert_eq!(status.state, DynamoState::Failed);
    let ready = status.conditions.iter().find(|condition| condition.type_ == READY).expect("a condition");
    assert_eq!(ready.message, "PodCliqueSet \"d\": pods \"d-0-front-0\" is forbidden");
}

/// Parts that are all there and ready say nothing as long as the set has not begun with what is asked for, or is not through with it.
#[test]
fn dynamo1_3_ready_is_said_of_what_is_asked_for_now() {
    let check = |scene: &Scene, expected: &str| {
        let state = if expected.starts_with("True") { DynamoState::Successful } else { DynamoState::Pending };
        assert_eq!((scene.said(READY), scene.status().state), (expected.to_owned(), state));
    };
    let scene = Scene::new(None).settle().parts([2; 4], [1; 4]);
    assert!(scene.seen.sets["d"].status.is_none());
    check(&scene, "False/updating");
    let mut scene = scene.follows(1).settle();
    check(&scene, "True/all_resources_are_ready");
    let main = json!({ "name": "main", "image": "app:2" });
    scene.object["spec"]["components"][1]["podTemplate"] = json!({ "spec": { "containers": [main] } });
    scene.object["metadata"]["generation"] = 4.into();
    assert_eq!(scene.writes(), ["change set: d"]);
    let scene = scene.settle();
    assert_eq!(scene.writes(), [""; 0]);
    check(&scene, "False/updating");
    assert_eq!(scene.object["status"]["observedGeneration"], 4);
    // The set may say that it has begun before its groups are counted anew.
    let scene = scene.follows(0);
    check(&scene, "False/updating");
    let scene = scene.parts([2; 4], [1, 0, 1, 1]);
    check(&scene, "False/updating");
    check(&scene.counts([2; 4], [1; 4]), "True/all_resources_are_ready");
}

#[test]
fn dynamo1_3_components() {
    let status = Scene::new(None).settle().counts([2, 2, 1, 0], [1, 1, 1, 0]).status();
    let expected = json!({
        "Front": {
            "componentKind": "PodClique", "componentNames": ["d-0-front"], "replicas": 2, "updatedReplicas": 2, "readyReplicas": 0,
            "scheduledReplicas": 1,
        },
        "work": {
            "componentKind": "PodCliqueScalingGroup", "componentNames": ["d-0-work"], "replicas": 1, "updatedReplicas": 1,
            "availableReplicas": 0, "scheduledReplicas": 1,
        },
    });
    assert_eq!(json!(status.components), expected);
}

#[test]
fn nothing_is_due_once_all_is_done() {
    let scene =
        Scene::new(Some("rack")).settle().counts([2; 4], [1; 4]).levels("False", "AllClusterTopologyLevelsAvailable");
    let plan = scene.settle().plan();
    assert_eq!(plan, Plan::default());
}

#[test]
fn whose_a_set_of_the_name_is() {
    let owner = |kind: &str, name: &str, uid: &str| {
        let owner = json!({ "apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true });
        serde_json::from_value(json!([owner])).ok()
    };
    let check = |owners, label: bool, writes: &[&str], said: &str| {
        let mut scene = Scene::new(None).settle().counts([2; 4], [1; 4]);
        let set = scene.set();
        set.metadata.owner_references = owners;
        if !label {
            set.metadata.labels = None;
        }
        assert_eq!(
            (scene.writes(), scene.said(READY)),
            (writes.iter().map(ToString::to_string).collect(), said.to_owned())
        );
    };
    let failed = "False/failed_to_reconcile_the_resources";
    check(owner("DynamoGraphDeployment", "d", "u"), true, &[], "True/all_resources_are_ready");
    check(owner("Other", "d", "x"), true, &[], failed);
    check(owner("DynamoGraphDeployment", "e", "e"), true, &[], failed);
    // Of a deployment of the same name that is gone.
    check(
        owner("DynamoGraphDeployment", "d", "former"),
        true,
        &["delete set: d"],
        "False/some_resources_are_not_ready",
    );
    // Left behind by a deployment of this name, or made by a user.
    check(None, true, &["change set: d"], "False/updating");
    check(None, false, &[], failed);
}

#[test]
fn counts_of_another_ones_set_are_not_told() {
    let mut scene = Scene::new(None).settle().counts([2; 4], [1; 4]);
    let set = scene.set();
    (set.metadata.owner_references, set.metadata.labels) = (None, None);
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
    assert_eq!(json!(scene.status().components), json!({}));
}

/// A long name is cut by the longest of the components' names, so where no webhook judges, the set may come to have another one.
#[test]
fn a_set_under_a_former_name_goes() {
    let mut scene = Scene::new(None).settle();
    let former = scene.seen.sets.remove("d").expect("a set");
    let mut set = (*former).clone();
    set.metadata.name = Some("d-1234".to_owned());
    scene.seen.sets.insert("d-1234".to_owned(), Arc::new(set));
    assert_eq!(scene.writes(), ["create set: d", "delete set: d-1234"]);
    let target = Target { kind: Kind::DynamoGraphDeployment, namespace: "ns".to_owned(), name: "d".to_owned() };
    assert_eq!(scene.plan().confirm, [Confirm::Version(target, "1".to_owned())]);
    // Also where the other one is there by now; and not for a deployment that is refused.
    scene.seen.sets.insert("d".to_owned(), former);
    assert_eq!(scene.writes(), ["delete set: d-1234"]);
    (scene.judges, scene.object["spec"]["components"][0]["replicas"]) = (true, 0.into());
    assert_eq!((scene.writes(), scene.said("Admitted")), (vec![], "False/Invalid".to_owned()));
}

#[test]
fn an_orphan_is_adopted() {
    let mut scene = Scene::new(None).settle();
    scene.set().metadata.owner_references = None;
    let plan = scene.plan();
    let [Write { action: Action::Patch(patch), .. }] = plan.writes.as_slice() else { panic!("one patch") };
    assert_eq!(patch["metadata"]["ownerReferences"][0]["uid"], "u");
    assert_eq!(patch["metadata"]["resourceVersion"], "1");
}

#[test]
fn dynamo2_8_replicas_go_through_the_scale_subresource() {
    let mut scene = Scene::new(None).settle().counts([2; 4], [1; 4]).settle();
    scene.object["spec"]["components"][0]["replicas"] = 5.into();
    scene.object["spec"]["components"][1]["replicas"] = 3.into();
    assert_eq!(scene.writes(), ["scale component: d-0-front", "scale component: d-0-work"]);
    let scaled: Vec<Value> = scene
        .plan()
        .writes
        .iter()
        .map(|write| match &write.action {
            Action::Scale(scale) => scale["spec"]["replicas"].clone(),
            other => panic!("not by its scale: {other:?}"),
        })
        .collect();
    assert_eq!(scaled, [json!(5), json!(3)]);
    // One that is on its way out is left alone.
    let clique = scene.seen.cliques.get_mut("d-0-front").expect("a clique");
    Arc::make_mut(clique).metadata.deletion_timestamp = serde_json::from_value(NOW.into()).ok();
    assert_eq!(scene.writes(), ["scale component: d-0-work"]);
}

#[test]
fn other_changes_go_into_the_set_and_leave_its_replicas() {
    let mut scene = Scene::new(None).settle().counts([2; 4], [1; 4]).settle();
    scene.object["spec"]["components"][0]["replicas"] = 5.into();
    scene.object["spec"]["priorityClassName"] = "high".into();
    assert_eq!(scene.writes(), ["change set: d", "scale component: d-0-front"]);
    let plan = scene.plan();
    let Action::Patch(patch) = &plan.writes[0].action else { panic!("a patch") };
    assert_eq!(patch["spec"], json!({ "template": { "priorityClassName": "high" } }));
    assert_eq!(scene.said(READY), "False/updating");
}

#[test]
fn what_is_deleted_takes_its_set_along() {
    let mut scene = Scene::new(Some("rack"));
    scene.object["metadata"]["deletionTimestamp"] = NOW.into();
    assert_eq!(scene.plan(), Plan::default());
    let mut scene = Scene::new(Some("rack")).settle();
    scene.object["metadata"]["deletionTimestamp"] = NOW.into();
    assert_eq!(scene.writes(), ["delete set: d"]);
    assert_eq!(scene.plan().confirm, []);
    // Unless it was asked to leave it behind.
    scene.object["metadata"]["finalizers"] = json!(["orphan"]);
    assert_eq!(scene.plan(), Plan::default());
    // Once it is gone, that has to be certain.
    let (topologies, settings) = (BTreeMap::new(), Settings::default());
    let now = NOW.parse().expect("a time");
    let around = Around { topologies: &topologies, settings: &settings, now, judges: false };
    let plan = decide(&scene.seen, around, &[]);
    let target = Target { kind: Kind::DynamoGraphDeployment, namespace: "ns".to_owned(), name: "d".to_owned() };
    let set = Target { kind: Kind::PodCliqueSet, ..target.clone() };
    assert_eq!(plan.confirm, [Confirm::Gone(target, "u".to_owned()), Confirm::Version(set, "1".to_owned())]);
    assert_eq!(plan.writes.len(), 1);
}

#[test]
fn decisions63_faults_are_told_where_no_webhook_judges() {
    let mut scene = Scene::new(Some("rack"));
    scene.judges = true;
    // The topology is not there.
    assert_eq!((scene.writes(), scene.said("Admitted")), (vec![], "False/Invalid".to_owned()));
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
    let mut scene = Scene::new(None);
    scene.judges = true;
    assert_eq!((scene.writes(), scene.said("Admitted")), (vec!["create set: d".to_owned()], "True/Valid".to_owned()));
    // A fault of the set that follows is the deployment's.
    let scene = scene.settle().says("Admitted", "False", "Invalid");
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
    assert_eq!(scene.said("Admitted"), "False/Invalid");
    // A form that is wrong, and one of which nothing can be made, whoever judges.
    for (spec, judges) in [(json!({ "components": 3 }), true), (json!(3), true), (json!(3), false)] {
        let mut scene = Scene::new(None);
        (scene.object["spec"], scene.judges) = (spec.clone(), judges);
        assert_eq!((scene.writes(), scene.said("Admitted")), (vec![], "False/Invalid".to_owned()), "{spec}");
    }
}
