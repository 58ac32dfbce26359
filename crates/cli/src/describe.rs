//! `trellis describe pool`: the levels that workflows may speak of, and the domains that there are, with what is free in each.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use trellis_api::kinds::osmo::Pool;
use trellis_api::names::osmo::{self, GPU};

use crate::args::DescribeArgs;
use crate::{connect, get, up};

/// Prints what is known of a pool.
pub fn run(args: &DescribeArgs) -> Result<()> {
    up::runtime()?.block_on(describe(args))
}

async fn describe(args: &DescribeArgs) -> Result<()> {
    let connection = connect::connection(args.cluster.kubeconfig.as_deref(), args.cluster.context.as_deref()).await?;
    let client = connection.client()?;
    let pools = get::pools(&client).await?;
    let found = pools.iter().find(|pool| pool.name_any() == args.name || pool.name_any() == osmo::legal(&args.name));
    let Some(pool) = found else {
        let names: Vec<String> = pools.iter().map(kube::ResourceExt::name_any).collect();
        match names.as_slice() {
            [] => bail!("there is no pool {:?}; there are no pools", args.name),
            names => bail!("there is no pool {:?}; there are {}", args.name, names.join(", ")),
        }
    };
    let (nodes, pods) = machines(&client).await?;
    lines(pool, &nodes, &pods).iter().for_each(|line| println!("{line}"));
    Ok(())
}

async fn machines(client: &Client) -> Result<(Vec<Node>, Vec<Pod>)> {
    let (nodes, pods): (Api<Node>, Api<Pod>) = (Api::all(client.clone()), Api::all(client.clone()));
    let all = ListParams::default();
    let nodes = nodes.list(&all).await.context("cannot list nodes")?.items;
    Ok((nodes, pods.list(&all).await.context("cannot list pods")?.items))
}

/// What is known of a pool, for people.
fn lines(pool: &Pool, nodes: &[Node], pods: &[Pod]) -> Vec<String> {
    let spec = &pool.spec;
    let status = pool.status.clone().unwrap_or_default();
    let mut lines = vec![format!("Pool {}", pool.name_any())];
    let mut line = |name: &str, value: String| {
        let name = if name.is_empty() { String::new() } else { format!("{name}:") };
        lines.push(format!("  {name:<16}{value}"));
    };
    if let Some(description) = &spec.description {
        line("About", description.clone());
    }
    line("Scheduler", format!("{} (schedulerName {})", spec.scheduler_type(), spec.scheduler_name()));
    line("Namespace", spec.namespace().to_owned());
    if let Some(queue) = &status.queue {
        line("Queue", queue.clone());
    }
    if let Some(topology) = &status.topology {
        line("Topology", topology.clone());
    }
    for condition in &status.conditions {
        let why = Some(&condition.message).filter(|message| !message.is_empty());
        line(&condition.type_, why.map_or(condition.status.clone(), |why| format!("{}: {why}", condition.status)));
    }
    if spec.topology_keys.is_empty() {
        line("Keys", "none: workflows of this pool cannot ask for topology".to_owned());
        return lines;
    }
    for (i, level) in spec.topology_keys.iter().enumerate() {
        line(if i == 0 { "Keys" } else { "" }, format!("{} ({})", level.key, level.label));
    }
    let (root, others) = domains(pool, nodes, pods);
    line("Nodes", format!("{} with the labels of all keys, {others} without", root.nodes));
    lines.push(String::new());
    root.draw(pool, 0, &mut lines);
    lines
}

/// A domain: what is below it, and what is in it.
#[derive(Debug, Default)]
struct Domain {
    below: BTreeMap<String, Domain>,
    nodes: usize,
    gpus: i64,
    free: i64,
}

impl Domain {
    fn add(&mut self, path: &[&str], gpus: i64, free: i64) {
        self.nodes += 1;
        self.gpus += gpus;
        self.free += free;
        if let Some((first, rest)) = path.split_first() {
            self.below.entry((*first).to_owned()).or_default().add(rest, gpus, free);
        }
    }

    fn draw(&self, pool: &Pool, depth: usize, lines: &mut Vec<String>) {
        let Some(level) = pool.spec.topology_keys.get(depth) else { return };
        for (value, domain) in &self.below {
            let name = format!("{}{} {value}", "  ".repeat(depth + 1), level.key);
            let nodes = if domain.nodes == 1 { "node" } else { "nodes" };
            let gpus = match domain.gpus {
                0 => String::new(),
                gpus => format!(", {} of {gpus} GPUs free", domain.free),
            };
            lines.push(format!("{name:<40}{} {nodes}{gpus}", domain.nodes));
            domain.draw(pool, depth + 1, lines);
        }
    }
}

/// The tree of domains, and how many nodes are in none.
fn domains(pool: &Pool, nodes: &[Node], pods: &[Pod]) -> (Domain, usize) {
    let mut taken: BTreeMap<&str, i64> = BTreeMap::new();
    for pod in pods {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let spec = pod.spec.as_ref();
        if let Some(node) = spec.and_then(|spec| spec.node_name.as_deref())
            && !matches!(phase, Some("Succeeded" | "Failed"))
        {
            let requests = spec.iter().flat_map(|spec| &spec.containers).filter_map(|it| it.resources.as_ref());
            let gpus = requests.filter_map(|it| it.requests.as_ref()?.get(GPU)?.0.parse::<i64>().ok());
            *taken.entry(node).or_default() += gpus.sum::<i64>();
        }
    }
    let (mut root, mut others) = (Domain::default(), 0);
    for node in nodes.iter().filter(|node| pool.spec.selects(node.labels())) {
        let levels = pool.spec.topology_keys.iter();
        let path: Option<Vec<&str>> = levels.map(|level| node.labels().get(&level.label).map(String::as_str)).collect();
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        let gpus = allocatable.and_then(|it| it.get(GPU)?.0.parse::<i64>().ok()).unwrap_or(0);
        let free = gpus - taken.get(node.name_any().as_str()).copied().unwrap_or(0);
        match path {
            Some(path) => root.add(&path, gpus, free),
            None => others += 1,
        }
    }
    (root, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_domains_of_a_pool_with_what_is_free() {
        let keys = json!([{"key": "zone", "label": "z"}, {"key": "rack", "label": "r"}]);
        let pool = json!({
            "metadata": {"name": "p"}, "spec": {"topology_keys": keys, "scheduler_settings": {"scheduler_type": "trellis"}},
            "status": {"queue": "q", "topology": "t", "conditions": [{
                "type": "TopologyInSync", "status": "True", "reason": "InSync", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        });
        let pool: Pool = serde_json::from_value(pool).expect("a pool");
        let node = |name: &str, zone: &str, rack: Option<&str>| -> Node {
            let mut labels = json!({ "z": zone });
            if let Some(rack) = rack {
                labels["r"] = json!(rack);
            }
            let node = json!({
                "metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"nvidia.com/gpu": "8"}},
            });
            serde_json::from_value(node).expect("a node")
        };
        let nodes =
            [node("n1", "a", Some("1")), node("n2", "a", Some("1")), node("n3", "b", Some("1")), node("n4", "b", None)];
        let pod = |node: &str, phase: &str| -> Pod {
            let container = json!({"name": "c", "resources": {"requests": {"nvidia.com/gpu": "3"}}});
            let pod = json!({"spec": {"nodeName": node, "containers": [container]}, "status": {"phase": phase}});
            serde_json::from_value(pod).expect("a pod")
        };
        let pods = [pod("n1", "Running"), pod("n2", "Succeeded"), pod("n3", "Pending")];
        let expected = "\
Pool p
  Scheduler:      trellis (schedulerName trellis)
  Namespace:      default
  Queue:          q
  Topology:       t
  TopologyInSync: True
  Keys:           zone (z)
                  rack (r)
  Nodes:          3 with the labels of all keys, 1 without

  zone a                                2 nodes, 13 of 16 GPUs free
    rack 1                              2 nodes, 13 of 16 GPUs free
  zone b                                1 node, 5 of 8 GPUs free
    rack 1                              1 node, 5 of 8 GPUs free";
        assert_eq!(lines(&pool, &nodes, &pods).join("\n"), expected);
    }
}
