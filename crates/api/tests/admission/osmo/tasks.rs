//! Tasks and what they ask for: sections 1.4 and 1.5 of the OSMO reference.

use super::workflow;

#[test]
fn osmo1_4_image_and_command() {
    let at = "workflow.groups[0].tasks[0]";
    workflow(&[&format!("-{at}.image")]).gives(&[&format!("{at}.image: Required value: …")]);
    for none in ["[]", "['']"] {
        workflow(&[&format!("{at}.command: {none}")])
            .gives(&[&format!("{at}.command: Required value: task \"shard-0\" should have at least one command")]);
    }
    // Numbers are text where text is wanted.
    workflow(&[&format!("{at}.command: [sleep, 5]"), &format!("{at}.args: [true, 1.5]")]).gives(&[]);
    workflow(&[&format!("{at}.command: [[a]]")])
        .gives(&[&format!("{at}.command[0]: Invalid value: [\"a\"]: must be of type string")]);
    workflow(&[&format!("{at}.name: osmo-ctrl")]).gives(&[
        &format!("{at}.name: Forbidden: \"osmo-ctrl\" is reserved"),
        "workflow.groups[1].tasks[0].inputs[0].task: Not found: \"shard-0\": …",
    ]);
}

#[test]
fn osmo1_4_environment_files_and_exit_actions() {
    let at = "workflow.groups[0].tasks[0]";
    workflow(&[&format!("{at}.environment: {{A: x, B: 1, C: true}}")]).gives(&[]);
    workflow(&[&format!("{at}.environment: {{A: [1], 'B=': x}}")]).gives(&[
        &format!("{at}.environment[A]: Invalid value: [1]: must be text or a number"),
        &format!("{at}.environment[B=]: Invalid value: \"B=\": must be a variable's name, without '='"),
    ]);
    workflow(&[&format!("{at}.files: [{{path: /a/b, contents: x}}, {{path: /c, contents: aGk=, base64: true}}]")])
        .gives(&[]);
    workflow(&[&format!("{at}.files: [{{path: a, contents: x}}, {{path: /c, contents: '?', base64: true}}]")]).gives(
        &[
            &format!("{at}.files[0].path: Invalid value: \"a\": must be the path of a file from the root …"),
            &format!("{at}.files[1].contents: Invalid value: null: must be base64"),
        ],
    );
    workflow(&[&format!("{at}.exitActions: {{COMPLETE: 0, RESCHEDULE: '1-10,137'}}")]).gives(&[]);
    workflow(&[&format!("{at}.exitActions: {{AGAIN: 1, FAIL: 1-300}}")]).gives(&[
        &format!("{at}.exitActions[AGAIN]: Unsupported value: \"AGAIN\": supported values: \"COMPLETE\", …"),
        &format!("{at}.exitActions[FAIL]: Invalid value: \"1-300\": must be exit codes from 0 to 255 …"),
    ]);
}

#[test]
fn osmo1_4_files_and_folders_have_places_of_their_own() {
    let at = "workflow.groups[0].tasks[0]";
    let files = |files: &str| format!("{at}.files: [{files}]");
    let allowed = ["platforms: {host: {allowed_mounts: [/a, /x, /a/..]}}", "default_platform: host"];
    workflow(&[&files("{path: /a, contents: x}, {path: /b, contents: x}"), &format!("{at}.volumeMounts: ['/a:/c']")])
        .pool(&allowed)
        .gives(&[]);
    workflow(&[&files("{path: /a, contents: x}, {path: /a, contents: z}"), &format!("{at}.volumeMounts: ['/x:/a']")])
        .pool(&allowed)
        .gives(&[
            &format!("{at}.files[1].path: Duplicate value: \"/a\""),
            &format!("{at}.volumeMounts[0]: Duplicate value: \"/a\""),
        ]);
    for path in ["/a:b", "/a/../b"] {
        workflow(&[&files(&format!("{{path: '{path}', contents: x}}"))])
            .gives(&[&format!("{at}.files[0].path: Invalid value: {path:?}: must have neither ':' nor '..' in it")]);
    }
    workflow(&[&format!("{at}.volumeMounts: ['/a/..:/c', '/a:/b:ro']")]).pool(&allowed).gives(&[
        &format!("{at}.volumeMounts[0]: Invalid value: \"/c\": …"),
        &format!("{at}.volumeMounts[1]: Invalid value: \"/b:ro\": …"),
    ]);
    let large = |size: usize| files(&format!("{{path: /a, contents: {}}}", "x".repeat(size)));
    workflow(&[&large(1 << 20)]).gives(&[]);
    workflow(&[&large((1 << 20) + 1)])
        .gives(&[&format!("{at}.files: Invalid value: 1048577: the files of a task may have 1048576 bytes …")]);
}

#[test]
fn osmo1_4_what_is_kept_and_not_done_is_said() {
    let at = "workflow.groups[0].tasks[0]";
    workflow(&[&format!("{at}.outputs: [{{url: s3://x}}]"), &format!("{at}.credentials: {{a: /b}}")])
        .warns(&[
            &format!("{at}.outputs: kept, but nothing is moved or mounted for it"),
            &format!("{at}.credentials: kept, but nothing is moved or mounted for it"),
        ])
        .gives(&[]);
}

#[test]
fn osmo1_1_hosts_are_tasks() {
    let at = "workflow.groups[0].tasks[1].args";
    workflow(&[&format!("{at}: ['{{{{host:shard-0}}}}:1', '{{{{ host:logger }}}}']")]).gives(&[]);
    workflow(&[&format!("{at}: ['{{{{host:shard-9}}}}']")])
        .gives(&[&format!("{at}[0]: Not found: \"shard-9\": no task is called so, and has no host")]);
}

#[test]
fn osmo1_4_resources_are_defined() {
    workflow(&["workflow.groups[0].tasks[0].resource: big"])
        .gives(&["workflow.groups[0].tasks[0].resource: Not found: \"big\": requesting undefined resource; defined are: default, shard"]);
    workflow(&["-resources.default"]).gives(&[
        "workflow.groups[0].tasks[2].resource: Required value: task \"logger\" has no specified resource; specify a default \
         resource in the resources section",
        "workflow.groups[1].tasks[0].resource: Required value: task \"judge\" …",
    ]);
    // Without any, all tasks have the default one.
    workflow(&["-resources", "-workflow.groups[0].tasks[0].resource", "-workflow.groups[0].tasks[1].resource"])
        .gives(&[]);
}

#[test]
fn osmo1_5_amounts() {
    workflow(&["resources.shard: {cpu: 8, gpu: 4, memory: 64GiB, storage: 1T, nodesExcluded: [n1]}"]).gives(&[]);
    workflow(&["resources.shard: {memory: 1024}"]).gives(&[]);
    workflow(&["resources.shard: {cpu: 1.5}"])
        .gives(&["resources[shard].cpu: Invalid value: 1.5: must be of type integer"]);
    workflow(&["resources.shard: {gpu: -1}"]).gives(&["resources[shard].gpu: Invalid value: -1: …"]);
    workflow(&["resources.shard: {memory: 64GB, storage: lots}"]).gives(&[
        "resources[shard].memory: Invalid value: \"64GB\": must be a number with a unit: …",
        "resources[shard].storage: Invalid value: \"lots\": …",
    ]);
    workflow(&["resources.shard: {nodesExcluded: ['']}"])
        .gives(&["resources[shard].nodesExcluded[0]: Invalid value: \"\": must be the name of a node"]);
}

#[test]
fn d32_a_platform_is_needed_only_where_the_pool_lists_some() {
    let platforms = "platforms: {gb200: {}, h100: {privileged_allowed: true}}";
    workflow(&["resources.shard.platform: any"]).gives(&[]);
    workflow(&[]).pool(&[platforms]).gives(&[
        "resources[default].platform: Required value: resource \"default\" does not have a platform, and pool \"my-pool-01\" has \
         no default; it has gb200, h100",
        "resources[shard].platform: Required value: …",
    ]);
    workflow(&[]).pool(&[platforms, "default_platform: gb200"]).gives(&[]);
    workflow(&["resources.shard.platform: a100"]).pool(&[platforms, "default_platform: gb200"]).gives(&[
        "resources[shard].platform: Not found: \"a100\": pool \"my-pool-01\" has no such platform; it has gb200, h100",
    ]);
    let privileged = "workflow.groups[0].tasks[0].privileged: true";
    workflow(&[privileged])
        .pool(&[platforms, "default_platform: gb200"])
        .gives(&["workflow.groups[0].tasks[0].privileged: Forbidden: platform \"gb200\" does not allow it"]);
    workflow(&[privileged]).pool(&[platforms, "default_platform: h100"]).gives(&[]);
}

#[test]
fn osmo2_3_folders_of_the_host_are_those_that_the_platform_allows() {
    let mounts = "workflow.groups[0].tasks[0].volumeMounts: ['/data:/mnt', /raw]";
    workflow(&[mounts])
        .pool(&["platforms: {gb200: {allowed_mounts: [/data, /raw]}}", "default_platform: gb200"])
        .gives(&[]);
    workflow(&[mounts]).pool(&["platforms: {gb200: {allowed_mounts: [/data]}}", "default_platform: gb200"]).gives(&[
        "workflow.groups[0].tasks[0].volumeMounts[1]: Forbidden: platform \"gb200\" does not allow \"/raw\"; it allows /data",
    ]);
    workflow(&[mounts]).pool(&["platforms: {gb200: {}}", "default_platform: gb200"]).gives(&[
        "workflow.groups[0].tasks[0].volumeMounts[0]: Forbidden: platform \"gb200\" does not allow \"/data\"; it allows none",
        "workflow.groups[0].tasks[0].volumeMounts[1]: Forbidden: …",
    ]);
}

/// Who has no platform has nobody to allow it anything, whether or not it asks for a resource.
#[test]
fn osmo2_3_a_task_without_a_platform_has_no_rights_to_its_host() {
    let task =
        "{name: lone, image: img, command: [run], privileged: true, hostNetwork: true, volumeMounts: ['/:/host']}";
    let task = format!("workflow.groups[0].tasks: [{task}]");
    let bare = ["-resources", "-workflow.groups[1]", task.as_str()];
    let at = "workflow.groups[0].tasks[0]";
    let lacks = |why: &str| {
        let rights = ["privileged_allowed: true", "host_network_allowed: true", "allowed_mounts: [\"/\"]"];
        let fields = ["privileged", "hostNetwork", "volumeMounts[0]"];
        let one =
            |(field, right)| format!("{at}.{field}: Forbidden: {why}, and only a platform can allow it (`{right}`)");
        fields.into_iter().zip(rights).map(one).collect::<Vec<_>>()
    };
    let check = |edits: &[&str], pool: &[&str], first: &[&str], why: &str| {
        let lacks = lacks(why);
        let all: Vec<&str> = first.iter().copied().chain(lacks.iter().map(String::as_str)).collect();
        workflow(edits).pool(pool).gives(&all);
    };
    check(&bare, &[], &[], "pool \"my-pool-01\" has no platforms");
    let named = ["resources: {default: {platform: any}}", "-workflow.groups[1]", task.as_str()];
    check(&named, &[], &[], "pool \"my-pool-01\" has no platforms");
    let platforms = "platforms: {h100: {privileged_allowed: true, host_network_allowed: true, allowed_mounts: [/]}}";
    let none = "workflow.resources[default].platform: Required value: resource \"default\" does not have a platform, …";
    check(&bare, &[platforms], &[none], "the task has no platform");
    workflow(&bare).pool(&[platforms, "default_platform: h100"]).gives(&[]);
}

#[test]
fn osmo2_4_what_is_guaranteed_is_enough_for_a_group() {
    let share = "resources: {gpu: {guarantee: 7}}";
    workflow(&[]).pool(&[share]).gives(&[
        "workflow.groups[0]: Invalid value: \"group1\": the group asks for 8 GPUs, and pool \"my-pool-01\" guarantees 7; only \
         priority LOW may use more",
    ]);
    workflow(&["workflow.priority: LOW"]).pool(&[share]).gives(&[]);
    workflow(&["resources.shard.gpu: 3"]).pool(&[share]).gives(&[]);
    // What the pool gives to tasks that name no number counts too.
    let default = "common_default_variables: {USER_GPU: 8}";
    workflow(&["-resources.shard.gpu"])
        .pool(&["resources: {gpu: {guarantee: 8}}", default])
        .gives(&["workflow.groups[0]: Invalid value: \"group1\": the group asks for 24 GPUs, …"]);
    workflow(&["workflow.priority: low"]).gives(&["workflow.priority: Unsupported value: \"low\": …"]);
}
