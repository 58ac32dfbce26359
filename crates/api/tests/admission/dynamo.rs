//! DynamoGraphDeployments: what one may look like. Document 003, decisions 24 to 31, sections 1 to 3 of the Dynamo reference.

use crate::harness::{Case, written};
use trellis_api::admission::object::Kind::DynamoGraphDeployment;

/// The three shapes of one deployment: a frontend, and a worker over four nodes.
pub const SHAPES: [Shape; 3] = [
    Shape {
        text: "
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: demo, namespace: default}
spec:
  services:
    - {name: Frontend, componentType: frontend, replicas: 1}
    - {name: VllmWorker, componentType: worker, replicas: 2, multinode: {nodeCount: 4}}
",
        frontend: "spec.services[0]",
        worker: "spec.services[1]",
        third: "spec.services[2]: {name: NAME, replicas: 1}",
        all: "spec.services",
    },
    Shape {
        text: "
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: demo, namespace: default}
spec:
  services:
    Frontend: {componentType: frontend, replicas: 1}
    VllmWorker: {componentType: worker, replicas: 2, multinode: {nodeCount: 4}}
",
        frontend: "spec.services[Frontend]",
        worker: "spec.services[VllmWorker]",
        third: "spec.services[NAME]: {replicas: 1}",
        all: "spec.services",
    },
    Shape {
        text: "
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: demo, namespace: default}
spec:
  components:
    - {name: Frontend, type: frontend, replicas: 1}
    - {name: VllmWorker, type: worker, replicas: 2, multinode: {nodeCount: 4}}
",
        frontend: "spec.components[0]",
        worker: "spec.components[1]",
        third: "spec.components[2]: {name: NAME, replicas: 1}",
        all: "spec.components",
    },
];

/// A shape, and where things stand in it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub text: &'static str,
    pub frontend: &'static str,
    pub worker: &'static str,
    /// An edit that adds a component.
    pub third: &'static str,
    pub all: &'static str,
}

impl Shape {
    /// The deployment with edits, in which `FRONT`, `WORK` and `ALL` stand for the places of this shape.
    pub fn case(&self, edits: &[&str]) -> Case {
        let edits: Vec<String> = edits.iter().map(|edit| self.place(edit)).collect();
        let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
        written(DynamoGraphDeployment, self.text, &edits)
    }

    pub fn place(&self, text: &str) -> String {
        text.replace("FRONT", self.frontend).replace("WORK", self.worker).replace("ALL", self.all)
    }

    pub fn old(&self, case: Case, edits: &[&str]) -> Case {
        let edits: Vec<String> = edits.iter().map(|edit| self.place(edit)).collect();
        let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
        case.old(&edits)
    }

    #[track_caller]
    pub fn gives(&self, case: &Case, errors: &[&str]) {
        let errors: Vec<String> = errors.iter().map(|error| self.place(error)).collect();
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        case.gives(&errors);
    }
}

/// The same edits and the same errors in every shape.
#[track_caller]
pub fn check(edits: &[&str], errors: &[&str]) {
    for shape in SHAPES {
        shape.gives(&shape.case(edits), errors);
    }
}

#[test]
fn d24_three_shapes() {
    check(&[], &[]);
}

#[test]
fn s003_api_design_user_examples() {
    let examples = [
        "
spec:
  topologyConstraint:
    packDomain: zone
  services:
    - name: VllmWorker
      replicas: 2
    - name: Frontend
      replicas: 1
",
        "
spec:
  topologyConstraint:
    packDomain: zone
  services:
    - name: VllmWorker
      multinode: { nodeCount: 4 }
      replicas: 2
      topologyConstraint:
        packDomain: block   # narrower than zone
    - name: Frontend
      replicas: 1
",
        "
spec:
  services:
    - name: VllmWorker
      multinode: { nodeCount: 4 }
      replicas: 2
      topologyConstraint:
        packDomain: rack
    - name: Frontend
      replicas: 1
",
    ];
    for example in examples {
        let text =
            format!("apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: demo}}{example}");
        written(DynamoGraphDeployment, &text, &[]).gives(&[]);
    }
}

#[test]
fn d30_services_and_components_together() {
    let together = "spec.services: Forbidden: must not be set together with spec.components: both say what the deployment consists of";
    SHAPES[2].case(&["spec.services: [{name: a}]"]).gives(&[together]);
    SHAPES[2].case(&["spec.services: {a: {}}"]).gives(&[together]);
    SHAPES[0].case(&["spec.components: [{name: a}]"]).gives(&[together]);
    SHAPES[2].case(&["spec.services: null"]).gives(&[]);
}

#[test]
fn dynamo1_1_something_is_deployed() {
    SHAPES[0]
        .case(&["spec.services: []"])
        .gives(&["spec.services: Required value: at least one of the services must be defined"]);
    SHAPES[1]
        .case(&["spec.services: {}"])
        .gives(&["spec.services: Required value: at least one of the services must be defined"]);
    SHAPES[2]
        .case(&["spec.components: []"])
        .gives(&["spec.components: Required value: at least one of the components must be defined"]);
    SHAPES[2]
        .case(&["-spec.components"])
        .gives(&["spec.components: Required value: at least one of the components must be defined"]);
    SHAPES[1].case(&["spec.services: 3"]).gives(&["spec.services: Invalid value: 3: must be of type array"]);
    // A service that is written as nothing is none.
    SHAPES[1].case(&["spec.services[Other]: null"]).gives(&[]);
}

#[test]
fn dynamo1_1_at_most_25_components() {
    for shape in SHAPES {
        let name = |i: usize| format!("c{i:02}");
        let add = |edits: &mut Vec<String>, i: usize| {
            edits.push(shape.third.replace("NAME", &name(i)).replace("[2]", &format!("[{i}]")));
        };
        let mut edits = Vec::new();
        (2..25).for_each(|i| add(&mut edits, i));
        shape.case(&crate::edit::texts(&edits)).gives(&[]);
        add(&mut edits, 25);
        let case = shape.case(&crate::edit::texts(&edits));
        shape.gives(&case, &["ALL: Too many: 26: must have at most 25 items"]);
    }
}

#[test]
fn dynamo1_1_names() {
    let name_path = |shape: &Shape, name: &str| match shape.third.contains("[NAME]") {
        true => format!("{}[{name}]", shape.all),
        false => format!("{}[2].name", shape.all),
    };
    let form = "must be letters, digits and '-', starting and ending with a letter or digit, at most 63 characters (e.g. 'VllmWorker')";
    for shape in SHAPES {
        for name in ["prefill", "a-b", "A", "7b"] {
            shape.case(&[&shape.third.replace("NAME", name)]).gives(&[]);
        }
        for name in ["a_b", "-a", "a-", "ä"] {
            let error = format!("{}: Invalid value: \"{name}\": {form}", name_path(&shape, name));
            shape.case(&[&shape.third.replace("NAME", name)]).gives(&[&error]);
        }
        let double = format!(
            "{}: Duplicate value: \"frontend\": names must be unique whatever their case, and there is \"Frontend\" already",
            name_path(&shape, "frontend")
        );
        let case = shape.case(&[&shape.third.replace("NAME", "frontend")]);
        // In a map, capitals come first.
        case.gives(&[&double]);
        for name in ["vllmworker-ldr", "VllmWorker-WKR"] {
            let taken = format!(
                "{}: Duplicate value: \"{name}\": its pods would have the names of pods of \"VllmWorker\", which spans several nodes",
                name_path(&shape, name)
            );
            shape.case(&[&shape.third.replace("NAME", name)]).gives(&[&taken]);
        }
    }
}

#[test]
fn dynamo3_4_combined_length_of_names() {
    // The deployment's name is cut to eight characters at least; what a component takes of 45 is then 37 at most.
    for shape in SHAPES {
        let long = "c".repeat(37);
        shape.case(&[&shape.third.replace("NAME", &long)]).gives(&[]);
        shape
            .case(&["metadata.name: a-deployment-with-a-very-long-name-indeed", &shape.third.replace("NAME", &long)])
            .gives(&[]);
        let longer = "c".repeat(38);
        let case = shape.case(&["metadata.name: deployed", &shape.third.replace("NAME", &longer)]);
        let verdict = case.verdict();
        assert_eq!(verdict.errors.len(), 1, "{:?}", verdict.errors);
        let message = verdict.errors[0].to_string();
        assert!(message.contains("combined resource name length 46 exceeds the 45-character limit"), "{message}");
        assert!(message.contains("shorten DynamoGraphDeployment name \"deployed\" or component name"), "{message}");
        // What was cut already is not asked to be shorter.
        let case = shape.case(&["metadata.name: deployed-long-ago", &shape.third.replace("NAME", &longer)]);
        let message = case.verdict().errors.first().map(ToString::to_string).unwrap_or_default();
        let hint =
            format!("; shorten component name {longer:?} by at least 1; the deployment's name counts as 8 already");
        assert!(message.ends_with(&hint), "{message}");
    }
}

#[test]
fn dynamo1_1_one_endpoint_picker() {
    SHAPES[2].case(&["spec.components[0].type: epp"]).gives(&[]);
    SHAPES[2]
        .case(&["spec.components[0].type: epp", "spec.components[1].type: epp"])
        .gives(&["spec.components[1].type: Forbidden: only one component may be of type \"epp\""]);
    SHAPES[0]
        .case(&["spec.services[0].componentType: epp", "spec.services[1].componentType: epp"])
        .gives(&["spec.services[1].componentType: Forbidden: only one component may be of type \"epp\""]);
}

#[test]
fn dynamo1_1_kinds_of_components_and_engines() {
    SHAPES[2].case(&["spec.components[0].type: router"]).gives(&[
        "spec.components[0].type: Unsupported value: \"router\": supported values: \"frontend\", \"worker\", \"prefill\", \"decode\", \
         \"planner\", \"epp\"",
    ]);
    // A free word in v1alpha1.
    SHAPES[0].case(&["spec.services[0].componentType: router"]).gives(&[]);
    check(&["spec.backendFramework: vllm"], &[]);
    check(
        &["spec.backendFramework: tgi"],
        &["spec.backendFramework: Unsupported value: \"tgi\": supported values: \"sglang\", \"vllm\", \"trtllm\""],
    );
}

#[test]
fn d31_replicas_of_nothing() {
    let nothing = "FRONT.replicas: Invalid value: 0: must be at least 1: a component without pods leaves a gang that can never be placed \
                   as a whole; delete the deployment, or leave the component out of a new one";
    check(&["FRONT.replicas: 0"], &[nothing]);
    check(&["FRONT.replicas: -1"], &["FRONT.replicas: Invalid value: -1: must be greater than or equal to 0"]);
    check(&["-FRONT.replicas"], &[]);
}

#[test]
fn dynamo1_1_minima() {
    check(&["WORK.minAvailable: 2"], &[]);
    check(
        &["WORK.minAvailable: 3"],
        &["WORK.minAvailable: Invalid value: 3: must be less than or equal to replicas, which are 2"],
    );
    check(&["WORK.minAvailable: 0"], &["WORK.minAvailable: Invalid value: 0: must be greater than or equal to 1"]);
    check(
        &["FRONT.minAvailable: 2"],
        &["FRONT.minAvailable: Invalid value: 2: must be less than or equal to replicas, which are 1"],
    );
}

#[test]
fn dynamo1_1_nodes() {
    check(&["WORK.multinode.nodeCount: 2"], &[]);
    check(
        &["WORK.multinode.nodeCount: 1"],
        &[
            "WORK.multinode.nodeCount: Invalid value: 1: must be at least 2; leave `multinode` out for a component on one node",
        ],
    );
    SHAPES[2].case(&["spec.components[1].multinode: {}"]).gives(&[]);
    SHAPES[0]
        .case(&["spec.services[1].multinode: {}"])
        .gives(&["spec.services[1].multinode.nodeCount: Required value"]);
}

#[test]
fn d31_an_image_where_a_template_is_given() {
    let beta = "spec.components[0].podTemplate";
    let check = |template: &str, errors: &[&str]| SHAPES[2].case(&[&format!("{beta}: {template}")]).gives(errors);
    check("{spec: {containers: [{name: main, image: a:1}]}}", &[]);
    check("{spec: {containers: [{name: side, image: a:1}, {name: main, image: a:1}]}}", &[]);
    let image = "the main container needs an image";
    check(
        "{spec: {containers: [{name: main}]}}",
        &[&format!("{beta}.spec.containers[0].image: Required value: {image}")],
    );
    check(
        "{spec: {containers: [{name: side, image: a:1}, {name: main, image: ''}]}}",
        &[&format!("{beta}.spec.containers[1].image: Required value: {image}")],
    );
    check(
        "{spec: {containers: [{name: side, image: a:1}]}}",
        &[&format!(
            "{beta}.spec.containers: Required value: must have a container named \"main\", which runs the component"
        )],
    );
    for shape in &SHAPES[..2] {
        let check = |edit: &str, errors: &[&str]| shape.gives(&shape.case(&[edit]), errors);
        check("FRONT.extraPodSpec: {mainContainer: {image: a:1}}", &[]);
        check(
            "FRONT.extraPodSpec: {mainContainer: {}}",
            &["FRONT.extraPodSpec.mainContainer.image: Required value: the main container needs an image"],
        );
        check(
            "FRONT.extraPodSpec: {}",
            &["FRONT.extraPodSpec.mainContainer.image: Required value: the main container needs an image"],
        );
        // Nothing is said of a pod's containers here.
        check("FRONT.resources: {limits: {gpu: '1'}}", &[]);
        check("FRONT.podTemplate: {spec: {containers: [{name: main, image: a:1}]}}", &[]);
    }
    SHAPES[0]
        .case(&[
            "spec.services[0].podTemplate: {spec: {containers: [{name: main, image: a}]}}",
            "spec.services[0].envs: []",
        ])
        .gives(&["spec.services[0].podTemplate: Forbidden: must not be set together with `envs`"]);
}

#[test]
fn dynamo2_6_the_engine_that_runs_is_the_one_that_is_named() {
    let worker =
        |args: &str| format!("WORK.extraPodSpec: {{mainContainer: {{image: a, command: [sh, -c], args: ['{args}']}}}}");
    for shape in &SHAPES[..2] {
        let check = |args: &str, named: &str, errors: &[&str]| {
            shape.gives(&shape.case(&[&worker(args), &format!("spec.backendFramework: {named}")]), errors);
        };
        check("python3 -m dynamo.vllm --model x", "vllm", &[]);
        check(
            "exec /usr/bin/python3 -m dynamo.sglang",
            "vllm",
            &["spec.backendFramework: Invalid value: \"vllm\": the command of \"VllmWorker\" starts dynamo.sglang"],
        );
        check("serve", "sglang", &[]);
    }
}

#[test]
fn dynamo1_1_shared_memory() {
    let check = |size: &str, errors: &[&str]| {
        SHAPES[2].case(&[&format!("spec.components[0].sharedMemorySize: {size}")]).gives(errors);
    };
    for size in ["16Gi", "0", "'0'", "1024"] {
        check(size, &[]);
    }
    let message = "must be an amount of memory that is not negative (e.g. '16Gi'), or 0 for none";
    check("-1Gi", &[&format!("spec.components[0].sharedMemorySize: Invalid value: \"-1Gi\": {message}")]);
    check("lots", &[&format!("spec.components[0].sharedMemorySize: Invalid value: \"lots\": {message}")]);
    SHAPES[0].case(&["spec.services[0].sharedMemory: {disabled: true}"]).gives(&[]);
    SHAPES[0]
        .case(&["spec.services[0].sharedMemory: {size: -3}"])
        .gives(&[&format!("spec.services[0].sharedMemory.size: Invalid value: -3: {message}")]);
}

#[test]
fn dynamo3_6_what_would_be_ignored_is_refused() {
    let message =
        "Forbidden: is not supported: constraints are written as topologyConstraint, where they can be checked";
    check(&["spec.providerOverride: {target: PodCliqueSet}"], &[&format!("spec.providerOverride: {message}")]);
    check(&["FRONT.providerOverride: {value: {}}"], &[&format!("FRONT.providerOverride: {message}")]);
    check(
        &["WORK.multinode.leader: {providerOverride: {}}"],
        &[&format!("WORK.multinode.leader.providerOverride: {message}")],
    );
    SHAPES[2].case(&["spec.components[1].experimental: {gpuMemoryService: {mode: InterPod}}"]).gives(&[
        "spec.components[1].experimental.gpuMemoryService.mode: Forbidden: GPU memory that pods share across pods is not supported",
    ]);
    SHAPES[2]
        .case(&["spec.components[1].experimental: {failover: {numShadows: 1}}"])
        .gives(&["spec.components[1].experimental.failover: Forbidden: shadow pods are not supported"]);
}

/// Decision 26: what is asked for under another name would be ignored, and pods would stand elsewhere.
#[test]
fn d26_what_is_misspelt_where_pods_are_placed_is_refused() {
    let odd = "unknown field, which would be ignored";
    for shape in SHAPES {
        let check = |edits: &[&str], errors: &[&str]| shape.gives(&shape.case(edits), errors);
        let name = if shape.all == "spec.components" { "clusterTopologyName" } else { "topologyProfile" };
        let constraint = "spec.topologyConstraint";
        check(
            &[&format!("{constraint}: {{packDomain: zone, topologyName: gb200}}")],
            &[&format!(
                "{constraint}.topologyName: Invalid value: \"gb200\": {odd}: the topology is named by `{name}`"
            )],
        );
        check(
            &[&format!("{constraint}: {{packDomain: zone, clusterTopologyname: gb200}}")],
            &[&format!(
                "{constraint}.clusterTopologyname: Invalid value: \"gb200\": {odd}: did you mean `clusterTopologyName`?"
            )],
        );
        check(
            &[&format!("{constraint}: {{packDomain: zone, pack: {{required: rack}}}}")],
            &[&format!(
                "{constraint}.pack: Invalid value: {{\"required\":\"rack\"}}: {odd}: the domain is written as `packDomain`"
            )],
        );
        for field in ["clusterTopologyName", "topologyProfile", "topologyName"] {
            let all = shape.all.trim_start_matches("spec.");
            check(
                &[&format!("WORK.topologyConstraint: {{packDomain: rack, {field}: gb200}}")],
                &[&format!(
                    "WORK.topologyConstraint.{field}: Invalid value: \"gb200\": {odd}: the topology is named for all {all} together, by \
                     spec.topologyConstraint.{name}"
                )],
            );
        }
        for (field, value) in [("nodes", "8"), ("size", "'8'"), ("numNodes", "8")] {
            check(
                &[&format!("WORK.multinode: {{nodeCount: 2, {field}: {value}}}")],
                &[&format!(
                    "WORK.multinode.{field}: Invalid value: {}: {odd}: the number of nodes is written as `nodeCount`",
                    value.replace('\'', "\"")
                )],
            );
        }
        check(
            &["WORK.multinode: {nodeCount: 2, leeder: {}}"],
            &[&format!("WORK.multinode.leeder: Invalid value: {{}}: {odd}: did you mean `leader`?")],
        );
        // What looks like nothing that is known is kept.
        let warn = |edit: &str, warning: &str| shape.case(&[edit]).warns(&[&shape.place(warning)]).gives(&[]);
        warn("WORK.multinode: {nodeCount: 2, comment: x}", "WORK.multinode.comment: unknown field, kept as it is");
        warn(
            &format!("{constraint}: {{packDomain: zone, because: latency}}"),
            &format!("{constraint}.because: unknown field, kept as it is"),
        );
    }
    SHAPES[2].case(&["spec.components[1].multinode: {nodes: 8}"]).gives(&[&format!(
        "spec.components[1].multinode.nodes: Invalid value: 8: {odd}: the number of nodes is written as `nodeCount`"
    )]);
    SHAPES[2].case(&["spec.components[0].experimental: {grove: {forceScalingGroups: true}}"]).gives(&[&format!(
        "spec.components[0].experimental.grove.forceScalingGroups: Invalid value: true: {odd}: did you mean `forceScalingGroup`?"
    )]);
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let idle = "kept as it is, and without effect here";
    for shape in SHAPES {
        let warn = |edit: &str, warning: &str| shape.case(&[edit]).warns(&[&shape.place(warning)]).gives(&[]);
        warn("FRONT.ingress: {enabled: true}", &format!("FRONT.ingress: {idle}"));
        warn("spec.restart: {id: a}", &format!("spec.restart: {idle}"));
        warn("FRONT.replcas: 3", "FRONT.replcas: unknown field, kept as it is; did you mean `replicas`?");
        warn("FRONT.somethingElse: 3", "FRONT.somethingElse: unknown field, kept as it is");
        warn(
            "spec.topologyConstrain: {packDomain: rack}",
            "spec.topologyConstrain: unknown field, kept as it is; did you mean `topologyConstraint`?",
        );
        warn(
            "spec.experimental: {kvTransferPolicy: {domain: rack}}",
            &format!("spec.experimental.kvTransferPolicy: {idle}"),
        );
        warn(
            "metadata.annotations: {nvidia.com/enable-grove: 'False'}",
            "metadata.annotations[nvidia.com/enable-grove]: without effect here: a deployment always becomes a PodCliqueSet",
        );
    }
}

#[test]
fn trials_without_effect_are_warned_of() {
    let warn = |written: &str, warnings: &[&str]| {
        let edit = format!("spec.components[0].experimental: {{{written}}}");
        SHAPES[2].case(&[&edit]).warns(warnings).gives(&[]);
    };
    let idle = |field: &str| format!("spec.components[0].experimental.{field}: kept as it is, and without effect here");
    warn("checkpoint: {enabled: true}", &[&idle("checkpoint")]);
    warn("gpuMemoryService: {mode: IntraPod}", &[&idle("gpuMemoryService")]);
    warn("grove: {forceScalingGroup: true}", &[]);
}

#[test]
fn dynamo2_2_update_strategy() {
    let annotated = |strategy: &str| format!("metadata.annotations: {{nvidia.com/grove-update-strategy: {strategy}}}");
    check(&[&annotated("OnDelete")], &[]);
    check(&[&annotated("RollingRecreate")], &[]);
    check(
        &[&annotated("onDelete")],
        &[
            "metadata.annotations[nvidia.com/grove-update-strategy]: Unsupported value: \"onDelete\": supported values: \
         \"RollingRecreate\", \"OnDelete\"",
        ],
    );
}

#[test]
fn dynamo1_1_defaults() {
    for shape in SHAPES {
        shape.case(&["-FRONT.replicas"]).stores(&[&shape.place("FRONT.replicas: 1"), &shape.place("WORK.replicas: 2")]);
    }
    SHAPES[2].case(&["spec.components[1].multinode: {}"]).stores(&["spec.components[1].multinode.nodeCount: 2"]);
}

/// Decision 47: a wrong type is a refusal with a field.
#[test]
fn d47_wrong_types() {
    let wrong = [
        ("spec", "5"),
        ("spec.topologyConstraint", "rack"),
        ("spec.topologyConstraint.packDomain", "[rack]"),
        ("spec.labels", "[a]"),
        ("spec.priorityClassName", "{}"),
        ("FRONT", "frontend"),
        ("FRONT.replicas", "many"),
        ("FRONT.replicas", "3000000000"),
        ("FRONT.minAvailable", "1.5"),
        ("FRONT.multinode", "4"),
        ("FRONT.multinode.nodeCount", "four"),
        ("FRONT.topologyConstraint", "rack"),
        ("FRONT.topologyConstraint.packDomain", "3"),
        ("metadata.name", "[a]"),
        ("metadata.labels", "3"),
    ];
    for shape in SHAPES {
        for (path, value) in wrong {
            let path = shape.place(path);
            let verdict = written(DynamoGraphDeployment, shape.text, &[&format!("{path}: {value}")]).verdict();
            let found = verdict.errors.iter().any(|error| error.field.starts_with(&path));
            assert!(found, "{path}: {value} gives {:?}", verdict.errors);
        }
    }
}
