//! The commands, and what they show.

use crate::run::{Case, Watch, fails, ok};

const DEFINITION: &str = include_str!("definition.yaml");
const GANG: &str = include_str!("gang.yaml");
const PODS: &str = include_str!("pods.yaml");
const SERVICE: &str = include_str!("service.yaml");
const SERVICE_AND_NODE: &str = concat!(include_str!("service.yaml"), "---\n", include_str!("node.yaml"));
const EVENTS: &str = include_str!("events.yaml");
const CHILDREN: &str = include_str!("children.yaml");

macro_rules! ready {
    () => {
        r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#
    };
}

/// One by one.
pub const SETUP: &[Case] = &[
    ok("create namespace kubectl", &["namespace/kubectl created"]),
    ok("apply -f -", &["customresourcedefinition.apiextensions.k8s.io/gangs.kubectl.example.com created"])
        .reads(DEFINITION),
    ok("create serviceaccount builder", &["serviceaccount/builder created"]),
    ok("wait --for=condition=Established crd/gangs.kubectl.example.com --timeout=30s", &["condition met"]),
    // It reads discovery anew, so that what follows finds the new kind in its cache.
    ok(
        "api-resources",
        &[
            "NAME SHORTNAMES APIVERSION NAMESPACED KIND",
            "configmaps cm v1 true ConfigMap",
            "nodes no v1 false Node",
            "leases coordination.k8s.io/v1 true Lease",
            "gangs gg kubectl.example.com/v1 true Gang",
        ],
    )
    .in_time(),
];

/// What the server says about itself, in any order.
pub const ABOUT: &[Case] = &[
    ok("version", &["Server Version: v1.36."]),
    ok("api-versions", &["autoscaling/v2", "kubectl.example.com/v1", "\nv1"]),
    ok("auth can-i create pods", &["yes"]),
    ok("auth can-i list gangs.kubectl.example.com --all-namespaces", &["yes"]),
    ok("auth whoami", &["ATTRIBUTE VALUE", "Username "]),
    ok(
        "explain pod.spec.containers.image",
        &["KIND: Pod", "VERSION: v1", "FIELD: image <string>", "Container image name."],
    ),
    ok(
        "explain gang.spec",
        &[
            "GROUP: kubectl.example.com\nKIND: Gang\nVERSION: v1",
            "FIELD: spec <Object>",
            "What is wanted of a gang.",
            "members <[]Object>",
            "replicas <integer>\nHow many pods there should be.",
        ],
    )
    .in_time(),
    fails("explain gang.nope", &["field \"nope\" does not exist"]).in_time(),
];

/// One by one.
pub const CREATE: &[Case] = &[
    ok("create configmap conf --from-literal=a=before", &["configmap/conf created"]),
    fails("create configmap conf --from-literal=a=1", &["configmaps \"conf\" already exists"]),
    ok("create secret generic key --from-literal=password=x", &["secret/key created"]),
    ok("create token builder", &["eyJ"]),
    ok("create -f -", &["pod/web created", "pod/placed created"]).reads(PODS),
    ok("create -f -", &["event/web.1 created", "event/node-a.1 created"]).reads(EVENTS),
    ok("apply -f -", &["service/web created", "node/node-a created"]).reads(SERVICE_AND_NODE),
    ok("apply -f -", &["gang.kubectl.example.com/alpha created"]).reads(GANG),
    ok("create --dry-run=server -f -", &["gang.kubectl.example.com/beta created (server dry run)"])
        .reads(GANG)
        .with(&[("alpha", "beta")]),
    fails("apply -f -", &["strict decoding error: unknown field \"spec.kueue\""])
        .reads(GANG)
        .with(&[("alpha", "gamma"), ("queue", "kueue")]),
    fails("apply -f -", &["The Gang \"gamma\" is invalid: spec.queue: Too long: may not be more than 10 bytes"])
        .reads(GANG)
        .with(&[("alpha", "gamma"), ("day", "muchtoolongaqueue")]),
    fails("create --dry-run=server -f -", &["strict decoding error: unknown field \"spec.containers[0].imag\""])
        .reads(PODS)
        .with(&[("web\n", "other\n"), ("placed", "another"), ("image: example", "imag: example")]),
];

/// In any order.
pub const READ: &[Case] = &[
    ok("get pods", &["NAME READY STATUS RESTARTS AGE\nplaced 0/1 Pending 0 ", "\nweb 0/1 Pending 0 "]),
    ok(
        "get pods -o yaml",
        &["kind: List", "serviceAccountName: builder", "schedulerName: default-scheduler", "!managedFields"],
    ),
    ok("get pods,gangs -o name", &["pod/placed\npod/web\ngang.kubectl.example.com/alpha"]),
    ok("get pods -A -l app=web", &["NAMESPACE NAME READY", "kubectl web 0/1 Pending", "!placed"]),
    ok(
        "get pods --field-selector=spec.nodeName=node-a -o wide",
        &["NOMINATED NODE", "placed 0/1 Pending", " node-a ", "!web"],
    ),
    ok("get gg", &["NAME WANTED THERE AGE\nalpha 2 "]),
    ok("get gangs -o wide -l app=train", &["NAME WANTED THERE QUEUE AGE\nalpha 2 day "]),
    ok("get all", &["pod/web 0/1", "service/web ClusterIP ", "gang.kubectl.example.com/alpha 2"]),
    ok("get configmap conf -o jsonpath={.data.a}", &["before"]),
    fails("get pod missing", &["Error from server (NotFound): pods \"missing\" not found"]),
    fails("get nokind", &["the server doesn't have a resource type \"nokind\""]),
    ok("get events", &["LAST SEEN TYPE REASON OBJECT MESSAGE", "Normal Waiting pod/web waits for a node"]),
    ok("events --for pod/web", &["Normal Waiting Pod/web waits for a node"]),
    ok(
        "describe pod web",
        &["Service Account: builder", "Image: example.com/web:1", "cpu: 100m", "QoS Class: Burstable"],
    ),
    ok("describe node node-a", &["Labels: rack=r1", "kubectl placed", "Warning Rebooted ", "was started again"]),
    ok("describe gang alpha", &["API Version: kubectl.example.com/v1", "Name: worker", "Queue: day", "Events: <none>"]),
    ok("describe service web", &["Selector: app=web", "Type: ClusterIP", "Port: <unset> 80/TCP"]),
];

/// A custom object through all ways of writing, one by one.
pub const APPLY: &[Case] = &[
    ok("apply -f -", &["gang.kubectl.example.com/alpha unchanged"]).reads(GANG),
    ok("diff -f -", &["!replicas"]).reads(GANG),
    fails("diff -f -", &["- generation: 1", "+ generation: 2", "- replicas: 2", "+ replicas: 3"])
        .reads(GANG)
        .with(&[("replicas: 2", "replicas: 3")]),
    ok("apply -f -", &["gang.kubectl.example.com/alpha configured"])
        .reads(GANG)
        .with(&[("replicas: 2", "replicas: 3")]),
    fails(
        "apply --server-side --field-manager=other -f -",
        &["1 conflict: conflict with \"kubectl-client-side-apply\" using kubectl.example.com/v1: .spec.replicas"],
    )
    .reads(GANG)
    .with(&[("replicas: 2", "replicas: 4")]),
    ok(
        "apply --server-side --field-manager=other --force-conflicts -f -",
        &["gang.kubectl.example.com/alpha serverside-applied"],
    )
    .reads(GANG)
    .with(&[("replicas: 2", "replicas: 4")]),
    ok("edit gang alpha", &["gang.kubectl.example.com/alpha edited"]),
    ok("scale gang alpha --replicas=5", &["gang.kubectl.example.com/alpha scaled"]),
    ok("label gang alpha tier=gold", &["gang.kubectl.example.com/alpha labeled"]),
    ok(r#"patch gang alpha --type=json -p [{"op":"remove","path":"/spec/members/0"}]"#, &["alpha patched"]),
    ok(
        concat!("patch gang alpha --type=merge --subresource=status -p ", ready!()),
        &["gang.kubectl.example.com/alpha patched"],
    ),
    ok("wait gang/alpha --for=condition=Ready --timeout=30s", &["gang.kubectl.example.com/alpha condition met"]),
    ok(
        "get gang alpha -o jsonpath={.spec.replicas}/{.spec.queue}/{.metadata.labels.tier}/{.spec.members[*].name}",
        &["5/night/gold/worker"],
    ),
];

/// A node is taken out of service and brought back, one by one.
pub const NODES: &[Case] = &[
    ok(concat!("patch node node-a --subresource=status -p ", ready!()), &["node/node-a patched"]),
    ok("taint nodes node-a key=value:NoSchedule", &["node/node-a tainted"]),
    ok("cordon node-a", &["node/node-a cordoned"]),
    ok("get nodes -l rack=r1", &["NAME STATUS ROLES AGE VERSION\nnode-a Ready,SchedulingDisabled <none> "]),
    fails("drain node-a", &["node/node-a already cordoned", "cannot delete Pods with local storage", "kubectl/placed"]),
    ok(
        "drain node-a --force --ignore-daemonsets --delete-emptydir-data --timeout=30s",
        &["evicting pod kubectl/placed", "pod/placed evicted", "node/node-a drained"],
    ),
    ok("uncordon node-a", &["node/node-a uncordoned"]),
    ok("taint nodes node-a key:NoSchedule-", &["node/node-a untainted"]),
    ok("get node node-a -o jsonpath={.spec}", &["!unschedulable", "!\"key\""]),
];

/// Built-in kinds, one by one.
pub const BUILT_IN: &[Case] = &[
    ok("annotate pod web note=x", &["pod/web annotated"]),
    ok(r#"patch pod web -p {"metadata":{"labels":{"tier":"front"}}}"#, &["pod/web patched"]),
    ok("edit configmap conf", &["configmap/conf edited"]),
    ok("get configmap conf -o jsonpath={.data.a}", &["after"]),
    ok("apply --server-side -f -", &["service/web serverside-applied"]).reads(SERVICE),
    ok("delete pod web", &["pod \"web\" deleted"]),
];

/// Changes arrive as they are made.
pub const WATCHES: &[Watch] = &[
    Watch {
        arguments: "get configmaps -w",
        first: &["NAME DATA AGE", "conf 1 "],
        then: ok("create configmap seen --from-literal=a=1 --from-literal=b=2", &["configmap/seen created"]),
        shows: "seen 2 ",
    },
    Watch {
        arguments: "get gangs -w -o wide",
        first: &["NAME WANTED THERE QUEUE AGE", "alpha "],
        then: ok("create -f -", &["gang.kubectl.example.com/beta created"]).reads(GANG).with(&[("alpha", "beta")]),
        shows: "beta 2 day ",
    },
];

/// An object that somebody holds, one by one.
pub const HELD: &[Case] = &[
    ok(r#"patch gang beta --type=merge -p {"metadata":{"finalizers":["example.com/hold"]}}"#, &["beta patched"]),
    ok("delete gang beta --wait=false", &["gang.kubectl.example.com \"beta\" deleted"]),
    ok(
        "get gang beta -o jsonpath={.metadata.finalizers}/{.metadata.deletionGracePeriodSeconds}",
        &["[\"example.com/hold\"]/0"],
    ),
];

/// One waits for the end of it and the other lets it go.
pub const RELEASED: &[Case] = &[
    ok("wait gang/beta --for=delete --timeout=30s", &[]),
    ok(r#"patch gang beta --type=merge -p {"metadata":{"finalizers":null}}"#, &["beta patched"]),
];

/// What belongs to something goes with it, or stays when that is asked for. One by one.
pub const OWNERS: &[Case] = &[
    ok("create -f -", &["configmap/child-of-conf created", "configmap/child-of-gang created"]).reads(CHILDREN),
    ok("delete configmap conf --cascade=orphan", &["configmap \"conf\" deleted"]),
    ok("get configmap child-of-conf -o jsonpath={.metadata}", &["child-of-conf", "!ownerReferences"]),
    ok("delete gang alpha --cascade=foreground", &["gang.kubectl.example.com \"alpha\" deleted"]),
    fails("get configmap child-of-gang", &["configmaps \"child-of-gang\" not found"]),
];

/// In any order.
pub const CLEANUP: &[Case] = &[
    ok("delete namespace kubectl --timeout=50s", &["namespace \"kubectl\" deleted"]),
    ok("delete node node-a", &["node \"node-a\" deleted"]),
    ok("delete event node-a.1 -n default", &["event \"node-a.1\" deleted"]),
    ok("delete crd gangs.kubectl.example.com --timeout=50s", &["\"gangs.kubectl.example.com\" deleted"]),
];
