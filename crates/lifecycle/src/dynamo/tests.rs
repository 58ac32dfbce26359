//! Every row of 003's table of conditions, and what else is said of a deployment.

use super::*;
use serde_json::{Value, json};
use trellis_api::kinds::dynamo::DynamoState;

const NOW: &str = "2026-11-16T12:00:00Z";

/// A deployment of a frontend with two replicas and of a worker over two nodes, with or without a constraint.
fn graph(constraint: Option<&str>, status: &Value) -> Graph {
    let mut object = json!({
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment",
        "metadata": { "name": "d", "namespace": "ns", "uid": "u", "generation": 3 },
        "spec": { "components": [
            { "name": "Front", "type": "frontend", "replicas": 2 },
            { "name": "work", "type": "worker", "multinode": { "nodeCount": 2 } },
        ]},
        "status": status,
    });
    if let Some(domain) = constraint {
        object["spec"]["topologyConstraint"] = json!({ "packDomain": domain });
    }
    Graph::read(&object).object.expect("a deployment")
}

/// What was seen, piece by piece.
struct Scene {
    graph: Graph,
    set: Option<PodCliqueSet>,
    cliques: BTreeMap<String, PodClique>,
    groups: BTreeMap<String, PodCliqueScalingGroup>,
    failures: Vec<String>,
}

impl Scene {
    fn new(constraint: Option<&str>) -> Self {
        let graph = graph(constraint, &Value::Null);
        Self { graph, set: None, cliques: BTreeMap::new(), groups: BTreeMap::new(), failures: Vec::new() }
    }

    fn plan(&self) -> DynamoPlan {
        let seen = DynamoObserved {
            graph: &self.graph,
            set: self.set.as_ref(),
            cliques: &self.cliques,
            groups: &self.groups,
            failures: &self.failures,
        };
        decide(&seen, &Settings::default(), NOW.parse().expect("a time"))
    }

    /// What was due is done.
    fn settle(mut self) -> Self {
        let plan = self.plan();
        match plan.set {
            SetDue::Create(set) | SetDue::Change(set) => self.set = Some(*set),
            SetDue::Nothing | SetDue::Foreign => {}
        }
        if let Some(status) = plan.status {
            self.graph.object.status = Some(status);
        }
        self
    }

    /// The set says this of its levels.
    fn levels(mut self, status: &str, reason: &str) -> Self {
        let condition = json!({
            "type": "TopologyLevelsUnavailable", "status": status, "reason": reason, "message": "the set's words",
            "lastTransitionTime": NOW,
        });
        let set = self.set.as_mut().expect("a set");
        set.status = serde_json::from_value(json!({ "conditions": [condition] })).ok();
        self
    }

    /// Counts of the frontend's clique and of the worker's group: replicas, updated, scheduled, working.
    fn counts(mut self, front: [i32; 4], work: [i32; 4]) -> Self {
        let clique = json!({
            "metadata": { "name": "d-0-front", "generation": 1 },
            "spec": { "roleName": "front", "podSpec": { "containers": [] }, "replicas": front[0] },
            "status": {
                "observedGeneration": 1, "replicas": front[0], "updatedReplicas": front[1], "scheduledReplicas": front[2],
                "readyReplicas": front[3],
            },
        });
        let group = json!({
            "metadata": { "name": "d-0-work", "generation": 1 },
            "spec": { "replicas": work[0], "minAvailable": 1, "cliqueNames": ["work-ldr", "work-wkr"] },
            "status": {
                "observedGeneration": 1, "replicas": work[0], "updatedReplicas": work[1], "scheduledReplicas": work[2],
                "availableReplicas": work[3],
            },
        });
        self.cliques = BTreeMap::from([("d-0-front".to_owned(), typed("PodClique", clique))]);
        self.groups = BTreeMap::from([("d-0-work".to_owned(), typed("PodCliqueScalingGroup", group))]);
        self
    }

    /// What a condition says, as `Status/Reason`; nothing if it is not there.
    fn said(&self, type_: &str) -> String {
        let status = self.plan().status.or_else(|| self.graph.object.status.clone()).unwrap_or_default();
        let found = status.conditions.iter().find(|condition| condition.type_ == type_);
        found.map_or(String::new(), |condition| format!("{}/{}", condition.status, condition.reason))
    }

    fn notes(&self) -> Vec<String> {
        let word = |note: &DynamoNote| format!("{}{}", if note.warning { "warning " } else { "" }, note.reason);
        self.plan().notes.iter().map(word).collect()
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
    scene.graph = graph(None, &json!(scene.graph.object.status));
    assert_eq!(scene.said(ENFORCED), "");
}

#[test]
fn s003_status_before_the_set_speaks() {
    let scene = Scene::new(Some("rack"));
    assert_eq!(scene.said(ENFORCED), "");
    assert_eq!(scene.settle().said(ENFORCED), "Unknown/TopologyConditionPending");
    // A set that is not seen for a moment changes nothing.
    let mut scene = Scene::new(Some("rack")).settle().levels("False", "AllClusterTopologyLevelsAvailable").settle();
    scene.set = None;
    assert_eq!(scene.said(ENFORCED), "True/AllTopologyLevelsAvailable");
}

#[test]
fn s003_status_copies_the_message_and_does_not_touch_readiness() {
    let scene =
        Scene::new(Some("rack")).settle().counts([2; 4], [1; 4]).levels("True", "ClusterTopologyLevelsUnavailable");
    assert_eq!(scene.said(READY), "True/all_resources_are_ready");
    let status = scene.plan().status.expect("it has changed");
    let condition = status.conditions.iter().find(|condition| condition.type_ == ENFORCED).expect("it is there");
    assert_eq!(condition.message, "the set's words");
    assert_eq!(condition.observed_generation, Some(3));
}

#[test]
fn s003_events_once_per_change() {
    let fine = ("False", "AllClusterTopologyLevelsAvailable");
    let gone = ("True", "ClusterTopologyLevelsUnavailable");
    let deleted = ("Unknown", "ClusterTopologyNotFound");
    let mut scene = Scene::new(Some("rack"));
    let rows: [((&str, &str), &[&str]); 7] = [
        (fine, &["TopologyConstraintsApplied"]),
        (fine, &[]),
        (gone, &["warning TopologyLevelsUnavailable"]),
        (gone, &[]),
        (deleted, &["warning TopologyDefinitionNotFound"]),
        (deleted, &[]),
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
        assert_eq!(scene.plan().status.expect("it has changed").state, state);
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
    scene.failures = vec!["the server is busy".to_owned()];
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
    assert_eq!(scene.plan().status.expect("it has changed").state, DynamoState::Failed);
}

#[test]
fn dynamo1_3_components() {
    let status = Scene::new(None).settle().counts([2, 2, 1, 0], [1, 1, 1, 0]).plan().status.expect("it has changed");
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
    assert_eq!(plan, DynamoPlan::default());
}

#[test]
fn a_set_of_somebody_else_is_left_alone() {
    let mut scene = Scene::new(None).settle();
    scene.set.as_mut().expect("a set").metadata.owner_references = None;
    let plan = scene.plan();
    assert_eq!(plan.set, SetDue::Foreign);
    assert_eq!(scene.said(READY), "False/failed_to_reconcile_the_resources");
}

#[test]
fn dynamo2_8_replicas_go_through_the_scale_subresource() {
    let mut scene = Scene::new(None).settle().counts([2; 4], [1; 4]).settle();
    scene.graph.object.spec.components[0].replicas = Some(5);
    scene.graph.object.spec.components[1].replicas = Some(3);
    let plan = scene.plan();
    assert_eq!(plan.set, SetDue::Nothing);
    let scaled: Vec<(&str, i32)> = plan.scalings.iter().map(|one| (one.name.as_str(), one.replicas)).collect();
    assert_eq!(scaled, [("d-0-front", 5), ("d-0-work", 3)]);
}

#[test]
fn what_is_deleted_is_left_alone() {
    let mut scene = Scene::new(Some("rack"));
    scene.graph.object.metadata.deletion_timestamp = serde_json::from_value(NOW.into()).ok();
    assert_eq!(scene.plan(), DynamoPlan::default());
}
