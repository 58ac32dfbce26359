//! What users do, and what they are told. The same on every server.

use crate::kubectl::{Case, fails, ok};

/// A set as small as can be.
pub const SMALL_SET: &str = r#"{"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
 "metadata": {"name": "small", "namespace": "hooks"},
 "spec": {"template": {
  "cliques": [{"name": "worker", "spec": {"roleName": "worker", "replicas": 2, "podSpec": {
   "containers": [{"name": "main", "image": "registry.example.com/main"}]}}}]}}}
"#;

/// A set that names a topology.
const SET: &str = r#"{"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
 "metadata": {"name": "web", "namespace": "hooks"},
 "spec": {"replicas": 1, "template": {"clusterTopologyName": "blue", "topologyConstraint": {"packDomain": "rack"},
  "cliques": [{"name": "worker", "spec": {"roleName": "worker", "replicas": 2, "podSpec": {
   "containers": [{"name": "main", "image": "registry.example.com/main"}]}}}]}}}
"#;

const TOPOLOGY: &str = r#"{"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
 "metadata": {"name": "blue"},
 "spec": {"levels": [{"domain": "host", "key": "kubernetes.io/hostname"}, {"domain": "rack", "key": "example.com/rack"}]}}
"#;

/// A pod as the operator would make it, on a node.
const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod",
 "metadata": {"name": "placed", "namespace": "hooks",
  "labels": {"app.kubernetes.io/part-of": "web", "app.kubernetes.io/managed-by": "grove-operator"}},
 "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 0,
  "containers": [{"name": "main", "image": "registry.example.com/main"}]}}
"#;

const SET_DENIED: &str = r#"admission webhook "pcs.validating.webhooks.grove.io" denied the request: "#;
const TOPOLOGY_DENIED: &str =
    r#"admission webhook "clustertopology.validating.webhooks.grove.io" denied the request: "#;

pub const TOPOLOGIES: &[Case] = &[
    ok("apply -f -", &["clustertopology.grove.io/blue created"]).reads(TOPOLOGY),
    // Sorted, on create and on update.
    ok("get ct blue -o jsonpath={.spec.levels[*].domain}", &["rack host"]),
    ok("apply -f -", &["configured"])
        .reads(TOPOLOGY)
        .with(&[(r#""example.com/rack"}"#, r#""example.com/rack"}, {"domain": "zone", "key": "example.com/zone"}"#)]),
    ok("get ct blue -o jsonpath={.spec.levels[*].key}", &["example.com/zone example.com/rack kubernetes.io/hostname"]),
    ok("apply -f -", &["created", "Warning: spec.levels[1].key: \"example.com/host\" on level 'host'"])
        .reads(TOPOLOGY)
        .with(&[("blue", "green"), ("kubernetes.io/hostname", "example.com/host")]),
    fails("apply -f -", &[TOPOLOGY_DENIED, "metadata.name: Forbidden: \"grove-topology\" is kept by the operator"])
        .reads(TOPOLOGY)
        .with(&[("blue", "grove-topology")]),
    // What the schema refuses does not get to the webhook.
    fails("apply -f -", &["domain must be unique across all levels", "!admission webhook"])
        .reads(TOPOLOGY)
        .with(&[("blue", "twice"), ("\"rack\"", "\"host\"")]),
];

/// The operator has made it.
pub const DEFAULT_TOPOLOGY: &[Case] = &[
    ok("get ct grove-topology -o jsonpath={.spec.levels[*].domain}", &["zone host"]),
    fails(
        r#"patch ct grove-topology --type=merge -p {"spec":{"levels":[{"domain":"host","key":"h"}]}}"#,
        &["(Forbidden)", TOPOLOGY_DENIED, "metadata.name: Forbidden"],
    ),
    ok("label ct grove-topology a=b", &["labeled"]),
];

pub const DEFAULTS: &[Case] = &[
    ok("apply -f -", &["podcliqueset.grove.io/small created", "!Warning"]).reads(SMALL_SET),
    ok(
        "get pcs small -n hooks -o jsonpath={.spec.template}",
        &[
            r#""minAvailable":2"#,
            r#""terminationDelay":"4h""#,
            r#""headlessServiceConfig":{"publishNotReadyAddresses":true}"#,
            r#""restartPolicy":"Always""#,
            r#""terminationGracePeriodSeconds":30"#,
        ],
    ),
    ok("get pcs small -n hooks -o jsonpath={.metadata.labels}", &["!grove.io/topology-name"]),
    // Nothing that was written is lost, known or not.
    ok("apply -f -", &["created", "Warning: spec.template.cliques[0].spec.podSpec.tomorrow: unknown field"])
        .reads(SMALL_SET)
        .with(&[
            ("small", "odd"),
            (r#""containers""#, r#""tomorrow": {"a": [1]}, "restartPolicy": "Never", "containers""#),
        ]),
    ok(
        "get pcs odd -n hooks -o jsonpath={.spec.template.cliques[0].spec.podSpec}",
        &[r#""tomorrow":{"a":[1]}"#, r#""restartPolicy":"Never""#, r#""terminationGracePeriodSeconds":30"#],
    ),
    // What it does not say has its default already: nothing changes.
    ok("apply -f -", &["podcliqueset.grove.io/small"]).reads(SMALL_SET),
    ok("get pcs small -n hooks -o jsonpath=generation={.metadata.generation}.", &["generation=1."]),
    // The namespace is that of the request, not the default one.
    ok("apply -n hooks -f -", &["web created", "!Warning"]).reads(SET).with(&[(r#", "namespace": "hooks""#, "")]),
    ok("get pcs web -n hooks -o jsonpath={.metadata.labels}", &[r#"{"grove.io/topology-name":"blue"}"#]),
    ok(
        "apply -f -",
        &["created", "Warning: metadata.labels[grove.io/topology-name]: \"red\" was replaced by \"grove-topology\""],
    )
    .reads(SET)
    .with(&[
        ("\"web\"", "\"base\""),
        (r#""clusterTopologyName": "blue", "#, ""),
        ("rack", "zone"),
        (r#""namespace": "hooks""#, r#""namespace": "hooks", "labels": {"grove.io/topology-name": "red"}"#),
    ]),
    ok("get pcs base -n hooks -o jsonpath={.metadata.labels}", &[r#"{"grove.io/topology-name":"grove-topology"}"#]),
    ok("apply --dry-run=server -f -", &["podcliqueset.grove.io/dry created (server dry run)"])
        .reads(SET)
        .with(&[("\"web\"", "\"dry\"")]),
];

pub const REFUSALS: &[Case] = &[
    // One as it is, several in brackets.
    fails(
        "apply -f -",
        &[
            "(Forbidden)",
            SET_DENIED,
            "spec.template.cliques[0].spec.minAvailable: Invalid value: 3: minAvailable must not be greater than replicas",
            "!denied the request: [",
        ],
    )
    .reads(SMALL_SET)
    .with(&[("small", "bad"), ("\"replicas\": 2", "\"replicas\": 2, \"minAvailable\": 3")]),
    fails(
        "apply -f -",
        &[
            SET_DENIED,
            "denied the request: [",
            "spec.template.terminationDelay: Invalid value: \"0s\": terminationDelay must be greater than 0, \
             spec.template.cliques[0].spec.minAvailable: Invalid value: 3",
        ],
    )
    .reads(SMALL_SET)
    .with(&[
        ("small", "bad"),
        ("\"replicas\": 2", "\"replicas\": 2, \"minAvailable\": 3"),
        ("\"cliques\"", "\"terminationDelay\": \"0s\", \"cliques\""),
    ]),
    fails(
        "apply -f -",
        &[
            SET_DENIED,
            "spec.template.clusterTopologyName: Not found: \"purple\": no such ClusterTopology; there are: blue, green, \
             grove-topology",
        ],
    )
    .reads(SET)
    .with(&[("\"web\"", "\"bad\""), ("blue", "purple")]),
    fails(
        "apply -f -",
        &[SET_DENIED, "topology domain 'block' does not exist in cluster topology 'blue' [zone rack host]"],
    )
    .reads(SET)
    .with(&[("\"web\"", "\"bad\""), ("\"packDomain\": \"rack\"", "\"packDomain\": \"block\"")]),
    fails("apply -f -", &[SET_DENIED, "scheduler \"default-scheduler\" cannot enforce required topology constraints"])
        .reads(SET)
        .with(&[("\"web\"", "\"bad\""), ("\"containers\"", "\"schedulerName\": \"default-scheduler\", \"containers\"")]),
    fails("apply -f -", &[SET_DENIED, "spec.replicas: Too many: 200000: a PodCliqueSet may have at most 100000 pods"])
        .reads(SET)
        .with(&[("\"web\"", "\"bad\""), ("\"spec\": {\"replicas\": 1", "\"spec\": {\"replicas\": 100000")]),
];

pub const UPDATES: &[Case] = &[
    fails(
        r#"patch pcs web -n hooks --type=json -p [{"op":"replace","path":"/spec/template/cliques/0/spec/roleName","value":"x"}]"#,
        &[SET_DENIED, "spec.template.cliques[0].spec.roleName: Invalid value: \"x\": field is immutable"],
    ),
    fails(
        r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"topologyConstraint":{"packDomain":"zone"}}}}"#,
        &[SET_DENIED, "PodCliqueSet topology constraint cannot be changed from 'rack' to 'zone'"],
    ),
    fails(
        "label pcs web -n hooks --overwrite grove.io/topology-name=green",
        &[SET_DENIED, "metadata.labels[grove.io/topology-name]: Invalid value: \"green\": must be \"blue\""],
    ),
    ok("label pcs web -n hooks grove.io/topology-name-", &["podcliqueset.grove.io/web"]),
    ok("get pcs web -n hooks -o jsonpath={.metadata.labels}", &[r#"{"grove.io/topology-name":"blue"}"#]),
    // Scaling goes by a subresource.
    ok("scale pcs web -n hooks --replicas=3", &["scaled"]),
    ok("scale pcs web -n hooks --replicas=0", &["scaled"]),
    ok("scale pcs web -n hooks --replicas=1", &["scaled"]),
    fails(
        "scale pcs web -n hooks --replicas=60000",
        &[SET_DENIED, "spec.replicas: Too many: 120000: a PodCliqueSet may have at most 100000 pods"],
    ),
    ok("get pcs web -n hooks -o jsonpath={.spec.replicas}", &["1"]),
    // Free while no pod has a node; the label follows.
    ok(r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"clusterTopologyName":"green"}}}"#, &["patched"]),
    ok("get pcs web -n hooks -o jsonpath={.metadata.labels}", &[r#"{"grove.io/topology-name":"green"}"#]),
    ok(r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"clusterTopologyName":"blue"}}}"#, &["patched"]),
];

pub const LOCKS: &[Case] = &[
    // A pod without a node, and a finished one, lock nothing.
    ok("apply -f -", &["created"]).reads(POD).with(&[("placed", "gated"), ("\"nodeName\": \"n1\", ", "")]),
    ok("apply -f -", &["created"]).reads(POD).with(&[("placed", "done")]),
    ok(
        r#"patch pod done -n hooks --subresource=status --type=merge -p {"status":{"phase":"Succeeded"}}"#,
        &["patched"],
    ),
    ok(r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"clusterTopologyName":"green"}}}"#, &["patched"]),
    ok(r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"clusterTopologyName":"blue"}}}"#, &["patched"]),
    ok("apply -f -", &["created"]).reads(POD),
    fails(
        r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"clusterTopologyName":"green"}}}"#,
        &[
            SET_DENIED,
            "spec.template.clusterTopologyName: Forbidden: cannot be changed from 'blue' to 'green' while pods of the \
             PodCliqueSet are scheduled",
        ],
    ),
    fails(
        r#"patch ct blue --type=merge -p {"spec":{"levels":[{"domain":"host","key":"kubernetes.io/hostname"}]}}"#,
        &[
            TOPOLOGY_DENIED,
            "spec.levels: Forbidden: levels cannot be changed while the topology is in use by PodCliqueSets with scheduled \
             pods: hooks/web",
        ],
    ),
    ok("label ct blue colour=blue", &["labeled"]),
    // The same levels in another order are no change.
    ok("replace -f -", &["replaced"])
        .reads(TOPOLOGY)
        .with(&[(r#""example.com/rack"}"#, r#""example.com/rack"}, {"domain": "zone", "key": "example.com/zone"}"#)]),
    // Another topology is nobody's concern.
    ok(
        r#"patch ct green --type=merge -p {"spec":{"levels":[{"domain":"host","key":"kubernetes.io/hostname"}]}}"#,
        &["patched"],
    ),
    // Everything else of the set may change.
    ok(r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"terminationDelay":"1h"}}}"#, &["patched"]),
    ok("delete pod placed done gated -n hooks --grace-period=0 --force", &["deleted"]),
    ok("get pods -n hooks", &["No resources found"]).in_time(),
    ok(
        r#"patch ct blue --type=merge -p {"spec":{"levels":[{"domain":"rack","key":"example.com/rack"}]}}"#,
        &["patched"],
    ),
];

pub const GOING: &[Case] = &[
    // A topology that is being deleted takes no new sets.
    ok(r#"patch ct green --type=merge -p {"metadata":{"finalizers":["example.com/wait"]}}"#, &["patched"]),
    ok("delete ct green --wait=false", &["deleted"]),
    fails("apply -f -", &[SET_DENIED, "Forbidden: ClusterTopology \"green\" is being deleted"]).reads(SET).with(&[
        ("\"web\"", "\"late\""),
        ("blue", "green"),
        ("rack", "host"),
    ]),
    ok(r#"patch ct green --type=merge -p {"metadata":{"finalizers":null}}"#, &["patched"]),
    // Nothing is held against a set that is being deleted.
    ok(r#"patch pcs base -n hooks --type=merge -p {"metadata":{"finalizers":["example.com/wait"]}}"#, &["patched"]),
    ok("delete pcs base -n hooks --wait=false", &["deleted"]),
    ok(
        r#"patch pcs base -n hooks --type=merge -p {"metadata":{"labels":{"grove.io/topology-name":"x"},"finalizers":null}}"#,
        &["patched"],
    ),
];

/// Topology support is switched off, over sets that have constraints.
pub const TOPOLOGY_OFF: &[Case] = &[
    fails(
        "apply -f -",
        &[SET_DENIED, "spec.template.topologyConstraint: Invalid value: \"rack\": topology support is not enabled in the operator"],
    )
    .reads(SET)
    .with(&[("\"web\"", "\"off\"")]),
    ok(r#"patch pcs web -n hooks --type=merge -p {"spec":{"template":{"terminationDelay":"2h"}}}"#, &["patched"]),
    ok("apply -f -", &["created"]).reads(SMALL_SET).with(&[("small", "free")]),
];

pub const AUTHORIZER: &[Case] = &[
    ok("apply -f -", &["created"]).reads(POD).with(&[("placed", "kept")]),
    fails(
        r#"patch pod kept -n hooks --type=merge -p {"metadata":{"labels":{"a":"b"}}}"#,
        &[
            "admission webhook \"authorizer.webhooks.grove.io\" denied the request: pods \"kept\" is managed by the operator \
             for PodCliqueSet \"web\", and \"admin\" may not change it",
        ],
    )
    .in_time(),
    ok("annotate pcs web -n hooks grove.io/disable-managed-resource-protection=true", &["annotated"]),
    ok(r#"patch pod kept -n hooks --type=merge -p {"metadata":{"labels":{"a":"b"}}}"#, &["patched", "!Warning"]),
    ok("annotate pcs web -n hooks grove.io/disable-managed-resource-protection-", &["annotated"]),
    ok("apply -f -", &["created"]).reads(POD).with(&[("placed", "orphan"), ("\"web\"", "\"gone\"")]),
    ok("label pod orphan -n hooks a=b", &["labeled", "Warning: PodCliqueSet \"gone\" of pods \"orphan\" is not there any more"]),
    // Not to be seen by the selector: not managed.
    ok("apply -f -", &["created"]).reads(POD).with(&[("placed", "other"), ("grove-operator", "somebody")]),
    ok("label pod other -n hooks a=b", &["labeled", "!Warning"]),
    // Pods may be deleted by all.
    ok("delete pod orphan other -n hooks --grace-period=0 --force", &["deleted"]),
];

pub const NO_AUTHORIZER: &[Case] = &[
    fails("get validatingwebhookconfiguration authorizer-webhook", &["not found"]),
    ok("label pod kept -n hooks b=c", &["labeled"]).in_time(),
    ok("delete pod kept -n hooks --grace-period=0 --force", &["deleted"]),
];

/// Nobody answers, and nobody is asked.
pub const NO_WEBHOOKS: &[Case] = &[
    ok("get mutatingwebhookconfigurations,validatingwebhookconfigurations", &["No resources found"]),
    ok("apply -f -", &["created"]).reads(SMALL_SET).with(&[("small", "unasked")]).in_time(),
];
