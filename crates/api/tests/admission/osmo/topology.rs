//! Topology requirements: document 004 "Changes to Workflow Spec", decisions 33 and 34, sections 1.5, 3.2 and 3.8 of the OSMO
//! reference.

use super::workflow;

const AT: &str = "resources[shard].topology";

/// The requirements of the two shards.
fn shards(requirements: &str) -> super::Case {
    workflow(&[&format!("resources.shard.topology: {requirements}")])
}

#[test]
fn s004_topology_requirement_defaults_and_types() {
    shards("[{key: gpu-clique}]").gives(&[]);
    shards("[{key: gpu-clique, group: model-1, requirementType: preferred}]").gives(&[]);
    shards("[{key: zone, requirementType: must}]").gives(&[&format!(
        "{AT}[0].requirementType: Unsupported value: \"must\": supported values: \"required\", \"preferred\""
    )]);
    shards("[{group: a}]").gives(&[&format!("{AT}[0].key: Required value")]);
    shards("zone").gives(&[&format!("{AT}: Invalid value: \"zone\": must be of type array")]);
}

#[test]
fn s004_keys_are_those_of_the_pool() {
    shards("[{key: block}]").gives(&[&format!(
        "{AT}[0].key: Not found: \"block\": topology key \"block\" in resource \"shard\" is not available in pool \
         \"my-pool-01\"; available topology keys: [gpu-clique, rack, spine, zone]"
    )]);
    // Labels are not what users write.
    shards("[{key: nvidia.com/gpu-clique}]").gives(&[&format!("{AT}[0].key: Not found: …")]);
}

#[test]
fn s004_backwards_compatibility_a_pool_without_keys_has_no_topology() {
    shards("[{key: zone}]").pool(&["topology_keys: []"]).gives(&[&format!(
        "{AT}[0].key: Not found: \"zone\": topology key \"zone\" in resource \"shard\" is not available in pool \"my-pool-01\"; \
         available topology keys: []"
    )]);
    shards("[]").pool(&["topology_keys: []"]).gives(&[]);
}

#[test]
fn osmo3_8_a_key_stands_once() {
    shards("[{key: zone, group: a}, {key: zone, group: b}]").gives(&[&format!(
        "{AT}[1].key: Duplicate value: \"zone\": resource \"shard\" names the level twice; a task can be in one group of a level"
    )]);
}

#[test]
fn d33_names_of_groups() {
    for fit in ["a", "0", "model-1", "default", &"a".repeat(63)] {
        shards(&format!("[{{key: zone, group: '{fit}'}}]")).gives(&[]);
    }
    for wrong in ["", "A", "a_b", "a.b", "-a", "a-", "a b", &"a".repeat(64)] {
        shards(&format!("[{{key: zone, group: '{wrong}'}}]"))
            .gives(&[&format!("{AT}[0].group: Invalid value: …: must be lower case letters, digits and '-', …")]);
    }
    shards("[{key: zone, group: unconstrained}]").gives(&[&format!(
        "{AT}[0].group: Forbidden: \"unconstrained\" is the group of tasks that ask for nothing; …"
    )]);
}

/// OSMO of today refuses these; 004 pads them.
#[test]
fn s004_step_5_tasks_may_name_different_levels() {
    workflow(&[
        "resources.default.topology: [{key: zone, group: all}]",
        "resources.shard.topology: [{key: zone, group: all}, {key: rack}]",
    ])
    .gives(&[]);
    shards("[{key: zone}, {key: rack}]").gives(&[]);
}

#[test]
fn d34_a_finer_level_without_the_coarser_one_of_its_peers_is_warned_of() {
    workflow(&["resources.default.topology: [{key: zone}, {key: rack, group: a}]", "resources.shard.topology: [{key: rack, group: a}]"])
        .warns(&[
            "workflow.groups[0]: shard-0, shard-1 name no \"zone\", which others in the group name, and a finer level; groups of \
             that level are not shared with those others",
        ])
        .gives(&[]);
    // Nobody else names the coarser level.
    shards("[{key: rack}]").gives(&[]);
}

#[test]
fn osmo3_9_required_by_some_and_preferred_by_others_is_required_of_all() {
    let default = "resources.default.topology: [{key: gpu-clique, group: a, requirementType: preferred}]";
    workflow(&[default])
        .warns(&[
            "workflow.groups[0]: \"gpu-clique\" of group \"a\" is required by some tasks and preferred by logger; it is required \
             of all",
        ])
        .gives(&[]);
}

#[test]
fn osmo3_8_tasks_that_are_groups_of_their_own_share_nothing() {
    let tasks = "workflow.tasks: [{name: u, image: i, command: [c], resource: shard}, {name: v, image: i, command: [c], resource: shard}]";
    workflow(&["-workflow.groups", tasks])
        .warns(&["workflow.tasks: each task is a group of its own, so topology brings no two of them together; write them as one group"])
        .gives(&[]);
}
