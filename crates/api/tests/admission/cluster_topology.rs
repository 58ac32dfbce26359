//! ClusterTopology: levels and names. 000 "ClusterTopology custom resource", 002 "Mutation Webhook", section 4.4 of the
//! Grove reference, decisions 6, 8, 39, 44, 46 and 48.

use crate::harness::{DOMAINS, SUPPORTED_DOMAINS, topology, written};
use trellis_api::admission::object::Kind;

/// Levels with the keys that nobody can object to.
fn levels(domains: &[&str]) -> String {
    let key = |domain: &str| match domain {
        "host" => "kubernetes.io/hostname".to_owned(),
        other => format!("topology.kubernetes.io/{other}"),
    };
    let items: Vec<String> = domains.iter().map(|d| format!("{{domain: {d}, key: {}}}", key(d))).collect();
    format!("spec.levels: [{}]", items.join(", "))
}

#[test]
fn s000_levels_one_to_seven() {
    let empty = "spec.levels: Required value: at least one topology level must be defined";
    topology(&[&levels(&["rack"])]).gives(&[]);
    topology(&[&levels(&DOMAINS)]).gives(&[]);
    // 002: "Admins can skip intermediate levels (e.g., define only region, rack, host)".
    topology(&[&levels(&["region", "rack", "host"])]).gives(&[]);
    topology(&["spec.levels: []"]).gives(&[empty]);
    topology(&["-spec.levels"]).gives(&["spec.levels: Required value"]);
    topology(&["-spec"]).gives(&["spec: Required value"]);
    let eight = levels(&[&DOMAINS[..], &["numa"]].concat());
    topology(&[&eight, "spec.levels[7].key: example.com/eighth"]).gives(&[
        "spec.levels: Too many: 8: must have at most 7 items",
        "spec.levels[7].domain: Duplicate value: \"numa\"",
    ]);
}

#[test]
fn s000_levels_domain_is_one_of_the_seven() {
    for domain in DOMAINS {
        topology(&[&levels(&[domain])]).gives(&[]);
    }
    for wrong in ["shelf", "Rack", "datacentre", ""] {
        topology(&[&format!("spec.levels[1].domain: {wrong:?}")])
            .gives(&[&format!("spec.levels[1].domain: Unsupported value: {wrong:?}: {SUPPORTED_DOMAINS}")]);
    }
    topology(&["-spec.levels[1].domain"]).gives(&["spec.levels[1].domain: Required value"]);
    topology(&["spec.levels[1].domain: 5"]).gives(&["spec.levels[1].domain: Invalid value: 5: must be of type string"]);
}

#[test]
fn grove4_1_unknown_domain_hides_no_other_fault() {
    topology(&["spec.levels[0].domain: shelf", "spec.levels[1].key: kubernetes.io/hostname"])
        .warns(&["spec.levels[1].key: kubernetes.io/hostname tells hosts apart, and this level is 'rack'"])
        .gives(&[
            &format!("spec.levels[0].domain: Unsupported value: \"shelf\": {SUPPORTED_DOMAINS}"),
            "spec.levels[2].key: Duplicate value: \"kubernetes.io/hostname\"",
        ]);
}

fn unknown(i: usize, domain: &str) -> String {
    format!("spec.levels[{i}].domain: Unsupported value: \"{domain}\": {SUPPORTED_DOMAINS}")
}

/// What stands in for an unknown domain is not held against its neighbours.
#[test]
fn d47_unknown_domain_is_no_duplicate() {
    for other in DOMAINS.into_iter().filter(|other| *other != "host") {
        topology(&[&format!("spec.levels: [{{domain: shelf, key: a}}, {{domain: {other}, key: b}}]")])
            .gives(&[&unknown(0, "shelf")]);
    }
    topology(&["spec.levels: [{domain: shelf, key: a}, {domain: ledge, key: b}]"])
        .gives(&[&unknown(0, "shelf"), &unknown(1, "ledge")]);
}

/// Nor does it earn a warning about a level that nobody wrote.
#[test]
fn d47_unknown_domain_earns_no_warning() {
    topology(&["spec.levels[2].domain: Host"]).gives(&[&unknown(2, "Host")]);
    topology(&["-spec.levels[2].domain"]).gives(&["spec.levels[2].domain: Required value"]);
}

#[test]
fn s000_levels_domain_and_key_unique() {
    topology(&["spec.levels[3]: {domain: numa, key: example.com/numa}"]).gives(&[]);
    topology(&["spec.levels[3]: {domain: numa, key: example.com/rack}"])
        .gives(&["spec.levels[3].key: Duplicate value: \"example.com/rack\""]);
    topology(&["spec.levels[1]: {domain: zone, key: example.com/rack}"])
        .gives(&["spec.levels[1].domain: Duplicate value: \"zone\""]);
    topology(&["spec.levels[1]: {domain: zone, key: topology.kubernetes.io/zone}"]).gives(&[
        "spec.levels[1].domain: Duplicate value: \"zone\"",
        "spec.levels[1].key: Duplicate value: \"topology.kubernetes.io/zone\"",
    ]);
}

#[test]
fn d48_label_keys() {
    let check = |key: &str, errors: &[&str]| topology(&[&format!("spec.levels[1].key: {key:?}")]).gives(errors);
    for good in ["rack", "example.com/rack", "a.b-c.example/Rack_1.x", "R", "9"] {
        check(good, &[]);
    }
    check(&"r".repeat(63), &[]);
    check(&format!("{}/r", "p".repeat(253)), &[]);
    check(&format!("{}/{}", "p".repeat(252), "r".repeat(63)), &[]);
    check(&format!("{}/{}", "p".repeat(253), "r".repeat(62)), &[]);
    // 253 and 63 with the slash make 317, one more than KAI takes.
    let too_long = "spec.levels[1].key: Too long: may not be more than 316 characters";
    check(&format!("{}/{}", "p".repeat(253), "r".repeat(63)), &[too_long]);
    check("", &["spec.levels[1].key: Required value: a node label key is needed"]);
    let name = "must be a valid label key: the name after an optional prefix is 1 to 63 …";
    let prefix = "must be a valid label key: the prefix before '/' is a DNS subdomain of at most 253 characters …";
    let long = "r".repeat(64);
    for bad in ["-rack", "rack-", "a b", "a/b/c", "example.com/", "räck", long.as_str()] {
        check(bad, &[&format!("spec.levels[1].key: Invalid value: {bad:?}: {name}")]);
    }
    let long = format!("{}/r", "p".repeat(254));
    for bad in ["/rack", "Example.com/rack", "a_b/rack", ".a/rack", long.as_str()] {
        check(bad, &[&format!("spec.levels[1].key: Invalid value: {bad:?}: {prefix}")]);
    }
}

#[test]
fn s002_levels_are_sorted_on_create_and_update() {
    let sorted = |domains: &[&str], expected: &[&str]| {
        let case = topology(&[&levels(domains)]);
        case.stores(&[&levels(expected)]);
        case.gives(&[]);
        case.old(&[&levels(expected)]).stores(&[&levels(expected)]);
    };
    sorted(&["host", "rack", "region"], &["region", "rack", "host"]);
    sorted(&["region", "rack", "host"], &["region", "rack", "host"]);
    sorted(&["numa"], &["numa"]);
    let mut reversed = DOMAINS;
    reversed.reverse();
    sorted(&reversed, &DOMAINS);
}

/// The user looks for a fault where he wrote it, and one fault is one error.
#[test]
fn d47_faults_stand_where_the_user_wrote_them_whatever_the_order() {
    let wrong_first = |key: &str| format!("spec.levels: [{{domain: rack, key: {key:?}}}, {{domain: zone, key: zone}}]");
    topology(&[&wrong_first("")]).gives(&["spec.levels[0].key: Required value: a node label key is needed"]);
    topology(&[&wrong_first(&"a".repeat(317))])
        .gives(&["spec.levels[0].key: Too long: may not be more than 316 characters"]);
    topology(&[&wrong_first("a b")]).gives(&["spec.levels[0].key: Invalid value: \"a b\": …"]);
}

#[test]
fn d8_default_topology_is_the_operators() {
    let reserved = "metadata.name: Forbidden: \"grove-topology\" is kept by the operator …";
    let default = "metadata.name: grove-topology";
    topology(&[default]).config(&[]).gives(&[reserved]);
    topology(&[default]).config(&[]).by_operator().gives(&[]);
    topology(&[default]).topology_off().gives(&[reserved]);
    topology(&["metadata.name: grove-topology-2"]).config(&[]).gives(&[]);
    let changed = "spec.levels[0].key: example.com/zone";
    topology(&[default, changed]).old(&[default]).config(&[]).gives(&[reserved]);
    topology(&[default, changed]).old(&[default]).config(&[]).by_operator().gives(&[]);
}

/// Without a configuration, a `grove-topology` among the objects stands in for the operator's (39).
#[test]
fn d39_default_topology_without_configuration() {
    topology(&["metadata.name: grove-topology"]).gives(&[]);
}

#[test]
fn d44_cluster_topology_binding_is_read_as_a_topology() {
    let text = "
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: h100}
spec: {levels: [{domain: host, key: kubernetes.io/hostname}, {domain: zone, key: zone}]}";
    let case = written(Kind::ClusterTopology, text, &[]);
    case.gives(&[]);
    case.stores(&["kind: ClusterTopology", "apiVersion: grove.io/v1alpha1", "spec.levels[0].domain: zone"]);
    written(Kind::ClusterTopology, text, &["spec.levels: []"])
        .gives(&["spec.levels: Required value: at least one topology level must be defined"]);
}

#[test]
fn d46_topology_names() {
    let check = |name: &str, errors: &[&str]| topology(&[&format!("metadata.name: {name:?}")]).gives(errors);
    check("h100", &[]);
    check("gb200.nvl72", &[]);
    check(&"t".repeat(63), &[]);
    check(&"t".repeat(64), &["metadata.name: Too long: may not be more than 63 characters"]);
    check("", &["metadata.name: Required value: name or generateName is required"]);
    for bad in ["H100", "-h100", "h100-", "h_100", "a..b"] {
        check(bad, &[&format!("metadata.name: Invalid value: {bad:?}: must be a valid DNS subdomain: …")]);
    }
    topology(&["-metadata.name"]).gives(&["metadata.name: Required value: name or generateName is required"]);
    topology(&["metadata: {generateName: h100-}"]).gives(&[]);
}

/// 000: "The only exception is the node label for `host` since that is set by the `kubelet`".
#[test]
fn s000_host_is_the_kubelets_label() {
    topology(&["spec.levels[2].key: example.com/host"])
        .warns(&["spec.levels[2].key: \"example.com/host\" on level 'host'; the kubelet sets kubernetes.io/hostname"])
        .gives(&[]);
}
