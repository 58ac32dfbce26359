//! Plans are carried out whole, or what is missing is known.

use std::collections::BTreeMap;

use serde_json::json;
use trellis_api::names::annotation;
use trellis_cluster::faults::{Fault, Faults, Seen as Asked};
use trellis_cluster::status::Status;
use trellis_controller::lease::{self, Leadership};

use super::*;
use crate::plan::site;
use crate::stage::{MOMENT, Stage, gang, node, pod as a_pod};
use crate::watches::KINDS;

/// What becomes of a gang of two: whether the ledger stands, where the pods are, and what is known of it afterwards.
struct Expected {
    ledger: bool,
    pods: [Option<&'static str>; 2],
    refused: usize,
    /// Which pods had to be written to, so that nothing that is on its way can bind them.
    voided: [bool; 2],
}

const WHOLE: Expected = Expected { ledger: true, pods: [Some("n1"), Some("n2")], refused: 0, voided: [false, false] };
const NOTHING: Expected = Expected { ledger: false, pods: [None, None], refused: 0, voided: [false, false] };

async fn stage(faults: Faults) -> Stage {
    let stage = Stage::new(faults, true).await;
    for object in [node("n1", "a"), node("n2", "a")] {
        stage.index.put(
            serde_json::from_value::<k8s_openapi::api::core::v1::Node>(stage.create(object).await).expect("a node"),
        );
    }
    for name in ["p1", "p2"] {
        stage.index.answered(Kind::Pod, &stage.create(a_pod(name)).await.to_string()).expect("a pod");
    }
    let created = stage.create(gang("g", &["p1", "p2"])).await;
    stage.index.answered(Kind::PodGang, &created.to_string()).expect("a gang");
    KINDS.iter().for_each(|kind| stage.view.heard(kind));
    stage
}

fn actor(stage: &Stage, leadership: Leadership) -> Arc<Actor> {
    let metrics = Metrics::new();
    let asker = Asker::new(stage.client(), leadership, 32, stage.now.clone(), metrics.clone());
    let (actor, work) = Actor::new(asker, 32, stage.index.clone(), stage.view.clone(), metrics);
    tokio::spawn(work.run());
    actor
}

fn plan(seen: &Seen) -> Plan {
    let key = |name: &str| crate::seen::Key::new("default", name);
    let gang = &seen.pod_gangs[&key("g")];
    let bind = |name: &str, node: &str| Bind {
        namespace: "default".to_owned(),
        pod: name.to_owned(),
        version: Version::of(&seen.pods[&key(name)].metadata),
        node: node.to_owned(),
        zone: None,
    };
    let gang = GangPlan {
        site: site::PLACE,
        target: Target::of(Kind::PodGang, &gang.metadata),
        version: Version::of(&gang.metadata),
        annotations: BTreeMap::from([(annotation::PLACEMENT, Some("where they go".to_owned()))]),
        binds: vec![bind("p1", "n1"), bind("p2", "n2")],
        assumed: "where they go".to_owned(),
    };
    Plan { gangs: vec![gang], ..Plan::default() }
}

fn ground(stage: &Stage) -> Ground {
    Ground { seen: Arc::new(stage.index.seen()), at: Instant::now() }
}

/// Waits until nothing is under way, for an hour at most.
async fn ended(stage: &Stage) {
    let quiet = async {
        while !stage.index.seen().under_way.is_empty() {
            sleep(MOMENT).await;
        }
    };
    timeout(Duration::from_hours(1), quiet).await.expect("it ends");
}

async fn look(what: &str, stage: &Stage, expected: &Expected) {
    let gang = stage.gang("g").await;
    assert_eq!(gang["metadata"]["annotations"][annotation::PLACEMENT].is_string(), expected.ledger, "{what}: {gang}");
    let seen = stage.index.seen();
    assert_eq!(seen.refused.len(), expected.refused, "{what}: refusals");
    for (i, name) in ["p1", "p2"].into_iter().enumerate() {
        let pod = stage.pod(name).await;
        assert_eq!(pod["spec"]["nodeName"].as_str(), expected.pods[i], "{what}: {pod}");
        let voided = pod["metadata"]["annotations"][annotation::VOIDED_AT].is_string();
        assert_eq!(voided, expected.voided[i], "{what}: {pod}");
        let known = seen.pods[&crate::seen::Key::new("default", name)].spec.as_ref();
        let known = known.and_then(|spec| spec.node_name.as_deref());
        assert_eq!(known, expected.pods[i], "{what}: it is known at once where {name} is");
    }
}

/// Carries out a plan while requests meet these faults: those whose path has this in it, so many of them.
async fn check(what: &str, path: &'static str, times: usize, fault: Fault, expected: Expected) {
    let mut left = times;
    let faults = Faults::decided(move |asked: &Asked| {
        if asked.write.is_some() && asked.target.contains(path) && left > 0 {
            left -= 1;
            return fault.clone();
        }
        Fault::None
    });
    let stage = stage(faults).await;
    let actor = actor(&stage, Leadership::always());
    let ground = ground(&stage);
    actor.carry_out(plan(&ground.seen), &ground);
    assert_eq!(stage.index.seen().under_way.len(), 1, "it is charged from the start");
    ended(&stage).await;
    look(what, &stage, &expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_gang_is_bound_whatever_happens_on_the_way() {
    let busy = || Fault::Refuse(Status::too_many_requests("busy"));
    check("no fault", "none", 0, Fault::None, WHOLE).await;
    for (what, path) in [("ledger", "podgangs/g"), ("bind", "p1/binding")] {
        check(&format!("{what}: request lost"), path, 1, Fault::LoseRequest, WHOLE).await;
        check(&format!("{what}: answer lost"), path, 1, Fault::LoseAnswer, WHOLE).await;
        check(&format!("{what}: answers lost"), path, 3, Fault::LoseAnswer, WHOLE).await;
        check(&format!("{what}: time out"), path, 2, Fault::TimeOut, WHOLE).await;
        check(&format!("{what}: busy"), path, 3, busy(), WHOLE).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_is_known() {
    let refuse = |code, reason| Fault::Refuse(Status::other(code, reason, "no"));
    // Nothing of a gang is done whose ledger is refused.
    check("ledger refused", "podgangs/g", 1, refuse(409, "Conflict"), NOTHING).await;
    check("ledger forbidden", "podgangs/g", 1, refuse(403, "Forbidden"), NOTHING).await;
    check("ledger: always busy", "podgangs/g", 100, refuse(429, "TooManyRequests"), NOTHING).await;
    let half = |refused, voided| Expected { pods: [None, Some("n2")], refused, voided, ..WHOLE };
    check("bind refused", "p1/binding", 1, refuse(409, "Conflict"), half(0, [false, false])).await;
    check("bind forbidden", "p1/binding", 1, refuse(403, "Forbidden"), half(1, [false, false])).await;
    // Whether it took effect is not known, so the pod is written to: what is still on its way is refused from then on.
    check("bind: never answered", "p1/binding", 100, Fault::LoseRequest, half(0, [true, false])).await;
    check("bind: never answered, but done", "p1/binding", 100, Fault::LoseAnswer, WHOLE).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_on_an_old_view() {
    for what in ["node", "view", "time", "lead"] {
        let stage = stage(Faults::none()).await;
        let leadership = match what {
            "lead" => {
                let config = lease::Config {
                    namespace: "default".to_owned(),
                    name: "lock".to_owned(),
                    identity: "me".to_owned(),
                    duration: Duration::from_secs(15),
                    renew_deadline: Duration::from_secs(10),
                    retry_period: Duration::from_secs(2),
                };
                let leadership = lease::acquire(stage.client(), config, stage.now.clone()).await;
                leadership.release().await;
                leadership
            }
            _ => Leadership::always(),
        };
        let actor = actor(&stage, leadership);
        let ground = ground(&stage);
        match what {
            "node" => {
                let mut moved = (*ground.seen.nodes["n1"]).clone();
                moved.metadata.resource_version = None;
                moved.metadata.labels = Some(BTreeMap::from([("rack".to_owned(), "b".to_owned())]));
                stage.index.put(moved);
            }
            "view" => {
                sleep(crate::stage::MAX_AGE).await;
                let others = KINDS.iter().filter(|kind| **kind != "Node");
                others.for_each(|kind| stage.view.heard(kind));
            }
            "time" => {
                sleep(crate::stage::MAX_AGE).await;
                KINDS.iter().for_each(|kind| stage.view.heard(kind));
            }
            _ => {}
        }
        actor.carry_out(plan(&ground.seen), &ground);
        ended(&stage).await;
        look(what, &stage, &NOTHING).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_its_own_is_bound_in_the_version_that_its_ledger_made() {
    let stage = stage(Faults::none()).await;
    let actor = actor(&stage, Leadership::always());
    let ground = ground(&stage);
    let mut plan = plan(&ground.seen);
    let gang = &mut plan.gangs[0];
    gang.binds.truncate(1);
    gang.target = pod("default", "p1");
    gang.version = gang.binds[0].version.clone();
    actor.carry_out(plan, &ground);
    ended(&stage).await;
    let pod = stage.pod("p1").await;
    assert_eq!(pod["spec"]["nodeName"], "n1");
    assert_eq!(pod["metadata"]["annotations"][annotation::PLACEMENT], "where they go");
}

/// What is to be said of a pod that waits.
fn condition(name: &str, uid: String) -> crate::plan::PodCondition {
    crate::plan::PodCondition {
        namespace: "default".to_owned(),
        pod: name.to_owned(),
        gang: Target { kind: Kind::PodGang, namespace: "default".to_owned(), name: "g".to_owned() },
        patch: json!({ "metadata": { "uid": uid }, "status": { "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room" },
        ]}}),
        uid,
    }
}

/// Whoever is about to get a place, or has one, is not said to wait, though that was decided before.
#[tokio::test(start_paused = true)]
async fn nobody_is_said_to_wait_who_does_not() {
    let stage = stage(Faults::none()).await;
    let actor = actor(&stage, Leadership::always());
    let ground = ground(&stage);
    let uid =
        |name: &str| ground.seen.pods[&crate::seen::Key::new("default", name)].metadata.uid.clone().expect("a uid");
    actor.carry_out(plan(&ground.seen), &ground);
    let late =
        || Plan { pod_conditions: vec![condition("p1", uid("p1")), condition("p2", uid("p2"))], ..Plan::default() };
    actor.carry_out(late(), &ground);
    ended(&stage).await;
    actor.carry_out(late(), &ground);
    while !actor.is_idle() {
        sleep(MOMENT).await;
    }
    for name in ["p1", "p2"] {
        let pod = stage.pod(name).await;
        assert!(pod["spec"]["nodeName"].is_string(), "{pod}");
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        assert!(conditions.iter().all(|condition| condition["message"] != "no room"), "{pod}");
    }
}

#[tokio::test(start_paused = true)]
async fn deletions_are_good_for_one_version_and_statuses_for_one_object() {
    let stage = stage(Faults::none()).await;
    let actor = actor(&stage, Leadership::always());
    let ground = ground(&stage);
    let version = |name: &str| Version::of(&ground.seen.pods[&crate::seen::Key::new("default", name)].metadata);
    let delete = |name: &str, version: Version| Delete {
        site: site::DELETE_UNDONE,
        namespace: "default".to_owned(),
        pod: name.to_owned(),
        version,
    };
    let moved = Version { resource_version: "1".to_owned(), ..version("p2") };
    let gang = &ground.seen.pod_gangs[&crate::seen::Key::new("default", "g")].metadata;
    let status = crate::plan::StatusApply {
        target: Target::of(Kind::PodGang, gang),
        object: json!({
            "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang",
            "metadata": { "name": "g", "namespace": "default", "uid": gang.uid },
            "status": { "placementScore": 0.5 },
        }),
    };
    let plan = Plan {
        deletes: vec![delete("p1", version("p1")), delete("p2", moved)],
        pod_conditions: vec![condition("p2", version("p2").uid)],
        statuses: vec![status],
        ..Plan::default()
    };
    actor.carry_out(plan, &ground);
    while !actor.is_idle() {
        sleep(MOMENT).await;
    }
    assert!(stage.pod("p1").await.is_null(), "it had no node, so nobody has to say goodbye");
    let pod = stage.pod("p2").await;
    assert_eq!(pod["status"]["conditions"][0]["reason"], "Unschedulable", "{pod}");
    assert_eq!(stage.gang("g").await["status"]["placementScore"], 0.5);
    let seen = stage.index.seen();
    assert_eq!(seen.pods.len(), 1, "what went is known");
    let known = seen.pods.values().next().expect("a pod");
    assert!(known.status.as_ref().is_some_and(|status| status.conditions.is_some()), "what was said is known");
}
