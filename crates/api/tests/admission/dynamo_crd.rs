//! The CustomResourceDefinition of DynamoGraphDeployments: both versions, section 1 of the Dynamo reference.

use crate::crds::{at, walk};
use crate::harness::DOMAINS;
use serde_json::{Value, json};
use trellis_api::crd;

/// The versions, by name.
fn versions() -> Vec<(String, Value)> {
    let crd = serde_json::to_value(crd::dynamo()).expect("JSON");
    let versions = crd["spec"]["versions"].as_array().cloned().expect("versions");
    versions.into_iter().map(|version| (version["name"].as_str().expect("a name").to_owned(), version)).collect()
}

fn schema(version: &str) -> Value {
    let (_, found) = versions().into_iter().find(|(name, _)| name == version).expect("a version");
    found["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn dynamo1_names_versions_and_columns() {
    let crd = crd::dynamo();
    assert_eq!(crd.metadata.name.as_deref(), Some("dynamographdeployments.nvidia.com"));
    assert_eq!(crd.spec.names.kind, "DynamoGraphDeployment");
    assert_eq!(crd.spec.names.short_names, Some(vec!["dgd".to_owned()]));
    assert_eq!(crd.spec.scope, "Namespaced");
    let found: Vec<(String, bool, bool)> =
        crd.spec.versions.iter().map(|version| (version.name.clone(), version.served, version.storage)).collect();
    assert_eq!(found, [("v1beta1".to_owned(), true, true), ("v1alpha1".to_owned(), true, false)]);
    for version in &crd.spec.versions {
        let subresources = version.subresources.clone().unwrap_or_default();
        assert!(subresources.status.is_some() && subresources.scale.is_none(), "{}", version.name);
        let columns: Vec<&str> =
            version.additional_printer_columns.iter().flatten().map(|one| one.name.as_str()).collect();
        assert_eq!(columns, ["Ready", "Backend", "State", "Topology", "Age"]);
    }
}

#[test]
fn s003_domains_in_the_schema_are_the_seven() {
    for (version, _) in versions() {
        let domain = schema(&version);
        assert_eq!(at(&domain, "spec.topologyConstraint.packDomain")["enum"], json!(DOMAINS), "{version}");
    }
    assert_eq!(at(&schema("v1beta1"), "spec.components.topologyConstraint.packDomain")["enum"], json!(DOMAINS));
}

/// Users write of deployments and services, in no words of what is made of them.
#[test]
fn s003_req2_no_words_of_the_framework_in_the_spec() {
    for (version, _) in versions() {
        walk(&schema(&version)["properties"]["spec"], "spec", &mut |schema, path| {
            for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.to_lowercase()) {
                let found =
                    ["pcs", "podclique", "clique", "podgang", "grove"].into_iter().find(|word| name.contains(word));
                assert_eq!(found, None, "{version} {path}.{name}");
            }
        });
    }
}

/// What is not typed survives, at every place where users write.
#[test]
fn unknown_fields_are_kept() {
    let beta = schema("v1beta1");
    let places =
        ["spec", "spec.topologyConstraint", "spec.components.multinode", "spec.components.podTemplate.spec", "status"];
    for place in places {
        assert_eq!(at(&beta, place)["x-kubernetes-preserve-unknown-fields"], true, "{place}");
    }
    assert_eq!(at(&beta, "spec.components")["items"]["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(
        at(&schema("v1alpha1"), "spec.services"),
        &json!({
            "description": at(&schema("v1alpha1"), "spec.services")["description"], "x-kubernetes-preserve-unknown-fields": true,
        })
    );
}

#[test]
fn crd_has_what_kubernetes_knows() {
    for (version, _) in versions() {
        walk(&schema(&version), &version, &mut |schema, path| {
            let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
            let typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
            assert!(typed || open, "{path} has no type");
            for keyword in ["$ref", "definitions", "oneOf", "anyOf", "allOf", "not", "const", "nullable"] {
                assert!(schema.get(keyword).is_none(), "{path} has {keyword}");
            }
            assert!(!(open && schema["additionalProperties"].is_object()), "{path} is open twice");
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let text = field["description"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{path}.{name} has no description");
            }
        });
    }
    let yaml = serde_saphyr::to_string(&crd::dynamo()).expect("YAML");
    assert!(yaml.len() < 200_000, "{} bytes", yaml.len());
}
