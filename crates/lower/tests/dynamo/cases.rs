//! Deployments as users write them, from a seed: three shapes, names that collide or are too long, fields of both versions.

use serde_json::{Map, Value, json};
use trellis_testkit::mutate::Dice;

const DOMAINS: [&str; 7] = ["region", "zone", "datacenter", "block", "rack", "host", "numa"];
const NAMES: [&str; 14] = [
    "Frontend",
    "frontend",
    "VllmWorker",
    "Prefill",
    "decode",
    "a",
    "a-0-a",
    "a-0-a-ldr",
    "a-ldr",
    "planner",
    "7b",
    "A-0",
    "a-component-with-quite-a-long-name",
    "b",
];
const DEPLOYMENTS: [&str; 5] = [
    "demo",
    "d",
    "llama-3-70b-disaggregated-serving",
    "7b",
    "a-deployment-whose-name-is-as-long-as-a-label-can-be-63-characters",
];
const LINES: [&str; 7] = [
    "python3 -m dynamo.vllm --model m -tp 16",
    "python3 -m dynamo.vllm --data-parallel-size 8",
    "python3 -m dynamo.sglang --model m",
    "python3 -m dynamo.trtllm --model 'm'",
    "python3 -m dynamo.frontend",
    "exec serve \"$(GROVE_PCSG_INDEX)\"",
    "",
];

/// The seed of a run; `TRELLIS_SEED` names another.
pub fn seed() -> u64 {
    std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_116)
}

/// A number of cases, times what `TRELLIS_CASES` asks for.
pub fn times(cases: u64) -> u64 {
    cases * std::env::var("TRELLIS_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The dice of one case.
pub fn dice(number: u64) -> Dice {
    Dice::new(seed().wrapping_mul(0x0010_0000_01b3).wrapping_add(number))
}

fn one<'a, T>(dice: &mut Dice, items: &'a [T]) -> &'a T {
    &items[dice.below(items.len())]
}

fn often(dice: &mut Dice, of_ten: usize) -> bool {
    dice.below(10) < of_ten
}

/// A deployment.
pub fn deployment(dice: &mut Dice) -> Value {
    let shape = dice.below(3);
    let is_beta = shape == 2;
    let mut spec = Map::new();
    if often(dice, 5) {
        let mut constraint = Map::new();
        if often(dice, 8) {
            constraint.insert("packDomain".to_owned(), DOMAINS[dice.below(5)].into());
        }
        if often(dice, 3) {
            let field = if often(dice, 5) { "clusterTopologyName" } else { "topologyProfile" };
            constraint.insert(field.to_owned(), (*one(dice, &["h100", "grove-topology", "grove-topology"])).into());
        }
        spec.insert("topologyConstraint".to_owned(), constraint.into());
    }
    if often(dice, 3) {
        spec.insert("backendFramework".to_owned(), (*one(dice, &["vllm", "sglang", "trtllm"])).into());
    }
    if often(dice, 3) {
        let field = if is_beta { "env" } else { "envs" };
        spec.insert(
            field.to_owned(),
            json!([{ "name": "A", "value": "a" }, { "name": "DYN_NAMESPACE", "value": "x" }]),
        );
    }
    if often(dice, 2) {
        spec.insert("labels".to_owned(), json!({ "team": "ml", "grove.io/topology-name": "x" }));
        spec.insert("priorityClassName".to_owned(), "high".into());
    }
    let mut names: Vec<String> = (0..=dice.below(4)).map(|_| (*one(dice, &NAMES)).to_owned()).collect();
    if often(dice, 1) {
        names.push("c".repeat(30 + dice.below(40)));
    }
    if often(dice, 8) {
        names.sort_by_key(|name| name.to_lowercase());
        names.dedup_by_key(|name| name.to_lowercase());
    }
    let parts: Vec<(String, Value)> = names.into_iter().map(|name| (name, component(dice, is_beta))).collect();
    let (field, value) = match shape {
        1 => ("services", parts.into_iter().collect::<Map<_, _>>().into()),
        _ => {
            let item = |(name, mut part): (String, Value)| {
                part["name"] = name.into();
                part
            };
            (if is_beta { "components" } else { "services" }, parts.into_iter().map(item).collect::<Value>())
        }
    };
    spec.insert(field.to_owned(), value);
    let mut annotations = Map::new();
    if often(dice, 2) {
        annotations.insert("nvidia.com/vllm-distributed-executor-backend".to_owned(), "ray".into());
    }
    if often(dice, 2) {
        annotations.insert(
            "nvidia.com/grove-update-strategy".to_owned(),
            (*one(dice, &["OnDelete", "RollingRecreate"])).into(),
        );
    }
    json!({
        "apiVersion": if is_beta { "nvidia.com/v1beta1" } else { "nvidia.com/v1alpha1" },
        "kind": "DynamoGraphDeployment",
        "metadata": { "name": one(dice, &DEPLOYMENTS), "namespace": "serving", "annotations": annotations },
        "spec": spec,
    })
}

fn component(dice: &mut Dice, is_beta: bool) -> Value {
    let mut part = json!({});
    if often(dice, 8) {
        let kinds: &[&str] = if is_beta {
            &["frontend", "worker", "prefill", "decode", "planner"]
        } else {
            &["frontend", "worker", "my-own"]
        };
        part[if is_beta { "type" } else { "componentType" }] = (*one(dice, kinds)).into();
    }
    if !is_beta && often(dice, 3) {
        part["subComponentType"] = (*one(dice, &["prefill", "decode", "other"])).into();
    }
    if often(dice, 6) {
        part["replicas"] = one(dice, &[1, 2, 3, 3, 0]).to_owned().into();
    }
    if often(dice, 2) {
        part["minAvailable"] = (1 + dice.below(2)).into();
    }
    if often(dice, 4) {
        part["multinode"] = json!({ "nodeCount": 2 + dice.below(3) });
    }
    if often(dice, 4) {
        part["topologyConstraint"] = json!({ "packDomain": one(dice, &DOMAINS) });
    }
    if often(dice, 6) {
        pods(dice, is_beta, &mut part);
    }
    if often(dice, 1) {
        part["experimental"] = json!({ "grove": { "forceScalingGroup": true } });
    }
    part
}

fn pods(dice: &mut Dice, is_beta: bool, part: &mut Value) {
    let line = *one(dice, &LINES);
    let mut main = json!({ "image": "registry.example.com/engine:1.2.3" });
    match dice.below(3) {
        0 => main["args"] = json!([line]),
        1 => main["command"] = line.split_whitespace().collect::<Vec<_>>().into(),
        _ => {}
    }
    if often(dice, 4) {
        main["env"] = json!([{ "name": "B", "value": "$(A)" }, { "name": "POD_NAME", "value": "mine" }]);
        main["volumeMounts"] = json!([{ "name": "models", "mountPath": "/models" }]);
    }
    if often(dice, 4) {
        main["resources"] = json!({ "limits": { "nvidia.com/gpu": *one(dice, &["1", "4", "8"]) } });
    }
    if often(dice, 3) {
        main["livenessProbe"] = json!({ "httpGet": { "path": "/", "port": 8000 } });
    }
    let mut spec = json!({});
    if often(dice, 2) {
        spec["nodeSelector"] = json!({ "pool": "gpu" });
        spec["tolerations"] = json!([{ "operator": "Exists" }]);
    }
    let side = often(dice, 2).then(|| json!({ "name": "side", "image": "s:1" }));
    if is_beta {
        main["name"] = "main".into();
        let mut containers: Vec<Value> = side.into_iter().chain([main]).collect();
        if often(dice, 5) {
            containers.reverse();
        }
        spec["containers"] = containers.into();
        part["podTemplate"] = json!({ "metadata": { "labels": { "app": "x" } }, "spec": spec });
        if often(dice, 3) {
            part["sharedMemorySize"] = (*one(dice, &["0", "16Gi"])).into();
        }
        return;
    }
    spec["mainContainer"] = main;
    if let Some(side) = side {
        spec["containers"] = json!([side]);
    }
    part["extraPodSpec"] = spec;
    if often(dice, 3) {
        part["envs"] = json!([{ "name": "C", "value": "c" }]);
        part["resources"] = json!({ "limits": { "gpu": "8" } });
        part["sharedMemory"] = json!({ "size": "1Gi" });
    }
    if often(dice, 2) {
        part["volumeMounts"] = json!([{ "name": "cache", "mountPoint": "/cache", "useAsCompilationCache": true }]);
        part["labels"] = json!({ "tier": "low" });
    }
}
