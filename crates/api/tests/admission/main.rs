//! What admission allows and refuses, one table for each rule. A test's name says where its rule stands: `s000` to
//! `s004` are the specification's documents, `d` a numbered decision, `grove`, `dynamo` and `osmo` a section of the reference of that name.
//!
//! Expectations are written from those texts. All errors and warnings of a case are compared, in order.

mod backend;
mod cluster_topology;
mod config;
mod constraints;
mod counts;
mod crds;
mod defaults;
mod dynamo;
mod dynamo_convert;
mod dynamo_crd;
mod dynamo_topology;
mod dynamo_update;
mod edit;
mod form;
mod harness;
mod immutable;
mod label;
mod names;
mod osmo;
mod pods;
mod schemas;
mod sharing;
mod skipped;
mod startup;
mod structure;
mod sweep;
mod topology_lock;
mod topology_name;
