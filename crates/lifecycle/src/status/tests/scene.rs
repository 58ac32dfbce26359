//! A set in a few words, what happens to it step by step, and its statuses as words.

use super::super::decide;
use crate::observed::Failure;
use crate::picture::{Around, Picture};
use crate::plan::{Action, Kind, Plan, Write};
use crate::update::toy::World;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use trellis_api::admission::Verdict;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::ClusterTopology;
use trellis_api::settings::Settings;

/// A world, and what else statuses depend on.
pub struct Scene {
    world: World,
    topologies: BTreeMap<String, ClusterTopology>,
    settings: Settings,
    judges: bool,
    verdict: Verdict,
    failures: Vec<Failure>,
}

/// Takes the steps, lets the statuses be written, and expects each of these words; with `!`, none that begins so. A second look must write
/// nothing.
pub fn check(set: &str, steps: &str, expected: &[&str]) {
    let mut scene = Scene::given(set, steps);
    scene.settle();
    let words = scene.words();
    let context = || format!("{set}; {steps}\n{}", words.join("\n"));
    for expected in expected {
        match expected.strip_prefix("! ") {
            Some(none) => assert!(!words.iter().any(|word| word.starts_with(none)), "{expected} in {}", context()),
            None => assert!(words.iter().any(|word| says(word, expected)), "no {expected} in {}", context()),
        }
    }
}

/// Whether a word is the expected one; of messages, as in `s Ready: some words`, any part will do.
fn says(word: &str, expected: &str) -> bool {
    let part = expected.split_once(": ").zip(word.split_once(": "));
    part.map_or(word == expected, |((what, part), (of, message))| what == of && message.contains(part))
}

impl Scene {
    /// Takes steps, separated by `;`.
    pub fn given(set: &str, steps: &str) -> Self {
        let mut scene = Self {
            world: World::new(set),
            topologies: BTreeMap::new(),
            settings: Settings::default(),
            judges: false,
            verdict: Verdict::default(),
            failures: Vec::new(),
        };
        scene.version();
        for step in steps.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            scene.step(step);
        }
        scene
    }

    fn step(&mut self, step: &str) {
        if let Some((clique, pods)) = step.split_once(':') {
            return self.world.pods(clique, pods);
        }
        let words: Vec<&str> = step.split_whitespace().collect();
        match words.as_slice() {
            ["settle"] => self.settle(),
            ["wait", seconds] => self.world.now += SignedDuration::from_secs(seconds.parse().unwrap()),
            ["image", image] => self.image(None, image),
            ["image", clique, image] => self.image(Some(clique), image),
            ["OnDelete"] => self.strategy("OnDelete"),
            ["Rolling"] => self.strategy("RollingRecreate"),
            ["judges"] => self.judges = true,
            ["webhooks"] => self.judges = false,
            ["refuse", faults @ ..] => {
                let fault = |fault: &&str| {
                    let (field, message) = fault.split_once('=').unwrap();
                    FieldError::forbidden(&Path::new(field), message)
                };
                self.verdict.errors = faults.iter().map(fault).collect();
            }
            ["admit"] => self.verdict = Verdict::default(),
            ["fail", code, description] => {
                self.failures.push(Failure { code: (*code).to_owned(), description: (*description).to_owned() });
            }
            ["works"] => self.failures.clear(),
            ["tas", "off"] => self.settings.topology_enabled = false,
            ["levels", "none"] => self.topologies.clear(),
            ["levels", domains @ ..] => self.levels(domains),
            ["ask", domains @ ..] => self.ask(domains),
            ["profile", profile] => self.settings.default_profile = (*profile).to_owned(),
            ["generation", number] => self.world.set.metadata.generation = number.parse().ok(),
            ["no", clique] => {
                self.world.observed.cliques.remove(*clique);
                self.world.observed.pods.remove(*clique);
            }
            ["going", clique] => {
                let now = Time(self.world.now);
                let clique = Arc::make_mut(self.world.observed.cliques.get_mut(*clique).unwrap());
                clique.metadata.deletion_timestamp = Some(now);
            }
            ["group", name, replicas] => {
                let group = Arc::make_mut(self.world.observed.groups.get_mut(*name).unwrap());
                group.spec.replicas = replicas.parse().unwrap();
            }
            ["initialized", gang] => {
                let initialized = condition("Initialized", self.world.now);
                let gang = Arc::make_mut(self.world.observed.gangs.get_mut(*gang).unwrap());
                gang.status.get_or_insert_default().conditions.push(initialized);
            }
            ["other", "s"] => {
                let other = condition("Others", self.world.now);
                self.world.set.status.get_or_insert_default().conditions.push(other);
            }
            [gang, word] => self.world.gang(gang, word),
            _ => panic!("what is `{step}`?"),
        }
    }

    fn image(&mut self, clique: Option<&str>, image: &str) {
        let before = self.world.observed.groups.clone();
        self.world.image(clique, image);
        for (name, group) in &mut self.world.observed.groups {
            Arc::make_mut(group).status = before.get(name).and_then(|before| before.status.clone());
        }
        self.version();
    }

    fn strategy(&mut self, strategy: &str) {
        self.world.set.spec.update_strategy = serde_json::from_value(json!({ "type": strategy })).unwrap();
    }

    fn levels(&mut self, domains: &[&str]) {
        let levels: Vec<Value> = domains.iter().map(|d| json!({ "domain": d, "key": format!("k/{d}") })).collect();
        let topology = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology",
            "metadata": { "name": "grove-topology" }, "spec": { "levels": levels },
        });
        self.topologies.insert("grove-topology".to_owned(), serde_json::from_value(topology).unwrap());
    }

    /// Constraints of the set, and of its first clique.
    fn ask(&mut self, domains: &[&str]) {
        let constraint = |domain: &&str| serde_json::from_value(json!({ "packDomain": domain })).unwrap();
        let template = &mut self.world.set.spec.template;
        template.topology_constraint = domains.first().map(constraint);
        template.cliques[0].topology_constraint = domains.get(1).map(constraint);
    }

    fn look<T>(&self, look: impl FnOnce(&Picture<'_>) -> T) -> T {
        let around =
            Around { topologies: &self.topologies, settings: &self.settings, now: self.world.now, judges: self.judges };
        look(&Picture::of(&self.world.set, &self.world.observed, around))
    }

    /// What is to be said.
    pub fn plan(&self) -> Plan {
        self.look(|picture| {
            let mut plan = Plan::default();
            decide(picture, &self.verdict, &self.failures, &mut plan);
            assert!(plan.writes.is_empty(), "statuses are no writes");
            plan
        })
    }

    /// What people are told.
    pub fn notes(&self) -> Vec<String> {
        let words = |note: crate::plan::Note| match note.warning {
            true => format!("warning {}", note.reason),
            false => note.reason.to_owned(),
        };
        self.plan().status_notes.into_iter().map(words).collect()
    }

    fn write(&self, name: &str) -> Option<Action> {
        let write = self.plan().statuses.into_iter().find(|write| write.target.name == name);
        write.map(|write| write.action)
    }

    /// The patch of an object's status.
    pub fn patch(&self, name: &str) -> Option<Value> {
        self.write(name).map(|action| match action {
            Action::PatchStatus(patch) => patch,
            other => panic!("{other:?}"),
        })
    }

    /// The types of the conditions that are applied to a gang.
    pub fn applied(&self, gang: &str) -> Vec<String> {
        match self.write(gang) {
            Some(Action::ApplyStatus(status)) => {
                assert_eq!(status["metadata"]["namespace"], "n");
                let conditions = status["status"]["conditions"].as_array().unwrap().clone();
                conditions.iter().map(|condition| condition["type"].as_str().unwrap().to_owned()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Lets the statuses be written; a second look must find nothing to write.
    fn settle(&mut self) {
        let plan = self.plan();
        plan.statuses.iter().for_each(|write| self.apply(write));
        let again = self.plan();
        assert_eq!((again.statuses, again.status_notes), (Vec::new(), Vec::new()), "a second look, after {plan:#?}");
    }

    fn apply(&mut self, write: &Write) {
        let name = write.target.name.as_str();
        let observed = &mut self.world.observed;
        match (&write.action, write.target.kind) {
            (Action::PatchStatus(patch), Kind::PodCliqueSet) => {
                let set = &mut self.world.set;
                stored(&set.metadata, &mut set.status, patch);
            }
            (Action::PatchStatus(patch), Kind::ScalingGroup) => {
                let group = Arc::make_mut(observed.groups.get_mut(name).unwrap());
                stored(&group.metadata, &mut group.status, patch);
            }
            (Action::PatchStatus(patch), Kind::PodClique) => {
                let clique = Arc::make_mut(observed.cliques.get_mut(name).unwrap());
                stored(&clique.metadata, &mut clique.status, patch);
            }
            (Action::ApplyStatus(_), Kind::PodGang) => self.world.apply(write),
            other => panic!("nobody asked for {other:?}"),
        }
        // The other modules' world does not care for phases.
        if let (Action::ApplyStatus(status), Some(gang)) = (&write.action, self.world.observed.gangs.get_mut(name)) {
            let phase = serde_json::from_value(status["status"]["phase"].clone()).unwrap();
            Arc::make_mut(gang).status.get_or_insert_default().phase = Some(phase);
        }
    }

    /// Gives versions to what the other modules' world leaves without one.
    fn version(&mut self) {
        let version = |metadata: &mut ObjectMeta| {
            metadata.resource_version = metadata.name.as_ref().map(|name| format!("{name}@1"));
        };
        let observed = &mut self.world.observed;
        observed.cliques.values_mut().for_each(|clique| version(&mut Arc::make_mut(clique).metadata));
        observed.groups.values_mut().for_each(|group| version(&mut Arc::make_mut(group).metadata));
    }

    /// All statuses in words.
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let observed = &self.world.observed;
        self.say("s", &self.world.set.status, &mut words);
        observed.groups.iter().for_each(|(name, group)| self.say(name, &group.status, &mut words));
        observed.cliques.iter().for_each(|(name, clique)| self.say(name, &clique.status, &mut words));
        observed.gangs.iter().for_each(|(name, gang)| self.say(name, &gang.status, &mut words));
        words
    }

    fn say<T: Serialize>(&self, name: &str, status: &T, words: &mut Vec<String>) {
        let Value::Object(status) = serde_json::to_value(status).unwrap() else { return };
        for (field, value) in &status {
            match (field.as_str(), value) {
                ("conditions", Value::Array(conditions)) => {
                    conditions.iter().for_each(|condition| self.say_condition(name, condition, words));
                }
                ("lastErrors", Value::Array(errors)) => {
                    let errors = errors.iter().enumerate().map(|(i, error)| {
                        let at = self.value(&error["observedAt"]);
                        let text = |field: &str| error[field].as_str().unwrap().to_owned();
                        format!("{name} lastErrors.{i}={} {} {at}", text("code"), text("description"))
                    });
                    words.extend(errors);
                }
                _ => self.flat(&format!("{name} {field}"), value, words),
            }
        }
    }

    fn say_condition(&self, name: &str, condition: &Value, words: &mut Vec<String>) {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        let what = format!("{name} {}", text("type"));
        words.push(format!("{what}={}/{}", text("status"), text("reason")));
        words.push(format!("{what}: {}", text("message")));
        words.push(format!("{what} {}", self.value(&condition["lastTransitionTime"])));
        if let Some(generation) = condition["observedGeneration"].as_i64() {
            words.push(format!("{what}@{generation}"));
        }
    }

    fn flat(&self, path: &str, value: &Value, words: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(field, value)| self.flat(&format!("{path}.{field}"), value, words));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, value)| self.flat(&format!("{path}.{i}"), value, words));
            }
            Value::Null => {}
            value if path.ends_with("Hash") => words.push(format!("{path}={}", self.hash(path, value))),
            value => words.push(format!("{path}={}", self.value(value))),
        }
    }

    /// A value in a word, times as ages.
    fn value(&self, value: &Value) -> String {
        let Some(text) = value.as_str() else { return value.to_string() };
        let age = |time: Timestamp| format!("{}s ago", self.world.now.duration_since(time).as_secs());
        text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), age)
    }

    /// Whether a hash is that of the present template.
    fn hash(&self, path: &str, hash: &Value) -> &'static str {
        let of_clique = |picture: &Picture<'_>| {
            let name = path.split(' ').next().unwrap_or_default();
            let clique = picture.cliques.iter().find(|clique| clique.instance.name == name);
            clique.map(|clique| clique.instance.template_hash.clone())
        };
        let now = self.look(|picture| match path.ends_with("GenerationHash") {
            true => Some(picture.generation_hash.clone()),
            false => of_clique(picture),
        });
        if now.as_deref() == hash.as_str() { "now" } else { "old" }
    }
}

/// Carries out a patch of a status, as the server would.
fn stored<T: Serialize + DeserializeOwned>(metadata: &ObjectMeta, status: &mut Option<T>, patch: &Value) {
    assert_eq!(patch["metadata"]["resourceVersion"], json!(metadata.resource_version));
    assert_eq!(patch["metadata"]["uid"], json!(metadata.uid));
    let mut value = serde_json::to_value(&*status).unwrap();
    merge(&mut value, &patch["status"]);
    *status = Some(serde_json::from_value(value).unwrap());
}

fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    for (field, change) in changes {
        match change {
            Value::Null => {
                value.as_object_mut().unwrap().remove(field);
            }
            change => merge(&mut value[field], change),
        }
    }
}

fn condition(type_: &str, since: Timestamp) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: "Because".to_owned(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(since),
    }
}
