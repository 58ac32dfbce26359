//! A Kubernetes API in process: a store with watches, patches and server-side apply, schemas and admission, discovery, and what a
//! cluster does by itself. It knows none of our kinds; they arrive as custom resource definitions, like anyone's.
//!
//! [`api::Api`] is the whole of it: handed to `kube::Client::new` as [`api::Api::service`], or put on a socket by [`serve::Server`].

pub mod admission;
pub mod api;
pub mod builtin;
mod chores;
pub mod clock;
pub mod controllers;
mod convert;
pub mod crd;
pub mod discovery;
mod documents;
pub mod entropy;
pub mod faults;
pub mod fields;
pub mod http;
pub mod journal;
mod json;
mod jsonpath;
pub mod nodes;
pub mod openapi;
pub mod patch;
pub mod protobuf;
pub mod registry;
pub mod resource;
pub mod schema;
pub mod selector;
pub mod serve;
pub mod status;
pub mod store;
pub mod table;
mod tokens;
pub mod user;
mod verbs;
mod yaml;
