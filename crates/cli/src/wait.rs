//! `trellis wait`: holds a pod back until the cliques that it starts after are ready. The entry point of the init container that the
//! operator puts into pods with a startup order.
//!
//! A pod counts once it is Ready, or has succeeded: what is done will not become ready again. One that is being deleted counts no more.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::api::{Api, ApiResource, NotUsed, Object};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Client, ResourceExt as _};
use trellis_api::names::{env, label};

use crate::args::WaitArgs;
use crate::connect;

/// A clique that has to be ready first, and how many of its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    pub clique: String,
    pub minimum: usize,
}

impl std::str::FromStr for Parent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is not <podclique>:<pods>, such as \"model-0-leader:1\"");
        let (clique, minimum) = text.rsplit_once(':').ok_or_else(wanted)?;
        if clique.is_empty() {
            return Err(wanted());
        }
        Ok(Self { clique: clique.to_owned(), minimum: minimum.parse().map_err(|_| wanted())? })
    }
}

/// A clique that is not ready yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lack {
    clique: String,
    up: usize,
    minimum: usize,
}

impl fmt::Display for Lack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} has {} of {}", self.clique, self.up, self.minimum)
    }
}

/// A pod without what does not matter here.
type Seen = Object<NotUsed, PodStatus>;

/// Pods that count, with their cliques, as far as a watch has shown them.
#[derive(Debug, Default)]
struct Pods {
    /// Name of each, and its clique.
    up: BTreeMap<String, String>,
    /// Whether the list that a watch begins with is complete.
    known: bool,
}

impl Pods {
    /// Takes what happened.
    fn apply(&mut self, event: Event<Seen>) {
        match event {
            Event::Init => *self = Self::default(),
            Event::InitApply(pod) | Event::Apply(pod) => note(&mut self.up, &pod),
            Event::InitDone => self.known = true,
            Event::Delete(pod) => drop(self.up.remove(&pod.name_any())),
        }
    }

    /// What is missing; nothing is known before a list is complete.
    fn lacks(&self, parents: &[Parent]) -> Option<Vec<Lack>> {
        self.known.then(|| lacks(parents, self.up.values().map(String::as_str)))
    }
}

fn note(pods: &mut BTreeMap<String, String>, pod: &Seen) {
    let clique = pod.labels().get(label::POD_CLIQUE).filter(|_| counts(pod));
    match clique {
        Some(clique) => drop(pods.insert(pod.name_any(), clique.clone())),
        None => drop(pods.remove(&pod.name_any())),
    }
}

fn counts(pod: &Seen) -> bool {
    let Some(status) = pod.status.as_ref().filter(|_| pod.metadata.deletion_timestamp.is_none()) else { return false };
    let mut conditions = status.conditions.iter().flatten();
    status.phase.as_deref() == Some("Succeeded")
        || conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The cliques that have too few, given the clique of every pod that counts.
fn lacks<'a>(parents: &[Parent], up: impl IntoIterator<Item = &'a str>) -> Vec<Lack> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for clique in up {
        *counted.entry(clique).or_default() += 1;
    }
    let lack = |parent: &Parent| {
        let up = counted.get(parent.clique.as_str()).copied().unwrap_or_default();
        (up < parent.minimum).then(|| Lack { clique: parent.clique.clone(), up, minimum: parent.minimum })
    };
    parents.iter().filter_map(lack).collect()
}

/// Ends when all parents are ready.
pub fn run(args: &WaitArgs) -> Result<()> {
    let namespace = given(args.namespace.as_ref(), env::WAIT_NAMESPACE, "--namespace")?;
    let gang = given(args.podgang.as_ref(), env::WAIT_POD_GANG, "--podgang")?;
    // One watch in a small container: one thread does.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        let connection = connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
        let client = connection.client()?;
        wait(client, &namespace, &gang, &args.podcliques, |text| eprintln!("{text}")).await;
        Ok(())
    })
}

/// What was given as an argument or, in a pod, in the environment.
fn given(argument: Option<&String>, variable: &str, flag: &str) -> Result<String> {
    let value = argument.cloned().or_else(|| std::env::var(variable).ok()).filter(|value| !value.is_empty());
    match value {
        Some(value) => Ok(value),
        None => bail!("neither `{flag}` nor ${variable} is given"),
    }
}

/// Watches until nothing is missing, whatever the API does meanwhile. Says what it waits for whenever that changes.
async fn wait(client: Client, namespace: &str, gang: &str, parents: &[Parent], mut say: impl FnMut(&str)) {
    let cliques: Vec<&str> = parents.iter().map(|parent| parent.clique.as_str()).collect();
    let selector = format!("{}={gang},{} in ({})", label::POD_GANG, label::POD_CLIQUE, cliques.join(","));
    let api: Api<Seen> = Api::namespaced_with(client, namespace, &ApiResource::erase::<Pod>(&()));
    let mut events = pin!(watch(api, watcher::Config::default().labels(&selector)).default_backoff());
    let mut pods = Pods::default();
    let mut said = String::new();
    loop {
        let news = match events.next().await {
            Some(Ok(event)) => {
                pods.apply(event);
                match pods.lacks(parents) {
                    None => continue,
                    Some(lacks) if lacks.is_empty() => break,
                    Some(lacks) => {
                        let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
                        format!("waiting for ready pods: {}", lacks.join(", "))
                    }
                }
            }
            Some(Err(error)) => format!("cannot watch the pods of {namespace}/{gang}, trying again: {error}"),
            // A watch does not end by itself.
            None => continue,
        };
        if news != said {
            say(&news);
            said = news;
        }
    }
    say("all are ready");
}

#[cfg(test)]
mod tests;
