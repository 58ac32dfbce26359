//! Requests and answers as they go over the wire: paths, parameters, media types, bodies. What is asked is decided here; what is done
//! about it, in [`verbs`](crate::verbs).

pub mod answer;
pub mod body;
pub mod media;
pub mod path;
pub mod query;
