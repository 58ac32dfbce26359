//! Pools: document 004 "Changes to Pool Config", decisions 29 and 32, sections 2.2 and 2.3 of the OSMO reference.

use super::{pool, pools};

#[test]
fn s004_changes_to_pool_config_the_example() {
    let text = r#"{
    "name": "my-pool-01",
    "description": "A pool with topology aware scheduling enabled",
    # Topology keys are listed from coarsest to finest granularity
    "topology_keys": [
        {"key": "zone", "label": "topology.kubernetes.io/zone"},
        {"key": "spine", "label": "topology.kubernetes.io/spine"},
        {"key": "rack", "label": "topology.kubernetes.io/rack"},
    ],
}"#;
    pools(text, &[("my-pool-01", &[], &[])]);
}

#[test]
fn s004_workflow_examples_a_fragment_without_a_name_is_a_pool() {
    pools(r#"{"topology_keys": [{"key": "gpu-clique", "label": "nvidia.com/gpu-clique"}]}"#, &[("default", &[], &[])]);
}

#[test]
fn d32_no_levels_or_up_to_16() {
    pool(&["topology_keys: []"], &[]);
    pool(&["-topology_keys", "backend: x"], &[]);
    let levels = |n: usize| {
        let items: Vec<String> = (0..n).map(|i| format!("{{key: k{i}, label: l{i}}}")).collect();
        format!("topology_keys: [{}]", items.join(", "))
    };
    pool(&[&levels(16)], &[]);
    pool(&[&levels(17)], &["topology_keys: Too many: 17: must have at most 16 items"]);
}

#[test]
fn osmo2_3_keys_and_labels_are_unique() {
    pool(&["topology_keys[1].key: zone"], &["topology_keys[1].key: Duplicate value: \"zone\""]);
    let label = "topology.kubernetes.io/zone";
    pool(
        &[&format!("topology_keys[3].label: {label}")],
        &[&format!("topology_keys[3].label: Duplicate value: {label:?}")],
    );
}

#[test]
fn d32_syntax_of_keys() {
    let check = |key: &str, errors: &[&str]| pool(&[&format!("topology_keys[0].key: {key}")], errors);
    for fit in ["a", "nv-link", "A_b.c", "0", &"a".repeat(63)] {
        check(&format!("'{fit}'"), &[]);
    }
    check("''", &["topology_keys[0].key: Required value: …"]);
    check("-a", &["topology_keys[0].key: Invalid value: \"-a\": must be 1 to 63 letters, digits, …"]);
    check("a/b", &["topology_keys[0].key: Invalid value: \"a/b\": …"]);
    check("a b", &["topology_keys[0].key: Invalid value: \"a b\": …"]);
    check(&"a".repeat(64), &["topology_keys[0].key: Too long: …", "topology_keys[0].key: Invalid value: …"]);
    check("7", &["topology_keys[0].key: Invalid value: 7: must be of type string"]);
    pool(&["-topology_keys[0].key"], &["topology_keys[0].key: Required value"]);
}

#[test]
fn osmo2_3_syntax_of_labels() {
    let check = |label: &str, errors: &[&str]| pool(&[&format!("topology_keys[0].label: {label}")], errors);
    check("rack", &[]);
    check("example.com/Rack_1", &[]);
    check("''", &["topology_keys[0].label: Required value: a node label key is needed"]);
    check("a/b/c", &["topology_keys[0].label: Invalid value: \"a/b/c\": must be a valid label key: …"]);
    check("UPPER.io/x", &["topology_keys[0].label: Invalid value: \"UPPER.io/x\": …"]);
    check(&format!("{}/{}", "a".repeat(252), "b".repeat(63)), &[]);
}

#[test]
fn osmo2_3_hostname_only_last() {
    pool(&["topology_keys[3].label: kubernetes.io/hostname"], &[]);
    pool(
        &["topology_keys[2].label: kubernetes.io/hostname"],
        &["topology_keys[2].label: Invalid value: \"kubernetes.io/hostname\": nothing is finer than a host: …"],
    );
}

#[test]
fn s004_requirements_prevent_topology_keys_for_unsupported_schedulers() {
    let with = |kind: &str| {
        format!(
            "{{backends: {{b: {{scheduler_settings: {{scheduler_type: {kind}}}}}}},
              pools: {{p: {{backend: b, topology_keys: [{{key: zone, label: zone}}]}}}}}}"
        )
    };
    pools(&with("kai"), &[("p", &[], &[])]);
    pools(&with("trellis"), &[("p", &[], &[])]);
    let refused = "pools[p].topology_keys: Forbidden: pool \"p\" cannot have topology keys: its backend \"b\" scheduler \
                   \"default\" does not support topology constraints; use \"kai\" or \"trellis\", or leave the keys out";
    pools(&with("default"), &[("p", &[refused], &[])]);
    let unknown =
        "pools[p].backend: Unsupported value: \"volcano\": supported values: \"kai\", \"trellis\", \"default\"";
    pools(&with("volcano"), &[("p", &[unknown], &[])]);
    let off = "{backends: {b: {scheduler_settings: {scheduler_type: default}}}, pools: {p: {backend: b}}}";
    pools(off, &[("p", &[], &[])]);
}

#[test]
fn d32_helm_values_are_read_like_the_bare_maps() {
    let inner =
        "{backends: {b: {}}, pools: {p: {backend: b, topology_keys: [{key: a, label: l}, {key: a, label: m}]}}}";
    pools(inner, &[("p", &["pools[p].topology_keys[1].key: Duplicate value: \"a\""], &[])]);
    let helm = format!("{{services: {{configs: {inner}, other: 1}}, image: x}}");
    pools(&helm, &[("p", &["services.configs.pools[p].topology_keys[1].key: Duplicate value: \"a\""], &[])]);
}

#[test]
fn d35_without_any_backend_pools_are_kais() {
    pools("{pools: {p: {backend: anything}, q: {}}}", &[("p", &[], &[]), ("q", &[], &[])]);
    pools(
        "{backends: {b: {}}, pools: {p: {backend: c}, q: {}}}",
        &[
            ("p", &["pools[p].backend: Not found: \"c\": no backend is called so; there are b"], &[]),
            ("q", &["pools[q].backend: Required value: the name of a backend is needed"], &[]),
        ],
    );
    assert_eq!(super::backends("{backends: {b: {k8s_namespace: ns}}}")["b"]["k8s_namespace"], "ns");
}

#[test]
fn osmo2_3_default_platform_is_one_of_the_platforms() {
    pool(&["platforms: {gb200: {}}", "default_platform: gb200"], &[]);
    pool(
        &["platforms: {gb200: {}, h100: {}}", "default_platform: a100"],
        &["default_platform: Not found: \"a100\": must be one of the pool's platforms: gb200, h100"],
    );
    pool(
        &["default_platform: a"],
        &["default_platform: Not found: \"a\": must be one of the pool's platforms, and it has none"],
    );
}

#[test]
fn osmo2_3_times_and_shares() {
    pool(&["max_exec_timeout: 60d", "default_queue_timeout: 3600", "max_queue_timeout: ''", "start_timeout: 10m"], &[]);
    pool(&["max_exec_timeout: 1w"], &["max_exec_timeout: Invalid value: \"1w\": must be seconds, …"]);
    pool(&["resources: {gpu: {guarantee: 8, maximum: 16, weight: 2}}"], &[]);
    pool(
        &["resources: {gpu: {guarantee: 8, maximum: 4}}"],
        &["resources.gpu.guarantee: Invalid value: 8: must not be more than maximum, which is 4"],
    );
    pool(
        &["resources: {gpu: {guarantee: -2}}"],
        &["resources.gpu.guarantee: Invalid value: -2: must be greater than or equal to -1"],
    );
}

#[test]
fn d47_wrong_types_and_fields_that_were_meant_to_be_others() {
    pool(&["topology_keys: zone"], &["topology_keys: Invalid value: \"zone\": must be of type array"]);
    pool(
        &["topology_keys[0].labels: x"],
        &["topology_keys[0].labels: Invalid value: \"x\": unknown field; did you mean `label`?"],
    );
    pool(&["topology_key: []"], &["topology_key: Invalid value: null: unknown field; did you mean `topology_keys`?"]);
    pools(
        "{pools: {p: {parsed_templates: 1}}}",
        &[("p", &[], &["pools[p].parsed_templates: unknown field, passed over"])],
    );
    pools("{pools: {p: 3}}", &[("p", &["pools[p]: Invalid value: 3: must be of type object"], &[])]);
    pools("{pools: [{name: p}, {backend: x}]}", &[("p", &["pools[1].name: Required value: a name is needed"], &[])]);
    pools("{pools: {p: {name: q}}}", &[("p", &["pools[p].name: Invalid value: \"q\": …"], &[])]);
}

#[test]
fn osmo2_5_templates_are_what_pods_have() {
    pool(&["pod_template: {spec: {nodeSelector: {gpu: 'true'}, tolerations: [{key: gpu, operator: Exists}]}}"], &[]);
    pool(
        &["pod_template: {spec: {nodeSelector: {gpus: 8}}}"],
        &["pod_template.spec.nodeSelector: Invalid value: {\"gpus\":8}: must be what a pod has there: …"],
    );
    pool(
        &["platforms: {gb200: {pod_template: {spec: {tolerations: [{key: a, tolerationSeconds: '30'}]}}}}"],
        &["platforms[gb200].pod_template.spec.tolerations: Invalid value: …"],
    );
    // Containers are not the template's to say.
    pool(&["pod_template: {spec: {containers: 3}}"], &[]);
}

#[test]
fn osmo2_5_what_a_template_does_not_give_is_said() {
    let left_out =
        "pod_template.spec.nodeSelector.kind: left out, because nothing fills it in; pods have nothing there";
    pools(
        "{topology_keys: [], pod_template: {spec: {nodeSelector: {kind: '{{K}}'}}}}",
        &[("default", &[], &[left_out])],
    );
    let missing = "common_pod_template: gpu is not given, so pods have nothing of it, …";
    pools("{topology_keys: [], common_pod_template: [gpu]}", &[("default", &[], &[missing])]);
    let with = |name: &str, template: &str| {
        format!("{{pod_templates: {{gpu: {template}}}, pools: {{p: {{common_pod_template: [{name}]}}}}}}")
    };
    pools(&with("gpu", "{spec: {nodeSelector: {kind: gpu}}}"), &[("p", &[], &[])]);
    let unknown = "pools[p].common_pod_template[0]: Not found: \"gpus\": no pod template is called so; there are gpu";
    pools(&with("gpus", "{}"), &[("p", &[unknown], &[])]);
    let unreadable = "pools[p].common_pod_template.spec.nodeSelector: Invalid value: …";
    pools(&with("gpu", "{spec: {nodeSelector: {kind: 1}}}"), &[("p", &[unreadable], &[])]);
    let of_platform = "pools[p].platforms[a].override_pod_template: gb, arm are not given, …";
    pools("{pools: {p: {platforms: {a: {override_pod_template: [gb, arm]}}}}}", &[("p", &[], &[of_platform])]);
}
