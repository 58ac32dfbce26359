//! Claimed volumes: a claim that is bound keeps pods on the nodes that can reach its volume; one that is not makes them wait.

use super::amounts::{index, number};
use super::drafts::{Draft, Member};
use super::eligibility::{self, Columns};
use super::faults::Faults;
use super::membership::by_name;
use super::nodes::Nodes;
use super::pods::{Facts, Pods, State};
use super::ties::Ties;
use super::{Observed, drafts};
use fixedbitset::FixedBitSet;
use k8s_openapi::api::core::v1::{NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use trellis_engine::Unready;

/// A claim, by namespace and name.
type Name<'a> = (&'a str, Cow<'a, str>);

/// A claim that a pod names: where, and which.
struct Named<'a> {
    field: String,
    claim: Cow<'a, str>,
    is_ephemeral: bool,
}

/// Claims, volumes, and who has what is for one pod only.
#[derive(Debug, Default)]
pub(super) struct Storage<'a> {
    claims: HashMap<(&'a str, &'a str), &'a PersistentVolumeClaim>,
    volumes: HashMap<&'a str, &'a PersistentVolume>,
    /// Claims that pods with a place have.
    taken: HashMap<Name<'a>, &'a str>,
    /// For each volume that only some nodes reach, the others.
    outside: HashMap<&'a str, FixedBitSet>,
}

impl<'a> Storage<'a> {
    pub fn read(observed: &Observed<'a>, pods: &Pods<'a>, faults: &mut Faults) -> Self {
        let mut read = Self::default();
        for (_, claim) in by_name(&observed.claims, "PersistentVolumeClaim", faults) {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            read.claims.insert((drafts::namespace(&claim.metadata), name), claim);
        }
        for (_, volume) in by_name(&observed.volumes, "PersistentVolume", faults) {
            read.volumes.insert(volume.metadata.name.as_deref().unwrap_or_default(), volume);
        }
        if read.claims.is_empty() {
            return read;
        }
        for pod in pods.list.iter().filter(|pod| matches!(pod.state, State::Bound(_) | State::Leaving(_))) {
            read.taken.extend(named(pod).map(|named| ((pod.namespace, named.claim), pod.name)));
        }
        read
    }

    /// Labels of nodes that volumes ask about.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        let terms = self.volumes.values().copied().filter_map(terms).flatten();
        terms.flat_map(|term| term.match_expressions.iter().flatten()).map(|requirement| requirement.key.as_str())
    }

    /// Looks at the waiting pods of all gangs: who waits for a claim, and who wants what only one can have.
    pub fn settle(&self, drafts: &mut [Draft<'_>], pods: &Pods<'a>, first_tie: usize, ties: &mut Ties) {
        let mut wanted: BTreeMap<Name<'a>, Vec<usize>> = BTreeMap::new();
        for (at, draft) in drafts.iter_mut().enumerate() {
            let mut mates: BTreeMap<Cow<'a, str>, &str> = BTreeMap::new();
            for pod in waiting(&draft.members, pods) {
                for named in named(pod) {
                    let reason = self.reason(pod, &named).or_else(|| {
                        let mate =
                            mates.insert(named.claim.clone(), pod.name).filter(|_| self.is_for_one(pod, &named))?;
                        Some(format!("is for one pod at a time, and pod {mate} of the same gang wants it too"))
                    });
                    if self.is_for_one(pod, &named) {
                        wanted.entry((pod.namespace, named.claim.clone())).or_default().push(at);
                    }
                    if let Some(reason) = reason.filter(|_| draft.gang.unready.is_none()) {
                        let text = format!("the claim {} of pod {} ({}) {reason}", named.claim, pod.name, named.field);
                        draft.gang.unready = Some(Unready::Missing { text });
                    }
                }
            }
        }
        let shared = wanted.into_values().filter(|gangs| gangs.len() > 1);
        shared.enumerate().for_each(|(i, gangs)| ties.claim(&gangs, number(first_tie + i)));
    }

    /// Why a pod has to wait for a claim.
    fn reason(&self, pod: &Facts<'a>, named: &Named<'a>) -> Option<String> {
        let Some(claim) = self.claim(pod, named) else { return Some("is not there".to_owned()) };
        let uid = pod.pod.metadata.uid.as_deref();
        let mut owners = claim.metadata.owner_references.iter().flatten();
        if named.is_ephemeral && uid.is_some_and(|uid| owners.all(|owner| owner.uid != uid)) {
            return Some("belongs to somebody else".to_owned());
        }
        if claim.metadata.deletion_timestamp.is_some() {
            return Some("is being deleted".to_owned());
        }
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Bound");
        if phase == "Lost" {
            return Some("has lost its volume".to_owned());
        }
        let volume = volume_name(claim).filter(|_| phase == "Bound");
        let Some(volume) = volume else {
            return Some(
                "is not bound to a volume; volumes that wait for their first consumer are not planned".to_owned(),
            );
        };
        if !self.volumes.contains_key(volume) {
            return Some(format!("is bound to volume {volume}, which is not there"));
        }
        let holder = self.taken.get(&(pod.namespace, named.claim.clone()))?;
        self.is_for_one(pod, named).then(|| format!("is for one pod at a time, and pod {holder} has it"))
    }

    fn claim(&self, pod: &Facts<'a>, named: &Named<'_>) -> Option<&'a PersistentVolumeClaim> {
        self.claims.get(&(pod.namespace, &*named.claim)).copied()
    }

    fn is_for_one(&self, pod: &Facts<'a>, named: &Named<'_>) -> bool {
        let modes = self.claim(pod, named).and_then(|claim| claim.spec.as_ref()?.access_modes.as_ref());
        modes.into_iter().flatten().any(|mode| mode == "ReadWriteOncePod")
    }

    /// Works out which nodes cannot reach the volumes of these pods.
    pub fn reach<'p>(&mut self, pods: impl Iterator<Item = &'p Facts<'a>>, nodes: &Nodes, columns: &Columns<'_>)
    where
        'a: 'p,
    {
        for pod in pods {
            for named in named(pod) {
                let volume =
                    self.claim(pod, &named).and_then(volume_name).filter(|name| !self.outside.contains_key(name));
                let terms = volume.and_then(|name| terms(self.volumes.get(name)?));
                if let (Some(volume), Some(terms)) = (volume, terms) {
                    self.outside.insert(volume, eligibility::outside(terms, nodes, columns));
                }
            }
        }
    }

    /// The nodes from which a volume of the pod cannot be reached, one set for each such volume.
    pub fn closed(&self, pod: &Facts<'a>) -> Vec<&FixedBitSet> {
        let volumes = named(pod).filter_map(|named| volume_name(self.claim(pod, &named)?));
        volumes.filter_map(|volume| self.outside.get(volume)).collect()
    }
}

fn waiting<'p, 'a>(members: &'p [Member], pods: &'p Pods<'a>) -> impl Iterator<Item = &'p Facts<'a>> {
    members.iter().map(|member| &pods.list[index(member.pod)]).filter(|pod| pod.state == State::Waiting)
}

/// The claims that a pod names. That of an ephemeral volume is called after both.
fn named<'a>(pod: &Facts<'a>) -> impl Iterator<Item = Named<'a>> + use<'a> {
    let name = pod.name;
    let volumes = pod.spec().into_iter().flat_map(|spec| spec.volumes.iter().flatten().enumerate());
    volumes.filter_map(move |(i, volume)| {
        if let Some(claim) = &volume.persistent_volume_claim {
            let field = format!("spec.volumes[{i}].persistentVolumeClaim");
            return Some(Named { field, claim: Cow::Borrowed(claim.claim_name.as_str()), is_ephemeral: false });
        }
        volume.ephemeral.as_ref()?;
        let claim = Cow::Owned(format!("{name}-{}", volume.name));
        Some(Named { field: format!("spec.volumes[{i}].ephemeral"), claim, is_ephemeral: true })
    })
}

fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref().filter(|name| !name.is_empty())
}

fn terms(volume: &PersistentVolume) -> Option<&[NodeSelectorTerm]> {
    let affinity = volume.spec.as_ref()?.node_affinity.as_ref()?;
    Some(&affinity.required.as_ref()?.node_selector_terms)
}
