//! vLLM over several nodes: one model over all of them by torch's own processes or by Ray, or a copy of the model on each, in step.

use super::super::metadata;
use super::line::Line;
use super::{Apart, MASTER_PORT, Node};
use crate::pods::push;
use serde_json::{Map, Value, json};
use trellis_api::names::dynamo::{WAIT_FOR_LEADER, annotation};

const RAY_PORT: i32 = 6379;
const DATA_PARALLEL_PORT: i32 = 13445;

pub fn span(node: &Node<'_>, main: &mut Map<String, Value>, spec: &mut Map<String, Value>) -> Result<(), Apart> {
    let mut line = super::line(node, main)?;
    let number = |names: &[&str]| line.number(names).unwrap_or(1).clamp(1, 1 << 20);
    let per_copy = number(&["--tensor-parallel-size", "-tp"]) * number(&["--pipeline-parallel-size", "-pp"]);
    let copies = number(&["--data-parallel-size", "-dp"]);
    let gpus = Node::gpus(main);
    if per_copy > gpus {
        match is_by_ray(node) {
            true => line = ray(node, line),
            false => torch(node, &mut line, main, spec),
        }
    } else if per_copy * copies > gpus {
        data_parallel(node, &mut line, gpus / per_copy);
    } else {
        let whole = "hold the model with all its copies, so each node serves by itself";
        return Err(format!("{gpus} GPUs of one node {whole}"));
    }
    line.write(main);
    Ok(())
}

/// One model over all nodes; the workers serve nothing themselves.
fn torch(node: &Node<'_>, line: &mut Line, main: &Map<String, Value>, spec: &mut Map<String, Value>) {
    let (leader, nodes, rank) = (node.leader(), node.component.nodes(), node.rank());
    let mut flags = format!(
        "--distributed-executor-backend mp --nnodes {nodes} --master-addr {leader} --master-port {MASTER_PORT} --node-rank {rank}"
    );
    if !node.is_leader() {
        flags.push_str(" --headless");
        wait_for_leader(&leader, main, spec);
    }
    line.add(&flags, !node.is_leader());
}

/// Workers give up soon if nobody answers, so they are started when somebody does. Requests equal limits, so that a Guaranteed pod stays one.
fn wait_for_leader(leader: &str, main: &Map<String, Value>, spec: &mut Map<String, Value>) {
    let Some(image) = main.get("image").filter(|image| image.is_string()) else { return };
    let script = format!(
        "import socket, time\nwhile True:\n    try:\n        socket.create_connection(('{leader}', {MASTER_PORT}), 5).close()\n        \
         break\n    except OSError:\n        time.sleep(2)"
    );
    let resources = json!({ "cpu": "100m", "memory": "128Mi" });
    let container = json!({
        "name": WAIT_FOR_LEADER,
        "image": image,
        "command": ["python3", "-c"],
        "args": [script],
        "resources": { "requests": resources, "limits": resources },
    });
    push(spec, "initContainers", container);
}

/// What is said of the pods goes before what is said of the deployment.
fn is_by_ray(node: &Node<'_>) -> bool {
    let annotations = metadata::annotations(node.graph, node.component);
    annotations.get(annotation::VLLM_BACKEND).is_some_and(|backend| backend.eq_ignore_ascii_case("ray"))
}

fn ray(node: &Node<'_>, mut line: Line) -> Line {
    if !node.is_leader() {
        return line.replaced(&format!("ray start --address={}:{RAY_PORT} --block", node.leader()));
    }
    line.add("--distributed-executor-backend ray", false);
    line.after(&format!("ray start --head --port={RAY_PORT}"))
}

/// A copy on each node, or several; each node serves its own.
fn data_parallel(node: &Node<'_>, line: &mut Line, local: i64) {
    let start = match node.is_leader() {
        true => "0".to_owned(),
        false => format!("$(({local} * ({} + 1)))", trellis_api::names::env::POD_INDEX),
    };
    let flags = format!(
        "--data-parallel-hybrid-lb --data-parallel-size-local {local} --data-parallel-start-rank {start} --data-parallel-address {} \
         --data-parallel-rpc-port {DATA_PARALLEL_PORT}",
        node.leader()
    );
    line.add(&flags, !node.is_leader());
}
