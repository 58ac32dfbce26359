//! From Kubernetes objects to placement problems: tables of what is read, and what is refused, and the law that whatever
//! is read is in the engine's form.

mod company;
mod eligibility;
mod faults;
mod fields;
mod gangs;
mod lowered;
mod pod_groups;
mod quantity;
mod requests;
mod simulated;
mod spoilt;
mod support;
mod volumes;
mod world;
