//! One task for each kind follows the API into the index, and has what was touched looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, PartialObjectMeta};
use kube::core::{ApiResource, DeserializeGuard, GroupVersionKind};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_api};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tracing::{info, warn};
use trellis_api::kinds::kai::{self, KaiPodGroup, Topology};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::kinds::{ClusterTopology, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use trellis_api::names::{MANAGED_BY, label, profile};
use trellis_lifecycle::dynamo::Deployment;
use trellis_lifecycle::pod::Pod;
use trellis_lifecycle::topology::NodeLabels;
use trellis_lifecycle::{FIELD_MANAGER, Kind};

use crate::index::{Index, Kept};
use crate::metrics::Metrics;
use crate::queue::{Key, Queue};

/// What watches share.
#[derive(Clone)]
pub struct Watches {
    /// Where what is seen goes.
    pub index: Arc<Index>,
    /// Where what is touched goes.
    pub queue: Arc<Queue>,
    /// Where restarts are counted.
    pub metrics: Metrics,
}

/// A pod without what we never look at.
pub fn trimmed_pod(mut pod: Pod) -> Pod {
    pod.metadata.managed_fields = None;
    pod
}

/// Files without what is in them.
pub fn trimmed_files(mut files: ConfigMap) -> ConfigMap {
    files.metadata.managed_fields = None;
    (files.data, files.binary_data) = (None, None);
    files
}

/// Of the managed fields only ours matter: they tell which labels and annotations we may take away.
fn trim(metadata: &mut ObjectMeta) {
    if let Some(fields) = &mut metadata.managed_fields {
        fields.retain(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
    }
}

/// Follows all kinds, until the tasks are dropped. Kinds of a backend are followed when its profile is enabled, or there is a pool; one that
/// is not served is asked for again and again, and followed from the moment that it appears. Dynamo's kind is followed unless another
/// operator serves it.
pub fn start(client: &Client, watches: &Watches, profiles: &[String], dynamo: bool) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let ours = watch_api::Config::default().labels(&format!("{}={MANAGED_BY}", label::MANAGED_BY));
    let all = watch_api::Config::default();
    tasks.spawn(watches.clone().follow::<PodCliqueSet>(Api::all(client.clone()), all.clone()));
    tasks.spawn(watches.clone().follow::<ClusterTopology>(Api::all(client.clone()), all.clone()));
    tasks.spawn(watches.clone().follow::<PodCliqueScalingGroup>(Api::all(client.clone()), ours.clone()));
    tasks.spawn(watches.clone().follow::<PodClique>(Api::all(client.clone()), ours.clone()));
    tasks.spawn(watches.clone().follow::<PodGang>(Api::all(client.clone()), ours.clone()));
    tasks.spawn(watches.clone().follow::<k8s_openapi::api::core::v1::Service>(Api::all(client.clone()), ours.clone()));
    let accounts = Api::all(client.clone());
    tasks.spawn(watches.clone().follow::<k8s_openapi::api::core::v1::ServiceAccount>(accounts, ours.clone()));
    tasks.spawn(watches.clone().follow::<k8s_openapi::api::rbac::v1::Role>(Api::all(client.clone()), ours.clone()));
    let bindings = Api::all(client.clone());
    tasks.spawn(watches.clone().follow::<k8s_openapi::api::rbac::v1::RoleBinding>(bindings, ours.clone()));
    let autoscalers = Api::all(client.clone());
    tasks.spawn(
        watches.clone().follow::<k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler>(autoscalers, ours.clone()),
    );
    tasks.spawn(watches.clone().follow_pods(Api::all(client.clone()), ours.clone()));
    tasks.spawn(watches.clone().follow_nodes(Api::all(client.clone())));
    tasks.spawn(watches.clone().follow_claims(client.clone(), ours.clone()));
    if dynamo {
        tasks.spawn(watches.clone().follow_deployments(client.clone()));
    }
    tasks.spawn(watches.clone().follow::<Pool>(Api::all(client.clone()), all.clone()));
    tasks.spawn(watches.clone().follow::<Workflow>(Api::all(client.clone()), all.clone()));
    tasks.spawn(watches.clone().follow::<PriorityClass>(Api::all(client.clone()), all.clone()));
    tasks.spawn(watches.clone().follow_files(Api::all(client.clone()), ours.clone()));
    let is_kai = profiles.iter().any(|name| name == profile::KAI);
    let (groups, topologies) = (Api::all(client.clone()), Api::all(client.clone()));
    tasks.spawn(watches.clone().once(is_kai, watches.clone().follow::<KaiPodGroup>(groups, ours)));
    tasks.spawn(watches.clone().once(is_kai, watches.clone().follow::<Topology>(topologies, all.clone())));
    tasks.spawn(watches.clone().once(false, watches.clone().follow::<kai::Queue>(Api::all(client.clone()), all)));
    tasks
}

impl Watches {
    fn touch(&self, keys: Vec<Key>) {
        let keys: BTreeSet<Key> = keys.into_iter().collect();
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    /// Follows a kind. An object that cannot be read is passed over: it must not keep us from all others.
    async fn follow<T>(self, api: Api<DeserializeGuard<T>>, config: watcher::Config)
    where
        T: Kept + Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        let kind = T::kind(&()).into_owned();
        let stream = watch_api(api, config).modify(|object| trim(object.meta_mut()));
        self.feed(&kind, stream.map_ok(|event| readable(event, &T::kind(&()))).boxed()).await;
    }

    async fn follow_pods(self, api: Api<Pod>, config: watcher::Config) {
        let stream = watch_api(api, config).modify(|pod| pod.metadata.managed_fields = None);
        self.feed("Pod", stream.map_ok(Some).boxed()).await;
    }

    async fn follow_files(self, api: Api<ConfigMap>, config: watcher::Config) {
        let stream = watch_api(api, config).map_ok(|event| match event {
            Event::Apply(files) => Event::Apply(trimmed_files(files)),
            Event::InitApply(files) => Event::InitApply(trimmed_files(files)),
            other => other,
        });
        self.feed("ConfigMap", stream.map_ok(Some).boxed()).await;
    }

    /// Follows a kind at once, or once there is a pool that needs it.
    async fn once(self, now: bool, follow: impl Future<Output = ()>) {
        if !now {
            self.index.has_pool().await;
        }
        follow.await;
    }

    async fn follow_claims(self, client: Client, config: watcher::Config) {
        let (group, version, kind, plural) = Kind::ResourceClaim.names();
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::all_with(client, &resource);
        let stream = watch_api(api, config).modify(|object| trim(object.meta_mut()));
        self.feed(kind, stream.map_ok(Some).boxed()).await;
    }

    /// Deployments come in several shapes, so they are read by themselves; one of which nothing can be made is told so.
    async fn follow_deployments(self, client: Client) {
        let (group, version, kind, plural) = Kind::DynamoGraphDeployment.names();
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::all_with(client, &resource);
        let stream =
            watch_api(api, watch_api::Config::default()).modify(|object| object.metadata.managed_fields = None);
        let read = |object: DynamicObject| Deployment::read(serde_json::to_value(object).unwrap_or_default());
        let read = move |event: Event<DynamicObject>| match event {
            Event::Init => Event::Init,
            Event::InitDone => Event::InitDone,
            Event::InitApply(object) => Event::InitApply(read(object)),
            Event::Apply(object) => Event::Apply(read(object)),
            Event::Delete(object) => Event::Delete(read(object)),
        };
        self.feed(kind, stream.map_ok(move |event| Some(read(event))).boxed()).await;
    }

    /// Puts what a watch says into the index. What goes wrong is said once, until it goes right again.
    async fn feed<T: Kept>(
        self,
        kind: &str,
        stream: futures::stream::BoxStream<'_, Result<Option<Event<T>>, watcher::Error>>,
    ) {
        let mut stream = stream.default_backoff().boxed();
        let mut told = false;
        while let Some(event) = stream.next().await {
            match event {
                Ok(Some(event)) => {
                    if std::mem::take(&mut told) {
                        info!(kind, "watching again");
                    }
                    self.take(event);
                }
                Ok(None) => {}
                Err(error) => {
                    self.metrics.watch_restarted(kind);
                    if is_unserved(&error) {
                        self.touch(self.index.unserved::<T>());
                    }
                    if !std::mem::replace(&mut told, true) {
                        warn!(kind, %error, "cannot watch; trying again");
                    }
                }
            }
        }
    }

    fn take<T: Kept>(&self, event: Event<T>) {
        let keys = match event {
            Event::Init => {
                self.index.begin_list::<T>();
                return;
            }
            Event::InitApply(object) | Event::Apply(object) => self.index.put(object),
            Event::Delete(object) => self.index.gone(&object),
            Event::InitDone => self.index.end_list::<T>(),
        };
        self.touch(keys);
    }

    /// Nodes matter for their labels only, so only their metadata is asked for.
    async fn follow_nodes(self, api: Api<PartialObjectMeta<Node>>) {
        let mut stream = watch_api(api, watch_api::Config::default()).default_backoff().boxed();
        let mut listing: Option<BTreeMap<String, NodeLabels>> = None;
        while let Some(event) = stream.next().await {
            let changed = match event {
                Ok(Event::Init) => {
                    listing = Some(BTreeMap::new());
                    false
                }
                Ok(Event::InitApply(node)) => {
                    listing.get_or_insert_default().insert(node.name_any(), labels(&node));
                    false
                }
                Ok(Event::InitDone) => {
                    let nodes = listing.take().unwrap_or_default();
                    let mut tables = self.index.tables();
                    let changed = tables.nodes != nodes;
                    tables.nodes = nodes;
                    changed
                }
                Ok(Event::Apply(node)) => {
                    let labels = labels(&node);
                    let former = self.index.tables().nodes.insert(node.name_any(), labels.clone());
                    former.as_ref() != Some(&labels)
                }
                Ok(Event::Delete(node)) => self.index.tables().nodes.remove(&node.name_any()).is_some(),
                Err(error) => {
                    self.metrics.watch_restarted("Node");
                    warn!(kind = "Node", %error, "cannot watch; trying again");
                    false
                }
            };
            if changed {
                let tables = self.index.tables();
                let names = tables.topologies.all().filter_map(|topology| topology.metadata.name.clone());
                let pools = tables.pools.all().filter_map(|pool| pool.metadata.name.clone());
                let keys = names.map(Key::Topology).chain(pools.map(Key::Pool)).collect();
                drop(tables);
                self.touch(keys);
            }
        }
    }
}

/// Whether the API says that there is no such kind.
fn is_unserved(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

fn labels(node: &PartialObjectMeta<Node>) -> NodeLabels {
    NodeLabels { name: node.name_any(), labels: Arc::new(node.metadata.labels.clone().unwrap_or_default()) }
}

/// An event about an object that can be read, or none.
fn readable<T>(event: Event<DeserializeGuard<T>>, kind: &str) -> Option<Event<T>> {
    let read = |guard: DeserializeGuard<T>| match guard.0 {
        Ok(object) => Some(object),
        Err(error) => {
            let name = error.metadata.name.unwrap_or_default();
            warn!(kind, name, error = error.error, "passed over: it cannot be read");
            None
        }
    };
    Some(match event {
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
        Event::InitApply(object) => Event::InitApply(read(object)?),
        Event::Apply(object) => Event::Apply(read(object)?),
        Event::Delete(object) => Event::Delete(read(object)?),
    })
}
