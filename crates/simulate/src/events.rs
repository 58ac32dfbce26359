//! What happens to a world from outside, as data.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::life::Who;
use crate::world::NAMESPACE;

/// Something that happens, and how long it then takes until the next thing does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its number, from 1.
    pub number: usize,
    /// What it is, in a few words.
    pub kind: String,
    /// What is done.
    pub act: Act,
    /// Milliseconds until the next one.
    pub pause: u64,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Act {
    /// Objects are made.
    Create(Vec<Value>),
    /// An object, or its scale, is patched.
    Patch(String, Value),
    /// Objects are deleted.
    Delete(Vec<String>),
    /// A node falls silent.
    Lose(usize),
    /// A silent node is heard of again.
    Restore(usize),
    /// A node is taken away.
    Remove(usize),
    /// A node that was taken away is put back.
    Add(usize),
    /// The containers of a pod end with this code.
    Finish(String, i32),
    /// All watches break.
    CutWatches(Who),
    /// Nothing gets through for so many seconds.
    Outage(Who, u64),
    /// It dies with its next write; whether the write takes effect.
    Crash(Who, bool),
    /// Nothing goes wrong until the world is at rest, and then it is looked at.
    Settle,
}

/// A kind of object that events are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PodCliqueSets.
    Set,
    /// PodCliques.
    Clique,
    /// PodCliqueScalingGroups.
    ScalingGroup,
    /// PodGroups.
    Group,
    /// Pods.
    Pod,
    /// Nodes.
    Node,
}

impl Kind {
    fn group(self) -> (&'static str, &'static str) {
        match self {
            Self::Set => ("apis/grove.io/v1alpha1", "podcliquesets"),
            Self::Clique => ("apis/grove.io/v1alpha1", "podcliques"),
            Self::ScalingGroup => ("apis/grove.io/v1alpha1", "podcliquescalinggroups"),
            Self::Group => ("apis/scheduling.run.ai/v2alpha2", "podgroups"),
            Self::Pod => ("api/v1", "pods"),
            Self::Node => ("api/v1", "nodes"),
        }
    }

    /// The path of an object.
    pub fn path(self, name: &str) -> String {
        let (root, plural) = self.group();
        match self {
            Self::Node => format!("/{root}/{plural}/{name}"),
            _ => format!("/{root}/namespaces/{NAMESPACE}/{plural}/{name}"),
        }
    }

    /// Where they are kept.
    pub fn shelf(self) -> &'static str {
        match self {
            Self::Set => "podcliquesets.grove.io",
            Self::Clique => "podcliques.grove.io",
            Self::ScalingGroup => "podcliquescalinggroups.grove.io",
            Self::Group => "podgroups.scheduling.run.ai",
            Self::Pod => "pods",
            Self::Node => "nodes",
        }
    }
}

/// The path that an object is posted to.
fn collection(object: &Value) -> Option<String> {
    let kind = match object["kind"].as_str()? {
        "PodCliqueSet" => Kind::Set,
        "PodGroup" => Kind::Group,
        "Pod" => Kind::Pod,
        _ => return None,
    };
    let path = kind.path("");
    Some(path.trim_end_matches('/').to_owned())
}

/// The requests that an act consists of, if it is one that is done by requests.
pub fn requests(act: &Act) -> Vec<(Method, String, Value)> {
    match act {
        Act::Create(objects) => {
            let post = |object: &Value| Some((Method::POST, collection(object)?, object.clone()));
            objects.iter().filter_map(post).collect()
        }
        Act::Patch(path, patch) => vec![(Method::PATCH, path.clone(), patch.clone())],
        Act::Delete(paths) => paths.iter().map(|path| (Method::DELETE, path.clone(), json!({}))).collect(),
        _ => Vec::new(),
    }
}
