//! What can never be met is said at submission.

use crate::support::{first_group, object, pool, requirements, workflow};
use serde_json::{Value, json};
use trellis_api::admission::object::Kind;
use trellis_api::kinds::SimulatedCluster;
use trellis_lower::osmo::{Cluster, never_fits};

/// Two racks of three hosts with one GPU each.
fn cluster() -> SimulatedCluster {
    let level = |key: &str, count: u32| json!({"key": format!("l/{key}"), "count": count});
    let levels = [level("zone", 1), level("spine", 1), level("rack", 2), level("host", 3)];
    let pool = json!({"name": "n", "levels": levels, "hosts": 1, "resources": {"nvidia.com/gpu": "1", "pods": "10"}});
    serde_json::from_value(json!({"apiVersion": "trellis.dev/v1alpha1", "kind": "SimulatedCluster", "metadata": {"name": "c"}, "spec": {"pools": [pool]}}))
        .expect("a cluster")
}

fn check(tasks: &[&str], expected: Option<&str>) {
    let tasks: Vec<_> = tasks.iter().map(|text| requirements(text)).collect();
    let workflow = workflow(&tasks);
    let simulated = cluster();
    let known = Cluster { simulated_clusters: vec![&simulated], ..Cluster::default() };
    let found = never_fits(&workflow, &pool(), &known);
    match expected {
        None => assert_eq!(found, [], "{tasks:?}"),
        Some(part) => {
            assert_eq!(found.len(), 1, "{tasks:?}");
            assert_eq!(found[0].0, first_group(&workflow).name);
            assert!(found[0].1.contains(part), "{}", found[0].1);
        }
    }
}

#[test]
fn issue8_7_a_requirement_that_can_never_be_met_is_told_in_the_engines_words() {
    check(&["rack=a!"; 3], None);
    check(&["rack=a!"; 4], Some("rack"));
    check(&["rack=a?"; 4], None);
    check(&["rack=a!", "rack=a!", "rack=a!", "rack=b!", "rack=b!", "rack=b!"], None);
    check(&["rack=a!", "rack=a!", "rack=b!", "rack=b!", "rack=c!", "rack=c!"], Some(""));
}

#[test]
fn issue8_7_groups_are_asked_one_by_one_and_a_cluster_without_nodes_says_nothing() {
    let workflow = workflow(&[requirements("rack=a!"), requirements("rack=a!")]);
    assert_eq!(never_fits(&workflow, &pool(), &Cluster::default()), []);
    let task = |name: &str| json!({"name": name, "image": "i", "command": ["c"]});
    let group = |name: &str| json!({"name": name, "tasks": [task(&format!("{name}0")), task(&format!("{name}1"))]});
    let resources = json!({"default": {"gpu": 1, "topology": [{"key": "rack"}]}});
    let many: Vec<_> = ["a", "b", "c", "d"].map(group).to_vec();
    let many =
        object(Kind::Workflow, json!({"metadata": {"name": "w"}, "spec": {"groups": many, "resources": resources}}));
    let simulated = cluster();
    let known = Cluster { simulated_clusters: vec![&simulated], ..Cluster::default() };
    assert_eq!(never_fits(&many, &pool(), &known), []);
}

/// Whoever wrote a selector that nothing carries hears of it, and of its labels.
#[test]
fn issue8_7_labels_that_no_node_carries_are_named() {
    let workflow = workflow(&[requirements("rack=a!")]);
    let simulated = cluster();
    let known = Cluster { simulated_clusters: vec![&simulated], ..Cluster::default() };
    let check = |pool_selects: Value, platform_selects: Value, expected: &str| {
        let mut pool = pool();
        let template = |selector: Value| json!({"spec": {"nodeSelector": selector}});
        pool.spec.pod_template = template(pool_selects).as_object().cloned();
        pool.spec.default_platform = Some("h100".to_owned());
        let platforms = json!({"h100": {"pod_template": template(platform_selects)}});
        pool.spec.platforms = serde_json::from_value(platforms).expect("platforms");
        let found = never_fits(&workflow, &pool, &known);
        let text = found.first().map(|(_, text)| text.as_str()).unwrap_or_default();
        assert!(text.starts_with(expected) && text.is_empty() == expected.is_empty(), "{text:?}");
    };
    check(json!({"l/rack": "rack0"}), json!({}), "");
    let labels = "No node carries gpu=h100 and l/rack=rack0, which the templates of its pool ask for. Waits: ";
    check(json!({"l/rack": "rack0"}), json!({"gpu": "h100"}), labels);
    check(json!({"l/rack": "rack9"}), json!({}), "No node carries l/rack=rack9, which");
}
