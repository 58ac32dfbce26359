//! The handler by itself: what it reads and what it does not, and that it has an answer to everything.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trellis_api::kinds::config::Authorizer;
use trellis_api::settings::Settings;
use trellis_cluster::api::{Api, Options};
use trellis_cluster::faults::{Fault, Faults};
use trellis_cluster::status::Status;
use trellis_cluster::user::User;
use trellis_operator::webhooks::{Handler, path};
use trellis_testkit::mutate::{Dice, mutate};

use crate::cases::SMALL_SET;

const PATHS: [&str; 9] = [
    path::DEFAULT_SET,
    path::VALIDATE_SET,
    path::DEFAULT_TOPOLOGY,
    path::VALIDATE_TOPOLOGY,
    path::DEFAULT_DEPLOYMENT,
    path::VALIDATE_DEPLOYMENT,
    path::VALIDATE_POOL,
    path::VALIDATE_WORKFLOW,
    path::AUTHORIZE,
];

/// A handler whose every look at the cluster fails.
fn blind() -> Handler {
    handler(client("http://127.0.0.1:1"))
}

fn client(url: &str) -> Client {
    let mut config = Config::new(url.parse().expect("a URL"));
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

fn handler(client: Client) -> Handler {
    let authorizer = Authorizer { enabled: true, ..Authorizer::default() };
    Handler::new(client, Arc::new(Settings::default()), authorizer, "operator".to_owned())
}

fn set(change: impl FnOnce(&mut Value)) -> Value {
    let mut set: Value = serde_json::from_str(SMALL_SET).expect("a set");
    change(&mut set);
    set
}

fn topology(key: &str) -> Value {
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "blue"},
        "spec": {"levels": [{"domain": "host", "key": key}]},
    })
}

fn review(user: &str, object: &Value, old: &Value) -> Value {
    let operation = match (object, old) {
        (_, Value::Null) => "CREATE",
        (Value::Null, _) => "DELETE",
        _ => "UPDATE",
    };
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1-2-3", "operation": operation, "namespace": "hooks", "name": "small", "userInfo": {"username": user},
        "resource": {"group": "grove.io", "version": "v1alpha1", "resource": "podcliquesets"},
        "object": object, "oldObject": old,
    }})
}

async fn ask(handler: &Handler, path: &str, review: &Value) -> Value {
    let answer = handler.answer(path, review.to_string().as_bytes()).await;
    assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body));
    let answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!((&answer["response"]["uid"], &answer["kind"]), (&json!("1-2-3"), &json!("AdmissionReview")));
    answer["response"].clone()
}

#[tokio::test]
async fn what_is_no_review_is_told_so() {
    let request =
        |request: Value| json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let bodies = [
        Vec::new(),
        b"\xff\xfe".to_vec(),
        b"{".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        vec![b'['; 100_000],
        json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u"}})
            .to_string()
            .into_bytes(),
        request(Value::Null).to_string().into_bytes(),
        request(json!({"uid": 7})).to_string().into_bytes(),
        request(json!([])).to_string().into_bytes(),
    ];
    let handler = blind();
    for (body, path) in bodies.iter().flat_map(|body| PATHS.map(|path| (body, path))) {
        let answer = handler.answer(path, body).await;
        assert_eq!(answer.code, 400, "{path} {}", String::from_utf8_lossy(body));
        assert!(serde_json::from_slice::<Value>(&answer.body).is_ok());
    }
    assert_eq!(handler.answer("/webhooks/else", b"{}").await.code, 404);
    for body in &bodies {
        assert_eq!(handler.answer(path::CONVERT_DEPLOYMENT, body).await.code, 400);
    }
}

#[tokio::test]
async fn there_is_an_answer_to_everything() {
    let mut dice = Dice::new(7);
    let handler = blind();
    let whole = set(|set| set["spec"]["template"]["topologyConstraint"] = json!({"packDomain": "rack"}));
    for round in 0..200 {
        let (mut new, old) =
            if round % 2 == 0 { (whole.clone(), whole.clone()) } else { (topology("a"), topology("b")) };
        for _ in 0..=round % 4 {
            mutate(&mut new, &whole, &mut dice);
        }
        let reviews = [
            review("u", &new, &Value::Null),
            review("u", &new, &old),
            review("u", &old, &new),
            review("u", &Value::Null, &new),
        ];
        for (mut review, path) in reviews.into_iter().flat_map(|review| PATHS.map(|path| (review.clone(), path))) {
            if round % 5 == 0 {
                review["request"]["subResource"] = "scale".into();
            }
            let response = ask(&handler, path, &review).await;
            assert!(response["allowed"].is_boolean(), "{response}");
        }
    }
}

/// Nothing but what the rules need is read: with a handler that cannot read, this is what shows.
#[tokio::test]
async fn only_what_the_rules_need_is_read() {
    let handler = blind();
    let check = async |what: &str, path: &str, review: Value, allowed: bool, said: &str| {
        let response = ask(&handler, path, &review).await;
        let message = response["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(response["allowed"], allowed, "{what}: {message}");
        assert!(message.contains(said), "{what}: {message}");
        if said.contains("could not be judged") {
            assert_eq!(
                (&response["status"]["code"], &response["status"]["reason"]),
                (&json!(500), &json!("InternalError"))
            );
        }
    };
    let plain = set(|_| {});
    let rack = |name: &str| {
        set(|set| {
            set["spec"]["template"]["topologyConstraint"] = json!({"packDomain": "rack"});
            set["spec"]["template"]["clusterTopologyName"] = name.into();
        })
    };
    let labelled = |mut set: Value| {
        set["metadata"]["annotations"] = json!({"a": "b"});
        set
    };
    let delayed = |mut set: Value| {
        set["spec"]["template"]["terminationDelay"] = "1h".into();
        set
    };
    let deleted = |mut set: Value| {
        set["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        set
    };
    let (null, judge) = (Value::Null, path::VALIDATE_SET);
    check("no constraint", judge, review("u", &plain, &null), true, "").await;
    check(
        "constraint",
        judge,
        review("u", &rack("blue"), &null),
        false,
        "could not be judged: cannot read ClusterTopology \"blue\"",
    )
    .await;
    check("spec left alone", judge, review("u", &labelled(rack("blue")), &rack("blue")), true, "").await;
    check("constraint left alone", judge, review("u", &delayed(rack("blue")), &rack("blue")), true, "").await;
    check("other topology", judge, review("u", &rack("green"), &rack("blue")), false, "could not be judged").await;
    check("being deleted", judge, review("u", &deleted(rack("green")), &rack("blue")), true, "").await;
    let mut scale = review("u", &json!({"kind": "Scale", "spec": {"replicas": 2}}), &json!({"kind": "Scale"}));
    scale["request"]["subResource"] = "scale".into();
    check("scale", judge, scale, false, "could not be judged: cannot read PodCliqueSet hooks/small").await;

    let judge = path::VALIDATE_TOPOLOGY;
    check("new topology", judge, review("u", &topology("a"), &null), true, "").await;
    check("same levels", judge, review("u", &labelled(topology("a")), &topology("a")), true, "").await;
    check(
        "other levels",
        judge,
        review("u", &topology("b"), &topology("a")),
        false,
        "could not be judged: cannot read PodCliqueSets",
    )
    .await;
    check("by the operator", judge, review("operator", &topology("b"), &topology("a")), true, "").await;

    let managed = |mut object: Value| {
        object["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "small"});
        object
    };
    let judge = path::AUTHORIZE;
    check("managed", judge, review("u", &managed(topology("a")), &null), false, "could not be judged").await;
    check("not managed", judge, review("u", &topology("a"), &null), true, "").await;
    check("by the operator", judge, review("operator", &managed(topology("a")), &null), true, "").await;
}

fn deployment(domain: Option<&str>) -> Value {
    let mut component = json!({"name": "worker", "type": "worker", "replicas": 1});
    if let Some(domain) = domain {
        component["topologyConstraint"] = json!({"packDomain": domain});
    }
    json!({
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "small"},
        "spec": {"components": [component]},
    })
}

/// A topology that cannot be read is a fault, and it is said in which way it cannot; on an update nobody looks for it.
#[tokio::test]
async fn s003_validation_says_why_the_topology_cannot_be_read() {
    let api = Api::new(Options::default());
    api.furnish().await.expect("the objects of every cluster");
    let admin = Client::new(api.service(User::admin()), "default");
    let refused = Faults::decided(|seen| match seen.target.contains("clustertopologies") {
        true => Fault::Refuse(Status::other(403, "Forbidden", "user \"operator\" cannot get it")),
        false => Fault::None,
    });
    let forbidden = Client::new(refused.around(api.service(User::admin())), "default");
    let check = async |client: &Client, review: &Value, said: Option<&str>| {
        let response = ask(&handler(client.clone()), path::VALIDATE_DEPLOYMENT, review).await;
        let message = response["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(response["allowed"], said.is_none(), "{message}");
        assert!(message.contains(said.unwrap_or_default()), "{message}");
    };
    let (racks, bare) = (deployment(Some("rack")), deployment(None));
    let new = |deployment: &Value| review("u", deployment, &Value::Null);
    check(&admin, &new(&racks), Some("does not serve clustertopologies.grove.io: it is not installed")).await;
    trellis_operator::install_crds(&admin).await.expect("definitions");
    check(&admin, &new(&racks), Some("there is no such ClusterTopology")).await;
    check(&forbidden, &new(&racks), Some("is not allowed to: user \"operator\" cannot get it")).await;
    check(&client("http://127.0.0.1:1"), &new(&racks), Some("the ClusterTopology cannot be read")).await;
    check(&forbidden, &new(&bare), None).await;
    let mut more = racks.clone();
    more["spec"]["components"][0]["replicas"] = 2.into();
    check(&forbidden, &review("u", &more, &racks), None).await;
    let mut levels = topology("kubernetes.io/hostname");
    levels["metadata"]["name"] = "grove-topology".into();
    api.create(&User::admin(), &levels).await.expect("a topology");
    check(&admin, &new(&racks), Some("does not exist in ClusterTopology \"grove-topology\"; its domains are: host"))
        .await;
    check(&admin, &new(&deployment(Some("host"))), None).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let handler = handler(client(&format!("http://{}", silent.local_addr().expect("an address"))));
    let constrained = set(|set| set["spec"]["template"]["topologyConstraint"] = json!({"packDomain": "rack"}));
    let response = ask(&handler, path::VALIDATE_SET, &review("u", &constrained, &Value::Null)).await;
    assert_eq!(response["allowed"], false);
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("the API server did not answer within 5 s"), "{message}");
    let response =
        ask(&handler, path::VALIDATE_DEPLOYMENT, &review("u", &deployment(Some("rack")), &Value::Null)).await;
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("the API server did not answer within 5 s"), "{message}");
}

#[tokio::test]
async fn defaults_are_a_patch_of_what_was_written() {
    let handler = blind();
    let patched = async |path: &str, written: &Value, old: &Value| -> Value {
        let response = ask(&handler, path, &review("u", written, old)).await;
        assert_eq!(response["allowed"], true);
        let Some(patch) = response["patch"].as_str() else { return written.clone() };
        assert_eq!(response["patchType"], "JSONPatch");
        let patch: json_patch::Patch = serde_json::from_slice(&BASE64.decode(patch).expect("base64")).expect("a patch");
        let mut object = written.clone();
        json_patch::patch(&mut object, &patch).expect("a patch that fits");
        object
    };
    let written = set(|set| {
        set["metadata"] = json!({"name": "small", "managedFields": [{"manager": "m"}], "tomorrow": 1});
        set["spec"]["tomorrow"] = json!({"a": null});
        set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["tomorrow"] = json!([1, null]);
        set["spec"]["template"]["topologyConstraint"] = json!({"packDomain": "rack"});
    });
    let once = patched(path::DEFAULT_SET, &written, &Value::Null).await;
    let mut expected = written.clone();
    expected["metadata"]["labels"] = json!({"grove.io/topology-name": "grove-topology"});
    expected["spec"]["updateStrategy"] = json!({"type": "RollingRecreate"});
    expected["spec"]["template"]["terminationDelay"] = "4h".into();
    expected["spec"]["template"]["headlessServiceConfig"] = json!({"publishNotReadyAddresses": true});
    let clique = &mut expected["spec"]["template"]["cliques"][0]["spec"];
    clique["minAvailable"] = 2.into();
    clique["podSpec"]["restartPolicy"] = "Always".into();
    clique["podSpec"]["terminationGracePeriodSeconds"] = 30.into();
    assert_eq!(once, expected);
    assert_eq!(patched(path::DEFAULT_SET, &once, &Value::Null).await, once, "twice is once");

    // An omitted minimum keeps its old value, whatever the new replicas are.
    let more = set(|set| set["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 5.into());
    let more = patched(path::DEFAULT_SET, &more, &set(|_| {})).await;
    assert_eq!(more["spec"]["template"]["cliques"][0]["spec"]["minAvailable"], 2);

    // What the schema will refuse is left to it.
    let wrong = set(|set| set["spec"]["template"]["cliques"] = "none".into());
    assert_eq!(patched(path::DEFAULT_SET, &wrong, &Value::Null).await, wrong);
    let mut levels = topology("kubernetes.io/hostname");
    levels["spec"]["levels"] =
        json!([{"domain": "host", "key": "h"}, {"domain": "rack", "key": "r"}, {"domain": "zone", "key": "z"}]);
    let sorted = patched(path::DEFAULT_TOPOLOGY, &levels, &Value::Null).await;
    let expected =
        json!([{"domain": "zone", "key": "z"}, {"domain": "rack", "key": "r"}, {"domain": "host", "key": "h"}]);
    assert_eq!(sorted["spec"]["levels"], expected);
}
