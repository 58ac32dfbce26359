use serde_json::{Value, json};

use super::{Taken, default, resource, status, stored, validate, warnings};
use crate::resource::Source;
use crate::schema::validate::cases::{compare, read};

const NOW: &str = "2026-01-01T00:00:00Z";

fn version(name: &str, storage: bool) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}})
}

/// A definition as it is stored.
fn definition(versions: &Value) -> Value {
    let mut definition = json!({
        "metadata": {"name": "things.example.com", "uid": "u"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": versions},
    });
    default(&mut definition);
    stored(&mut definition, None);
    definition
}

/// Lets the names be accepted and the kind be served.
fn settle(definition: &mut Value, taken: &Taken) {
    while let Some(next) = status(definition, taken, NOW) {
        definition["status"] = next;
    }
}

#[test]
fn definitions_are_judged_as_by_a_real_server() {
    for case in read(include_str!("cases.txt")) {
        let mut given = case.given[0].clone();
        default(&mut given);
        stored(&mut given, None);
        compare(&case, &validate(&given, None));
    }
}

#[test]
fn what_is_left_out_is_filled_in() {
    let mut given = json!({
        "spec": {
            "names": {"plural": "things", "kind": "Thing", "shortNames": []},
            "preserveUnknownFields": false,
            "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a", "namespace": "b"}}}},
            "versions": [{"name": "v1", "deprecated": false, "additionalPrinterColumns": [{"name": "A", "priority": 0}], "schema":
                {"openAPIV3Schema": {"type": "object", "nullable": false, "default": null, "required": []}}}],
        },
    });
    default(&mut given);
    assert_eq!(
        given["spec"],
        json!({
            "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
            "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a", "namespace": "b", "port": 443}}}},
            "versions": [{"name": "v1", "additionalPrinterColumns": [{"name": "A"}], "schema": {"openAPIV3Schema": {"type": "object"}}}],
        })
    );
}

#[test]
fn the_status_goes_from_nothing_to_served() {
    let mut thing = definition(&json!([version("v1", true)]));
    assert_eq!(
        thing["status"],
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]})
    );
    thing["status"] = status(&thing, &Taken::default(), NOW).unwrap();
    assert_eq!(thing["status"]["conditions"][1]["reason"], "Installing");
    thing["status"] = status(&thing, &Taken::default(), NOW).unwrap();
    let names = json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"});
    assert_eq!(
        thing["status"],
        json!({
            "conditions": [
                {"type": "NamesAccepted", "status": "True", "lastTransitionTime": NOW, "reason": "NoConflicts",
                 "message": "no conflicts found"},
                {"type": "Established", "status": "True", "lastTransitionTime": NOW, "reason": "InitialNamesAccepted",
                 "message": "the initial names have been accepted"},
            ],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        })
    );
    assert_eq!(status(&thing, &Taken::default(), NOW), None);
}

#[test]
fn names_of_others_are_refused() {
    let mut first = definition(&json!([version("v1", true)]));
    settle(&mut first, &Taken::default());
    let mut taken = Taken::default();
    taken.add(&first);
    let mut other = definition(&json!([version("v1", true)]));
    other["spec"]["names"] = json!({"plural": "others", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["things", "o"]});
    settle(&mut other, &taken);
    assert_eq!(
        other["status"],
        json!({
            "conditions": [
                {"type": "NamesAccepted", "status": "False", "lastTransitionTime": NOW, "reason": "ListKindConflict",
                 "message": "\"ThingList\" is already in use"},
                {"type": "Established", "status": "False", "lastTransitionTime": NOW, "reason": "NotAccepted",
                 "message": "not all names are accepted"},
            ],
            "acceptedNames": {"plural": "others", "kind": ""},
            "storedVersions": ["v1"],
        })
    );
}

#[test]
fn what_a_definition_is_known_by_stays() {
    let mut old = definition(&json!([version("v1", true), version("v2", false)]));
    settle(&mut old, &Taken::default());
    let check = |change: &dyn Fn(&mut Value), expected: &[&str]| {
        let mut new = old.clone();
        change(&mut new["spec"]);
        stored(&mut new, Some(&old));
        let said: Vec<String> = validate(&new, Some(&old)).iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
    };
    check(&|_| {}, &[]);
    check(&|spec| spec["scope"] = json!("Cluster"), &["spec.scope: Invalid value: \"Cluster\": field is immutable"]);
    check(
        &|spec| spec["names"]["kind"] = json!("Other"),
        &["spec.names.kind: Invalid value: \"Other\": field is immutable"],
    );
    check(
        &|spec| spec["names"]["plural"] = json!("x"),
        &["spec.names.plural: Invalid value: \"x\": field is immutable"],
    );
    check(&|spec| spec["group"] = json!("a.b"), &["spec.group: Invalid value: \"a.b\": field is immutable"]);
    check(
        &|spec| spec["versions"] = json!([version("v2", true)]),
        &[
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must \
           remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from \
           status.storedVersions",
        ],
    );
    let mut new = old.clone();
    new["spec"]["versions"] = json!([version("v1", false), version("v2", true)]);
    stored(&mut new, Some(&old));
    assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
}

#[test]
fn versions_come_in_the_order_of_discovery() {
    let mut versions: Vec<Value> = ["v1", "v2beta1", "v10", "foo10", "v1alpha2", "foo1", "v3", "v2"]
        .map(|name| version(name, name == "v10"))
        .into();
    versions[6]["served"] = json!(false);
    versions[1]["deprecated"] = json!(true);
    versions[4]["deprecated"] = json!(true);
    versions[4]["deprecationWarning"] = json!("do not");
    let resource = resource(&definition(&Value::Array(versions)));
    let names: Vec<&str> = resource.versions.iter().map(|version| version.name.as_str()).collect();
    assert_eq!(names, ["v10", "v2", "v1", "v2beta1", "v1alpha2", "foo1", "foo10", "v3"]);
    assert_eq!(resource.storage, "v10");
    let warning = |index: usize| resource.versions[index].deprecation.as_deref();
    assert_eq!(warning(0), None);
    assert_eq!(warning(3), Some("example.com/v2beta1 Thing is deprecated; use example.com/v10 Thing"));
    assert_eq!(warning(4), Some("do not"));
}

#[test]
fn columns_subresources_and_selectors_are_taken_over() {
    let mut full = version("v1", true);
    full["subresources"] =
        json!({"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}});
    full["additionalPrinterColumns"] = json!([{"name": "N", "type": "string", "jsonPath": ".spec.n", "priority": 1}]);
    full["selectableFields"] = json!([{"jsonPath": ".spec.n"}]);
    let resource = resource(&definition(&json!([full, version("v2", false)])));
    let [plain, full] = &resource.versions[..] else { panic!("two versions") };
    assert!(full.subresources.status && full.subresources.scale.as_ref().unwrap().spec == ".spec.n");
    assert_eq!(full.selectable, ["spec.n"]);
    assert_eq!((full.columns.len(), full.columns[0].priority), (1, 1));
    assert_eq!(full.columns[0].description, "Custom resource definition column (in JSONPath format): .spec.n");
    assert!(!plain.subresources.status && plain.columns[0].name == "Age");
    assert!(matches!(&plain.columns[0].source, Source::Path(path) if path == ".metadata.creationTimestamp"));
}

#[test]
fn the_published_schema_has_what_every_object_has() {
    let mut version = version("v1", true);
    version["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "either": {"x-kubernetes-int-or-string": true},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    }}}});
    let resource = resource(&definition(&json!([version])));
    let published = &resource.versions[0].published;
    assert_eq!(
        published["x-kubernetes-group-version-kind"],
        json!([{"group": "example.com", "kind": "Thing", "version": "v1"}])
    );
    let meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(published["properties"]["metadata"]["allOf"], json!([{"$ref": meta}]));
    let spec = &published["properties"]["spec"]["properties"];
    assert_eq!(spec["either"]["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
    assert_eq!(spec["embedded"]["required"], json!(["kind", "apiVersion"]));
    assert_eq!(spec["embedded"]["properties"]["metadata"]["allOf"], json!([{"$ref": meta}]));
}

#[test]
fn formats_that_nothing_checks_are_warned_of_once() {
    let with = |formats: &[(&str, &str)]| {
        let properties: serde_json::Map<String, Value> = formats
            .iter()
            .map(|(kind, format)| ((*format).to_owned(), json!({"type": kind, "format": format})))
            .collect();
        let mut version = version("v1", true);
        version["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": properties});
        definition(&json!([version]))
    };
    let new = with(&[("string", "weird"), ("integer", "int32"), ("integer", "uint32"), ("string", "date-time")]);
    assert_eq!(warnings(&new, None), ["unrecognized format \"uint32\"", "unrecognized format \"weird\""]);
    assert_eq!(warnings(&new, Some(&with(&[("string", "weird")]))), ["unrecognized format \"uint32\""]);
}
