//! What a cluster does by itself, in virtual time: nothing here waits for a real clock.
//!
//! With a paused runtime a moment's sleep ends when nobody has anything left to do, which is how [`cluster::Cluster::settle`] knows.

#[path = "controllers/cluster.rs"]
mod cluster;

#[path = "controllers/autoscalers.rs"]
mod autoscalers;
#[path = "controllers/budgets.rs"]
mod budgets;
#[path = "controllers/collector.rs"]
mod collector;
#[path = "controllers/contents.rs"]
mod contents;
#[path = "controllers/graphs.rs"]
mod graphs;
#[path = "controllers/nodes.rs"]
mod nodes;
#[path = "controllers/pods.rs"]
mod pods;
#[path = "controllers/taints.rs"]
mod taints;
