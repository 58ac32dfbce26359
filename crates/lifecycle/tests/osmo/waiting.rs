//! What keeps a workflow from running, and that it is told.

use crate::{World, target};
use serde_json::{Value, json};
use trellis_lifecycle::{Confirm, Kind};

/// What a container says of its waiting comes through, and a failure for it rests on a fresh look at the pod.
#[test]
fn osmo5_a_wrong_image_is_told_and_does_not_hold_its_place() {
    let mut world = World::default();
    world.make_ready_pool("p", &["rack"]);
    world.make_workflow(&json!({}));
    world.settle_workflow();
    let waiting = json!({"reason": "ErrImagePull", "message": "no such image"});
    let status = json!({"phase": "Pending", "containerStatuses": [{"name": "task", "state": {"waiting": waiting}}]});
    world.pod("w-a", &status);
    world.pod("w-b", &status);
    world.settle_workflow();
    let message = &world.objects[&target(Kind::Workflow, "ns", "w")]["status"]["message"];
    assert_eq!(message, "group \"g\": task \"a\": ErrImagePull: no such image");
    world.now += 30 * 60;
    let plan = world.workflow_plan(false);
    let looks = |confirm: &Confirm| matches!(confirm, Confirm::Version(target, _) if target.name == "w-a");
    assert!(plan.certain.iter().any(looks), "{:?}", plan.certain);
    world.settle_workflow();
    assert_eq!(world.state(), "FAILED_IMAGE_PULL");
    assert_eq!((world.names(Kind::Pod), world.names(Kind::KaiPodGroup)), (Vec::new(), Vec::new()));
}

/// An object that has the workflow's label and a name that it wants, and is another's, is not waited for in silence.
#[test]
fn issue8_6_an_object_in_the_way_is_told() {
    let check = |owners: &Value, expected: &str| {
        let mut world = World::default();
        world.make_ready_pool("p", &["rack"]);
        let labels = json!({"osmo.workflow_id": "w"});
        world.put(Kind::Service, "ns", "w-g", json!({"metadata": {"labels": labels, "ownerReferences": owners}}));
        // What the workflow does not want is in nobody's way.
        world.put(Kind::Service, "ns", "w-other", json!({"metadata": {"labels": labels}}));
        world.make_workflow(&json!({}));
        world.settle_workflow();
        let message = &world.objects[&target(Kind::Workflow, "ns", "w")]["status"]["message"];
        assert_eq!(message, &format!("group \"g\": Service w-g is there{expected}"));
        assert_eq!(world.names(Kind::Pod), Vec::<&str>::new());
    };
    let owner = |name: &str| json!([{"apiVersion": "trellis.dev/v1alpha1", "kind": "Workflow", "name": name, "uid": "old", "controller": true}]);
    check(&owner("exp"), ", and belongs to Workflow \"exp\"");
    check(&owner("w"), " still, and belongs to an earlier workflow of this name");
    check(&json!([]), ", and belongs to nobody");
}
