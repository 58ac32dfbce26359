//! What the kubelet charges a pod: the rules of Kubernetes' `PodRequests`.
//!
//! Containers run side by side, so they are added up. Init containers run one after another before them, so the largest
//! counts; one that restarts (a sidecar) stays, and is added to the containers and to every init container behind it.
//! What the pod asks for as a whole replaces the sum of its containers. A pod that was resized in place is charged the
//! most of what it asks for, what it was given and what it has.

use super::quantity;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;
use trellis_api::field::{FieldError, Path};
use trellis_api::names::resource;

/// Amounts by resource name as they stand in an object.
pub type ResourceList = BTreeMap<String, Quantity>;

/// What a pod is charged, in base units and sorted by resource name; nothing is zero, and `pods` is one.
pub fn of(pod: &Pod) -> Result<Vec<(&str, i64)>, Vec<FieldError>> {
    let mut reader = Reader { pod, errors: Vec::new() };
    let exact = reader.pod();
    let mut errors = reader.errors;
    let mut charged = Vec::with_capacity(exact.0.len() + 1);
    for (name, nanos) in exact.0 {
        match quantity::whole_units(name, nanos) {
            _ if name == resource::PODS => {}
            Some(0) => {}
            Some(amount) => charged.push((name, amount)),
            None => {
                let message = format!("all containers together ask for more {name} than can be counted");
                errors.push(FieldError::invalid(
                    &Path::new("spec.containers"),
                    format!("{name}: {}", nanos / quantity::NANOS),
                    message,
                ));
            }
        }
    }
    let place = charged.partition_point(|(name, _)| *name < resource::PODS);
    charged.insert(place, (resource::PODS, 1));
    if errors.is_empty() { Ok(charged) } else { Err(errors) }
}

/// Writes all that a charge depends on into `key`: pods with one key are charged alike. It costs less than the charge, and
/// most pods are like many others. Nothing for the few that say in their status what they have.
pub(super) fn write_key(pod: &Pod, key: &mut String) -> Option<()> {
    fn text(key: &mut String, text: &str) {
        // Preceded by its length, so that no text runs into the next.
        let length = u32::try_from(text.len()).ok().and_then(char::from_u32);
        key.push(length.unwrap_or(char::MAX));
        key.push_str(text);
    }
    fn list(key: &mut String, mark: char, list: Option<&ResourceList>) {
        key.push(mark);
        for (name, amount) in list.into_iter().flatten() {
            text(key, name);
            text(key, &amount.0);
        }
    }
    fn both(key: &mut String, resources: Option<&ResourceRequirements>) {
        list(key, 'r', resources.and_then(|resources| resources.requests.as_ref()));
        list(key, 'l', resources.and_then(|resources| resources.limits.as_ref()));
    }
    let status = pod.status.as_ref();
    let statuses = [
        status.and_then(|status| status.container_statuses.as_ref()),
        status.and_then(|status| status.init_container_statuses.as_ref()),
    ];
    if statuses.into_iter().flatten().flatten().any(|status| status.resources.is_some()) {
        return None;
    }
    key.clear();
    let spec = pod.spec.as_ref()?;
    spec.containers.iter().for_each(|container| both(key, container.resources.as_ref()));
    for container in spec.init_containers.iter().flatten() {
        let stays = container.restart_policy.as_deref() == Some("Always");
        key.push(if stays { 's' } else { 'i' });
        both(key, container.resources.as_ref());
    }
    list(key, 'o', spec.overhead.as_ref());
    both(key, spec.resources.as_ref());
    Some(())
}

/// Reads the amounts of a list in base units; nothing is zero.
pub fn list<'a>(list: Option<&'a ResourceList>, path: &Path) -> Result<Vec<(&'a str, i64)>, Vec<FieldError>> {
    let (mut amounts, mut errors) = (Vec::new(), Vec::new());
    for (name, text) in list.into_iter().flatten() {
        match quantity::amount(name, &text.0) {
            Ok(0) => {}
            Ok(amount) => amounts.push((name.as_str(), amount)),
            Err(fault) => errors.push(FieldError::invalid(&path.key(name), text.0.as_str(), fault)),
        }
    }
    if errors.is_empty() { Ok(amounts) } else { Err(errors) }
}

/// Exact amounts in billionths, sorted by resource name.
#[derive(Clone, Default)]
struct Exact<'a>(Vec<(&'a str, i128)>);

impl<'a> Exact<'a> {
    /// Puts two lists together; where both have a name, `both` decides.
    fn merge(&mut self, other: Self, both: impl Fn(i128, i128) -> i128) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        for (name, amount) in other.0 {
            match self.0.binary_search_by_key(&name, |(name, _)| *name) {
                Ok(i) => self.0[i].1 = both(self.0[i].1, amount),
                Err(i) => self.0.insert(i, (name, amount)),
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.merge(other, i128::saturating_add);
    }

    fn raise(&mut self, other: Self) {
        self.merge(other, i128::max);
    }

    fn replace(&mut self, name: &'a str, amount: i128) {
        self.merge(Self(vec![(name, amount)]), |_, new| new);
    }

    fn has(&self, name: &str) -> bool {
        self.0.binary_search_by_key(&name, |(name, _)| *name).is_ok()
    }
}

struct Reader<'a> {
    pod: &'a Pod,
    errors: Vec<FieldError>,
}

impl<'a> Reader<'a> {
    fn pod(&mut self) -> Exact<'a> {
        let Some(spec) = &self.pod.spec else { return Exact::default() };
        let mut sum = Exact::default();
        for (i, container) in spec.containers.iter().enumerate() {
            let asked = self.container(container, "containers", i, true);
            sum.add(asked);
        }
        let (mut sidecars, mut init) = (Exact::default(), Exact::default());
        for (i, container) in spec.init_containers.iter().flatten().enumerate() {
            let stays = container.restart_policy.as_deref() == Some("Always");
            let mut asked = self.container(container, "initContainers", i, stays);
            if stays {
                sum.add(asked.clone());
                sidecars.add(asked);
                init.raise(sidecars.clone());
            } else {
                asked.add(sidecars.clone());
                init.raise(asked);
            }
        }
        sum.raise(init);
        if let Some(whole) = &spec.resources {
            self.pod_level(whole, &mut sum);
        }
        let overhead = self.list(spec.overhead.as_ref(), || Path::new("spec.overhead"));
        sum.add(overhead);
        sum
    }

    /// What the pod asks for as a whole; only of CPU, memory and huge pages it can.
    fn pod_level(&mut self, whole: &'a ResourceRequirements, sum: &mut Exact<'a>) {
        let path = || Path::new("spec.resources.requests");
        for (name, amount) in self.list(whole.requests.as_ref(), path).0 {
            if is_pod_level(name) {
                sum.replace(name, amount);
            }
        }
        // The API server's default: a limit is a request where neither the pod nor a container asks for anything.
        let path = || Path::new("spec.resources.limits");
        for (name, amount) in self.list(whole.limits.as_ref(), path).0 {
            if is_pod_level(name) && !sum.has(name) {
                sum.replace(name, amount);
            }
        }
    }

    fn container(&mut self, container: &'a Container, field: &str, i: usize, can_resize: bool) -> Exact<'a> {
        let path = |list: &str| Path::new("spec").child(field).index(i).child("resources").child(list);
        let mut asked = Exact::default();
        if let Some(resources) = &container.resources {
            asked = self.list(resources.requests.as_ref(), || path("requests"));
            // The API server's default: a limit is also a request.
            for (name, amount) in self.list(resources.limits.as_ref(), || path("limits")).0 {
                if !resources.requests.as_ref().is_some_and(|requests| requests.contains_key(name)) {
                    asked.replace(name, amount);
                }
            }
        }
        if can_resize && let Some(given) = self.given(container, field) {
            if self.resize_is_infeasible() {
                asked = given;
            } else {
                asked.raise(given);
            }
        }
        asked
    }

    /// What a running container has and was allotted, by the pod's status.
    fn given(&mut self, container: &Container, field: &str) -> Option<Exact<'a>> {
        let status = self.pod.status.as_ref()?;
        let (statuses, field) = match field {
            "containers" => (status.container_statuses.as_ref()?, "containerStatuses"),
            _ => (status.init_container_statuses.as_ref()?, "initContainerStatuses"),
        };
        let named = |status: &&ContainerStatus| status.name == container.name;
        let (i, found) = statuses.iter().enumerate().find(|(_, status)| named(status))?;
        let path = |rest: &str| Path::new("status").child(field).index(i).child(rest);
        let mut given = self.list(found.resources.as_ref()?.requests.as_ref(), || path("resources.requests"));
        let allotted = self.list(found.allocated_resources.as_ref(), || path("allocatedResources"));
        given.raise(allotted);
        Some(given)
    }

    /// Whether the kubelet has refused to resize the pod: what is asked for then says nothing.
    fn resize_is_infeasible(&self) -> bool {
        let conditions = self.pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition.type_ == "PodResizePending" && condition.reason.as_deref() == Some("Infeasible"))
    }

    fn list(&mut self, list: Option<&'a ResourceList>, path: impl Fn() -> Path) -> Exact<'a> {
        let mut exact = Vec::with_capacity(list.map_or(0, BTreeMap::len));
        for (name, text) in list.into_iter().flatten() {
            match quantity::parse_amount(&text.0) {
                Ok(nanos) => exact.push((name.as_str(), nanos)),
                Err(fault) => self.errors.push(FieldError::invalid(&path().key(name), text.0.as_str(), fault)),
            }
        }
        Exact(exact)
    }
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, resource::CPU | resource::MEMORY) || name.starts_with(resource::HUGE_PAGES)
}
