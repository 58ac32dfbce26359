//! Who belongs to a gang, and what becomes of those who do not.

use super::drafts::gang_name;
use super::faults::Faults;
use kube_core::Resource;
use trellis_engine::GangName;

/// What is known of a pod's membership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Belongs {
    /// It names no gang.
    #[default]
    Nowhere,
    /// It names a gang that is not there, or that does not know it.
    Unknown,
    /// It names a gang, but none of its leaves.
    Stray,
    /// It is a member of a gang.
    Somewhere,
}

/// The membership of every pod.
#[derive(Debug)]
pub(super) struct Membership(Vec<Belongs>);

impl Membership {
    pub fn new(pods: usize) -> Self {
        Self(vec![Belongs::Nowhere; pods])
    }

    pub fn of(&self, pod: usize) -> Belongs {
        self.0[pod]
    }

    pub fn claim(&mut self, pod: usize) {
        self.0[pod] = Belongs::Somewhere;
    }

    /// Nothing that is there knows the pod; it must not be placed alone.
    pub fn refuse(&mut self, pod: usize, why: Belongs) {
        self.0[pod] = why;
    }
}

/// Objects in the order of their names, each with its place in the list. Those without a name, and all but the first of
/// one name, are at fault and left out.
pub(super) fn by_name<'a, K: Resource>(
    objects: &[&'a K],
    kind: &'static str,
    faults: &mut Faults,
) -> Vec<(usize, &'a K)> {
    let mut order: Vec<(GangName, usize)> =
        objects.iter().enumerate().map(|(i, object)| (gang_name(object.meta()), i)).collect();
    order.sort();
    let mut kept = Vec::with_capacity(order.len());
    for (place, (name, i)) in order.iter().enumerate() {
        let mut faults = faults.of(kind, *i, objects[*i].meta());
        if place > 0 && order[place - 1].0 == *name && !name.name.is_empty() {
            faults.duplicate();
        } else if faults.name().is_some() {
            kept.push((*i, objects[*i]));
        }
    }
    kept
}
