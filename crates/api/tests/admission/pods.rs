//! Pod specs: section 4.3 of the Grove reference.

use crate::harness::{Case, set};

const POD: &str = "spec.template.cliques[0].spec.podSpec";

/// The base set with edits of the pod spec of its first clique.
fn pod(edits: &[&str]) -> Case {
    let edits: Vec<String> = edits.iter().map(|edit| format!("{POD}.{edit}")).collect();
    set(&crate::edit::texts(&edits))
}

#[test]
fn grove4_3_one_scheduler_for_all_pods() {
    let same = "the schedulerName for all pods have to be the same";
    let name = |i: usize, name: &str| format!("cliques[{i}].spec.podSpec.schedulerName: {name:?}");
    let at = |i: usize| format!("spec.template.cliques[{i}].spec.podSpec.schedulerName");
    let trellis: Vec<String> = (0..3).map(|i| name(i, "trellis")).collect();
    set(&crate::edit::texts(&trellis)).gives(&[]);
    // Empty and omitted are the default profile.
    set(&[&name(0, "trellis")]).gives(&[]);
    set(&[&name(0, ""), &name(2, "trellis")]).gives(&[]);
    set(&[&name(2, "default-scheduler")]).gives(&[&format!("{}: Invalid value: \"default-scheduler\": {same}", at(2))]);
    set(&[&name(0, "default-scheduler")]).gives(&[
        &format!("{}: Invalid value: \"trellis\": {same}", at(1)),
        &format!("{}: Invalid value: \"trellis\": {same}", at(2)),
    ]);
}

#[test]
fn grove4_3_scheduler_is_enabled() {
    let on = |scheduler: &str| {
        let names: Vec<String> =
            (0..3).map(|i| format!("cliques[{i}].spec.podSpec.schedulerName: {scheduler}")).collect();
        set(&crate::edit::texts(&names))
    };
    let refused = |scheduler: &str, enabled: &str| -> Vec<String> {
        let error = |i: usize| {
            format!(
                "spec.template.cliques[{i}].spec.podSpec.schedulerName: Invalid value: \"{scheduler}\": schedulerName must be an \
                 enabled scheduler backend; this scheduler is not enabled in OperatorConfiguration, enabled are: {enabled}"
            )
        };
        (0..3).map(error).collect()
    };
    let gives = |case: Case, errors: &[String]| case.gives(&crate::edit::texts(errors));
    gives(on("volcano"), &refused("volcano", "trellis, kai-scheduler, default-scheduler"));
    gives(on("default-scheduler"), &[]);
    let kai = ["scheduler.profiles: [{name: kai-scheduler}]"];
    gives(on("trellis").config(&kai), &refused("trellis", "kai-scheduler, default-scheduler"));
    // Always enabled (40).
    gives(on("default-scheduler").config(&kai), &[]);
    let no_queue = ["metadata.labels[kai.scheduler/queue]: …"];
    gives(on("kai-scheduler").config(&[]).warns(&no_queue), &refused("kai-scheduler", "trellis, default-scheduler"));
}

#[test]
fn grove4_3_placement_is_not_taken_out_of_our_hands() {
    let spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]";
    let must_not = |field: &str| format!("{POD}.{field}: Forbidden: must not be set");
    pod(&["nodeName: node-1"]).gives(&[&must_not("nodeName")]);
    pod(&[spread]).gives(&[&must_not("topologySpreadConstraints")]);
    pod(&["nodeName: node-1", spread]).gives(&[&must_not("topologySpreadConstraints"), &must_not("nodeName")]);
    pod(&["nodeName: ''", "topologySpreadConstraints: []"]).gives(&[]);
    // Held against what is new: a set that was stored with it can still be changed.
    let node = format!("{POD}.nodeName: node-1");
    set(&[&node, "spec.replicas: 2"]).old(&[&node]).gives(&[]);
    set(&[&node]).old(&[]).gives(&[&must_not("nodeName")]);
}

#[test]
fn grove4_3_env_names() {
    for (list, container) in [("containers", "main"), ("initContainers", "init")] {
        let at = format!("{POD}.{list}[0].env");
        let check = |env: &str, errors: &[&str]| {
            pod(&[&format!("{list}: [{{name: {container}, image: b, env: [{env}]}}]")]).gives(errors);
        };
        let invalid = |name: &str| {
            format!("{at}[0].name: Invalid value: \"{name}\": a valid environment variable name must consist only of …")
        };
        check("{name: A, value: '1'}, {name: b.C-d_1, value: '2'}", &[]);
        check("{name: A}, {name: A}", &[&format!("{at}[1].name: Duplicate value: \"A\"")]);
        check("{name: ''}", &[&format!("{at}[0].name: Required value: must not be empty")]);
        check("{name: 'A=B'}", &[&invalid("A=B")]);
        check("{name: 'Ä'}", &[&invalid("Ä")]);
    }
    pod(&["containers[0].env: [{name: GROVE_PCS_NAME, value: x}]"])
        .warns(&[&format!(
            "{POD}.containers[0].env[0].name: GROVE_PCS_NAME is set by the operator, the value here is ignored"
        )])
        .gives(&[]);
}

#[test]
fn grove1_1_containers_of_a_pod() {
    pod(&["containers: []"])
        .gives(&[&format!("{POD}.containers: Required value: at least one container must be defined")]);
    pod(&["containers[1]: {name: main, image: b}"])
        .gives(&[&format!("{POD}.containers[1].name: Duplicate value: \"main\"")]);
    pod(&["initContainers: [{name: main, image: b}]"])
        .gives(&[&format!("{POD}.containers[0].name: Duplicate value: \"main\"")]);
    pod(&["containers: [{name: '', image: b}]"])
        .gives(&[&format!("{POD}.containers[0].name: Required value: must not be empty")]);
    pod(&["containers: [{name: main}]"])
        .warns(&[&format!("{POD}.containers[0].image: no image; its pods cannot be created")])
        .gives(&[]);
    // The operator's own volume and init container.
    pod(&["volumes: [{name: data}]"]).gives(&[]);
    pod(&["volumes: [{name: trellis-wait-token}]"])
        .gives(&[&format!("{POD}.volumes[0].name: Forbidden: \"trellis-wait-token\" is the name of …")]);
    pod(&["initContainers: [{name: trellis-wait, image: b}]"])
        .gives(&[&format!("{POD}.initContainers[0].name: Forbidden: \"trellis-wait\" is the name of …")]);
}

#[test]
fn d47_pod_specs_have_the_types_of_kubernetes() {
    pod(&["containers[0].image: 5"]).gives(&[&format!("{POD}.containers[0].image: Invalid value: 5: …")]);
    pod(&["hostNetwork: maybe"]).gives(&[&format!("{POD}.hostNetwork: Invalid value: \"maybe\": …")]);
    pod(&["containers: {}"]).gives(&[&format!("{POD}.containers: Invalid value: {{}}: must be of type array")]);
    pod(&["containers[0].resources: {limits: {nvidia.com/gpu: 8}}"]).gives(&[]);
    pod(&["containers[0].resources: {limits: {nvidia.com/gpu: '8', memory: 1Gi}}"]).gives(&[]);
    // Unknown fields may be newer than we are.
    pod(&["shoes: 2"]).warns(&[&format!("{POD}.shoes: unknown field of a pod spec, handed on as it is")]).gives(&[]);
    pod(&["containers[0].imagePullPolcy: Always"])
        .warns(&[&format!("{POD}.containers[0].imagePullPolcy: unknown field of a pod spec, handed on as it is")])
        .gives(&[]);
    pod(&["containers[0].imagePullPolcy: Always"])
        .stores(&["cliques[0].spec.podSpec.containers[0].imagePullPolcy: Always"]);
}

#[test]
fn grove4_3_oddities_are_warned_of() {
    pod(&["restartPolicy: Always"]).gives(&[]);
    pod(&["restartPolicy: Never"])
        .warns(&[&format!("{POD}.restartPolicy: with \"Never\" a pod that has finished …")])
        .gives(&[]);
    let class = |name: &str| format!("{POD}.priorityClassName: {name}");
    set(&[&class("high"), "priorityClassName: high"]).gives(&[]);
    set(&[&class("high")]).gives(&[]);
    set(&[&class("high"), "priorityClassName: low"])
        .warns(&[&format!(
            "{POD}.priorityClassName: \"high\" differs from \"low\" in spec.template.priorityClassName, …"
        )])
        .gives(&[]);
}

/// What an API server would refuse in every pod is refused before there is any.
#[test]
fn pods_that_could_never_be_made() {
    let amount = |edit: &str, error: &str| {
        let errors = if error.is_empty() { Vec::new() } else { vec![format!("{POD}.containers[0].resources.{error}")] };
        pod(&[&format!("containers[0].resources: {{{edit}}}")]).gives(&crate::edit::texts(&errors));
    };
    let form = "must be a quantity: a number, with an optional suffix n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent \
                (e.g. '500m', '8', '1.5Gi', '1e3')";
    let own = "must be a resource of containers: cpu, memory, ephemeral-storage, hugepages-<size>, or one with a prefix (e.g. \
               'nvidia.com/gpu')";
    amount("limits: {nvidia.com/gpu: '8', memory: 1.5Gi, cpu: 500m, hugepages-2Mi: 4Mi}", "");
    amount("limits: {nvidia.com/gpu: x8}", &format!("limits[nvidia.com/gpu]: Invalid value: \"x8\": {form}"));
    amount("requests: {memory: 1Gb}", &format!("requests[memory]: Invalid value: \"1Gb\": {form}"));
    amount("requests: {cpu: '-1'}", "requests[cpu]: Invalid value: \"-1\": must not be negative");
    amount("limits: {nvidia.com/gpu: 500m}", "limits[nvidia.com/gpu]: Invalid value: \"500m\": must be a whole number");
    amount("limits: {H100: '8'}", &format!("limits[H100]: Invalid value: \"H100\": {own}"));
    amount(
        "limits: {nvidia com/gpu: '8'}",
        &format!("limits[nvidia com/gpu]: Invalid value: \"nvidia com/gpu\": {own}"),
    );
    let volumes = |names: [&str; 2], mount: &str, errors: &[String]| {
        let volumes = names.map(|name| format!("{{name: {name}, emptyDir: {{}}}}")).join(", ");
        let mounts = format!("containers[0].volumeMounts: [{{name: {mount}, mountPath: /m}}]");
        pod(&[&format!("volumes: [{volumes}]"), &mounts]).gives(&crate::edit::texts(errors));
    };
    volumes(["a", "models"], "models", &[]);
    let form = "invalid volume name, must be a valid DNS label: lower case letters, digits and '-', starting and ending with a letter or \
                digit, at most 63 characters (e.g. 'my-name')";
    volumes(["a", "Models_X"], "Models_X", &[format!("{POD}.volumes[1].name: Invalid value: \"Models_X\": {form}")]);
    volumes(["a", "a"], "a", &[format!("{POD}.volumes[1].name: Duplicate value: \"a\"")]);
    let gone = "the pod has no volume of this name";
    volumes(["a", "b"], "c", &[format!("{POD}.containers[0].volumeMounts[0].name: Not found: \"c\": {gone}")]);
}
