//! The schemas of the CustomResourceDefinitions: rules that an API server holds before any webhook. Sections 1 and 5.3 of
//! the Grove reference, decisions 3, 13, 41 and 48.

use crate::crds::{all, at, schema, walk};
use crate::harness::DOMAINS;
use serde_json::{Value, json};

#[test]
fn d3_constraints_at_all_three_places() {
    let schema = schema("PodCliqueSet");
    for place in ["", "cliques.", "podCliqueScalingGroups."] {
        let constraint = at(&schema, &format!("spec.template.{place}topologyConstraint"));
        let fields: Vec<&String> = constraint["properties"].as_object().expect("fields").keys().collect();
        assert_eq!(fields, ["pack", "packDomain", "topologyName"], "{place}");
        let rules = json!([
            {"rule": "has(self.packDomain) || has(self.pack)", "message": "must specify packDomain or pack"},
            {"rule": "!(has(self.packDomain) && has(self.pack))", "message": "must not set both packDomain and pack"},
        ]);
        assert_eq!(constraint["x-kubernetes-validations"], rules, "{place}");
        let pack = &constraint["properties"]["pack"];
        let one = "must specify at least one of required or preferred";
        let rules = json!([{"rule": "has(self.required) || has(self.preferred)", "message": one}]);
        assert_eq!(pack["x-kubernetes-validations"], rules, "{place}");
    }
}

/// An optional word is left out, not null: the API server names all of an enum in its message.
#[test]
fn s000_domains_in_the_schema_are_the_seven() {
    let schema = schema("PodCliqueSet");
    for place in ["", "cliques.", "podCliqueScalingGroups."] {
        for field in ["packDomain", "pack.required", "pack.preferred"] {
            let domain = at(&schema, &format!("spec.template.{place}topologyConstraint.{field}"));
            assert_eq!(domain["enum"], json!(DOMAINS), "{place}{field}");
        }
    }
}

#[test]
fn crd_enums_hold_words_only() {
    let mut wrong = Vec::new();
    for (kind, _) in all() {
        walk(&schema(&kind), &kind, &mut |schema, path| {
            if schema["enum"].as_array().is_some_and(|values| !values.iter().all(Value::is_string)) {
                wrong.push(path.to_owned());
            }
        });
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn s000_levels_in_the_schema() {
    let schema = schema("ClusterTopology");
    let levels = at(&schema, "spec.levels");
    assert_eq!((&levels["minItems"], &levels["maxItems"]), (&json!(1), &json!(7)));
    let unique = |field: &str| {
        let rule = format!("self.all(x, self.filter(y, y.{field} == x.{field}).size() == 1)");
        json!({"rule": rule, "message": format!("{field} must be unique across all levels")})
    };
    assert_eq!(levels["x-kubernetes-validations"], json!([unique("domain"), unique("key")]));
    assert_eq!(levels["items"]["required"], json!(["domain", "key"]));
    assert_eq!(at(&schema, "spec.levels.domain")["enum"], json!(DOMAINS));
    let key = at(&schema, "spec.levels.key");
    // 48 instead of the 63 of 000.
    assert_eq!((&key["minLength"], &key["maxLength"]), (&json!(1), &json!(316)));
    let pattern = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
    assert_eq!(key["pattern"], pattern);
}

#[test]
fn grove5_3_kai_topology_in_the_schema() {
    let schema = schema("Topology");
    let levels = at(&schema, "spec.levels");
    assert_eq!((&levels["minItems"], &levels["maxItems"]), (&json!(1), &json!(16)));
    assert_eq!(at(&schema, "spec.levels.nodeLabel")["maxLength"], json!(316));
    let rules = levels["x-kubernetes-validations"].as_array().expect("rules");
    let messages: Vec<&str> = rules.iter().filter_map(|rule| rule["message"].as_str()).collect();
    let last = "the kubernetes.io/hostname label can only be used at the lowest level of topology";
    assert_eq!(messages, ["levels are immutable", "nodeLabel must be unique across all levels", last]);
}

#[test]
fn grove1_defaults_in_the_schema() {
    let set = schema("PodCliqueSet");
    let default = |path: &str| at(&set, path)["default"].clone();
    // 13, not Grove's 0.
    assert_eq!(default("spec.replicas"), json!(1));
    assert_eq!(default("spec.template.cliqueStartupType"), json!("CliqueStartupTypeAnyOrder"));
    assert_eq!(default("spec.template.podCliqueScalingGroups.replicas"), json!(1));
    assert_eq!(default("spec.template.headlessServiceConfig.publishNotReadyAddresses"), json!(true));
    // 41: on update an omitted minimum keeps its value, so a schema default would be wrong.
    assert_eq!(default("spec.template.podCliqueScalingGroups.minAvailable"), Value::Null);
    assert_eq!(default("spec.template.cliques.spec.minAvailable"), Value::Null);
}

#[test]
fn grove1_lists_in_the_schema() {
    let set = schema("PodCliqueSet");
    let cliques = at(&set, "spec.template.cliques");
    assert_eq!(cliques["x-kubernetes-list-type"], "map");
    assert_eq!(cliques["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(cliques["minItems"], json!(1));
    // KAI's pod-grouper fails on an absent list, so it is written even when empty.
    let gang = schema("PodGang");
    assert_eq!(at(&gang, "spec.podgroups")["items"]["required"], json!(["minReplicas", "name", "podReferences"]));
}

/// Several writers own their own conditions, so the lists merge by type.
#[test]
fn grove1_conditions_merge_by_type() {
    let mut found = 0;
    for (kind, _) in all() {
        walk(&schema(&kind), &kind, &mut |schema, path| {
            if path.ends_with(".conditions") {
                found += 1;
                assert_eq!(schema["x-kubernetes-list-type"], "map", "{path}");
                assert_eq!(schema["x-kubernetes-list-map-keys"], json!(["type"]), "{path}");
            }
        });
    }
    assert_eq!(found, 8, "seven kinds, and the gangs in a set's status");
}

/// `kubectl explain` is the first documentation that anybody reads.
#[test]
fn crd_every_property_is_documented() {
    let is_silent = |schema: &Value| schema["description"].as_str().is_none_or(|text| text.trim().is_empty());
    for (kind, _) in all() {
        let schema = schema(&kind);
        let mut silent = Vec::new();
        walk(&schema, &kind, &mut |schema, path| {
            let fields = schema["properties"].as_object().into_iter().flatten();
            silent.extend(fields.filter(|(_, field)| is_silent(field)).map(|(name, _)| format!("{path}.{name}")));
        });
        assert_eq!(silent, [""; 0]);
        assert!(!is_silent(&schema), "{kind}");
    }
}

#[test]
fn crd_has_what_kubernetes_knows() {
    let formats = ["int32", "int64", "float", "double", "byte", "date", "date-time"];
    for (kind, _) in all() {
        walk(&schema(&kind), &kind, &mut |schema, path| {
            assert!(schema.get("nullable").is_none(), "{path} is nullable");
            let format = &schema["format"];
            assert!(format.is_null() || formats.iter().any(|known| format == known), "{path}: {format}");
            let typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
            assert!(typed || schema["x-kubernetes-preserve-unknown-fields"] == true, "{path} has no type");
            for keyword in ["$ref", "definitions", "oneOf", "anyOf", "allOf", "not", "const"] {
                assert!(schema.get(keyword).is_none(), "{path} has {keyword}");
            }
            assert!(schema.get("default").is_none_or(|default| !default.is_null()), "{path} defaults to null");
        });
    }
}

/// Client-side apply keeps the whole object in an annotation of at most 256 KiB.
#[test]
fn crd_is_small_enough_to_apply() {
    for (kind, crd) in all() {
        let yaml = serde_saphyr::to_string(&crd).expect("YAML");
        assert!(yaml.len() < 200_000, "{kind} has {} bytes", yaml.len());
    }
}
