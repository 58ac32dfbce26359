//! Workflows as a whole: sections 1.1 to 1.3 of the OSMO reference, decisions 33 to 35.

use super::workflow;
use trellis_api::admission::WorkflowNames;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::kinds::osmo::Workflow;

#[test]
fn osmo1_1_version_is_two() {
    for fit in ["2", "'2'", "2.0"] {
        workflow(&[&format!("version: {fit}")]).gives(&[]);
    }
    workflow(&["-version"]).gives(&[]);
    for wrong in ["1", "true", "'3'"] {
        workflow(&[&format!("version: {wrong}")]).gives(&["version: Unsupported value: …: supported values: \"2\""]);
    }
}

#[test]
fn osmo1_1_top_level_keys() {
    workflow(&["resourcez: {}"]).gives(&["resourcez: Invalid value: null: unknown field; a workflow file has …"]);
    workflow(&["workflow: null", "-resources"]).gives(&[
        "workflow: Required value: a workflow file needs a workflow",
        "workflow.name: Required value: a workflow needs a name",
        "workflow.groups: Required value: workflows need to have at least one group or one task",
    ]);
    workflow(&["workflow: 3", "-resources"]).gives(&[
        "workflow: Invalid value: 3: must be of type object",
        "workflow.name: Required value: …",
        "workflow.groups: Required value: …",
    ]);
}

#[test]
fn osmo1_1_resources_inside_or_beside() {
    workflow(&["resources: {default: {}}", "workflow.resources: {shard: {gpu: 4}}"]).gives(&[]);
    workflow(&["workflow.resources: {shard: {gpu: 4}}"])
        .gives(&["resources[shard]: Duplicate value: \"shard\": stands inside `workflow` as well"]);
    // Each has its own place.
    workflow(&["resources: {default: {cpu: -1}}", "workflow.resources: {shard: {gpu: -1}}"]).gives(&[
        "resources[default].cpu: Invalid value: -1: …",
        "workflow.resources[shard].gpu: Invalid value: -1: …",
    ]);
    workflow(&["resources: []"]).gives(&[
        "resources: Invalid value: null: must be of type object",
        "workflow.groups[0].tasks[0].resource: Not found: \"shard\": …",
        "workflow.groups[0].tasks[1].resource: Not found: \"shard\": …",
    ]);
}

#[test]
fn osmo1_1_unknown_fields_are_refused_at_every_level() {
    let check = |edit: &str, error: &str| workflow(&[edit]).gives(&[error]);
    check("workflow.pol: x", "workflow.pol: Invalid value: \"x\": unknown field; did you mean `pool`?");
    check(
        "workflow.groups[0].bariers: x",
        "workflow.groups[0].bariers: Invalid value: \"x\": unknown field; did you mean `barrier`?",
    );
    check(
        "workflow.groups[0].tasks[0].cmd: x",
        "workflow.groups[0].tasks[0].cmd: Invalid value: \"x\": unknown field…",
    );
    check("resources.shard.gpus: 4", "resources[shard].gpus: Invalid value: 4: unknown field; did you mean `gpu`?");
    check(
        "resources.shard.topology[0].type: required",
        "resources[shard].topology[0].type: Invalid value: \"required\": unknown field",
    );
    check("workflow.timeout: {exec: 1}", "workflow.timeout.exec: Invalid value: 1: unknown field");
}

#[test]
fn osmo1_2_names() {
    for fit in ["a", "Train_1", "a-b", &"a".repeat(64)] {
        workflow(&[&format!("workflow.name: {fit}")]).gives(&[]);
        workflow(&[&format!("workflow.groups[0].name: {fit}")]).gives(&[]);
    }
    for wrong in ["1a", "a-", "a.b", "é", "-a"] {
        workflow(&[&format!("workflow.name: '{wrong}'")])
            .gives(&["workflow.name: Invalid value: …: must be letters, …"]);
        let at = "workflow.groups[0].tasks[2].name";
        workflow(&[&format!("{at}: '{wrong}'")]).gives(&[&format!("{at}: Invalid value: …: must be letters, …")]);
    }
    let long = "a".repeat(65);
    workflow(&[&format!("workflow.name: {long}")])
        .gives(&["workflow.name: Too long: may not be more than 64 characters"]);
    workflow(&["workflow.name: 3"]).gives(&["workflow.name: Invalid value: 3: must be of type string"]);
    workflow(&["-workflow.name"]).gives(&["workflow.name: Required value: a workflow needs a name"]);
    workflow(&["-workflow.groups[0].name"]).gives(&["workflow.groups[0].name: Required value"]);
}

#[test]
fn osmo1_2_names_are_unique_without_case() {
    workflow(&["workflow.groups[0].tasks[2].name: Shard_1"])
        .gives(&["workflow.groups[0].tasks[2].name: Duplicate value: \"Shard_1\": \"shard-1\" is there already; …"]);
    workflow(&["workflow.groups[1].name: logger"])
        .gives(&["workflow.groups[1].name: Duplicate value: \"logger\": \"logger\" is there already; …"]);
}

#[test]
fn osmo1_2_groups_or_tasks() {
    workflow(&["workflow.tasks: [{name: x, image: i, command: [c]}]"])
        .gives(&["workflow.tasks: Forbidden: cannot use both groups and tasks in the same workflow"]);
    workflow(&["-workflow.groups"])
        .gives(&["workflow.groups: Required value: workflows need to have at least one group or one task"]);
    workflow(&["-workflow.groups", "workflow.tasks: [{name: x, image: i, command: [c]}]"]).gives(&[]);
    // A group of a task alone has a name, too.
    let tasks = "workflow.tasks: [{name: x, image: i, command: [c]}, {name: x-group, image: i, command: [c]}]";
    workflow(&["-workflow.groups", tasks]).gives(&["workflow.tasks[1].name: Duplicate value: \"x-group\": …"]);
}

#[test]
fn osmo1_2_labels() {
    workflow(&["workflow.labels: {team: vision, run: 7}"]).gives(&[]);
    workflow(&["workflow.labels: {team: ''}"]).gives(&["workflow.labels[team]: Required value: a label needs a value"]);
    workflow(&["workflow.labels: {a/b/c: x}"])
        .gives(&["workflow.labels: Invalid value: \"a/b/c\": must be a valid label key: …"]);
    let many: Vec<String> = (0..17).map(|i| format!("l{i}: x")).collect();
    workflow(&[&format!("workflow.labels: {{{}}}", many.join(", "))])
        .gives(&["workflow.labels: Too many: 17: must have at most 16 items"]);
    workflow(&["workflow.labels: {kai.scheduler/queue: mine}"])
        .warns(&["workflow.labels[kai.scheduler/queue]: ours to set, passed over"])
        .gives(&[]);
}

#[test]
fn osmo1_2_timeouts() {
    for fit in ["60", "2h", "PT1H30M", "90s", "1500ms"] {
        workflow(&[&format!("workflow.timeout: {{exec_timeout: {fit}, queue_timeout: {fit}}}")]).gives(&[]);
    }
    for wrong in ["1w", "0", "''", "-5", "P"] {
        workflow(&[&format!("workflow.timeout: {{exec_timeout: {wrong}}}")])
            .gives(&["workflow.timeout.exec_timeout: Invalid value: …: must be seconds, …"]);
    }
}

#[test]
fn osmo1_3_one_task_leads() {
    workflow(&["workflow.groups[0].tasks[0].lead: false"]).gives(&[]);
    workflow(&["workflow.groups[0].tasks[1].lead: true"]).gives(&[
        "workflow.groups[0].tasks: Invalid value: 2: group \"group1\" has 2 leaders but must have exactly one",
    ]);
    workflow(&["workflow.groups[1].tasks: []"])
        .gives(&["workflow.groups[1].tasks: Required value: group \"group2\" needs to have at least one task"]);
}

#[test]
fn osmo1_3_inputs_come_from_earlier_groups() {
    let at = "workflow.groups[1].tasks[0].inputs[0].task";
    workflow(&[&format!("{at}: nobody")]).gives(&[&format!("{at}: Not found: \"nobody\": task input does not exist")]);
    workflow(&[&format!("{at}: judge")]).gives(&[&format!("{at}: Invalid value: \"judge\": is in the same group, …")]);
    workflow(&["workflow.groups[0].tasks[0].inputs: [{task: judge}]"]).gives(&[
        "workflow.groups[0].tasks[0].inputs[0].task: Invalid value: \"judge\": group \"group1\" requires that input group \
         \"group2\" exists before itself",
    ]);
}

#[test]
fn d35_the_pool_is_named_or_the_only_one() {
    workflow(&["workflow.pool: my-pool-01"]).gives(&[]);
    workflow(&["workflow.pool: other"])
        .gives(&["workflow.pool: Not found: \"other\": no pool is called so; there are my-pool-01"]);
    workflow(&[])
        .pool(&["name: second"])
        .gives(&["workflow.pool: Required value: a pool is needed to run in; there are my-pool-01, second"]);
    // A pool whose name no object can have is found by it all the same.
    workflow(&["workflow.pool: My_Pool"]).pool(&["name: My_Pool"]).gives(&[]);
    let mut none = workflow(&[]);
    none.pools.clear();
    none.gives(&["workflow.pool: Required value: a pool is needed to run in; there are no pools"]);
}

/// Names are joined by '-', which they may have in them: two workflows may come to the same objects.
#[test]
fn d34_workflows_whose_objects_would_be_called_alike_are_told_about() {
    let workflow = |namespace: &str, name: &str, groups: &str| -> Workflow {
        let text = format!("{{metadata: {{name: {name}, namespace: {namespace}}}, spec: {{{groups}}}}}");
        decode(Kind::Workflow, crate::edit::yaml(&text)).object.expect("a workflow")
    };
    let check = |first: &Workflow, second: &Workflow, expected: &[&str]| {
        let mut names = WorkflowNames::default();
        names.add(first);
        names.add(second);
        let errors: Vec<String> = names.check(second).iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected);
    };
    let task = "{image: i, command: [c], name: ";
    let exp = workflow("ns", "exp", &format!("groups: [{{name: a-train, tasks: [{task} x}}, {task} a-t}}]}}]"));
    let gang = workflow("ns", "exp-a", &format!("groups: [{{name: train, tasks: [{task} t}}, {task} z}}]}}]"));
    let expected = "spec.groups[0].name: Duplicate value: \"exp-a-train\": PodGroup \"exp-a-train\" of workflow \"exp-a\" would \
                    also be that of workflow \"exp\"; give one of them another name";
    check(&exp, &gang, &[expected]);
    check(&gang, &exp, &[&expected.replace("\"exp-a\"", "?").replace("\"exp\"", "\"exp-a\"").replace('?', "\"exp\"")]);
    let pod = workflow("ns", "exp-a", &format!("tasks: [{task} t}}]"));
    check(
        &exp,
        &pod,
        &[
            "spec.tasks[0].name: Duplicate value: \"exp-a-t\": Pod \"exp-a-t\" of workflow \"exp-a\" would also be that \
                         of workflow \"exp\"; give one of them another name",
        ],
    );
    // A gang and a pod may be called alike, a workflow has its own names, and namespaces do not meet.
    check(&exp, &workflow("ns", "exp-a", &format!("groups: [{{name: t, tasks: [{task} train}}]}}]")), &[]);
    check(&exp, &exp, &[]);
    check(&exp, &workflow("other", "exp-a", &format!("tasks: [{task} t}}]")), &[]);
}
