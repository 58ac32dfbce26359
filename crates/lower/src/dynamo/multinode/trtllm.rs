//! TensorRT-LLM over several nodes: mpirun on the leader starts processes on all of them over SSH, with keys from a Secret that has to be in
//! the namespace.

use super::line::{Line, quoted, shell};
use super::{Node, SSH_PORT};
use crate::pods::push;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use trellis_api::names::dynamo::{SSH_SECRET, worker_host};

const KEYS_PATH: &str = "/ssh-pk";
/// Readable, so that a user other than root can copy it.
const KEYS_MODE: i32 = 0o644;

pub fn span(node: &Node<'_>, main: &mut Map<String, Value>, spec: &mut Map<String, Value>) {
    let text = match (node.is_leader(), Line::of(main)) {
        (true, None) => return,
        (true, Some(line)) => leader(node, &line.text(), main),
        (false, _) => worker(),
    };
    Line::Shell { before: shell(), line: text, behind: Vec::new() }.write(main);
    push(main, "volumeMounts", json!({ "name": SSH_SECRET, "mountPath": KEYS_PATH, "readOnly": true }));
    let keys = json!({ "secretName": SSH_SECRET, "defaultMode": KEYS_MODE });
    push(spec, "volumes", json!({ "name": SSH_SECRET, "secret": keys }));
}

fn leader(node: &Node<'_>, line: &str, main: &Map<String, Value>) -> String {
    let gpus = Node::gpus(main);
    let workers = (0..node.component.nodes() - 1).map(|k| worker_host(&node.component.name, k));
    let hosts: Vec<String> =
        std::iter::once(node.leader()).chain(workers).map(|host| format!("{host}:{gpus}")).collect();
    let variables = main.get("env").and_then(Value::as_array).into_iter().flatten();
    let mut passed: BTreeSet<&str> = variables.filter_map(|variable| variable["name"].as_str()).collect();
    passed.extend(["PATH", "LD_LIBRARY_PATH", "PYTHONPATH"]);
    let passed: Vec<String> = passed.iter().map(|name| format!("-x {}", quoted(name))).collect();
    let launched = quoted(&format!("trtllm-llmapi-launch {line}"));
    format!(
        "mkdir -p ~/.ssh && cp {KEYS_PATH}/private.key ~/.ssh/id_rsa && chmod 600 ~/.ssh/id_rsa && mpirun --allow-run-as-root \
         --oversubscribe -n {} -H {} --mca pml ob1 --mca plm_rsh_args \"-p {SSH_PORT} -o StrictHostKeyChecking=no -i ~/.ssh/id_rsa\" {} \
         bash -c {launched}",
        gpus * i64::from(node.component.nodes()),
        hosts.join(","),
        passed.join(" ")
    )
}

fn worker() -> String {
    format!(
        "mkdir -p ~/.ssh/host_keys /run/sshd && cat {KEYS_PATH}/private.key.pub >> ~/.ssh/authorized_keys && chmod 600 \
         ~/.ssh/authorized_keys && ssh-keygen -t rsa -f ~/.ssh/host_keys/ssh_host_rsa_key -N '' && exec /usr/sbin/sshd -D -p {SSH_PORT} \
         -h ~/.ssh/host_keys/ssh_host_rsa_key -o StrictModes=no"
    )
}
