//! Replicas that span nodes: how leader and workers of each engine find each other.

mod line;
mod trtllm;
mod vllm;

use super::Role;
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

    /// GPUs of one pod.
    fn gpus(main: &Map<String, Value>) -> i64 {
        let amount = |field: &str| {
            let amount = main.get("resources")?.get(field)?.get("nvidia.com/gpu")?;
            amount.as_i64().or_else(|| amount.as_str()?.parse().ok())
        };
        amount("limits").or_else(|| amount("requests")).unwrap_or(1).clamp(1, 1024)
    }
}

/// Has the main container of a node take its part in a replica that spans nodes.
pub fn span(
    graph: &Graph,
    component: &Component,
    role: Role,
    main: &mut Map<String, Value>,
    spec: &mut Map<String, Value>,
) {
    if role == Role::Single {
        return;
    }
    let node = Node { graph, component, role };
    match graph.backend(component) {
        Some(Backend::Sglang) => sglang(&node, main),
        Some(Backend::Vllm) => vllm::span(&node, main, spec),
        Some(Backend::Trtllm) => trtllm::span(&node, main, spec),
        None => {}
    }
}

/// SGLang's nodes meet at the leader.
fn sglang(node: &Node<'_>, main: &mut Map<String, Value>) {
    let (leader, nodes, rank) = (node.leader(), node.component.nodes(), node.rank());
    let flags = format!("--dist-init-addr {leader}:{MASTER_PORT} --nnodes {nodes} --node-rank {rank}");
    if let Some(mut line) = Line::of(main) {
        line.add(&flags, !node.is_leader());
        line.write(main);
    }
}

/// mpirun starts the workers' processes, so their doors have to be open before the leader starts.
pub fn starts_after(graph: &Graph, component: &Component, role: Role) -> Vec<String> {
    match (role, graph.backend(component)) {
        (Role::Leader, Some(Backend::Trtllm)) => vec![dynamo::worker(&component.name)],
        _ => Vec::new(),
    }
}
