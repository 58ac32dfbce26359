//! The picture that all decisions of one pass look at: what the set asks for beside what is there.

use crate::observed::Observed;
use crate::pod::Pod;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use trellis_api::kinds::{
    ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang, ScalingGroupTemplate,
};
use trellis_api::names::label;
use trellis_api::settings::Settings;
use trellis_lower::{self as lower, Instance, LiveReplicas, Parent, Translation};

/// What a set's decisions look at beside the set.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// ClusterTopologies by name.
    pub topologies: &'a BTreeMap<String, ClusterTopology>,
    /// The configuration in force.
    pub settings: &'a Settings,
    /// What time it is.
    pub now: Timestamp,
    /// Whether we judge sets ourselves, because no webhook does.
    pub judges: bool,
}

/// One pass over a set.
pub struct Picture<'a> {
    /// The set, with defaults filled in.
    pub set: &'a PodCliqueSet,
    /// What was seen.
    pub observed: &'a Observed,
    /// What there is beside the set.
    pub around: Around<'a>,
    /// Its constraints in node label keys.
    pub translation: Translation<'a>,
    /// Hash of the template.
    pub generation_hash: String,
    /// The scheduler profile that serves it.
    pub profile: &'a str,
    /// Every clique that it asks for, gang by gang.
    pub cliques: Vec<Clique<'a>>,
    /// Every gang that it asks for, base gangs before their scaled ones, replica by replica.
    pub gangs: Vec<Gang<'a>>,
    /// Every scaling group that it asks for, replica by replica.
    pub groups: Vec<Group<'a>>,
}

/// A clique: what is asked for, and what is there.
pub struct Clique<'a> {
    /// Its place in the set.
    pub instance: Instance<'a>,
    /// What its pods wait for.
    pub parents: Vec<Parent>,
    /// As it should be, but for its owner's uid if that is a scaling group.
    pub desired: PodClique,
    /// As it is.
    pub live: Option<&'a Arc<PodClique>>,
    /// Its pods: those that the live clique owns, by index, then by age.
    pub pods: Vec<&'a Arc<Pod>>,
    /// How many of them are how far.
    pub counts: Counts,
    /// The gang that it is in, as a position in [`Picture::gangs`].
    pub gang: usize,
}

/// A gang: which cliques are in it, and what is there.
pub struct Gang<'a> {
    /// Its name.
    pub name: String,
    /// The replica of the set that it is in.
    pub set_index: usize,
    /// The base gang, as a position in [`Picture::gangs`], if this one is scaled.
    pub base: Option<usize>,
    /// Its cliques, as positions in [`Picture::cliques`].
    pub cliques: Range<usize>,
    /// As it is.
    pub live: Option<&'a Arc<PodGang>>,
}

/// A scaling group: what is asked for, and what is there.
pub struct Group<'a> {
    /// In the set's template.
    pub template: &'a ScalingGroupTemplate,
    /// The replica of the set that it is in.
    pub set_index: usize,
    /// As it should be.
    pub desired: PodCliqueScalingGroup,
    /// As it is.
    pub live: Option<&'a Arc<PodCliqueScalingGroup>>,
    /// The cliques of each of its replicas, as positions in [`Picture::cliques`].
    pub replicas: Vec<Vec<usize>>,
}

impl Group<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        self.desired.metadata.name.as_deref().unwrap_or_default()
    }

    /// Replicas that belong to the base gang.
    pub fn min_available(&self) -> usize {
        usize::try_from(self.desired.spec.min_available).unwrap_or(0)
    }
}

/// How many pods of a clique are how far. Pods on their way out and failed ones are not counted at all; one that succeeded counts as
/// scheduled and ready for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pods that the clique should have.
    pub replicas: usize,
    /// Pods that must run together.
    pub min: usize,
    /// Pods that it has.
    pub members: usize,
    /// Those that have a node.
    pub scheduled: usize,
    /// Those that are ready.
    pub ready: usize,
    /// Those that our gate holds.
    pub gated: usize,
    /// Those made from the current template.
    pub updated: usize,
    /// Those that succeeded.
    pub succeeded: usize,
    /// Those on a node that cannot do their work: a container ended in failure, or has started and is not ready.
    pub failing: usize,
}

impl Counts {
    fn of(replicas: usize, min: i32, hash: &str, pods: &[&Arc<Pod>]) -> Self {
        let members = || pods.iter().filter(|pod| pod.is_member());
        let count = |of: &dyn Fn(&Pod) -> bool| members().filter(|pod| of(pod)).count();
        Self {
            replicas,
            min: usize::try_from(min).unwrap_or(0),
            members: members().count(),
            scheduled: count(&|pod| pod.is_scheduled() || pod.has_succeeded()),
            ready: count(&|pod| pod.is_ready() || pod.has_succeeded()),
            gated: count(&Pod::is_gated),
            updated: count(&|pod| pod.is_at(hash)),
            succeeded: count(&Pod::has_succeeded),
            failing: count(&|pod| pod.is_scheduled() && !pod.has_succeeded() && is_failing(pod)),
        }
    }

    /// Whether the minimum has nodes.
    pub fn is_scheduled(&self) -> bool {
        self.scheduled >= self.min
    }

    /// Whether the minimum is ready.
    pub fn is_available(&self) -> bool {
        self.ready >= self.min
    }
}

fn is_failing(pod: &Pod) -> bool {
    let failed = |state: &crate::pod::State| state.terminated.as_ref().is_some_and(|end| end.exit_code != 0);
    pod.status.container_statuses.iter().any(|container| {
        !container.ready
            && (container.started == Some(true) || failed(&container.state) || failed(&container.last_state))
    })
}

/// Whether the object's controller has this uid.
pub fn is_owned_by(metadata: &ObjectMeta, uid: Option<&str>) -> bool {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    uid.is_some_and(|uid| owners.iter().any(|owner| owner.controller == Some(true) && owner.uid == uid))
}

/// Whether the object is a child of the one with this uid: it owns it, or nobody does, as after a deletion that left orphans.
pub fn is_child_of(metadata: &ObjectMeta, uid: Option<&str>) -> bool {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true));
    owner.is_none_or(|owner| Some(owner.uid.as_str()) == uid)
}

impl<'a> Picture<'a> {
    /// Puts the picture together. `set` is the observed one with defaults filled in.
    pub fn of(set: &'a PodCliqueSet, observed: &'a Observed, around: Around<'a>) -> Self {
        let uid = set.metadata.uid.as_deref();
        let owned_groups = observed.groups.values().filter(|group| is_child_of(&group.metadata, uid));
        let live = LiveReplicas::observed(
            set,
            observed.cliques.values().filter(|clique| is_child_of(&clique.metadata, uid)).map(|clique| &**clique),
            owned_groups.map(|group| &**group),
        );
        let instances = lower::expand(set, &live);
        let (mut cliques, mut gangs) = (Vec::new(), Vec::<Gang<'a>>::new());
        for members in lower::by_gang(&instances) {
            let Some(first) = members.first() else { continue };
            let base = first.base_gang.as_ref().and_then(|base| gangs.iter().rposition(|gang| gang.name == *base));
            let begin = cliques.len();
            for instance in &members {
                let parents = lower::parents(set, instance, &members);
                cliques.push(clique(set, observed, (*instance).clone(), parents, gangs.len()));
            }
            gangs.push(Gang {
                name: first.gang.clone(),
                set_index: first.set_index,
                base,
                cliques: begin..cliques.len(),
                live: observed.gangs.get(&first.gang).filter(|gang| is_child_of(&gang.metadata, uid)),
            });
        }
        let groups = groups(set, observed, &live, &cliques);
        Self {
            set,
            observed,
            around,
            translation: Translation::of(set, around.topologies, around.settings),
            generation_hash: lower::generation_hash(set),
            profile: lower::scheduler(set, around.settings),
            cliques,
            gangs,
            groups,
        }
    }

    /// Replicas of the set, by index.
    pub fn set_replicas(&self) -> usize {
        usize::try_from(self.set.spec.replicas).unwrap_or(0)
    }

    /// The cliques of a gang.
    pub fn members(&self, gang: &Gang<'_>) -> &[Clique<'a>] {
        &self.cliques[gang.cliques.clone()]
    }

    /// The set's namespace.
    pub fn namespace(&self) -> &'a str {
        self.set.metadata.namespace.as_deref().unwrap_or("default")
    }
}

fn clique<'a>(
    set: &'a PodCliqueSet,
    observed: &'a Observed,
    instance: Instance<'a>,
    parents: Vec<Parent>,
    gang: usize,
) -> Clique<'a> {
    let mut desired = lower::pod_clique(set, &instance, &parents);
    let owner = match &instance.group {
        None => set.metadata.uid.as_deref(),
        Some(group) => {
            let live = observed.groups.get(&group.name);
            let live = live.filter(|live| is_child_of(&live.metadata, set.metadata.uid.as_deref()));
            desired.metadata.owner_references =
                live.and_then(|live| lower::owner_reference(&**live)).map(|owner| vec![owner]);
            live.and_then(|live| live.metadata.uid.as_deref())
        }
    };
    let live = observed.cliques.get(&instance.name).filter(|clique| is_child_of(&clique.metadata, owner));
    let uid = live.and_then(|live| live.metadata.uid.as_deref());
    let pods = observed.pods.get(&instance.name).map(Vec::as_slice).unwrap_or_default();
    let mut pods: Vec<&Arc<Pod>> = pods.iter().filter(|pod| is_owned_by(&pod.metadata, uid)).collect();
    pods.sort_by_key(|pod| (pod.index(), pod.created(), pod.name()));
    let counts = Counts::of(instance.replicas, instance.min_available(), &instance.template_hash, &pods);
    Clique { instance, parents, desired, live, pods, counts, gang }
}

fn groups<'a>(
    set: &'a PodCliqueSet,
    observed: &'a Observed,
    live: &LiveReplicas,
    cliques: &[Clique<'a>],
) -> Vec<Group<'a>> {
    let uid = set.metadata.uid.as_deref();
    let mut of_replica: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for (position, clique) in cliques.iter().enumerate() {
        if let Some(group) = &clique.instance.group {
            of_replica.entry((&group.name, group.index)).or_default().push(position);
        }
    }
    let desired = lower::scaling_groups(set, live).into_iter();
    desired
        .filter_map(|desired| {
            let labels = desired.metadata.labels.as_ref()?;
            let name = desired.metadata.name.as_deref()?;
            let template = labels.get(label::GROUP)?;
            let template = set.spec.template.pod_clique_scaling_groups.iter().find(|group| group.name == *template)?;
            let replicas = of_replica.range((name, 0)..=(name, usize::MAX)).map(|(_, positions)| positions.clone());
            Some(Group {
                template,
                set_index: labels.get(label::SET_REPLICA_INDEX)?.parse().ok()?,
                replicas: replicas.collect(),
                live: observed.groups.get(name).filter(|group| is_child_of(&group.metadata, uid)),
                desired,
            })
        })
        .collect()
}
