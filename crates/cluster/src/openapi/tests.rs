use super::*;
use crate::discovery::tests::served;
use crate::resource::Resource;

/// The resources of discovery with a schema for gangs and one for pods.
fn resources(gang: &Value) -> Vec<Arc<Resource>> {
    let mut all = served();
    for resource in all.iter_mut().map(Arc::make_mut) {
        let published = match resource.kind.as_str() {
            "Gang" => gang.clone(),
            "Topo" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "Pod" => json!({"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}),
            kind => json!({"description": kind, "type": "object"}),
        };
        resource.versions.iter_mut().for_each(|version| version.published = Arc::new(published.clone()));
    }
    all
}

fn gang() -> Value {
    json!({
        "description": "A gang.",
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
            "spec": {"type": "object", "properties": {
                "any": {"x-kubernetes-int-or-string": true},
                "map": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}},
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            }},
        },
    })
}

fn components() -> BTreeMap<String, Value> {
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
    let refer = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    [
        (
            "io.k8s.api.core.v1.Pod".to_owned(),
            json!({"properties": {"spec": {"allOf": [refer("io.k8s.api.core.v1.PodSpec")]}}}),
        ),
        ("io.k8s.api.core.v1.PodSpec".to_owned(), json!({"properties": {"self": refer("io.k8s.api.core.v1.PodSpec")}})),
        ("io.k8s.api.core.v1.Unused".to_owned(), json!({})),
        (format!("{meta}.Status"), json!({"properties": {"kind": {"description": "its kind", "type": "string"}}})),
    ]
    .into()
}

fn made(group: &str, version: &str) -> Value {
    document(&resources(&gang()), &components(), group, version).unwrap()
}

/// Every path with its methods, their actions and kinds.
fn requests(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(method, _)| *method != "parameters") {
            let about = &operation["x-kubernetes-group-version-kind"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let kind = format!("{}/{}/{}", text(&about["group"]), text(&about["version"]), text(&about["kind"]));
            found.push(format!(
                "{method} {path} {} {kind} {}",
                text(&operation["x-kubernetes-action"]),
                text(&operation["operationId"])
            ));
        }
    }
    found.sort();
    found
}

#[test]
fn the_requests_of_a_custom_kind_are_those_that_the_real_server_describes() {
    let all = "/apis/disco.example.com/v1/gangs";
    let some = "/apis/disco.example.com/v1/namespaces/{namespace}/gangs";
    let kind = "disco.example.com/v1/Gang";
    let id = "DiscoExampleComV1NamespacedGang";
    let mut expected = vec![
        format!("get {all} list {kind} listDiscoExampleComV1GangForAllNamespaces"),
        format!("get {some} list {kind} list{id}"),
        format!("post {some} post {kind} create{id}"),
        format!("delete {some} deletecollection {kind} deleteDiscoExampleComV1CollectionNamespacedGang"),
        format!("get {some}/{{name}} get {kind} read{id}"),
        format!("put {some}/{{name}} put {kind} replace{id}"),
        format!("delete {some}/{{name}} delete {kind} delete{id}"),
        format!("patch {some}/{{name}} patch {kind} patch{id}"),
    ];
    for (sub, end) in [("scale", "Scale"), ("status", "Status")] {
        expected.push(format!("get {some}/{{name}}/{sub} get {kind} read{id}{end}"));
        expected.push(format!("put {some}/{{name}}/{sub} put {kind} replace{id}{end}"));
        expected.push(format!("patch {some}/{{name}}/{sub} patch {kind} patch{id}{end}"));
    }
    expected.sort();
    assert_eq!(requests(&made("disco.example.com", "v1")), expected);
}

#[test]
fn requests_of_built_in_kinds_follow_their_verbs_and_subresources() {
    let core = requests(&made("", "v1"));
    let namespace = "/v1/Namespace";
    for expected in [
        format!("get /api/v1/namespaces list {namespace} listCoreV1Namespace"),
        format!("put /api/v1/namespaces/{{name}}/finalize put {namespace} replaceCoreV1NamespaceFinalize"),
        "post /api/v1/namespaces/{namespace}/pods/{name}/eviction post policy/v1/Eviction createCoreV1NamespacedPodEviction".to_owned(),
        "post /api/v1/namespaces/{namespace}/pods/{name}/binding post /v1/Binding createCoreV1NamespacedPodBinding".to_owned(),
    ] {
        assert!(core.contains(&expected), "{expected} is not in {core:#?}");
    }
    assert!(!core.iter().any(|request| request.contains("deletecollection /v1/Namespace")), "namespaces go one by one");
    let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let kind = "authorization.k8s.io/v1/SelfSubjectAccessReview";
    let expected = format!("post {review} post {kind} createAuthorizationV1SelfSubjectAccessReview");
    assert_eq!(requests(&made("authorization.k8s.io", "v1")), [expected]);
}

#[test]
fn patches_say_that_fields_are_validated_and_which_kinds_there_are() {
    for (group, path, strategic) in [
        ("", "/api/v1/namespaces/{namespace}/pods/{name}", true),
        ("disco.example.com", "/apis/disco.example.com/v1/namespaces/{namespace}/gangs/{name}", false),
    ] {
        let document = made(group, "v1");
        let patch = &document["paths"][path]["patch"];
        let names: Vec<&str> =
            patch["parameters"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
        let types: Vec<&String> = patch["requestBody"]["content"].as_object().unwrap().keys().collect();
        assert_eq!(types.contains(&&"application/strategic-merge-patch+json".to_owned()), strategic);
        assert!(types.contains(&&"application/apply-patch+yaml".to_owned()), "{types:?}");
    }
}

#[test]
fn custom_kinds_are_published_in_full() {
    let document = made("disco.example.com", "v1");
    let schema = &document["components"]["schemas"]["com.example.disco.v1.Gang"];
    let meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let check = |path: &str, expected: Value| assert_eq!(schema.pointer(path), Some(&expected), "{path}");
    check("/x-kubernetes-group-version-kind", json!([{"group": "disco.example.com", "kind": "Gang", "version": "v1"}]));
    check("/description", json!("A gang."));
    check("/properties/kind", json!({"description": "its kind", "type": "string"}));
    check("/properties/apiVersion/type", json!("string"));
    check("/properties/metadata/allOf", json!([{"$ref": meta}]));
    check("/properties/spec/properties/any/anyOf", json!([{"type": "integer"}, {"type": "string"}]));
    check("/properties/spec/properties/map/additionalProperties/anyOf/0/type", json!("integer"));
    check("/properties/spec/properties/embedded/required", json!(["kind", "apiVersion"]));
    check("/properties/spec/properties/embedded/properties/metadata/allOf", json!([{"$ref": meta}]));
    let list = &document["components"]["schemas"]["com.example.disco.v1.GangList"];
    assert_eq!(list["properties"]["items"]["items"]["$ref"], "#/components/schemas/com.example.disco.v1.Gang");
    assert_eq!(list["x-kubernetes-group-version-kind"][0]["kind"], "GangList");
    assert!(document["components"]["schemas"].get("com.example.disco.v1.Topo").is_none(), "it has no v1");
}

#[test]
fn every_reference_leads_somewhere_and_nothing_else_is_there() {
    for (group, version) in
        [("", "v1"), ("disco.example.com", "v1alpha1"), ("autoscaling", "v2"), ("authorization.k8s.io", "v1")]
    {
        let document = made(group, version);
        let mut names: Vec<String> = document
            .to_string()
            .split("\"#/components/schemas/")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect();
        names.sort();
        names.dedup();
        let there: Vec<&String> = document["components"]["schemas"].as_object().unwrap().keys().collect();
        assert_eq!(there, names.iter().collect::<Vec<_>>(), "{group}/{version}");
    }
    let core = made("", "v1");
    let pod = &core["components"]["schemas"]["io.k8s.api.core.v1.Pod"];
    assert_eq!(pod["x-kubernetes-group-version-kind"], json!([{"group": "", "kind": "Pod", "version": "v1"}]));
    assert!(core["components"]["schemas"].get("io.k8s.api.core.v1.PodSpec").is_some());
}

#[test]
fn the_index_names_every_document_under_a_hash_of_its_content() {
    let before = index(&resources(&gang()));
    let keys: Vec<&String> = before["paths"].as_object().unwrap().keys().collect();
    let gangs = ["v1", "v1alpha1", "v2beta1"].map(|version| format!("apis/disco.example.com/{version}"));
    let others = [
        "api/v1",
        "apis/a.disco.example.com/v1",
        "apis/authorization.k8s.io/v1",
        "apis/autoscaling/v1",
        "apis/autoscaling/v2",
    ];
    let mut expected: Vec<String> = others.into_iter().map(str::to_owned).chain(gangs).collect();
    expected.push("apis/policy/v1".to_owned());
    assert_eq!(keys, expected.iter().collect::<Vec<_>>());

    let mut changed = gang();
    changed["description"] = "Another.".into();
    let after = index(&resources(&changed));
    for path in expected {
        let [before, after] =
            [&before, &after].map(|index| index["paths"][&path]["serverRelativeURL"].as_str().unwrap());
        assert!(before.starts_with(&format!("/openapi/v3/{path}?hash=")) && before.len() > 128, "{before}");
        assert_eq!(before == after, !path.contains("/disco."), "{path}");
    }
    assert_eq!(hash(&resources(&gang()), "nope", "v1"), None);
    assert_eq!(
        document(&resources(&gang()), &components(), "disco.example.com", "v3"),
        None,
        "a version that is not served"
    );
}

#[test]
fn an_old_address_leads_to_the_new_one() {
    let resources = resources(&gang());
    let hash = hash(&resources, "", "v1").unwrap();
    assert_eq!(moved(&resources, "", "v1", "1"), Some(format!("/openapi/v3/api/v1?hash={hash}")));
    for (version, asked) in [("v1", hash.as_str()), ("v1", ""), ("v9", "1")] {
        assert_eq!(moved(&resources, "", version, asked), None, "{version} {asked}");
    }
}
