//! Replicas over several nodes: the multinode part of section 2.6 and section 2.4 of the Dynamo reference.

use crate::support::{clique, components, deployment, main_container, set, variable};
use serde_json::{Value, json};

const LEADER: &str = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-work-ldr-0.$(GROVE_HEADLESS_SERVICE)";

/// A worker over `nodes` nodes of `gpus` GPUs each.
fn worker(main: &Value, nodes: i32, gpus: i32) -> Value {
    let mut main = main.clone();
    main["name"] = "main".into();
    main["image"] = "i:1".into();
    main["resources"] = json!({ "limits": { "nvidia.com/gpu": gpus.to_string() } });
    json!({
        "name": "Work", "type": "worker", "multinode": { "nodeCount": nodes },
        "podTemplate": { "spec": { "containers": [main] } },
    })
}

fn words(container: &Value) -> Vec<String> {
    let list = |field: &str| container[field].as_array().cloned().unwrap_or_default();
    list("command").iter().chain(&list("args")).filter_map(|word| Some(word.as_str()?.to_owned())).collect()
}

/// Command lines of leader and workers.
fn lines(main: &Value, nodes: i32, gpus: i32) -> [Vec<String>; 2] {
    let set = components(&json!([worker(main, nodes, gpus)]));
    ["work-ldr", "work-wkr"].map(|name| words(main_container(&set, name)))
}

#[test]
fn dynamo2_6_sglang() {
    let shell = json!({ "args": ["python3 -m dynamo.sglang --model m"] });
    let flags = |rank: &str| format!("--dist-init-addr {LEADER}:29500 --nnodes 4 --node-rank {rank}");
    let [leader, worker] = lines(&shell, 4, 8);
    assert_eq!(leader, ["/bin/sh", "-c", &format!("python3 -m dynamo.sglang {} --model m", flags("0"))]);
    let rank = "$((GROVE_PCLQ_POD_INDEX + 1))";
    assert_eq!(worker, ["/bin/sh", "-c", &format!("python3 -m dynamo.sglang {} --model m", flags(rank))]);
    // A worker's number has to be worked out, so it gets a shell where it had none.
    let plain = json!({ "command": ["python3", "-m", "dynamo.sglang"], "args": ["--model", "m"] });
    let [leader, worker] = lines(&plain, 4, 8);
    assert_eq!(leader.join(" "), format!("python3 -m dynamo.sglang --model m {}", flags("0")));
    assert_eq!(worker, ["/bin/sh", "-c", &format!("exec python3 -m dynamo.sglang --model m {}", flags(rank))]);
}

#[test]
fn dynamo2_6_vllm_one_model_over_all_nodes() {
    let main = json!({ "args": ["python3 -m dynamo.vllm --tensor-parallel-size 16"] });
    let set = components(&json!([worker(&main, 2, 8)]));
    let [leader, workers] =
        ["work-ldr", "work-wkr"].map(|name| words(main_container(&set, name)).pop().unwrap_or_default());
    let flags = |rank: &str| {
        format!(
            "--distributed-executor-backend mp --nnodes 2 --master-addr {LEADER} --master-port 29500 --node-rank {rank}"
        )
    };
    assert_eq!(leader, format!("python3 -m dynamo.vllm {} --tensor-parallel-size 16", flags("0")));
    let rank = "$((GROVE_PCLQ_POD_INDEX + 1))";
    assert_eq!(workers, format!("python3 -m dynamo.vllm {} --headless --tensor-parallel-size 16", flags(rank)));
    assert_eq!(clique(&set, "work-ldr")["spec"]["podSpec"].get("initContainers"), None);
    let waiting = &clique(&set, "work-wkr")["spec"]["podSpec"]["initContainers"][0];
    assert_eq!((&waiting["name"], &waiting["image"]), (&json!("wait-for-leader-mp"), &json!("i:1")));
    assert!(waiting["args"][0].as_str().is_some_and(|script| script.contains(LEADER)), "{waiting}");
    assert_eq!(variable(main_container(&set, "work-ldr"), "VLLM_NIXL_SIDE_CHANNEL_HOST"), "status.podIP");
}

#[test]
fn dynamo2_6_vllm_by_ray() {
    let main = json!({ "command": ["python3", "-m", "dynamo.vllm"], "args": ["-tp", "8", "-pp", "2"] });
    let mut value = deployment(&json!({ "components": [worker(&main, 2, 8)] }));
    value["metadata"]["annotations"] = json!({ "nvidia.com/vllm-distributed-executor-backend": "ray" });
    let made = set(&value);
    let line = |name: &str| words(main_container(&made, name)).pop().unwrap_or_default();
    assert_eq!(
        line("work-ldr"),
        "ray start --head --port=6379 && python3 -m dynamo.vllm -tp 8 -pp 2 --distributed-executor-backend ray"
    );
    assert_eq!(line("work-wkr"), format!("ray start --address={LEADER}:6379 --block"));
}

#[test]
fn dynamo2_6_vllm_a_copy_on_each_node() {
    let main = json!({ "args": ["python3 -m dynamo.vllm --data-parallel-size 16 --tensor-parallel-size=2"] });
    let [leader, worker] = lines(&main, 4, 8);
    let flags = |start: &str| {
        format!(
            "--data-parallel-hybrid-lb --data-parallel-size-local 4 --data-parallel-start-rank {start} --data-parallel-address {LEADER} \
             --data-parallel-rpc-port 13445"
        )
    };
    assert!(leader[2].contains(&flags("0")), "{leader:?}");
    assert!(worker[2].contains(&flags("$((4 * (GROVE_PCLQ_POD_INDEX + 1)))")), "{worker:?}");
    // One that fits a node and has no copies needs nothing.
    let alone = json!({ "args": ["python3 -m dynamo.vllm"] });
    assert_eq!(lines(&alone, 2, 8)[1], ["/bin/sh", "-c", "python3 -m dynamo.vllm"]);
}

#[test]
fn dynamo2_6_trtllm() {
    let main = json!({ "args": ["python3 -m dynamo.trtllm --model 'm'"] });
    let set = components(&json!([worker(&main, 3, 4), { "name": "front", "type": "frontend" }]));
    let [leader, worker] =
        ["work-ldr", "work-wkr"].map(|name| words(main_container(&set, name)).pop().unwrap_or_default());
    let host = |k: i32| format!("$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-work-wkr-{k}.$(GROVE_HEADLESS_SERVICE):4");
    assert!(leader.contains(&format!("-n 12 -H {LEADER}:4,{},{} ", host(0), host(1))), "{leader}");
    assert!(leader.contains("-x DYN_NAMESPACE "), "{leader}");
    assert!(leader.ends_with(r"bash -c 'trtllm-llmapi-launch python3 -m dynamo.trtllm --model '\''m'\'''"), "{leader}");
    assert!(worker.contains("sshd -D -p 2222"), "{worker}");
    for name in ["work-ldr", "work-wkr"] {
        let pod = &clique(&set, name)["spec"]["podSpec"];
        let secret = pod["volumes"].as_array().into_iter().flatten().find(|volume| volume.get("secret").is_some());
        assert_eq!(
            secret.map(|volume| &volume["secret"]["secretName"]),
            Some(&json!("mpirun-ssh-key-secret")),
            "{name}"
        );
    }
    assert_eq!(main_container(&set, "work-wkr")["readinessProbe"]["tcpSocket"], json!({ "port": 2222 }));
    assert_eq!(main_container(&set, "work-wkr").get("livenessProbe"), None);
    // Workers first.
    assert_eq!(set["spec"]["template"]["cliqueStartupType"], "CliqueStartupTypeExplicit");
    assert_eq!(clique(&set, "work-ldr")["spec"]["startsAfter"], json!(["work-wkr"]));
    assert_eq!(clique(&set, "front")["spec"].get("startsAfter"), None);
}

#[test]
fn dynamo2_6_only_the_leader_is_probed() {
    for engine in ["vllm", "sglang"] {
        let main = json!({ "args": [format!("python3 -m dynamo.{engine}")], "livenessProbe": { "exec": { "command": ["true"] } } });
        let set = components(&json!([worker(&main, 2, 8)]));
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            assert!(main_container(&set, "work-ldr").get(probe).is_some(), "{engine} {probe}");
            assert_eq!(main_container(&set, "work-wkr").get(probe), None, "{engine} {probe}");
        }
    }
}

#[test]
fn dynamo2_6_an_engine_is_named_or_found() {
    // Only the named one, and a command of the user's own.
    let mut value = deployment(&json!({ "components": [worker(&json!({ "command": ["serve"] }), 2, 8)] }));
    value["spec"]["backendFramework"] = "sglang".into();
    let made = set(&value);
    assert!(words(main_container(&made, "work-ldr")).contains(&"--nnodes".to_owned()));
    // None at all: what the user wrote is run on every node.
    let [leader, workers] = lines(&json!({ "command": ["serve"] }), 2, 8);
    assert_eq!((leader, workers), (vec!["serve".to_owned()], vec!["serve".to_owned()]));
    // What is no worker has no engine.
    value["spec"]["components"][0]["type"] = "planner".into();
    assert_eq!(words(main_container(&set(&value), "work-ldr")), ["serve"]);
}
