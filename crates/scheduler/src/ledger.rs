//! The ledger: the annotation on a gang that says where its members are, what is held for those that vanished, and what was begun.
//!
//! It is written before the first bind, by compare-and-swap, and stays. So whoever leads finds in it what a former leader began. It is
//! compact, because a gang may have thousands of pods: by group and node, a pod as `name:uid`, the name without the group's where it
//! begins with that, the uid by its first eight characters.

mod form;
mod readings;
#[cfg(test)]
mod tests;

pub use readings::Readings;

use crate::plan::Target;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Characters of a uid that are kept.
const UID: usize = 8;

/// Amounts by resource, in base units.
pub type Request = Arc<BTreeMap<String, i64>>;

/// What is written on a gang.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Whose binds may be under way.
    pub by: String,
    /// When it was last written.
    pub at: Timestamp,
    /// Where members are, or are going.
    pub members: Vec<Entry>,
    /// Places of members that vanished.
    pub held: Vec<Held>,
    /// Places that are being made free for the gang.
    pub nominated: Option<Nomination>,
    /// Whether nothing of the gang stood anywhere when the members were given their places: then all of it can be undone.
    pub is_fresh: bool,
    /// Whether what was begun is being undone.
    pub is_undone: bool,
    /// For whom the gang gives up its place: `namespace/name`.
    pub preempted_by: Option<String>,
    /// How well the members are placed, in thousandths.
    pub score: Option<u16>,
}

/// A member, and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The leaf it belongs to.
    pub group: String,
    /// What it asks for.
    pub request: Request,
    /// Where it is, or is going.
    pub spot: Spot,
    /// Name of the pod.
    pub pod: String,
    /// Beginning of its uid.
    pub uid: String,
}

/// A node, and a zone inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Name of the node.
    pub node: String,
    /// Name of the zone.
    pub zone: Option<String>,
}

/// The place of a member that vanished.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// Until when it is held.
    pub until: Timestamp,
    /// The member that was there.
    pub was: Entry,
}

/// Places that are being made free for a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nomination {
    /// Until when they are held.
    pub until: Timestamp,
    /// The places.
    pub places: Vec<Nominated>,
    /// Who has to leave.
    pub victims: Vec<Victim>,
}

/// A place that is being made free.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nominated {
    /// The leaf.
    pub group: String,
    /// What is to go there.
    pub request: Request,
    /// The place.
    pub spot: Spot,
}

/// A gang that has to leave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Victim {
    /// Which one.
    pub target: Target,
    /// Beginning of its uid.
    pub uid: String,
}

impl Ledger {
    /// Reads an annotation. None if it is not one of ours.
    pub fn read(text: &str) -> Option<Self> {
        form::read(text)
    }

    /// As it is written; none if there is nothing to say.
    pub fn write(&self) -> Option<String> {
        (!self.is_empty()).then(|| form::write(self))
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.held.is_empty() && self.nominated.is_none() && self.preempted_by.is_none()
    }

    /// Whether both say the same, whoever wrote them, and when.
    pub fn says_same(&self, other: &Self) -> bool {
        let sorted = |ledger: &Self| {
            let mut plain = Self { by: String::new(), at: Timestamp::default(), ..ledger.clone() };
            plain.members.sort();
            plain.held.sort();
            if let Some(nomination) = &mut plain.nominated {
                nomination.places.sort();
                nomination.victims.sort();
            }
            plain
        };
        // Without members there is nothing to be undone.
        let is_same_plan = self.members.is_empty() || self.is_fresh == other.is_fresh;
        is_same_plan && sorted(&Self { is_fresh: other.is_fresh, ..self.clone() }) == sorted(other)
    }
}

/// The part of a uid that is kept.
pub fn short(uid: &str) -> &str {
    uid.char_indices().nth(UID).map_or(uid, |(end, _)| &uid[..end])
}
