//! What is refused of built-in kinds, in the words of a real server. Metadata is judged apart, in [`super::metadata`].

mod affinity;
mod container;
mod data;
mod event;
mod handlers;
mod node;
mod pod;
mod pod_change;
mod rest;
mod rights;
mod scheduling;
mod security;
mod service;
mod storage;
mod volume;
mod webhook;

use serde_json::Value;

use super::names;
use super::reach::text;
use crate::status::{Fault, What};

/// What is wrong with an object of a built-in kind, beside its metadata. `subresource` is empty for the main part.
pub fn validate(kind: &str, group: &str, new: &Value, old: Option<&Value>, subresource: &str) -> Vec<Fault> {
    let mut found = Findings::default();
    match (group, kind, subresource) {
        ("", "Pod", "status") => pod_change::status(new, old.unwrap_or(&Value::Null), &mut found),
        ("", "Pod", _) => match old {
            None => pod::create(new, &mut found),
            Some(old) => pod_change::update(new, old, &mut found),
        },
        ("", "Binding", _) => pod::binding(new, &mut found),
        ("", "Node", _) => node::node(new, old, subresource, &mut found),
        ("", "Namespace", _) => node::namespace(new, subresource, &mut found),
        ("", "ConfigMap", _) => data::config_map(new, old, &mut found),
        ("", "Secret", _) => data::secret(new, old, &mut found),
        ("", "Service", "") => service::judge(new, old, &mut found),
        ("", "Service", "status") => service::status(new, &mut found),
        ("" | "events.k8s.io", "Event", _) => event::judge(group, new, old, &mut found),
        ("", "PersistentVolumeClaim", "") => storage::claim(new, old, &mut found),
        ("", "PersistentVolume", "") => storage::volume(new, old, &mut found),
        ("policy", "PodDisruptionBudget", "") => rest::budget(new, &mut found),
        ("policy", "PodDisruptionBudget", "status") => rest::budget_status(new, &mut found),
        ("scheduling.k8s.io", "PriorityClass", _) => rest::priority_class(new, old, &mut found),
        ("autoscaling", "HorizontalPodAutoscaler", "") => rest::autoscaler(new, &mut found),
        ("autoscaling", "HorizontalPodAutoscaler", "status") => rest::autoscaler_status(new, &mut found),
        ("coordination.k8s.io", "Lease", _) => rest::lease(new, &mut found),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole", _) => rights::role(kind, new, &mut found),
        ("rbac.authorization.k8s.io", _, _) => rights::role_binding(kind, new, old, &mut found),
        ("admissionregistration.k8s.io", _, _) => webhook::judge(new, &mut found),
        ("storage.k8s.io", "StorageClass", _) => storage::storage_class(new, old, &mut found),
        ("node.k8s.io", "RuntimeClass", _) => rest::runtime_class(new, old, &mut found),
        ("resource.k8s.io", _, "") => rest::device_kind(new, old, &mut found),
        _ => {}
    }
    found.faults
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
}

impl Findings {
    /// `Invalid value`
    pub fn invalid(&mut self, field: &str, value: impl Into<Value>, detail: impl Into<String>) {
        self.faults.push(Fault::of(What::Invalid, field, value.into(), detail));
    }

    /// An `Invalid value` for each detail.
    pub fn each(&mut self, field: &str, value: &str, details: Vec<String>) {
        details.into_iter().for_each(|detail| self.invalid(field, value, detail));
    }

    /// An `Invalid value` that is shown in words of its own.
    pub fn shown(&mut self, field: &str, shown: &str, detail: &str) {
        let detail = format!("{shown}: {detail}");
        self.faults.push(Fault { what: What::Invalid, field: field.to_owned(), value: None, detail });
    }

    /// `Required value`
    pub fn required(&mut self, field: &str, detail: &str) {
        self.faults.push(Fault::required(field, detail));
    }

    /// `Forbidden`
    pub fn forbidden(&mut self, field: &str, detail: impl Into<String>) {
        self.faults.push(Fault::forbidden(field, detail));
    }

    /// `Duplicate value`
    pub fn duplicate(&mut self, field: &str, value: impl Into<Value>) {
        self.faults.push(Fault::of(What::Duplicate, field, value.into(), ""));
    }

    /// `Not found`
    pub fn not_found(&mut self, field: &str, value: &str) {
        self.faults.push(Fault::of(What::NotFound, field, value.into(), ""));
    }

    /// `Unsupported value`
    pub fn unsupported(&mut self, field: &str, value: &str, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.faults.push(Fault::of(What::NotSupported, field, value.into(), detail));
    }

    /// Text that has to be there and to be one of these.
    pub fn one_of(&mut self, field: &str, value: &str, supported: &[&str]) {
        if value.is_empty() {
            self.required(field, "");
        } else if !supported.contains(&value) {
            self.unsupported(field, value, supported);
        }
    }

    /// A DNS label that has to be there.
    pub fn label(&mut self, field: &str, value: &str) {
        if value.is_empty() {
            self.required(field, "");
        } else {
            self.each(field, value, names::label(value, "characters"));
        }
    }

    /// A number that may not be less than nothing.
    pub fn not_negative(&mut self, value: &Value, field: &str) {
        if let Some(number) = value.as_i64().filter(|&number| number < 0) {
            self.invalid(field, number, "must be greater than or equal to 0");
        }
    }

    /// A field that keeps its first value.
    pub fn unchanged(&mut self, field: &str, new: &Value, old: &Value) {
        if new != old {
            self.invalid(field, new.clone(), "field is immutable");
        }
    }

    /// A name or a number of a port.
    pub fn port(&mut self, field: &str, port: &Value) {
        match port {
            Value::String(name) => self.each(field, name, names::port_name(name)),
            number => {
                let number = number.as_i64().unwrap_or_default();
                names::port_number(number).into_iter().for_each(|detail| self.invalid(field, number, detail));
            }
        }
    }

    /// A DNS subdomain under a field of a struct, if it is there.
    pub fn subdomain(&mut self, path: &str, parent: &Value, field: &str) {
        let value = text(parent, field);
        if !value.is_empty() {
            self.each(&format!("{path}.{field}"), value, names::subdomain(value, "characters"));
        }
    }
}
