//! TensorRT-LLM over several nodes: mpirun on the leader starts processes on all of them over SSH, with keys from a Secret that has to be in
//! the namespace.
//!
//! Files go to `$HOME`, and every program is told so: images set it to another folder than the one that `~` and sshd take from the list of
//! users. Nothing here needs to be root.

use super::super::environment;
use super::line::{Line, quoted, shell};
use super::{Apart, Node, SSH_PORT};
use crate::pods::push;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use trellis_api::names::GANG_PODS_MAX;
use trellis_api::names::dynamo::{SSH_SECRET, env, worker_host};

const KEYS_PATH: &str = "/ssh-pk";
/// Readable, so that a user other than root can copy it.
const KEYS_MODE: i32 = 0o644;
/// What starts one process of the engine on each rank.
const LAUNCHER: &str = "trtllm-llmapi-launch";
/// The key is on all nodes: where there are many, workers start processes on other workers.
const KEY: &str =
    "mkdir -p \"$HOME/.ssh\" && cp /ssh-pk/private.key \"$HOME/.ssh/id_rsa\" && chmod 600 \"$HOME/.ssh/id_rsa\"";

pub fn span(node: &Node<'_>, main: &mut Map<String, Value>, spec: &mut Map<String, Value>) -> Result<(), Apart> {
    // Open MPI cuts names of hosts at the first dot, and a pod is found by its whole name only.
    environment::fill(main, env::MPI_KEEPS_DOMAINS, "1");
    // Workers have their doors open whatever the leader runs: it may start mpirun itself.
    let text = if node.is_leader() { leader(node, super::line(node, main)?, main) } else { worker() };
    Line::Shell { before: shell(), line: text, behind: Vec::new() }.write(main);
    push(main, "volumeMounts", json!({ "name": SSH_SECRET, "mountPath": KEYS_PATH, "readOnly": true }));
    let keys = json!({ "secretName": SSH_SECRET, "defaultMode": KEYS_MODE });
    push(spec, "volumes", json!({ "name": SSH_SECRET, "secret": keys }));
    Ok(())
}

fn leader(node: &Node<'_>, line: Line, main: &Map<String, Value>) -> String {
    let gpus = Node::gpus(main);
    // Admission refuses more; whoever asks without it gets a line that ends.
    let nodes = i64::from(node.component.nodes()).min(GANG_PODS_MAX);
    let workers = (0..nodes - 1).map(|k| worker_host(&node.component.name, k));
    let hosts: Vec<String> =
        std::iter::once(node.leader()).chain(workers).map(|host| format!("{host}:{gpus}")).collect();
    let variables = main.get("env").and_then(Value::as_array).into_iter().flatten();
    let mut passed: BTreeSet<&str> = variables.filter_map(|variable| variable["name"].as_str()).collect();
    passed.extend(["HOME", "PATH", "LD_LIBRARY_PATH", "PYTHONPATH"]);
    let passed: Vec<String> = passed.iter().map(|name| format!("-x {}", quoted(name))).collect();
    // Root is asked to confirm, and nobody else minds.
    format!(
        "{KEY} && exec mpirun --allow-run-as-root --oversubscribe -n {} -H {} --mca pml ob1 --mca plm_rsh_args \"-p {SSH_PORT} -o \
         StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i $HOME/.ssh/id_rsa\" {} {}",
        gpus * nodes,
        hosts.join(","),
        passed.join(" "),
        line.launched_by(LAUNCHER),
    )
}

/// Everything is said on the command line, so that no configuration of the image's says otherwise. The folder in `/run` is needed, and can be
/// made, by root alone.
fn worker() -> String {
    format!(
        "{KEY} && cat {KEYS_PATH}/private.key.pub >> \"$HOME/.ssh/authorized_keys\" && chmod 600 \"$HOME/.ssh/authorized_keys\" && \
         rm -f \"$HOME/.ssh/host_key\" && ssh-keygen -q -t rsa -N '' -f \"$HOME/.ssh/host_key\" && {{ mkdir -p /run/sshd 2>/dev/null || \
         true; }} && exec /usr/sbin/sshd -D -e -f /dev/null -o Port={SSH_PORT} -o HostKey=\"$HOME/.ssh/host_key\" -o \
         AuthorizedKeysFile=\"$HOME/.ssh/authorized_keys\" -o PidFile=none -o StrictModes=no -o PermitRootLogin=prohibit-password -o \
         PasswordAuthentication=no"
    )
}
