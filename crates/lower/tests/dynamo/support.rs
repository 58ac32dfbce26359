//! From JSON to the set, and the whole way through admission.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use trellis_api::admission::dynamo::{DynamoReview, TopologyRead};
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{ClusterView, Verdict, default_cluster_topology};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::ClusterTopology;
use trellis_api::settings::Settings;
use trellis_lower::dynamo::{follow, pod_clique_set};

/// A deployment called `demo` in `serving`.
pub fn deployment(spec: &Value) -> Value {
    let version = if spec.get("components").is_some() { "v1beta1" } else { "v1alpha1" };
    json!({
        "apiVersion": format!("nvidia.com/{version}"),
        "kind": "DynamoGraphDeployment",
        "metadata": { "name": "demo", "namespace": "serving" },
        "spec": spec,
    })
}

pub fn graph(value: &Value) -> Graph {
    let decoded = Graph::read(value);
    decoded.object.unwrap_or_else(|| panic!("a deployment that can be read: {value:#}"))
}

/// The set that a deployment becomes.
pub fn set(value: &Value) -> Value {
    serde_json::to_value(pod_clique_set(&graph(value), &Settings::default())).expect("JSON")
}

/// The set of components, each of which is given as JSON.
pub fn components(components: &Value) -> Value {
    set(&deployment(&json!({ "components": components })))
}

/// A cluster with all levels under `grove-topology` and some under `h100`.
pub fn view() -> ClusterView {
    let topology = |name: &str, domains: &[&str]| {
        let key = |domain: &str| {
            if domain == "host" { "kubernetes.io/hostname".to_owned() } else { format!("example.com/{domain}") }
        };
        let levels: Vec<Value> = domains.iter().map(|domain| json!({ "domain": domain, "key": key(domain) })).collect();
        let value = json!({ "metadata": { "name": name }, "spec": { "levels": levels } });
        let mut topology: ClusterTopology = decode(Kind::ClusterTopology, value).object.expect("a topology");
        default_cluster_topology(&mut topology);
        (name.to_owned(), topology)
    };
    let all = ["region", "zone", "datacenter", "block", "rack", "host", "numa"];
    let topologies = BTreeMap::from([topology("grove-topology", &all), topology("h100", &["zone", "rack", "host"])]);
    ClusterView { topologies, ..ClusterView::default() }
}

/// What admission says of a deployment, and of what it becomes.
pub fn judge(value: &Value, old: Option<&Value>, view: &ClusterView, settings: &Settings) -> Verdict {
    let review = DynamoReview::of(value, old);
    let wanted = review.wants_topology(settings);
    let topology = wanted.map_or(TopologyRead::Unread, |name| TopologyRead::in_view(view, name));
    review.judge(&topology, settings, |graph, old, view| follow(graph, old, view, settings))
}

/// The item of that name.
pub fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list.as_array().into_iter().flatten().find(|item| item["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list:#}"))
}

/// A clique of the set.
pub fn clique<'a>(set: &'a Value, name: &str) -> &'a Value {
    named(&set["spec"]["template"]["cliques"], name)
}

/// The main container of a clique.
pub fn main_container<'a>(set: &'a Value, name: &str) -> &'a Value {
    named(&clique(set, name)["spec"]["podSpec"]["containers"], "main")
}

/// Value of a variable; what it is taken from, where it has none.
pub fn variable(container: &Value, name: &str) -> String {
    let variable = named(&container["env"], name);
    match variable["value"].as_str() {
        Some(value) => value.to_owned(),
        None => variable["valueFrom"]["fieldRef"]["fieldPath"].as_str().unwrap_or_default().to_owned(),
    }
}
