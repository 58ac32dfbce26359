//! Replicas that span nodes: how leader and workers of each engine find each other.

mod line;
mod trtllm;
mod vllm;

use super::Role;
use crate::problem::quantity;
use line::Line;
use serde_json::{Map, Value};
use trellis_api::dynamo::Graph;
use trellis_api::kinds::dynamo::{Backend, Component};
use trellis_api::names::{dynamo, env};

/// Port on which torch's processes meet.
const MASTER_PORT: i32 = 29500;
/// Port on which mpirun reaches the workers.
pub const SSH_PORT: i32 = 2222;

/// One node of a replica that spans several.
struct Node<'a> {
    graph: &'a Graph,
    component: &'a Component,
    role: Role,
}

impl Node<'_> {
    fn is_leader(&self) -> bool {
        self.role == Role::Leader
    }

    /// Where the leader is found.
    fn leader(&self) -> String {
        dynamo::leader_host(&self.component.name)
    }

    /// The node's number; a worker's is for a shell to work out.
    fn rank(&self) -> String {
        match self.role {
            Role::Worker => format!("$(({} + 1))", env::POD_INDEX),
            Role::Single | Role::Leader => "0".to_owned(),
        }
    }

    /// GPUs of one pod; one, where it cannot be told.
    fn gpus(main: &Map<String, Value>) -> i64 {
        gpus(main).unwrap_or(1)
    }
}

/// GPUs of one pod, by what its main container asks for: those that are called so, or else the only devices that there are, since
/// `gpuType` may be any name.
fn gpus(main: &Map<String, Value>) -> Option<i64> {
    let is_gpu = |name: &str| name.ends_with("/gpu") || name.starts_with("gpu.") || name.contains("/gpu.");
    let is_device = |name: &str| name.contains('/') && !name.contains("kubernetes.io/") && !name.contains("rdma");
    let resources = main.get("resources")?;
    let count = |list: &str| {
        let amounts: Vec<(&String, &Value)> = resources.get(list)?.as_object()?.iter().collect();
        let of = |is_meant: &dyn Fn(&str) -> bool| {
            let meant = amounts.iter().filter(|(name, _)| is_meant(name));
            let counts: Vec<i64> = meant.filter_map(|(name, amount)| whole(name, amount)).collect();
            Some(counts).filter(|counts| !counts.is_empty())
        };
        let counts = of(&is_gpu).or_else(|| of(&is_device).filter(|counts| counts.len() == 1))?;
        Some(counts.into_iter().fold(0, i64::saturating_add))
    };
    count("limits").or_else(|| count("requests")).filter(|count| *count > 0).map(|count| count.min(1024))
}

fn whole(name: &str, amount: &Value) -> Option<i64> {
    amount.as_i64().or_else(|| quantity::amount(name, amount.as_str()?).ok())
}

/// Whether flags depend on a number of GPUs that cannot be told.
pub fn misses_gpus(graph: &Graph, component: &Component, main: &Map<String, Value>) -> bool {
    matches!(graph.backend(component), Some(Backend::Vllm | Backend::Trtllm)) && gpus(main).is_none()
}

/// Why the nodes of a replica do not find each other, in words for people.
pub type Apart = String;

/// Has the main container of a node take its part in a replica that spans nodes.
pub fn span(
    graph: &Graph,
    component: &Component,
    role: Role,
    main: &mut Map<String, Value>,
    spec: &mut Map<String, Value>,
) -> Result<(), Apart> {
    if role == Role::Single {
        return Ok(());
    }
    let node = Node { graph, component, role };
    match graph.backend(component) {
        Some(Backend::Sglang) => sglang(&node, main),
        Some(Backend::Vllm) => vllm::span(&node, main, spec),
        Some(Backend::Trtllm) => trtllm::span(&node, main, spec),
        None => Err(without_engine(graph, component)),
    }
}

/// The command line that the engine's flags go to.
fn line(node: &Node<'_>, main: &Map<String, Value>) -> Result<Line, Apart> {
    let Some(line) = Line::of(main) else {
        return Err(
            "the image has its own command, which nothing can be added to; write `command` or `args`".to_owned()
        );
    };
    if !line.has_place() {
        let engine = node.graph.backend(node.component).map_or("", Backend::as_str);
        return Err(format!(
            "it cannot be told which of its commands starts the engine; start it by `python3 -m dynamo.{engine}`"
        ));
    }
    Ok(line)
}

fn without_engine(graph: &Graph, component: &Component) -> Apart {
    let mut text = "its command starts none of dynamo.sglang, dynamo.vllm and dynamo.trtllm".to_owned();
    if graph.object.spec.backend_framework.is_some() && !component.is_worker() {
        text.push_str(", and spec.backendFramework is said of workers, prefill and decode only");
    }
    text
}

/// SGLang's nodes meet at the leader.
fn sglang(node: &Node<'_>, main: &mut Map<String, Value>) -> Result<(), Apart> {
    let (leader, nodes, rank) = (node.leader(), node.component.nodes(), node.rank());
    let flags = format!("--dist-init-addr {leader}:{MASTER_PORT} --nnodes {nodes} --node-rank {rank}");
    let mut line = line(node, main)?;
    line.add(&flags, !node.is_leader());
    line.write(main);
    Ok(())
}

/// mpirun starts the workers' processes, so their doors have to be open before the leader starts.
pub fn starts_after(graph: &Graph, component: &Component, role: Role) -> Vec<String> {
    match (role, graph.backend(component)) {
        (Role::Leader, Some(Backend::Trtllm)) => vec![dynamo::worker(&component.name)],
        _ => Vec::new(),
    }
}
