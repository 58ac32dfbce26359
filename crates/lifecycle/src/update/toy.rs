//! A set in a few words, and the rest of the world played by hand.

use crate::observed::Observed;
use crate::picture::{Around, Picture};
use crate::plan::{Action, Kind, Plan, site};
use crate::pod::{Condition as PodCondition, Container, Gate, Pod, State, Terminated};
use crate::{terminate, update};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_api::admission::default_pod_clique_set;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet, PodGang, PodGangStatus, ReplicaUpdate};
use trellis_api::names::{self, annotation, label};
use trellis_api::settings::Settings;
use trellis_lower::{self as lower, LiveReplicas};

/// A set and all that was seen of it.
pub(crate) struct World {
    pub set: PodCliqueSet,
    pub observed: Observed,
    pub now: Timestamp,
    topologies: BTreeMap<String, ClusterTopology>,
    settings: Settings,
    serial: u64,
}

impl World {
    /// A set `s` such as `2 a=3/2 x:2/1 x.b=1/1`: its replicas, cliques with replicas and minimum, scaling groups with theirs, and cliques
    /// in groups. All gangs have their place, and all pods are ready. `terminationDelay` is ten minutes.
    pub fn new(text: &str) -> Self {
        let mut words = text.split_whitespace();
        let replicas = number(words.next().unwrap());
        let (mut cliques, mut groups) = (Vec::new(), Vec::new());
        let two = |counts: &str| counts.split_once('/').map(|(all, min)| (number(all), number(min))).unwrap();
        for word in words {
            if let Some((name, counts)) = word.split_once(':') {
                let (replicas, min) = two(counts);
                groups.push(json!({ "name": name, "replicas": replicas, "minAvailable": min, "cliqueNames": [] }));
                continue;
            }
            let (name, counts) = word.split_once('=').unwrap();
            let (group, name) = name.split_once('.').map_or((None, name), |(group, name)| (Some(group), name));
            let (replicas, min) = two(counts);
            let spec = json!({
                "roleName": name, "replicas": replicas, "minAvailable": min,
                "podSpec": { "containers": [{ "name": "c", "image": "one" }] },
            });
            cliques.push(json!({ "name": name, "spec": spec }));
            if let Some(group) = group {
                let group = groups.iter_mut().find(|it| it["name"] == group).unwrap();
                group["cliqueNames"].as_array_mut().unwrap().push(name.into());
            }
        }
        let set = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
            "metadata": { "name": "s", "namespace": "n", "uid": "set", "resourceVersion": "1" },
            "spec": { "replicas": replicas, "template": {
                "terminationDelay": "10m", "cliques": cliques, "podCliqueScalingGroups": groups,
            } },
        });
        let mut world = Self {
            set: serde_json::from_value(set).unwrap(),
            observed: Observed::default(),
            now: "2026-01-01T12:00:00Z".parse().unwrap(),
            topologies: BTreeMap::new(),
            settings: Settings::default(),
            serial: 0,
        };
        default_pod_clique_set(&mut world.set, None, &world.settings);
        world.sync();
        for (clique, replicas) in world.look(|it| {
            it.cliques.iter().map(|clique| (clique.instance.name.clone(), clique.counts.replicas)).collect::<Vec<_>>()
        }) {
            world.pods(&clique, &vec!["R"; replicas].join(" "));
        }
        for gang in world.observed.gangs.clone().into_keys() {
            world.gang(&gang, "placed");
        }
        world
    }

    /// Looks at the world as a pass does.
    pub fn look<T>(&self, look: impl FnOnce(&Picture<'_>) -> T) -> T {
        let around = Around { topologies: &self.topologies, settings: &self.settings, now: self.now, judges: false };
        look(&Picture::of(&self.set, &self.observed, around))
    }

    /// What our two modules want to be done.
    pub fn plan(&self) -> Plan {
        self.look(|picture| {
            let mut plan = Plan::default();
            terminate::decide(picture, &mut plan);
            update::decide(picture, &mut plan);
            plan
        })
    }

    /// A moment that many seconds ago.
    pub fn ago(&self, seconds: i64) -> Timestamp {
        self.now - SignedDuration::from_secs(seconds)
    }

    fn metadata(&mut self, name: &str) -> ObjectMeta {
        self.serial += 1;
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("n".to_owned()),
            uid: Some(format!("uid-{}", self.serial)),
            resource_version: Some(self.serial.to_string()),
            ..ObjectMeta::default()
        }
    }

    /// Brings groups, cliques and gangs to what the set asks for; those that it does not ask for go with their pods.
    pub fn sync(&mut self) {
        for mut group in lower::scaling_groups(&self.set, &LiveReplicas::default()) {
            let name = group.metadata.name.clone().unwrap();
            let was = self.observed.groups.get(&name).map(|group| group.metadata.uid.clone());
            group.metadata.uid = was.unwrap_or_else(|| self.metadata(&name).uid);
            self.observed.groups.insert(name, Arc::new(group));
        }
        let desired = self.look(|it| it.cliques.iter().map(|clique| clique.desired.clone()).collect::<Vec<_>>());
        let mut cliques = BTreeMap::new();
        for mut clique in desired {
            let name = clique.metadata.name.clone().unwrap();
            match self.observed.cliques.get(&name) {
                Some(was) => {
                    clique.metadata.uid.clone_from(&was.metadata.uid);
                    clique.status.clone_from(&was.status);
                }
                None => clique.metadata.uid = self.metadata(&name).uid,
            }
            cliques.insert(name, Arc::new(clique));
        }
        self.observed.pods.retain(|clique, _| cliques.contains_key(clique));
        self.observed.cliques = cliques;
        let wanted = self.look(|it| it.gangs.iter().map(|gang| gang.name.clone()).collect::<Vec<_>>());
        self.observed.gangs.retain(|name, _| wanted.contains(name));
        for name in wanted {
            if !self.observed.gangs.contains_key(&name) {
                let mut metadata = self.metadata(&name);
                metadata.owner_references = lower::owner_reference(&self.set).map(|owner| vec![owner]);
                let gang = PodGang { metadata, ..PodGang::default() };
                self.observed.gangs.insert(name, Arc::new(gang));
            }
        }
    }

    /// Gives a clique these pods, by index: `g`ated, `p`ending, `u600` unschedulable for that long, `s`tarting on a node, `f`ailing there,
    /// `R`eady, `S`ucceeded, `F`ailed, `t`erminating, `-` missing; then, with `@60`, its age; with `o`, made from another template.
    pub fn pods(&mut self, clique: &str, words: &str) {
        self.observed.pods.remove(clique);
        for (index, word) in words.split_whitespace().enumerate().filter(|(_, word)| *word != "-") {
            let (word, old) = word.strip_suffix('o').map_or((word, false), |word| (word, true));
            let (word, age) = word.split_once('@').map_or((word, 7200), |(word, age)| (word, number(age)));
            let mut pod = self.new_pod(clique, index, format!("{clique}-{index}"));
            pod.metadata.creation_timestamp = Some(Time(self.ago(age)));
            if old {
                pod.metadata.labels.as_mut().unwrap().insert(label::POD_TEMPLATE_HASH.into(), "old".into());
            }
            let since = self.ago(word.get(1..).filter(|digits| !digits.is_empty()).map_or(0, number));
            turn(&mut pod, word.chars().next().unwrap(), since);
            self.observed.pods.entry(clique.to_owned()).or_default().push(Arc::new(pod));
        }
    }

    /// A new pod behind our gate.
    pub fn new_pod(&mut self, clique: &str, index: usize, name: String) -> Pod {
        let mut metadata = self.metadata(&name);
        let owner = &self.observed.cliques[clique];
        metadata.owner_references = lower::owner_reference(&**owner).map(|owner| vec![owner]);
        let hash = owner.metadata.labels.as_ref().unwrap()[label::POD_TEMPLATE_HASH].clone();
        let labels = [(label::POD_INDEX.to_owned(), index.to_string()), (label::POD_TEMPLATE_HASH.to_owned(), hash)];
        metadata.labels = Some(BTreeMap::from(labels));
        metadata.creation_timestamp = Some(Time(self.now));
        let mut pod = Pod { metadata, ..Pod::default() };
        turn(&mut pod, 'g', self.now);
        pod
    }

    /// Changes a pod, or takes it away.
    pub fn change_pod(&mut self, clique: &str, name: &str, change: impl FnOnce(&mut Pod) -> bool) {
        self.serial += 1;
        let version = self.serial.to_string();
        let pods = self.observed.pods.get_mut(clique).unwrap();
        let at = pods.iter().position(|pod| pod.name() == name).unwrap();
        let pod = Arc::make_mut(&mut pods[at]);
        pod.metadata.resource_version = Some(version);
        if !change(pod) {
            pods.remove(at);
        }
    }

    /// What stands on a gang: `new`, `placed`, `down` (being taken down), `unmarked` (the same, without its annotation), `recreated`, `preempted`.
    pub fn gang(&mut self, name: &str, word: &str) {
        let stamp = self.ago(3600);
        let gang = Arc::make_mut(self.observed.gangs.get_mut(name).unwrap());
        let placed = matches!(word, "placed" | "down" | "preempted");
        let stamp = placed.then(|| BTreeMap::from([(annotation::SCHEDULED_AT.to_owned(), stamp.to_string())]));
        gang.metadata.annotations = stamp;
        let said = match word {
            "down" | "unmarked" => Some(("True", "GangTermination")),
            "recreated" => Some(("False", "GangRecreated")),
            "preempted" => Some(("True", "Preempted")),
            _ => None,
        };
        let conditions = said.map(|(status, reason)| condition("DisruptionTarget", status, reason, self.now));
        gang.status = Some(PodGangStatus { conditions: conditions.into_iter().collect(), ..PodGangStatus::default() });
    }

    /// Puts down how long ago a clique's breach began.
    pub fn breached(&mut self, clique: &str, seconds: i64) {
        let since = self.ago(seconds);
        let clique = Arc::make_mut(self.observed.cliques.get_mut(clique).unwrap());
        clique.status.get_or_insert_default().conditions =
            vec![condition("MinAvailableBreached", "True", "InsufficientReadyPods", since)];
    }

    /// Puts down which replica is being updated.
    pub fn updating(&mut self, index: Option<usize>) {
        let progress = self.set.status.get_or_insert_default().update_progress.get_or_insert_default();
        let update = index
            .map(|index| ReplicaUpdate { replica_index: i32::try_from(index).unwrap(), ..ReplicaUpdate::default() });
        progress.currently_updating = update.into_iter().collect();
    }

    /// Sets the image of all cliques, or of one.
    pub fn image(&mut self, clique: Option<&str>, image: &str) {
        for template in &mut self.set.spec.template.cliques {
            if clique.is_none_or(|clique| template.name == clique) {
                let spec = Arc::make_mut(&mut template.spec.pod_spec.0);
                spec.insert("containers".to_owned(), json!([{ "name": "c", "image": image }]));
            }
        }
        self.sync();
    }

    /// Carries out one write of a plan, if it is still good.
    pub fn apply(&mut self, write: &crate::plan::Write) {
        self.serial += 1;
        let version = self.serial.to_string();
        let now = self.now;
        match (&write.action, write.target.kind) {
            (Action::Delete { uid, version: seen }, Kind::Pod) => {
                for pod in self.observed.pods.values_mut().flatten().filter(|pod| pod.uid() == uid) {
                    let pod = Arc::make_mut(pod);
                    assert_eq!(*seen, pod.metadata.resource_version, "deletions name the version");
                    pod.metadata.deletion_timestamp = Some(Time(now));
                    pod.metadata.resource_version = Some(version.clone());
                }
            }
            (Action::Patch(patch), Kind::PodGang) => {
                let gang = Arc::make_mut(self.observed.gangs.get_mut(&write.target.name).unwrap());
                assert_eq!(patch["metadata"]["resourceVersion"], json!(gang.metadata.resource_version));
                let annotations = gang.metadata.annotations.get_or_insert_default();
                for (key, value) in patch["metadata"]["annotations"].as_object().unwrap() {
                    match value {
                        Value::String(value) => annotations.insert(key.clone(), value.clone()),
                        _ => annotations.remove(key),
                    };
                }
                gang.metadata.resource_version = Some(version);
            }
            (Action::ApplyStatus(status), Kind::PodGang) => {
                let gang = Arc::make_mut(self.observed.gangs.get_mut(&write.target.name).unwrap());
                assert_eq!(status["metadata"]["resourceVersion"], json!(gang.metadata.resource_version));
                let conditions: Vec<Condition> =
                    serde_json::from_value(status["status"]["conditions"].clone()).unwrap();
                let stored = &mut gang.status.get_or_insert_default().conditions;
                stored.retain(|old| conditions.iter().all(|new| new.type_ != old.type_));
                stored.extend(conditions);
                gang.metadata.resource_version = Some(version);
            }
            other => panic!("nobody asked for {other:?}"),
        }
    }

    /// What a plan does, in words.
    pub fn words(&self, plan: &Plan) -> Vec<String> {
        let mut words: Vec<String> = plan
            .writes
            .iter()
            .map(|write| {
                let verb = match (write.site, &write.action) {
                    (site::DELETE_POD_UPDATED, Action::Delete { .. }) => "update",
                    (site::DELETE_POD_TERMINATED, Action::Delete { .. }) => "terminate",
                    (site::MARK_SCHEDULED, Action::Patch(_)) => "mark",
                    (site::BEGIN_TERMINATION, Action::ApplyStatus(_)) => "begin",
                    (site::END_TERMINATION, Action::Patch(_)) => "unmark",
                    (site::END_TERMINATION, Action::ApplyStatus(_)) => "end",
                    other => panic!("nobody asked for {other:?}"),
                };
                format!("{verb} {}", write.target.name)
            })
            .collect();
        words.extend(plan.wake_at.map(|at| format!("wake {}", at.duration_since(self.now).as_secs())));
        words
    }
}

/// Brings a pod to a state.
pub(crate) fn turn(pod: &mut Pod, state: char, since: Timestamp) {
    let said = |type_: &str, status: &str, reason: &str| PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        last_transition_time: Some(Time(since)),
    };
    pod.spec.scheduling_gates.clear();
    pod.spec.node_name = "sfRSFt".contains(state).then(|| "node".to_owned());
    pod.status.phase = Some(
        match state {
            'S' => "Succeeded",
            'F' => "Failed",
            'g' | 'p' | 'u' => "Pending",
            _ => "Running",
        }
        .to_owned(),
    );
    pod.status.conditions.clear();
    pod.status.container_statuses.clear();
    match state {
        'g' => pod.spec.scheduling_gates.push(Gate { name: names::GANG_GATE.to_owned() }),
        'u' => pod.status.conditions.push(said("PodScheduled", "False", "Unschedulable")),
        'R' => pod.status.conditions.push(said("Ready", "True", "")),
        't' => pod.metadata.deletion_timestamp = Some(Time(since)),
        'f' => pod.status.container_statuses.push(Container {
            last_state: State {
                terminated: Some(Terminated { exit_code: 1, ..Terminated::default() }),
                ..State::default()
            },
            ..Container::default()
        }),
        'p' | 's' | 'S' | 'F' => {}
        other => panic!("no state `{other}`"),
    }
}

fn condition(type_: &str, status: &str, reason: &str, since: Timestamp) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(since),
    }
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// Brings a world to a state and says what follows. Facts are separated by `;`: pods of a clique (`s-0-a: R Ro`), what stands on a gang
/// (`s-0 down`), a stored breach (`s-0-a! 700`), `updating 1`, `OnDelete`, `delay 4h`.
pub(crate) fn given(set: &str, facts: &str) -> World {
    let mut world = World::new(set);
    for fact in facts.split(';').map(str::trim).filter(|fact| !fact.is_empty()) {
        if let Some((clique, pods)) = fact.split_once(':') {
            world.pods(clique, pods);
        } else if let Some((clique, seconds)) = fact.split_once("! ") {
            world.breached(clique, number(seconds));
        } else {
            match fact.split_once(' ') {
                Some(("updating", index)) => world.updating(index.parse().ok()),
                Some(("delay", delay)) => world.set.spec.template.termination_delay = Some(delay.to_owned()),
                Some((gang, word)) => world.gang(gang, word),
                None if fact == "OnDelete" => {
                    world.set.spec.update_strategy = serde_json::from_value(json!({ "type": "OnDelete" })).unwrap();
                }
                None => panic!("what is `{fact}`?"),
            }
        }
    }
    world
}

/// The plan of a world, in words.
pub(crate) fn check(set: &str, facts: &str, expected: &[&str]) {
    let world = given(set, facts);
    assert_eq!(world.words(&world.plan()), expected, "set {set}; {facts}");
}
