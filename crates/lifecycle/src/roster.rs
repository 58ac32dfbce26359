//! Which pods a clique should have: those it has, as far as they are wanted, and the names of those it lacks.
//!
//! A name follows from the clique's uid, the index, and the uid of the pod that it replaces, so whoever makes the pod, and however often,
//! makes the same one; and a predecessor that is stuck on its way out is not in the way.

use crate::picture::Clique;
use crate::pod::Pod;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Letters and digits of which no word that offends can be made.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many of them end the name of a pod.
const SUFFIX: usize = 5;

/// The pods of a clique.
pub struct Roster<'a> {
    /// One for each pod that the clique should have, by index.
    pub slots: Vec<Slot<'a>>,
    /// Pods that it has and should not have.
    pub excess: Vec<&'a Arc<Pod>>,
}

/// A place in a clique.
pub struct Slot<'a> {
    /// Index of the pod.
    pub index: usize,
    /// Name of the pod.
    pub name: String,
    /// The pod, if it is there.
    pub pod: Option<&'a Arc<Pod>>,
}

impl<'a> Roster<'a> {
    /// The pods of a clique that is there.
    pub fn of(clique: &Clique<'a>) -> Self {
        let mut members: Vec<&'a Arc<Pod>> = clique.pods.iter().copied().filter(|pod| pod.is_member()).collect();
        members.sort_by_key(|pod| worth(pod, &clique.instance.template_hash));
        let mut kept: BTreeMap<usize, &'a Arc<Pod>> = BTreeMap::new();
        let mut excess = Vec::new();
        for pod in members {
            match pod.index() {
                Some(index) if kept.len() < clique.counts.replicas && !kept.contains_key(&index) => {
                    kept.insert(index, pod);
                }
                _ => excess.push(pod),
            }
        }
        let mut taken: BTreeSet<String> = clique.pods.iter().map(|pod| pod.name().to_owned()).collect();
        let missing = clique.counts.replicas - kept.len();
        let free: Vec<usize> = (0..).filter(|index| !kept.contains_key(index)).take(missing).collect();
        let mut slots: Vec<Slot<'a>> =
            kept.into_iter().map(|(index, pod)| Slot { index, name: pod.name().to_owned(), pod: Some(pod) }).collect();
        for index in free {
            let name = new_name(clique, index, &taken);
            taken.insert(name.clone());
            slots.push(Slot { index, name, pod: None });
        }
        slots.sort_by_key(|slot| slot.index);
        Self { slots, excess }
    }

    /// Whether every pod is there.
    pub fn is_complete(&self) -> bool {
        self.slots.iter().all(|slot| slot.pod.is_some())
    }
}

/// Orders pods by what it would cost to lose them, dearest first.
fn worth(
    pod: &Pod,
    template_hash: &str,
) -> (bool, bool, bool, bool, Reverse<bool>, Option<jiff::Timestamp>, Option<usize>) {
    let running = matches!(pod.status.phase.as_deref(), Some("Running" | "Succeeded"));
    let (bound, ready) = (pod.is_scheduled() || pod.has_succeeded(), pod.is_ready() || pod.has_succeeded());
    (!bound, !running, !ready, !pod.is_at(template_hash), Reverse(!pod.is_gated()), pod.created(), pod.index())
}

fn new_name(clique: &Clique<'_>, index: usize, taken: &BTreeSet<String>) -> String {
    let uid = clique.live.and_then(|live| live.metadata.uid.as_deref()).unwrap_or_default();
    let former = clique.pods.iter().filter(|pod| !pod.is_member() && pod.index() == Some(index));
    let former = former.max_by_key(|pod| (pod.created(), pod.name())).map_or("", |pod| pod.uid());
    let mut attempt = 0_usize;
    loop {
        let suffix = hash(&[uid, &index.to_string(), former, &attempt.to_string()]);
        let name = format!("{}-{}", clique.instance.name, &suffix[..SUFFIX]);
        if !taken.contains(&name) {
            return name;
        }
        attempt += 1;
    }
}

/// A hash in letters that may stand in names.
pub fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part.as_bytes());
    }
    let letters = digest.finalize();
    letters.iter().take(16).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect()
}
