//! The workloads of the scenarios, and the words to build them with.

use serde_json::{Value, json};

use crate::server::merged;

/// A PodCliqueSet to be.
#[derive(Clone, Debug)]
pub struct Set(Value);

/// A set of this name without cliques.
pub fn set(name: &str) -> Set {
    Set(json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "name": name },
        "spec": { "replicas": 1, "template": { "cliques": [], "podCliqueScalingGroups": [] } },
    }))
}

/// A clique to be.
#[derive(Clone, Debug)]
pub struct Clique(Value);

/// A clique with so many pods, and so many at least.
pub fn clique(name: &str, replicas: usize, min: usize) -> Clique {
    let container = json!({ "name": "app", "image": "app:1", "resources": { "requests": { "memory": "80Mi" } } });
    Clique(json!({
        "name": name,
        "spec": {
            "roleName": name, "replicas": replicas, "minAvailable": min,
            "podSpec": { "containers": [container], "terminationGracePeriodSeconds": 0 },
        },
    }))
}

/// A scaling group to be.
#[derive(Clone, Debug)]
pub struct Group(Value);

/// A scaling group of cliques with so many replicas, and so many at least.
pub fn group(name: &str, replicas: usize, min: usize, cliques: &[&str]) -> Group {
    Group(json!({ "name": name, "replicas": replicas, "minAvailable": min, "cliqueNames": cliques }))
}

impl Set {
    pub fn value(&self) -> &Value {
        &self.0
    }

    fn change(self, change: &Value) -> Self {
        Self(merged(self.0, change))
    }

    fn template(self, change: &Value) -> Self {
        self.change(&json!({ "spec": { "template": change } }))
    }

    pub fn replicas(self, replicas: usize) -> Self {
        self.change(&json!({ "spec": { "replicas": replicas } }))
    }

    pub fn clique(mut self, clique: Clique) -> Self {
        self.0["spec"]["template"]["cliques"].as_array_mut().expect("a list").push(clique.0);
        self
    }

    pub fn group(mut self, group: Group) -> Self {
        self.0["spec"]["template"]["podCliqueScalingGroups"].as_array_mut().expect("a list").push(group.0);
        self
    }

    /// All pods of a replica share a domain.
    pub fn pack(self, domain: &str) -> Self {
        self.template(&json!({ "topologyConstraint": { "packDomain": domain } }))
    }

    /// All pods of a replica must share one domain and should share another.
    pub fn prefer(self, required: &str, preferred: &str) -> Self {
        self.template(&json!({ "topologyConstraint": { "pack": { "required": required, "preferred": preferred } } }))
    }

    /// Domains are those of this topology.
    pub fn topology(self, name: &str) -> Self {
        self.template(&json!({ "clusterTopologyName": name }))
    }

    /// How important it is.
    pub fn priority(self, class: &str) -> Self {
        self.template(&json!({ "priorityClassName": class }))
    }

    /// `AnyOrder`, `InOrder` or `Explicit`.
    pub fn startup(self, type_: &str) -> Self {
        self.template(&json!({ "cliqueStartupType": format!("CliqueStartupType{type_}") }))
    }

    /// How long a gang may be broken.
    pub fn delay(self, delay: &str) -> Self {
        self.template(&json!({ "terminationDelay": delay }))
    }

    pub fn on_delete(self) -> Self {
        self.change(&json!({ "spec": { "updateStrategy": { "type": "OnDelete" } } }))
    }

    /// Pods are placed by KAI, in this queue.
    pub fn kai(mut self) -> Self {
        for clique in self.0["spec"]["template"]["cliques"].as_array_mut().expect("a list") {
            clique["spec"]["podSpec"]["schedulerName"] = "kai-scheduler".into();
        }
        self.change(&json!({ "metadata": { "labels": { "kai.scheduler/queue": "test" } } }))
    }
}

impl Clique {
    fn change(self, change: &Value) -> Self {
        Self(merged(self.0, change))
    }

    pub fn pack(self, domain: &str) -> Self {
        self.change(&json!({ "topologyConstraint": { "packDomain": domain } }))
    }

    pub fn prefer(self, preferred: &str) -> Self {
        self.change(&json!({ "topologyConstraint": { "pack": { "preferred": preferred } } }))
    }

    pub fn after(self, cliques: &[&str]) -> Self {
        self.change(&json!({ "spec": { "startsAfter": cliques } }))
    }

    pub fn pod(self, change: &Value) -> Self {
        self.change(&json!({ "spec": { "podSpec": change } }))
    }

    pub fn annotated(self, key: &str, value: &str) -> Self {
        self.change(&json!({ "annotations": { key: value } }))
    }

    pub fn autoscaled(self, min: usize, max: usize) -> Self {
        self.change(&json!({ "spec": { "autoScalingConfig": { "minReplicas": min, "maxReplicas": max } } }))
    }
}

impl Group {
    pub fn pack(self, domain: &str) -> Self {
        Self(merged(self.0, &json!({ "topologyConstraint": { "packDomain": domain } })))
    }

    pub fn prefer(self, preferred: &str) -> Self {
        Self(merged(self.0, &json!({ "topologyConstraint": { "pack": { "preferred": preferred } } })))
    }

    pub fn autoscaled(self, min: usize, max: usize) -> Self {
        Self(merged(self.0, &json!({ "scaleConfig": { "minReplicas": min, "maxReplicas": max } })))
    }
}

/// Changes the template of a clique in a set as it stands in the API.
pub fn template_of<'a>(set: &'a mut Value, clique: &str) -> &'a mut Value {
    let cliques = set["spec"]["template"]["cliques"].as_array_mut().expect("a list");
    cliques.iter_mut().find(|one| one["name"] == clique).expect("a clique of that name")
}

/// Gives a clique another image.
pub fn new_image(set: &mut Value, clique: &str, image: &str) {
    template_of(set, clique)["spec"]["podSpec"]["containers"][0]["image"] = image.into();
}

/// Ten pods, all of them needed: `pc-a` 2, and twice `pc-b` 1 with `pc-c` 3. One base gang.
pub fn full() -> Set {
    set("wl").clique(clique("pc-a", 2, 2)).clique(clique("pc-b", 1, 1)).clique(clique("pc-c", 3, 3)).group(group(
        "sg-x",
        2,
        2,
        &["pc-b", "pc-c"],
    ))
}

/// The same ten pods, one of each is enough: a base gang with a minimum of 3, and a scaled gang with a minimum of 2.
pub fn least() -> Set {
    set("wl").clique(clique("pc-a", 2, 1)).clique(clique("pc-b", 1, 1)).clique(clique("pc-c", 3, 1)).group(group(
        "sg-x",
        2,
        1,
        &["pc-b", "pc-c"],
    ))
}
