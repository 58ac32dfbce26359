//! Replicas over several nodes: the multinode part of section 2.6 and section 2.4 of the Dynamo reference.

use crate::support::{clique, components, deployment, judge, main_container, set, variable, view};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};
use trellis_api::settings::Settings;

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

/// A shell can read the line, once Kubernetes has filled in its variables.
fn is_read(line: &str) {
    let filled = line.replace("$(", "${").replace(')', "}");
    let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
    shell.stdin.take().expect("its input").write_all(filled.as_bytes()).expect("it reads");
    let output = shell.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}: {filled}", String::from_utf8_lossy(&output.stderr));
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
    // However it is spelt; what is said of the pods goes first; and a shell of the user's stays, with all that it is given.
    let main = json!({ "command": ["bash", "-ec"], "args": ["python3 -m dynamo.vllm -tp 16 $0", "zero"] });
    let mut value = deployment(&json!({ "components": [worker(&main, 2, 8)] }));
    value["metadata"]["annotations"] = json!({ "nvidia.com/vllm-distributed-executor-backend": "mp" });
    value["spec"]["components"][0]["podTemplate"]["metadata"] =
        json!({ "annotations": { "nvidia.com/vllm-distributed-executor-backend": "Ray" } });
    let made = set(&value);
    assert_eq!(
        words(main_container(&made, "work-ldr")),
        [
            "bash",
            "-ec",
            "ray start --head --port=6379 && python3 -m dynamo.vllm --distributed-executor-backend ray -tp 16 $0",
            "zero"
        ]
    );
    let join = format!("ray start --address={LEADER}:6379 --block");
    assert_eq!(words(main_container(&made, "work-wkr")), ["bash", "-ec", &join, "zero"]);
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
    // One that fits a node with all its copies needs nothing.
    for alone in ["python3 -m dynamo.vllm", "python3 -m dynamo.vllm -dp 2", "python3 -m dynamo.vllm -dp 2 -tp 4"] {
        for line in lines(&json!({ "args": [alone] }), 2, 8) {
            assert_eq!(line, ["/bin/sh", "-c", alone]);
        }
    }
}

#[test]
fn dynamo2_6_trtllm() {
    let main = json!({ "args": ["python3 -m dynamo.trtllm --model 'm'"] });
    let set = components(&json!([worker(&main, 3, 4), { "name": "front", "type": "frontend" }]));
    let [leader, worker] =
        ["work-ldr", "work-wkr"].map(|name| words(main_container(&set, name)).pop().unwrap_or_default());
    let host = |k: i32| format!("$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-work-wkr-{k}.$(GROVE_HEADLESS_SERVICE):4");
    let key =
        "mkdir -p \"$HOME/.ssh\" && cp /ssh-pk/private.key \"$HOME/.ssh/id_rsa\" && chmod 600 \"$HOME/.ssh/id_rsa\"";
    let passed = [
        "DYN_COMPONENT",
        "DYN_DISCOVERY_BACKEND",
        "DYN_NAMESPACE",
        "DYN_NAMESPACE_WORKER_SUFFIX",
        "DYN_PARENT_DGD_K8S_NAME",
        "DYN_PARENT_DGD_K8S_NAMESPACE",
        "DYN_SYSTEM_ENABLED",
        "DYN_SYSTEM_PORT",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS",
        "HOME",
        "LD_LIBRARY_PATH",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "PATH",
        "POD_NAME",
        "POD_NAMESPACE",
        "POD_UID",
        "PYTHONPATH",
    ];
    let expected = format!(
        "{key} && exec mpirun --allow-run-as-root --oversubscribe -n 12 -H {LEADER}:4,{},{} --mca pml ob1 --mca plm_rsh_args \"-p 2222 -o \
         StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i $HOME/.ssh/id_rsa\" {} /bin/sh -c {}",
        host(0),
        host(1),
        passed.map(|name| format!("-x {name}")).join(" "),
        r"'trtllm-llmapi-launch python3 -m dynamo.trtllm --model '\''m'\'''"
    );
    assert_eq!(leader, expected);
    let expected = format!(
        "{key} && cat /ssh-pk/private.key.pub >> \"$HOME/.ssh/authorized_keys\" && chmod 600 \"$HOME/.ssh/authorized_keys\" && rm -f \
         \"$HOME/.ssh/host_key\" && ssh-keygen -q -t rsa -N '' -f \"$HOME/.ssh/host_key\" && {{ mkdir -p /run/sshd 2>/dev/null || true; }} \
         && exec /usr/sbin/sshd -D -e -f /dev/null -o Port=2222 -o HostKey=\"$HOME/.ssh/host_key\" -o \
         AuthorizedKeysFile=\"$HOME/.ssh/authorized_keys\" -o PidFile=none -o StrictModes=no -o PermitRootLogin=prohibit-password -o \
         PasswordAuthentication=no"
    );
    assert_eq!(worker, expected);
    [&leader, &worker].into_iter().for_each(|line| is_read(line));
    for name in ["work-ldr", "work-wkr"] {
        let pod = &clique(&set, name)["spec"]["podSpec"];
        let secret = pod["volumes"].as_array().into_iter().flatten().find(|volume| volume.get("secret").is_some());
        assert_eq!(
            secret.map(|volume| &volume["secret"]["secretName"]),
            Some(&json!("mpirun-ssh-key-secret")),
            "{name}"
        );
    }
    for name in ["work-ldr", "work-wkr"] {
        assert_eq!(variable(main_container(&set, name), "OMPI_MCA_orte_keep_fqdn_hostnames"), "1", "{name}");
    }
    let ready = &main_container(&set, "work-wkr")["readinessProbe"];
    assert_eq!((&ready["tcpSocket"], &ready["failureThreshold"]), (&json!({ "port": 2222 }), &json!(10)));
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

/// What is said of a component over several nodes, beside what is said of every one.
#[track_caller]
fn warns(component: &Value, named: Option<&str>, expected: &[&str]) {
    let mut value = deployment(&json!({ "components": [component] }));
    if let Some(named) = named {
        value["spec"]["backendFramework"] = named.into();
    }
    let verdict = judge(&value, None, &view(), &Settings::default());
    let expected: Vec<String> = expected.iter().map(|text| format!("spec.components[0].multinode: {text}")).collect();
    assert_eq!(verdict.warnings, expected, "{value:#}");
}

/// A replica whose nodes do not find each other is never made without a word.
#[test]
fn nodes_that_do_not_find_each_other_are_warned_of() {
    let shell = |line: &str| worker(&json!({ "args": [line] }), 2, 8);
    let alone = "no flags are added by which its nodes would find each other: ";
    warns(&shell("python3 -u -m dynamo.sglang | tee /log"), None, &[]);
    warns(&shell("serve"), Some("sglang"), &[]);
    let none = format!("{alone}its command starts none of dynamo.sglang, dynamo.vllm and dynamo.trtllm");
    warns(&shell("serve"), None, &[&none]);
    let untyped = |line: &str| {
        let mut worker = shell(line);
        worker.as_object_mut().expect("a component").remove("type");
        worker
    };
    warns(&untyped("python3 -m dynamo.sglang"), None, &[]);
    let named = format!("{none}, and spec.backendFramework is said of workers, prefill and decode only");
    warns(&untyped("serve"), Some("sglang"), &[&named]);
    for engine in ["vllm", "sglang", "trtllm"] {
        let unclear = format!(
            "{alone}it cannot be told which of its commands starts the engine; start it by `python3 -m dynamo.{engine}`"
        );
        warns(&shell("cd /w && serve -tp 16 | tee /log"), Some(engine), &[&unclear]);
        let image =
            format!("{alone}the image has its own command, which nothing can be added to; write `command` or `args`");
        warns(&worker(&json!({}), 2, 8), Some(engine), &[&image]);
    }
    let fits = format!("{alone}8 GPUs of one node hold the model with all its copies, so each node serves by itself");
    warns(&shell("python3 -m dynamo.vllm -tp 8"), None, &[&fits]);
}

/// A component without a type is what its command starts.
#[test]
fn dynamo2_6_an_engine_without_a_type() {
    let mut component = worker(&json!({ "args": ["python3 -m dynamo.vllm -tp 16"] }), 2, 8);
    component.as_object_mut().expect("a component").remove("type");
    let set = components(&json!([component]));
    for name in ["work-ldr", "work-wkr"] {
        assert!(words(main_container(&set, name))[2].contains("--nnodes 2"), "{name}");
    }
}

/// GPUs are counted whoever makes them.
#[test]
fn dynamo2_6_gpus_of_every_vendor() {
    let line = "python3 -m dynamo.vllm --data-parallel-size 64";
    let local = |count: i32| format!("--data-parallel-size-local {count} ");
    let check = |limits: Value, count: i32| {
        let mut component = worker(&json!({ "args": [line] }), 8, 1);
        component["podTemplate"]["spec"]["containers"][0]["resources"] = json!({ "limits": limits });
        let set = components(&json!([component]));
        assert!(words(main_container(&set, "work-ldr"))[2].contains(&local(count)), "{limits}: {set:#}");
        warns(&component, None, &[]);
    };
    check(json!({ "nvidia.com/gpu": "8", "rdma/ib": "2", "cpu": "4" }), 8);
    check(json!({ "nvidia.com/gpu": 4 }), 4);
    check(json!({ "amd.com/gpu": "4" }), 4);
    check(json!({ "gpu.intel.com/xe": "2", "example.com/nic": "7" }), 2);
    check(json!({ "nvidia.com/gpu.shared": "8" }), 8);
    // Any name may be given as a gpuType.
    check(json!({ "example.com/h100": "8", "rdma/ib": "1", "memory": "1Gi" }), 8);
    let alpha = json!({ "services": { "Work": {
        "componentType": "worker", "multinode": { "nodeCount": 2 },
        "resources": { "limits": { "gpu": "8", "gpuType": "example.com/h100" } },
        "extraPodSpec": { "mainContainer": { "image": "i:1", "args": [line] } },
    }}});
    let made = set(&deployment(&alpha));
    assert!(words(main_container(&made, "work-ldr"))[2].contains(&local(8)), "{made:#}");
    // Where it cannot be told, somebody is told of that.
    for limits in [json!({}), json!({ "example.com/a": "8", "example.com/b": "4" })] {
        let mut component = worker(&json!({ "args": [line] }), 8, 1);
        component["podTemplate"]["spec"]["containers"][0]["resources"] = json!({ "limits": limits });
        let verdict = judge(&deployment(&json!({ "components": [component] })), None, &view(), &Settings::default());
        let expected = "spec.components[0].podTemplate.spec.containers[0].resources: how many GPUs a node has cannot be told from these";
        assert!(
            verdict.warnings.iter().any(|warning| warning.starts_with(expected)),
            "{limits}: {:?}",
            verdict.warnings
        );
    }
}
