//! What a review reads of the cluster: the thing itself, not a cache that may lag, in pages, and never for longer than a few seconds
//! in all.

use std::future::Future;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ApiResource, DynamicObject, ListParams, PartialObjectMeta};
use kube::core::ObjectList;
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;
use trellis_api::admission::dynamo::TopologyRead;
use trellis_api::admission::object::{Kind, decode};
use trellis_api::admission::{ClusterView, Pools, default_cluster_topology};
use trellis_api::constraint;
use trellis_api::kinds::osmo::Pool;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::names::{label, osmo};

/// How long all reads of one review may take; the server waits for ten.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Objects in a page.
const PAGE: u32 = 500;
/// Topologies that are named to somebody who named one that is not there.
const NAMED: u32 = 50;
/// Sets that are looked at at once.
const AT_ONCE: usize = 16;
/// With as many nodes it is not looked into whether a workflow could ever be placed.
const NODES: usize = 2_000;
/// As many blocking sets are enough to refuse a change.
const BLOCKING: usize = 50;
/// Pods that have a node and are not finished.
const PLACED: &str = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The API server refused, or could not be reached.
    #[error("cannot read {what}: {source}")]
    Api { what: String, source: Box<kube::Error> },
    /// Nothing can be made of what was read.
    #[error("cannot make sense of {0}")]
    Odd(String),
    /// It took too long.
    #[error("the API server did not answer within {} s", PATIENCE.as_secs())]
    Late,
}

/// The cluster as it is.
#[derive(Clone)]
pub struct Live {
    client: Client,
}

impl Live {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The topology of this name; where there is none, some that there are, for the message.
    pub async fn topologies(&self, name: &str, view: &mut ClusterView) -> Result<(), Unread> {
        let api = self.custom(Kind::ClusterTopology, None);
        let what = || format!("ClusterTopology {name:?}");
        let found = api.get_opt(name).await.map_err(|error| unread(what(), error))?;
        let found = match found {
            Some(topology) => vec![topology],
            None => {
                let listed = api.list(&ListParams::default().limit(NAMED)).await;
                listed.map_err(|error| unread("ClusterTopologies".to_owned(), error))?.items
            }
        };
        for object in found {
            let name = object.name_any();
            match typed::<ClusterTopology>(Kind::ClusterTopology, &object) {
                Some(mut topology) => {
                    default_cluster_topology(&mut topology);
                    view.topologies.insert(name, topology);
                }
                None => return Err(Unread::Odd(format!("ClusterTopology {name:?}"))),
            }
        }
        Ok(())
    }

    /// The topology of this name, or why it cannot be had.
    pub async fn topology(&self, name: &str) -> Result<ClusterTopology, TopologyRead<'static>> {
        let read = async {
            let api = self.custom(Kind::ClusterTopology, None);
            match api.get(name).await {
                Ok(object) => {
                    let odd = || TopologyRead::Failed("nothing can be made of what is there".to_owned());
                    let mut topology = typed::<ClusterTopology>(Kind::ClusterTopology, &object).ok_or_else(odd)?;
                    default_cluster_topology(&mut topology);
                    Ok(topology)
                }
                Err(kube::Error::Api(status)) => {
                    // A server that knows the kind says the name of what it has not found.
                    let has_name = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
                    let refused = TopologyRead::refused(status.code, has_name, &status.message);
                    let TopologyRead::NotThere(_) = refused else { return Err(refused) };
                    let listed = api.list(&ListParams::default().limit(NAMED)).await;
                    let items = listed.map(|list| list.items).unwrap_or_default();
                    Err(TopologyRead::NotThere(items.iter().map(ResourceExt::name_any).collect()))
                }
                Err(error) => Err(TopologyRead::Failed(error.to_string())),
            }
        };
        let late = || Err(TopologyRead::Failed(Unread::Late.to_string()));
        tokio::time::timeout(PATIENCE, read).await.unwrap_or_else(|_| late())
    }

    /// A set as it is stored.
    pub async fn set(&self, namespace: &str, name: &str) -> Result<Option<Value>, Unread> {
        let found = self.custom(Kind::PodCliqueSet, Some(namespace)).get_opt(name).await;
        let found = found.map_err(|error| unread(format!("PodCliqueSet {namespace}/{name}"), error))?;
        Ok(found.and_then(|set| serde_json::to_value(set).ok()))
    }

    /// Labels and annotations of a set.
    pub async fn set_metadata(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<PartialObjectMeta<PodCliqueSet>>, Unread> {
        let api: Api<PodCliqueSet> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_metadata_opt(name).await;
        found.map_err(|error| unread(format!("PodCliqueSet {namespace}/{name}"), error))
    }

    /// Whether a live pod of the set has a node; terminating pods count, finished ones do not.
    pub async fn is_scheduled(&self, namespace: &str, set: &str) -> Result<bool, Unread> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        // Pods of a workflow of the same name are others.
        let selector = format!("{}={set},!{}", label::PART_OF, osmo::label::WORKFLOW);
        let one = ListParams::default().labels(&selector).fields(PLACED).limit(1);
        let mut page = pods.list_metadata(&one).await;
        loop {
            let found = page.map_err(|error| unread(format!("pods of PodCliqueSet {namespace}/{set}"), error))?;
            match (found.items.is_empty(), next_page(&found)) {
                (false, _) => return Ok(true),
                (true, None) => return Ok(false),
                // A server may hand out an empty page with the promise of more.
                (true, Some(next)) => page = pods.list_metadata(&one.clone().continue_token(&next)).await,
            }
        }
    }

    /// The sets that use a topology and have pods on nodes.
    pub async fn blocking_sets(&self, topology: &str, view: &mut ClusterView) -> Result<(), Unread> {
        let users = self.sets_with(topology).await?;
        let scheduled = stream::iter(users)
            .map(|set| async move {
                let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
                let scheduled = self.is_scheduled(&namespace, &name).await?;
                Ok(scheduled.then_some((set, namespace, name)))
            })
            .buffer_unordered(AT_ONCE)
            .try_filter_map(|found| async { Ok(found) });
        let blocking: Vec<_> = scheduled.take(BLOCKING).try_collect().await?;
        for (set, namespace, name) in blocking {
            view.sets.push(set);
            view.scheduled.insert((namespace, name));
        }
        Ok(())
    }

    /// All sets that use a topology, page by page.
    async fn sets_with(&self, topology: &str) -> Result<Vec<PodCliqueSet>, Unread> {
        let api = self.custom(Kind::PodCliqueSet, None);
        let (mut users, mut pages) = (Vec::new(), ListParams::default().limit(PAGE));
        loop {
            let page = api.list(&pages).await.map_err(|error| unread("PodCliqueSets".to_owned(), error))?;
            let sets = page.items.iter().filter_map(|object| typed::<PodCliqueSet>(Kind::PodCliqueSet, object));
            users.extend(sets.filter(|set| constraint::references(set, topology)));
            match next_page(&page) {
                Some(next) => pages = pages.continue_token(&next),
                None => return Ok(users),
            }
        }
    }

    /// All pools. One that cannot be read is passed over: it is not this workflow's fault.
    pub async fn pools(&self) -> Result<Pools, Unread> {
        let api = self.custom(Kind::Pool, None);
        let (mut pools, mut pages) = (Pools::new(), ListParams::default().limit(PAGE));
        loop {
            let page = api.list(&pages).await.map_err(|error| unread("Pools".to_owned(), error))?;
            let read = page.items.iter().filter_map(|it| Some((it.name_any(), typed::<Pool>(Kind::Pool, it)?)));
            pools.extend(read);
            match next_page(&page) {
                Some(next) => pages = pages.continue_token(&next),
                None => return Ok(pools),
            }
        }
    }

    /// All nodes; none if there are too many to be read while somebody waits.
    pub async fn nodes(&self) -> Result<Option<Vec<Node>>, Unread> {
        let api: Api<Node> = Api::all(self.client.clone());
        let (mut nodes, mut pages) = (Vec::new(), ListParams::default().limit(PAGE));
        while nodes.len() < NODES {
            let page = api.list(&pages).await.map_err(|error| unread("nodes".to_owned(), error))?;
            let next = next_page(&page);
            nodes.extend(page.items);
            match next {
                Some(next) => pages = pages.continue_token(&next),
                None => return Ok(Some(nodes)),
            }
        }
        Ok(None)
    }

    /// Objects of a kind of ours, as JSON: one that cannot be read must not hide the others.
    fn custom(&self, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = match kind {
            Kind::ClusterTopology => ApiResource::erase::<ClusterTopology>(&()),
            Kind::Pool => ApiResource::erase::<Pool>(&()),
            _ => ApiResource::erase::<PodCliqueSet>(&()),
        };
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

/// Everything that a review reads, in the time that it has.
pub async fn in_time<T>(reads: impl Future<Output = Result<T, Unread>>) -> Result<T, Unread> {
    tokio::time::timeout(PATIENCE, reads).await.unwrap_or(Err(Unread::Late))
}

fn unread(what: String, error: kube::Error) -> Unread {
    Unread::Api { what, source: Box::new(error) }
}

fn next_page<T: Clone>(page: &ObjectList<T>) -> Option<String> {
    page.metadata.continue_.clone().filter(|token| !token.is_empty())
}

/// The object in the types that we have for it.
fn typed<T: DeserializeOwned>(kind: Kind, object: &DynamicObject) -> Option<T> {
    decode(kind, serde_json::to_value(object).ok()?).object
}
