//! What is known of a gang, for people.

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::names::label;

use super::{Gang, Labels, is_finished, node_of};
use crate::plan::text::{columns, paths, wrapped};

/// Columns that paragraphs are wrapped at.
const WIDTH: usize = 100;

/// The lines about a gang.
pub fn lines(gang: &Gang, labels: &Labels) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", gang.title(), verdict(gang))];
    lines.extend(columns(&places(gang)).into_iter().map(|line| format!("  {line}")));
    lines.extend(levels(gang, labels).into_iter().map(|line| format!("  {line}")));
    lines.extend(aside(gang).into_iter().map(|line| format!("  {line}")));
    if gang.waits() {
        lines.extend(reasons(gang));
    }
    lines
}

fn verdict(gang: &Gang) -> String {
    // A PodGroup has no such field; what the scheduler worked out stands in its own record.
    let recorded = || gang.ledger.as_ref()?.score.map(|score| f64::from(score) / 1000.0);
    let score = gang.object["status"]["placementScore"].as_f64().or_else(recorded);
    let score = score.map(|score| format!(", placement score {score}"));
    let condition = gang.scheduled();
    let reason = condition.and_then(|condition| condition["reason"].as_str()).filter(|reason| !reason.is_empty());
    match condition.and_then(|condition| condition["status"].as_str()) {
        Some("True") if gang.waits() => format!("placed{}; some members wait", score.unwrap_or_default()),
        Some("True") => format!("placed{}", score.unwrap_or_default()),
        _ if !gang.waits() => format!("placed{}", score.unwrap_or_default()),
        _ => reason.map_or_else(|| "waits".to_owned(), |reason| format!("waits ({reason})")),
    }
}

/// For each group, how many pods are where.
fn places(gang: &Gang) -> Vec<Vec<String>> {
    let row = |(name, pods): (&String, &Vec<Pod>)| {
        let live: Vec<&Pod> = pods.iter().filter(|pod| !is_finished(pod)).collect();
        let on: BTreeSet<&str> = live.iter().filter_map(|pod| node_of(pod)).collect();
        let placed = live.iter().filter(|pod| node_of(pod).is_some()).count();
        vec![name.clone(), format!("{placed}/{} placed", live.len()), paths(on.into_iter().collect())]
    };
    gang.groups.iter().map(row).collect()
}

/// For each level that is asked for, the domains that the members are in: why they are there.
fn levels(gang: &Gang, labels: &Labels) -> Vec<String> {
    let mut lines = Vec::new();
    let spec = &gang.object["spec"];
    let all: Vec<&Pod> = gang.groups.values().flatten().collect();
    lines.extend(level("gang", &spec["topologyConstraint"], &all, labels));
    let groups = spec["podgroups"].as_array().into_iter().flatten();
    for group in groups.chain(spec["topologyConstraintGroupConfigs"].as_array().into_iter().flatten()) {
        let name = group["name"].as_str().unwrap_or_default();
        let named = group["podGroupNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let names: BTreeSet<&str> = named.chain([name]).collect();
        let pods = gang.groups.iter().filter(|(group, _)| names.contains(group.as_str())).flat_map(|(_, pods)| pods);
        lines.extend(level(name, &group["topologyConstraint"], &pods.collect::<Vec<_>>(), labels));
    }
    let subs: Vec<&Value> = spec["subGroups"].as_array().into_iter().flatten().collect();
    for sub in &subs {
        let name = sub["name"].as_str().unwrap_or_default();
        let names = below(&subs, name);
        let pods = gang.groups.iter().filter(|(group, _)| names.contains(group.as_str())).flat_map(|(_, pods)| pods);
        lines.extend(level(name, &sub["topologyConstraint"], &pods.collect::<Vec<_>>(), labels));
    }
    lines
}

/// A subgroup of a PodGroup and all below it.
fn below<'a>(subs: &[&'a Value], name: &'a str) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::from([name]);
    // No tree is deeper than it has subgroups.
    for _ in subs {
        let children = subs.iter().filter(|sub| sub["parent"].as_str().is_some_and(|parent| names.contains(parent)));
        let children: Vec<&str> = children.filter_map(|sub| sub["name"].as_str()).collect();
        let before = names.len();
        names.extend(children);
        if names.len() == before {
            break;
        }
    }
    names
}

fn level(whose: &str, constraint: &Value, pods: &[&Pod], labels: &Labels) -> Vec<String> {
    let nodes: BTreeSet<&str> = pods.iter().filter_map(|pod| node_of(pod)).collect();
    let words = ["required", "preferred"].into_iter().filter_map(|word| {
        // A PodGang writes one below `packConstraint`, a PodGroup beside it.
        let key = constraint["packConstraint"][word].as_str();
        let key = key.or_else(|| constraint[format!("{word}TopologyLevel")].as_str())?;
        let values: BTreeSet<&str> =
            nodes.iter().filter_map(|node| labels.get(*node)?.get(key)).map(String::as_str).collect();
        let found = match values.len() {
            0 => "none yet".to_owned(),
            _ => paths(values.into_iter().collect()),
        };
        Some(format!("{whose}: {word} {key}: {found}"))
    });
    words.collect()
}

/// What it has to follow, places that are held or being made free, and whether the gang has to leave.
fn aside(gang: &Gang) -> Vec<String> {
    let base = gang.object["metadata"]["labels"][label::BASE_POD_GANG].as_str();
    let mut lines: Vec<String> =
        base.into_iter().map(|base| format!("stays in the domains that PodGang {base} is required to share")).collect();
    let Some(ledger) = &gang.ledger else { return lines };
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    ledger.held.iter().for_each(|held_| *held.entry(held_.was.spot.node.as_str()).or_default() += 1);
    if let Some(until) = ledger.held.iter().map(|held| held.until).max() {
        let count = ledger.held.len();
        lines.push(format!(
            "held for returning members until {until}: {count} on {}",
            paths(held.into_keys().collect())
        ));
    }
    if let Some(nomination) = &ledger.nominated {
        let nodes: BTreeSet<&str> = nomination.places.iter().map(|place| place.spot.node.as_str()).collect();
        let victims: Vec<&str> = nomination.victims.iter().map(|victim| victim.target.name.as_str()).collect();
        let (places, nodes) = (nomination.places.len(), paths(nodes.into_iter().collect()));
        lines.push(format!("being made free by preemption of {}: {places} places on {nodes}", victims.join(", ")));
    }
    if let Some(by) = &ledger.preempted_by {
        lines.push(format!("gives up its place for {by}"));
    }
    lines
}

/// Why it waits, and what would help.
fn reasons(gang: &Gang) -> Vec<String> {
    let explanation = gang.explanation.as_ref();
    let text = explanation.and_then(|explanation| explanation["text"].as_str());
    let condition = gang.scheduled();
    let message = condition.and_then(|condition| condition["message"].as_str());
    let mut lines = Vec::new();
    let mut tell = |text: &str| {
        lines.push(String::new());
        lines.extend(wrapped(text, WIDTH));
    };
    if condition.is_some_and(|condition| condition["status"] == "True") {
        // The gang has its place; why the others wait stands on them.
        waiting(gang).into_iter().for_each(&mut tell);
    } else if let Some(text) = text.or(message).filter(|text| !text.is_empty()) {
        tell(text);
    }
    let Some(explanation) = explanation else { return lines };
    let domains = explanation["domains"].as_array().into_iter().flatten().filter(|domain| domain["value"] != "");
    let rows: Vec<Vec<String>> = domains.map(row).collect();
    if !rows.is_empty() {
        lines.push(String::new());
        lines.extend(columns(&rows).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// What is said of members that wait.
fn waiting(gang: &Gang) -> BTreeSet<&str> {
    let pods = gang.groups.values().flatten().filter(|pod| !is_finished(pod) && node_of(pod).is_none());
    let conditions = pods.flat_map(|pod| pod.status.iter().flat_map(|status| status.conditions.iter().flatten()));
    let said = conditions.filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False");
    said.filter_map(|condition| condition.message.as_deref()).collect()
}

/// A domain: how many fit, what is short, who holds it.
fn row(domain: &Value) -> Vec<String> {
    let short = domain["short"].as_object().into_iter().flatten();
    let short: Vec<String> =
        short.map(|(resource, amount)| format!("{} {resource} short", amount.as_str().unwrap_or_default())).collect();
    let holders = domain["holders"].as_array().into_iter().flatten().filter_map(|holder| holder["name"].as_str());
    let holders: Vec<&str> = holders.take(3).collect();
    let held = if holders.is_empty() { String::new() } else { format!("held by {}", holders.join(", ")) };
    let value = domain["value"].as_str().unwrap_or_default().to_owned();
    vec![value, format!("{} of {} fit", domain["fits"], domain["needs"]), short.join(", "), held]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The levels of a gang whose groups have a pod on each of these nodes.
    fn check(kind: &'static str, spec: &Value, groups: &[(&str, &[&str])], expected: &[&str]) {
        let pod = |node: &&str| serde_json::from_value(json!({ "spec": { "nodeName": node, "containers": [] } }));
        let pods = |nodes: &[&str]| nodes.iter().map(|node| pod(node).expect("a pod")).collect();
        let gang = Gang {
            object: json!({ "spec": spec }),
            kind,
            groups: groups.iter().map(|(name, nodes)| ((*name).to_owned(), pods(nodes))).collect(),
            ledger: None,
            explanation: None,
        };
        // Node `a1` is in rack `a` of zone `z`.
        let label = |node: &&str| {
            let labels = [("rack", &node[..1]), ("zone", "z")].map(|(key, value)| (key.to_owned(), value.to_owned()));
            ((*node).to_owned(), labels.into())
        };
        let labels: Labels = groups.iter().flat_map(|(_, nodes)| nodes.iter().map(label)).collect();
        assert_eq!(levels(&gang, &labels), expected);
    }

    #[test]
    fn why_members_above_the_minimum_wait_is_told_by_them() {
        let pod = |node: Option<&str>, why: &str| {
            let condition = json!({ "type": "PodScheduled", "status": "False", "message": why });
            let pod =
                json!({ "spec": { "nodeName": node, "containers": [] }, "status": { "conditions": [condition] } });
            serde_json::from_value(pod).expect("a pod")
        };
        let placed = json!({ "type": "Scheduled", "status": "True", "message": "the minimum has nodes" });
        let gang = Gang {
            object: json!({
                "metadata": { "name": "g-w-0", "labels": { label::BASE_POD_GANG: "g" } },
                "status": { "conditions": [placed] },
            }),
            kind: "PodGang",
            groups: [("w".to_owned(), vec![pod(Some("a1"), ""), pod(None, "the rack is full")])].into(),
            ledger: None,
            explanation: None,
        };
        assert_eq!(reasons(&gang), ["", "the rack is full"]);
        assert_eq!(aside(&gang), ["stays in the domains that PodGang g is required to share"]);
    }

    #[test]
    fn levels_of_all_groups_are_told_with_the_domains_they_are_in() {
        let constraint = |required: &str| json!({ "packConstraint": { "required": required } });
        let spec = json!({
            "topologyConstraint": constraint("zone"),
            "podgroups": [{ "name": "w", "topologyConstraint": constraint("rack") }, { "name": "r" }],
        });
        let expected = ["gang: required zone: z", "w: required rack: a"];
        check("PodGang", &spec, &[("w", &["a1", "a2"]), ("r", &["b1"])], &expected);

        let level = |word: &str, key: &str| json!({ format!("{word}TopologyLevel"): key });
        let spec = json!({
            "topologyConstraint": level("required", "zone"),
            "subGroups": [
                { "name": "model", "topologyConstraint": level("preferred", "rack") },
                { "name": "head", "parent": "model" },
                { "name": "tail", "parent": "model", "topologyConstraint": level("required", "rack") },
            ],
        });
        let expected = ["gang: required zone: z", "model: preferred rack: a, b", "tail: required rack: b"];
        check("PodGroup", &spec, &[("head", &["a1"]), ("tail", &["b1"])], &expected);
    }
}
