//! What tables show of all other kinds.

use serde_json::{Value, json};

use super::{age_column, column, created_column, joined, text_or, typed, wide};
use crate::builtin::reach::{at, entries, list, number, text, truth};
use crate::resource::Column;

/// The columns of a kind.
pub fn columns(kind: &str, group: &str) -> Vec<Column> {
    match (group, kind) {
        ("", "Namespace") => vec![column("Status", "Active, or on its way out.", phase), age_column()],
        ("", "Node") => nodes(),
        ("", "Service") => services(),
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => vec![age_column()],
        ("", "ConfigMap") => {
            let count =
                |object: &Value, _| (entries(object, "data").count() + entries(object, "binaryData").count()).into();
            vec![column("Data", "How many entries there are.", count), age_column()]
        }
        ("", "Secret") => vec![
            column("Type", "What the secret is for.", |object, _| text(object, "type").into()),
            column("Data", "How many entries there are.", |object, _| entries(object, "data").count().into()),
            age_column(),
        ],
        ("", "PersistentVolume") => volumes(),
        ("", "PersistentVolumeClaim") => claims(),
        ("coordination.k8s.io", _) => {
            vec![
                column("Holder", "Who holds it.", |object, _| text(object, "spec.holderIdentity").into()),
                age_column(),
            ]
        }
        ("scheduling.k8s.io", _) => vec![
            typed("Value", "integer", "The priority.", |object, _| number(object, "value").into()),
            typed("Global-Default", "boolean", "Whether pods that name no class are in it.", |object, _| {
                truth(object, "globalDefault").into()
            }),
            age_column(),
            column("PreemptionPolicy", "Whether it may displace others.", |object, _| {
                text(object, "preemptionPolicy").into()
            }),
        ],
        ("autoscaling", _) => autoscalers(),
        ("policy", _) => vec![
            column("Min Available", "How many have to stay.", |object, _| {
                number_or_share(at(object, "spec.minAvailable"))
            }),
            column("Max Unavailable", "How many may be missing.", |object, _| {
                number_or_share(at(object, "spec.maxUnavailable"))
            }),
            typed("Allowed Disruptions", "integer", "How many may be evicted now.", |object, _| {
                number(object, "status.disruptionsAllowed").into()
            }),
            age_column(),
        ],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => role_bindings(),
        ("admissionregistration.k8s.io", _) => vec![
            typed("Webhooks", "integer", "How many webhooks there are.", |object, _| {
                list(object, "webhooks").len().into()
            }),
            age_column(),
        ],
        ("resource.k8s.io", _) => vec![column("State", "Whether devices are allocated.", claim_state), age_column()],
        ("node.k8s.io", _) => {
            vec![
                column("Handler", "Who runs the containers.", |object, _| text(object, "handler").into()),
                age_column(),
            ]
        }
        ("storage.k8s.io", _) => storage_classes(),
        _ => vec![created_column()],
    }
}

fn phase(object: &Value, _: i64) -> Value {
    text(object, "status.phase").into()
}

fn nodes() -> Vec<Column> {
    fn address(node: &Value, kind: &str) -> Value {
        let found = list(node, "status.addresses").iter().find(|address| text(address, "type") == kind);
        found.map_or_else(|| "<none>".into(), |address| address["address"].clone())
    }
    vec![
        column("Status", "Whether it is ready, and takes pods.", |node, _| {
            let ready = list(node, "status.conditions").iter().rfind(|condition| condition["type"] == "Ready");
            let mut status = match ready {
                None => "Unknown",
                Some(condition) if condition["status"] == "True" => "Ready",
                Some(_) => "NotReady",
            }
            .to_owned();
            if truth(node, "spec.unschedulable") {
                status.push_str(",SchedulingDisabled");
            }
            status.into()
        }),
        column("Roles", "What it is for.", |node, _| {
            let mut roles: Vec<&str> = entries(node, "metadata.labels")
                .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                    Some(role) => Some(role),
                    None => value.as_str().filter(|_| key == "kubernetes.io/role"),
                })
                .filter(|role| !role.is_empty())
                .collect();
            roles.sort_unstable();
            roles.dedup();
            if roles.is_empty() { "<none>".into() } else { roles.join(",").into() }
        }),
        age_column(),
        column("Version", "The version of its kubelet.", |node, _| text(node, "status.nodeInfo.kubeletVersion").into()),
        wide("Internal-IP", "Its address inside.", |node, _| address(node, "InternalIP")),
        wide("External-IP", "Its address outside.", |node, _| address(node, "ExternalIP")),
        wide("OS-Image", "Its operating system.", |node, _| text_or(node, "status.nodeInfo.osImage", "<unknown>")),
        wide("Kernel-Version", "Its kernel.", |node, _| {
            let kernel = text_or(node, "status.nodeInfo.kernelVersion", "<unknown>");
            match text(node, "status.nodeInfo.architecture") {
                "" => kernel,
                architecture => format!("{} ({architecture})", kernel.as_str().unwrap_or_default()).into(),
            }
        }),
        wide("Container-Runtime", "What runs its containers.", |node, _| {
            text_or(node, "status.nodeInfo.containerRuntimeVersion", "<unknown>")
        }),
    ]
}

fn services() -> Vec<Column> {
    vec![
        column("Type", "How it is reached.", |service, _| text(service, "spec.type").into()),
        column("Cluster-IP", "Its address inside.", |service, _| match list(service, "spec.clusterIPs").first() {
            Some(address) => address.clone(),
            None => "<none>".into(),
        }),
        column("External-IP", "Its addresses outside.", |service, _| outside(service).into()),
        column("Port(s)", "Its ports.", |service, _| {
            let ports: Vec<String> = list(service, "spec.ports")
                .iter()
                .map(|port| match number(port, "nodePort") {
                    0 => format!("{}/{}", number(port, "port"), text(port, "protocol")),
                    node => format!("{}:{node}/{}", number(port, "port"), text(port, "protocol")),
                })
                .collect();
            if ports.is_empty() { "<none>".into() } else { ports.join(",").into() }
        }),
        age_column(),
        wide("Selector", "Which pods are behind it.", |service, _| {
            let labels: Vec<String> = entries(service, "spec.selector")
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
                .collect();
            if labels.is_empty() { "<none>".into() } else { labels.join(",").into() }
        }),
    ]
}

fn outside(service: &Value) -> String {
    let given = joined(service, "spec.externalIPs", ",");
    match text(service, "spec.type") {
        "ClusterIP" | "NodePort" if given.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => given,
        "LoadBalancer" => {
            let mut found: Vec<&str> = list(service, "status.loadBalancer.ingress")
                .iter()
                .map(|ingress| match text(ingress, "ip") {
                    "" => text(ingress, "hostname"),
                    address => address,
                })
                .filter(|address| !address.is_empty())
                .collect();
            found.sort_unstable();
            found.dedup();
            if !given.is_empty() {
                found.push(&given);
            }
            if found.is_empty() { "<pending>".to_owned() } else { found.join(",") }
        }
        "ExternalName" => text(service, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// `RWO,ROX,RWX` and the like, in the order in which a server has them.
fn modes(object: &Value, path: &str) -> Value {
    let short =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let given = list(object, path);
    let shown: Vec<&str> =
        short.iter().filter(|(mode, _)| given.iter().any(|given| given == mode)).map(|(_, short)| *short).collect();
    shown.join(",").into()
}

fn phase_or_terminating(object: &Value) -> Value {
    if at(object, "metadata.deletionTimestamp").is_null() { phase(object, 0) } else { "Terminating".into() }
}

fn volumes() -> Vec<Column> {
    vec![
        column("Capacity", "How much it holds.", |object, _| text_or(&object["spec"]["capacity"], "storage", "0")),
        column("Access Modes", "How it can be mounted.", |object, _| modes(object, "spec.accessModes")),
        column("Reclaim Policy", "What becomes of it.", |object, _| {
            text(object, "spec.persistentVolumeReclaimPolicy").into()
        }),
        column("Status", "Whether it is in use.", |object, _| phase_or_terminating(object)),
        column("Claim", "Who claims it.", |object, _| match at(object, "spec.claimRef") {
            Value::Null => "".into(),
            claim => format!("{}/{}", text(claim, "namespace"), text(claim, "name")).into(),
        }),
        column("StorageClass", "The class of its storage.", |object, _| text(object, "spec.storageClassName").into()),
        column("VolumeAttributesClass", "The class of its attributes.", |object, _| {
            text_or(object, "spec.volumeAttributesClassName", "<unset>")
        }),
        column("Reason", "Why its status is so.", |object, _| text(object, "status.reason").into()),
        age_column(),
        wide("VolumeMode", "A file system, or a device.", |object, _| text_or(object, "spec.volumeMode", "<unset>")),
    ]
}

fn claims() -> Vec<Column> {
    fn bound(object: &Value, cell: impl Fn() -> Value) -> Value {
        if text(object, "spec.volumeName").is_empty() { "".into() } else { cell() }
    }
    vec![
        column("Status", "Whether it has a volume.", |object, _| phase_or_terminating(object)),
        column("Volume", "The volume it has.", |object, _| text(object, "spec.volumeName").into()),
        column("Capacity", "How much it holds.", |object, _| {
            bound(object, || text_or(&object["status"]["capacity"], "storage", "0"))
        }),
        column("Access Modes", "How it can be mounted.", |object, _| {
            bound(object, || modes(object, "status.accessModes"))
        }),
        column("StorageClass", "The class of its storage.", |object, _| text(object, "spec.storageClassName").into()),
        column("VolumeAttributesClass", "The class of its attributes.", |object, _| {
            text_or(object, "spec.volumeAttributesClassName", "<unset>")
        }),
        age_column(),
        wide("VolumeMode", "A file system, or a device.", |object, _| text_or(object, "spec.volumeMode", "<unset>")),
    ]
}

fn autoscalers() -> Vec<Column> {
    vec![
        column("Reference", "What is scaled.", |object, _| {
            let target = at(object, "spec.scaleTargetRef");
            format!("{}/{}", text(target, "kind"), text(target, "name")).into()
        }),
        column("Targets", "What is measured, and what is wanted.", |object, _| targets(object).into()),
        column("MinPods", "The fewest.", |object, _| match at(object, "spec.minReplicas").as_i64() {
            Some(least) => least.to_string().into(),
            None => "<unset>".into(),
        }),
        column("MaxPods", "The most.", |object, _| number(object, "spec.maxReplicas").into()),
        column("Replicas", "How many there are.", |object, _| number(object, "status.currentReplicas").into()),
        age_column(),
    ]
}

fn targets(object: &Value) -> String {
    let shown: Vec<String> =
        list(object, "spec.metrics").iter().enumerate().map(|(index, metric)| target(object, index, metric)).collect();
    match shown.len() {
        0 => "<none>".to_owned(),
        1 | 2 => shown.join(", "),
        count => format!("{} + {} more...", shown[..2].join(", "), count - 2),
    }
}

fn target(object: &Value, index: usize, metric: &Value) -> String {
    const UNKNOWN: &str = "<unknown>";
    let part = match text(metric, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = &metric[part]["target"];
    let current = &object["status"]["currentMetrics"][index][part]["current"];
    let amount = |from: &Value, field: &str, otherwise: &str| {
        text_or(from, field, otherwise).as_str().unwrap_or_default().to_owned()
    };
    let average = !wanted["averageValue"].is_null();
    let shown = if part.to_lowercase().ends_with("resource") && !average {
        let percent = |from: &Value, otherwise: &str| match from["averageUtilization"].as_i64() {
            Some(percent) => format!("{percent}%"),
            None => otherwise.to_owned(),
        };
        format!("{}/{}", percent(current, UNKNOWN), percent(wanted, "<auto>"))
    } else if average || part == "pods" {
        let suffix = if matches!(part, "external" | "object") { " (avg)" } else { "" };
        format!("{}/{}{suffix}", amount(current, "averageValue", UNKNOWN), amount(wanted, "averageValue", "0"))
    } else {
        format!("{}/{}", amount(current, "value", UNKNOWN), amount(wanted, "value", "0"))
    };
    match text(&metric[part], "name") {
        "" => shown,
        name => format!("{name}: {shown}"),
    }
}

fn number_or_share(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.to_string().into(),
        Value::String(share) => share.as_str().into(),
        _ => "N/A".into(),
    }
}

fn role_bindings() -> Vec<Column> {
    fn subjects(binding: &Value, kind: &str) -> Value {
        let named: Vec<String> = list(binding, "subjects")
            .iter()
            .filter(|subject| text(subject, "kind") == kind)
            .map(|subject| match (kind, text(subject, "namespace")) {
                ("ServiceAccount", namespace) => format!("{namespace}/{}", text(subject, "name")),
                _ => text(subject, "name").to_owned(),
            })
            .collect();
        named.join(", ").into()
    }
    vec![
        column("Role", "The role that is given.", |binding, _| {
            let role = &binding["roleRef"];
            format!("{}/{}", text(role, "kind"), text(role, "name")).into()
        }),
        age_column(),
        wide("Users", "Users who have it.", |binding, _| subjects(binding, "User")),
        wide("Groups", "Groups that have it.", |binding, _| subjects(binding, "Group")),
        wide("ServiceAccounts", "Accounts that have it.", |binding, _| subjects(binding, "ServiceAccount")),
    ]
}

fn claim_state(claim: &Value, _: i64) -> Value {
    let deleted = !at(claim, "metadata.deletionTimestamp").is_null();
    let mut states = Vec::new();
    if deleted {
        states.push("deleted");
    }
    if at(claim, "status.allocation").is_null() {
        if !deleted {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if !list(claim, "status.reservedFor").is_empty() {
            states.push("reserved");
        }
    }
    states.join(",").into()
}

fn storage_classes() -> Vec<Column> {
    let name = column("Name", "", |class, _| {
        let name = text(class, "metadata.name");
        let annotations = at(class, "metadata.annotations");
        let default =
            ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
                .iter()
                .any(|key| annotations[*key] == "true");
        if default { json!(format!("{name} (default)")) } else { json!(name) }
    });
    vec![
        Column { format: "name".to_owned(), ..name },
        column("Provisioner", "Who makes its volumes.", |class, _| text(class, "provisioner").into()),
        column("ReclaimPolicy", "What becomes of its volumes.", |class, _| text_or(class, "reclaimPolicy", "Delete")),
        column("VolumeBindingMode", "When its volumes are made.", |class, _| {
            text_or(class, "volumeBindingMode", "Immediate")
        }),
        column("AllowVolumeExpansion", "Whether its volumes can grow.", |class, _| {
            truth(class, "allowVolumeExpansion").into()
        }),
        age_column(),
    ]
}
