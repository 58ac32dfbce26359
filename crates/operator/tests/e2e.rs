//! What users get: one set of scenarios, each played on the embedded API and on a real Kubernetes control plane.
//!
//! Machines are simulated, and a stand-in places the gangs, or our scheduler; everything between the user and the pods is the operator. On
//! the embedded API time stands still while anybody has something to do, and the operator's timers are off unless a scenario is about time:
//! whatever it does there, it does because of an event. Steps are awaited by watching; a step that does not come says what was expected
//! and what there is instead.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    clippy::redundant_closure_for_method_calls,
    clippy::large_futures,
    clippy::large_enum_variant,
    clippy::struct_excessive_bools,
    clippy::manual_assert,
    clippy::match_wild_err_arm,
    reason = "scenarios are to read like prose, and nobody counts their bytes"
)]

#[path = "e2e/binder.rs"]
mod binder;
#[path = "e2e/dynamo.rs"]
mod dynamo;
#[path = "e2e/ending.rs"]
mod ending;
#[path = "e2e/kai.rs"]
mod kai;
#[path = "e2e/on_delete.rs"]
mod on_delete;
#[path = "e2e/osmo.rs"]
mod osmo;
#[path = "e2e/placer.rs"]
mod placer;
#[path = "e2e/rolling.rs"]
mod rolling;
#[path = "e2e/running.rs"]
mod running;
#[path = "e2e/scaling.rs"]
mod scaling;
#[path = "e2e/scheduling.rs"]
mod scheduling;
/// The sockets that the binary serves webhooks on.
#[path = "../../cli/src/serve.rs"]
#[allow(dead_code, missing_docs)]
mod serve;
#[path = "e2e/server.rs"]
mod server;
#[path = "e2e/startup.rs"]
mod startup;
#[path = "e2e/stories.rs"]
mod stories;
#[path = "e2e/tas.rs"]
mod tas;
#[path = "e2e/termination.rs"]
mod termination;
#[path = "e2e/topologies.rs"]
mod topologies;
#[path = "e2e/tree.rs"]
mod tree;
#[path = "e2e/use_cases.rs"]
mod use_cases;
#[path = "e2e/view.rs"]
mod view;
#[path = "e2e/workloads.rs"]
mod workloads;
#[path = "e2e/world.rs"]
mod world;

use placer::Placing;
use server::{RUNTIME, Server};
use world::{Needs, World};

/// Plays a scenario from its beginning to an end that leaves nothing behind.
async fn play(server: Server, placing: Placing, needs: Needs, scenario: impl AsyncFn(&World)) {
    let world = World::on(server, placing, needs).await;
    scenario(&world).await;
    world.end().await;
}

/// Scenarios as tests on the embedded API, in a module of this name.
macro_rules! embedded {
    ($module:ident, $placing:ident: $($area:ident, $needs:ident => { $($name:ident,)* })*) => {
        mod $module {
            use crate::{Needs, Placing, Server};
            $($(
                #[tokio::test(start_paused = true)]
                async fn $name() {
                    crate::play(Server::Embedded, Placing::$placing, Needs::$needs(), crate::$area::$name).await;
                }
            )*)*
        }
    };
}

/// Scenarios that hang on where bases go, which is chosen for what is known by then to be scaled from them, with an effort that all bases of
/// one plan share: on the real server, where others share the scheduler, nobody else plays meanwhile.
const DEMANDING: [&str; 1] = ["tas16_disaggregated_replicas"];

/// A turn among the scenarios that share a real scheduler.
enum Turn {
    Shared { _guard: tokio::sync::RwLockReadGuard<'static, ()> },
    Alone { _guard: tokio::sync::RwLockWriteGuard<'static, ()> },
}

async fn turn(name: &str, placing: Placing) -> Option<Turn> {
    static TURNS: tokio::sync::RwLock<()> = tokio::sync::RwLock::const_new(());
    match placing {
        Placing::Ours if DEMANDING.contains(&name) => Some(Turn::Alone { _guard: TURNS.write().await }),
        Placing::Ours => Some(Turn::Shared { _guard: TURNS.read().await }),
        Placing::StandIn => None,
    }
}

/// The same on the real server.
macro_rules! real {
    ($module:ident, $placing:ident: $($area:ident, $needs:ident => { $($name:ident,)* })*) => {
        mod $module {
            use crate::{Needs, Placing, Server};
            $($(
                #[test]
                fn $name() {
                    let scenario = crate::$area::$name;
                    crate::RUNTIME.block_on(async {
                        let _turn = crate::turn(stringify!($name), Placing::$placing).await;
                        crate::play(Server::Real, Placing::$placing, Needs::$needs(), scenario).await;
                    });
                }
            )*)*
        }
    };
}

/// Scenarios in which gangs are placed, by anybody who places gangs.
macro_rules! placed {
    ($tests:ident $module:ident $placing:ident) => {
        $tests! {
            $module, $placing:
            scheduling, nothing => {
                gs1_full_replicas,
                gs2_scaling_full_replicas,
                gs3_set_scaling_full_replicas,
                gs4_set_and_group_scaling_full_replicas,
                gs5_min_replicas,
                gs6_group_scaling_min_replicas,
                gs7_group_scaling_in_steps,
                gs8_group_scaled_before_the_base_is_placed,
                gs9_set_scaling_min_replicas,
                gs10_set_scaled_before_the_first_replica_is_placed,
                gs11_set_and_group_scaling_min_replicas,
                gs12_complex_scaling,
            }
            ending, timers => {
                members_that_fail,
            }
            termination, timers => {
                gt1_full_replicas_of_a_standalone_clique,
                gt2_full_replicas_of_a_scaling_group,
                gt3_min_replicas_of_a_standalone_clique,
                gt4_min_replicas_of_a_scaling_group,
                gt5_one_replica_of_a_scaling_group,
                gt6_pod_of_a_scaled_gang,
                a_gang_that_was_never_placed_is_never_taken_down,
                a_gang_whose_pods_fail_is_taken_down,
            }
            rolling, nothing => {
                ru7_standalone_clique,
                ru8_clique_of_a_scaling_group,
                ru9_all_cliques,
                ru10_no_room,
                ru11_set_scaled_out_during_the_update,
                ru12_set_scaled_in_while_its_last_replica_is_updated,
                ru13_set_scaled_in_after_its_last_replica_was_updated,
                ru14_group_scaled_out_during_the_update,
                ru15_group_scaled_out_before_the_update,
                ru16_group_scaled_in_during_the_update,
                ru17_group_scaled_in_before_the_update,
                ru18_clique_scaled_out_during_the_update,
                ru19_clique_scaled_out_before_the_update,
                ru20_clique_scaled_in_during_the_update,
                ru21_clique_scaled_in_before_the_update,
                a_change_during_the_update,
                a_change_of_no_pod_is_no_update,
            }
            on_delete, nothing => {
                od1_nothing_is_deleted,
                od2_a_deleted_pod_comes_back_updated,
                od3_scale_in_takes_outdated_pods_first,
                od4_nothing_is_deleted_in_a_scaling_group,
                od5_a_deleted_replica_of_a_scaling_group_comes_back_updated,
                od6_cliques_and_scaling_groups,
                od7_several_replicas_of_the_set,
                od8_recovery_from_a_bad_node,
                od9_change_of_strategy,
            }
            startup, nothing => {
                so1_in_order_full_replicas,
                so2_in_order_min_replicas,
                so3_explicit_full_replicas,
                so4_explicit_min_replicas,
                waiting_pods_are_placed_and_wait,
            }
            scaling, nothing => {
                the_scale_subresource,
                scale_in_of_a_scaling_group,
                scale_in_of_the_set,
                the_template_scales_what_has_no_autoscaler,
                an_autoscaler_of_a_scaling_group,
                statuses,
            }
            ending, nothing => {
                cascade,
                orphans_stay_and_are_adopted,
                children_come_back,
                nothing_is_written_at_rest,
            }
            rolling, timers => { an_update_without_room_moves_the_gang, }
            ending, timers => { members_that_finish, }
        }
    };
}

/// Scenarios about KAI, whose part the stand-in plays, and about topologies.
macro_rules! judged {
    ($tests:ident $module:ident $placing:ident) => {
        $tests! {
            $module, $placing:
            kai, nothing => {
                tas1_infrastructure,
                tas2_cliques_with_different_constraints,
                tas3_set_only,
                tas4_scaling_group_only,
                tas5_host,
                tas6_one_clique_in_a_zone,
                tas7_no_constraint,
                tas8_full_hierarchy,
                tas9_set_and_clique,
                tas10_scaled_gangs,
                tas11_scaling_group_and_clique,
                tas12_large_scaling_ratio,
                tas13_not_enough_room,
                tas14_several_replicas,
                tas15_disaggregated,
                tas16_disaggregated_replicas,
                tas17_heterogeneous_cluster,
                tas19_a_topology_that_changes,
                tas23_preferred,
                a_topology_recreated_under_a_running_set,
                levels_below_the_host_are_left_out,
                a_pod_group_is_kept,
                topology_retry,
                the_contract_can_say_no,
            }
            topologies, nothing => {
                the_life_of_a_topology,
                deletion_waits_for_the_last,
                retry_and_lock_of_the_name,
                tas21_refusals,
                tas22_shapes,
                a_topology_that_is_torn_away,
            }
            osmo, nothing => {
                what_kai_is_given,
                what_is_refused,
                nothing_is_written_at_rest,
                a_workflow_beside_a_set_of_its_name,
                a_pool_is_deleted_under_a_running_gang,
                what_cannot_be_written_is_told,
            }
            osmo, timers => { a_group_that_takes_too_long, }
            topologies, alone => {
                kai_comes_late,
                tas20_drift_by_configuration,
                topology_off_and_on,
                the_default_topology_stays,
            }
            topologies, no_webhooks => { without_webhooks, }
        }
    };
}

/// Scenarios about what is said of DynamoGraphDeployments, whoever places them.
macro_rules! deployed {
    ($tests:ident $module:ident) => {
        $tests! {
            $module, StandIn:
            dynamo, nothing => {
                without_constraints,
                refusals,
                a_set_in_the_way,
                a_topology_that_is_torn_away,
            }
            dynamo, alone => { levels_vanish_and_return, }
            dynamo, no_webhooks => { without_webhooks, }
        }
    };
}

/// Scenarios about where pods are, which only a scheduler can play.
macro_rules! judged_by_place {
    ($tests:ident $module:ident) => {
        $tests! {
            $module, Ours:
            tas, nothing => {
                tas2_cliques_with_different_constraints,
                tas3_set_only,
                tas4_scaling_group_only,
                tas5_host,
                tas6_one_clique_in_a_zone,
                tas7_no_constraint,
                tas8_full_hierarchy,
                tas9_set_and_clique,
                tas10_scaled_gangs,
                tas11_scaling_group_and_clique,
                tas12_large_scaling_ratio,
                tas13_not_enough_room,
                tas14_several_replicas,
                tas15_disaggregated,
                tas16_disaggregated_replicas,
                tas17_heterogeneous_cluster,
                tas23_preferred,
            }
            dynamo, nothing => {
                single_node_at_both_levels,
                multinode_at_both_levels,
                no_room,
                older_shapes,
            }
            use_cases, nothing => {
                one_nvl72_rack,
                several_nvl72_racks,
                several_nvl72_racks_in_one_zone,
                best_effort,
            }
            osmo, nothing => {
                use_case_1_single_rack,
                use_case_2_multiple_racks,
                use_case_3_racks_in_one_zone,
                use_case_4_best_effort,
                groups_start_in_the_order_of_their_inputs,
                a_lost_task_comes_back_to_its_leaf,
                levels_change_under_a_running_gang,
                a_canceled_workflow_frees_its_place,
            }
            stories, nothing => {
                disaggregated_inference_stays_together,
                gpus_of_one_numa_node,
                another_topology_is_tried,
                a_drained_node,
                a_more_important_set,
                an_update_stays_in_its_rack,
            }
        }
    };
}

placed!(embedded embedded StandIn);
placed!(embedded embedded_scheduler Ours);
placed!(real real StandIn);
placed!(real real_scheduler Ours);
judged_by_place!(embedded embedded_scheduler_places);
judged_by_place!(real real_scheduler_places);
deployed!(embedded embedded_deployments);
// The garbage collector of a real server that has just learnt of a kind may let its owner go before it knows the dependents.
embedded! {
    embedded_orphans, StandIn:
    dynamo, nothing => { orphans_are_adopted, }
}
deployed!(real real_deployments);
judged!(embedded embedded_contract StandIn);
judged!(real real_contract StandIn);
