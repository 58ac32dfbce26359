//! Expected values are what a real API server answers for the same kinds, less `storageVersionHash`.

use super::*;
use crate::resource::{Conversion, Scale, Subresources};

/// A resource whose group, plural, singular, kind and versions are given as on the command line: `gangs/gang/Gang`.
fn resource(group: &str, names: &str, namespaced: bool, versions: &[&str]) -> Resource {
    let names: Vec<&str> = names.split('/').collect();
    let version = |name: &&str| Version {
        name: (*name).to_owned(),
        served: true,
        deprecation: None,
        schema: Arc::default(),
        rules: Arc::default(),
        published: Arc::default(),
        subresources: Subresources::default(),
        columns: Vec::new(),
        selectable: Vec::new(),
    };
    Resource {
        group: group.to_owned(),
        plural: names[0].to_owned(),
        singular: names[1].to_owned(),
        kind: names[2].to_owned(),
        list_kind: format!("{}List", names[2]),
        short_names: names[3..].iter().map(|name| (*name).to_owned()).collect(),
        categories: Vec::new(),
        namespaced,
        versions: versions.iter().map(version).collect(),
        storage: versions[0].to_owned(),
        origin: Origin::BuiltIn,
    }
}

fn with(mut resource: Resource, status: bool, scale: bool, others: &[&'static str]) -> Resource {
    let paths = Scale { spec: ".spec.replicas".to_owned(), status: ".status.replicas".to_owned(), selector: None };
    for version in &mut resource.versions {
        version.subresources = Subresources { status, scale: scale.then(|| paths.clone()), others: others.to_vec() };
    }
    resource
}

fn custom(mut resource: Resource) -> Resource {
    resource.origin = Origin::Custom { uid: "u".to_owned(), conversion: Conversion::None, generation: 1 };
    resource
}

/// Some of Kubernetes' own and three custom ones, in no order.
pub(crate) fn served() -> Vec<Arc<Resource>> {
    let mut pods =
        with(resource("", "pods/pod/Pod/po", true, &["v1"]), true, false, &["eviction", "binding", "log", "exec"]);
    pods.categories = vec!["all".to_owned()];
    let mut gangs = with(
        resource("disco.example.com", "gangs/gang/Gang/ga/gg", true, &["v1alpha1", "v3", "v1", "v2beta1"]),
        true,
        true,
        &[],
    );
    gangs.categories = vec!["all".to_owned(), "disco".to_owned()];
    gangs.versions[1].served = false;
    let mut review = resource(
        "authorization.k8s.io",
        "selfsubjectaccessreviews/selfsubjectaccessreview/SelfSubjectAccessReview",
        false,
        &["v1"],
    );
    review.origin = Origin::Virtual;
    vec![
        custom(resource("disco.example.com", "topos/topo/Topo", false, &["v1alpha1"])),
        custom(gangs),
        custom(with(resource("a.disco.example.com", "bs/b/B", true, &["v1"]), true, false, &[])),
        pods,
        with(resource("", "namespaces/namespace/Namespace/ns", false, &["v1"]), true, false, &["finalize"]),
        with(resource("", "serviceaccounts/serviceaccount/ServiceAccount/sa", true, &["v1"]), false, false, &["token"]),
        review,
        resource("policy", "poddisruptionbudgets/poddisruptionbudget/PodDisruptionBudget/pdb", true, &["v1"]),
        resource(
            "autoscaling",
            "horizontalpodautoscalers/horizontalpodautoscaler/HorizontalPodAutoscaler",
            true,
            &["v1", "v2"],
        ),
    ]
    .into_iter()
    .map(Arc::new)
    .collect()
}

#[track_caller]
fn check(found: Option<&Value>, expected: &str) {
    let expected: Value = serde_json::from_str(expected).unwrap();
    let mut found = found.cloned().unwrap_or_default();
    // Held against a real server in the conformance suite; here it would only be noise.
    without_hashes(&mut found);
    assert_eq!(found, expected, "\nfound {found}\nnot   {expected}");
}

fn without_hashes(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("storageVersionHash");
            fields.values_mut().for_each(without_hashes);
        }
        Value::Array(list) => list.iter_mut().for_each(without_hashes),
        _ => {}
    }
}

/// The one whose field of this name has this value.
fn named<'a>(list: &'a Value, field: &str, value: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|member| member[field] == value)
}

fn all<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().into_iter().flatten().filter_map(|member| member[field].as_str()).collect()
}

#[test]
fn groups_come_in_the_order_of_kubernetes_and_custom_ones_after_them_by_name() {
    let groups = groups(&served());
    let expected = ["authorization.k8s.io", "autoscaling", "policy", "a.disco.example.com", "disco.example.com"];
    assert_eq!(all(&groups["groups"], "name"), expected);
    assert_eq!((&groups["kind"], &groups["apiVersion"]), (&"APIGroupList".into(), &"v1".into()));
    check(
        named(&groups["groups"], "name", "autoscaling"),
        r#"{"name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2","version":"v2"},
            {"groupVersion":"autoscaling/v1","version":"v1"}],"preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}"#,
    );
}

#[test]
fn a_group_tells_the_versions_that_are_served() {
    check(
        group(&served(), "disco.example.com").as_ref(),
        r#"{"kind":"APIGroup","apiVersion":"v1","name":"disco.example.com",
            "versions":[{"groupVersion":"disco.example.com/v1","version":"v1"},
            {"groupVersion":"disco.example.com/v2beta1","version":"v2beta1"},
            {"groupVersion":"disco.example.com/v1alpha1","version":"v1alpha1"}],
            "preferredVersion":{"groupVersion":"disco.example.com/v1","version":"v1"}}"#,
    );
    assert_eq!(group(&served(), "nope"), None);
    assert_eq!(group(&served(), ""), None);
}

#[test]
fn resources_are_listed_with_their_subresources() {
    let core = resources(&served(), "", "v1").unwrap();
    assert_eq!(
        (&core["kind"], &core["apiVersion"], &core["groupVersion"]),
        (&"APIResourceList".into(), &Value::Null, &"v1".into())
    );
    let names = [
        "namespaces",
        "namespaces/finalize",
        "namespaces/status",
        "pods",
        "pods/binding",
        "pods/eviction",
        "pods/exec",
    ];
    assert_eq!(
        all(&core["resources"], "name"),
        [&names[..], &["pods/log", "pods/status", "serviceaccounts", "serviceaccounts/token"]].concat()
    );
    let check = |name, expected| check(named(&core["resources"], "name", name), expected);
    check(
        "pods",
        r#"{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","shortNames":["po"],"categories":["all"],
            "verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}"#,
    );
    check(
        "namespaces",
        r#"{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","shortNames":["ns"],
            "verbs":["create","delete","get","list","patch","update","watch"]}"#,
    );
    check(
        "namespaces/finalize",
        r#"{"name":"namespaces/finalize","singularName":"","namespaced":false,"kind":"Namespace","verbs":["update"]}"#,
    );
    check(
        "pods/binding",
        r#"{"name":"pods/binding","singularName":"","namespaced":true,"kind":"Binding","verbs":["create"]}"#,
    );
    check(
        "pods/eviction",
        r#"{"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1","kind":"Eviction",
            "verbs":["create"]}"#,
    );
    check("pods/log", r#"{"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}"#);
    check(
        "pods/exec",
        r#"{"name":"pods/exec","singularName":"","namespaced":true,"kind":"PodExecOptions","verbs":["create","get"]}"#,
    );
    check(
        "pods/status",
        r#"{"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get","patch","update"]}"#,
    );
    check(
        "serviceaccounts/token",
        r#"{"name":"serviceaccounts/token","singularName":"","namespaced":true,"group":"authentication.k8s.io","version":"v1",
            "kind":"TokenRequest","verbs":["create"]}"#,
    );
}

#[test]
fn custom_resources_are_listed_as_their_own_server_does() {
    check(
        resources(&served(), "disco.example.com", "v1").as_ref(),
        r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"disco.example.com/v1","resources":[
            {"name":"gangs","singularName":"gang","namespaced":true,"kind":"Gang","shortNames":["ga","gg"],"categories":["all","disco"],
             "verbs":["delete","deletecollection","get","list","patch","create","update","watch"]},
            {"name":"gangs/status","singularName":"","namespaced":true,"kind":"Gang","verbs":["get","patch","update"]},
            {"name":"gangs/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale",
             "verbs":["get","patch","update"]}]}"#,
    );
    let alpha = resources(&served(), "disco.example.com", "v1alpha1").unwrap();
    assert_eq!(all(&alpha["resources"], "name"), ["gangs", "gangs/status", "gangs/scale", "topos"]);
    assert_eq!(resources(&served(), "disco.example.com", "v3"), None, "a version that is not served");
    assert_eq!(resources(&served(), "disco.example.com", "v9"), None);
    assert_eq!(resources(&[], "", "v1"), None);
}

#[test]
fn the_aggregated_form_says_the_same_in_one_answer() {
    let core = aggregated(&served(), true);
    check(Some(&core["items"][0]["metadata"]), "{}");
    assert_eq!(core["items"].as_array().unwrap().len(), 1);
    check(
        named(&core["items"][0]["versions"][0]["resources"], "resource", "serviceaccounts"),
        r#"{"resource":"serviceaccounts","responseKind":{"group":"","version":"","kind":"ServiceAccount"},"scope":"Namespaced",
            "singularResource":"serviceaccount","shortNames":["sa"],
            "verbs":["create","delete","deletecollection","get","list","patch","update","watch"],
            "subresources":[{"subresource":"token","responseKind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"},
            "verbs":["create"]}]}"#,
    );
    let groups = aggregated(&served(), false);
    assert_eq!(
        (&groups["kind"], &groups["apiVersion"]),
        (&"APIGroupDiscoveryList".into(), &"apidiscovery.k8s.io/v2".into())
    );
    check(
        groups["items"].as_array().unwrap().first(),
        r#"{"metadata":{"name":"authorization.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"selfsubjectaccessreviews",
            "responseKind":{"group":"","version":"","kind":"SelfSubjectAccessReview"},"scope":"Cluster",
            "singularResource":"selfsubjectaccessreview","verbs":["create"]}],"freshness":"Current"}]}"#,
    );
    let last = groups["items"].as_array().unwrap().last().unwrap();
    assert_eq!(all(&last["versions"], "version"), ["v1", "v2beta1", "v1alpha1"]);
    check(
        Some(&last["versions"][2]["resources"]),
        r#"[{"resource":"gangs","responseKind":{"group":"disco.example.com","version":"v1alpha1","kind":"Gang"},"scope":"Namespaced",
             "singularResource":"gang","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],
             "shortNames":["ga","gg"],"categories":["all","disco"],"subresources":[
             {"subresource":"status","responseKind":{"group":"disco.example.com","version":"v1alpha1","kind":"Gang"},
              "verbs":["get","patch","update"]},
             {"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get","patch","update"]}]},
            {"resource":"topos","responseKind":{"group":"disco.example.com","version":"v1alpha1","kind":"Topo"},"scope":"Cluster",
             "singularResource":"topo","verbs":["delete","deletecollection","get","list","patch","create","update","watch"]}]"#,
    );
}

#[test]
fn the_aggregated_form_is_for_those_who_accept_its_second_version() {
    let v2 = AGGREGATED;
    let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let yes = [
        v2.to_owned(),
        format!("{v2},{beta},application/json"),
        format!("{beta},{v2}"),
        format!("application/json, {v2};q=0.1"),
        format!("{v2};profile=x"),
        "application/json; as=APIGroupDiscoveryList; v=v2 ;g=apidiscovery.k8s.io".to_owned(),
    ];
    for accept in yes {
        assert_eq!(accepts_aggregated(&accept), Some(AGGREGATED), "{accept}");
    }
    let no = [
        "",
        "*/*",
        "application/json",
        beta,
        "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList",
        ";;,",
        "v=v2",
    ];
    for accept in no {
        assert_eq!(accepts_aggregated(accept), None, "{accept}");
    }
}

#[test]
fn a_client_that_has_the_document_is_told_so() {
    let tag = etag(b"abc");
    assert!(tag.starts_with("\"DDAF35A193617ABACC417349AE204131") && tag.len() == 130 && tag.ends_with('"'), "{tag}");
    assert!(unchanged(&tag, &tag));
    for other in [format!("W/{tag}"), format!("\"a\", {tag}"), "*".to_owned(), String::new()] {
        assert!(!unchanged(&other, &tag), "{other}");
    }
}

#[test]
fn health_is_told_in_short_or_by_check() {
    let check =
        |path, verbose, expected: Option<&str>| assert_eq!(healthy(path, verbose).as_deref(), expected, "{path}");
    check("/healthz", false, Some("ok"));
    check("/livez/", false, Some("ok"));
    check("/readyz", true, Some("[+]ping ok\nreadyz check passed\n"));
    check("/healthz/ping", false, Some("ok"));
    check("/healthz/nope", false, None);
    check("/healthz/ping/x", false, None);
    check("/health", false, None);
}

#[test]
fn the_root_lists_where_to_look() {
    let paths = paths(&served());
    let paths: Vec<&str> = paths["paths"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(
        paths[..6],
        ["/api", "/api/v1", "/apis", "/apis/", "/apis/a.disco.example.com", "/apis/a.disco.example.com/v1"]
    );
    assert_eq!(paths.last(), Some(&"/version"));
}
