//! The operator as the tests run it: the one place that knows how it is started, restarted and asked.

use std::sync::Arc;
use std::time::Duration;

use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use trellis_api::kinds::ClusterTopology;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::names::DEFAULT_TOPOLOGY;
use trellis_api::settings::Settings;
use trellis_operator::webhooks::{self, Answer, CertificateOptions, Certificates, Handler, Reach, Source};
use trellis_operator::{Operator, Options, Webhooks};

use crate::serve;
use crate::server::{Cluster, OPERATOR_NAMESPACE};

/// How often a server is asked whether it asks the webhooks by now.
const TICK: Duration = Duration::from_millis(20);
const TICKS: usize = 1500;

/// Topology on, with four levels; all profiles, ours the default.
pub fn configuration() -> Value {
    let level = |domain: &str, key: &str| json!({ "domain": domain, "key": key });
    json!({
        "apiVersion": "operator.config.grove.io/v1alpha1",
        "kind": "OperatorConfiguration",
        "topologyAwareScheduling": { "enabled": true, "levels": [
            level("zone", "kubernetes.io/zone"),
            level("block", "kubernetes.io/block"),
            level("rack", "kubernetes.io/rack"),
            level("host", "kubernetes.io/hostname"),
        ] },
        "scheduler": {
            "profiles": [{ "name": "trellis", "default": true }, { "name": "kai-scheduler" }, { "name": "default-scheduler" }],
        },
        "initImage": "trellis:test",
    })
}

/// How an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Whether keys are looked at again when a time comes; without, only for events.
    pub timers: bool,
    /// Whether the server asks it before it stores what users write.
    pub webhooks: bool,
}

/// An operator that runs.
#[derive(Clone)]
pub struct Running {
    client: Client,
    stop: watch::Sender<bool>,
    tasks: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Running {
    /// Starts an operator with this configuration, and waits until it serves.
    pub async fn start(cluster: &Cluster, configuration: &Value, mode: Mode) -> Self {
        let configuration: OperatorConfiguration =
            serde_json::from_value(configuration.clone()).expect("a configuration");
        let mut options = Options::new(Settings::of(&configuration));
        options.now = cluster.now.clone();
        options.timers = mode.timers;
        let listener = match (mode.webhooks, &cluster.embedded) {
            (true, None) => Some(TcpListener::bind(("127.0.0.1", 0)).await.expect("a port")),
            _ => None,
        };
        match mode.webhooks {
            true => options.webhooks = reach(cluster, listener.as_ref()).await,
            // A scenario that failed may have left some behind.
            false => {
                webhooks::uninstall(&cluster.client).await.expect("the webhooks go");
            }
        }
        let certificates = match &options.webhooks {
            Webhooks::On(_, certificates) => certificates.clone(),
            Webhooks::Off => None,
        };
        let operator = Operator::start(cluster.operator.clone(), options).await.expect("the operator starts");
        let (stop, stopped) = watch::channel(false);
        let mut tasks = Vec::new();
        if let Some(handler) = operator.handler() {
            match (&cluster.embedded, listener, certificates) {
                (Some(api), ..) => api.services().register(OPERATOR_NAMESPACE, "trellis-operator", in_process(handler)),
                (None, Some(listener), Some(certificates)) => {
                    tasks.push(tokio::spawn(serve(listener, certificates, handler, until(stopped.clone()))));
                }
                _ => panic!("nowhere to be asked"),
            }
        }
        tasks.push(tokio::spawn(async move {
            operator.run(until(stopped)).await.expect("it runs until it is told to stop");
        }));
        if mode.webhooks {
            is_asked(&cluster.client).await;
        }
        Self { client: cluster.client.clone(), stop, tasks: Arc::new(Mutex::new(tasks)) }
    }

    /// Tells it to end, without waiting until it has.
    pub fn tell_to_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Ends it. Nobody is asked from now on.
    pub async fn stop(&self) {
        self.tell_to_stop();
        for task in self.tasks.lock().await.drain(..) {
            task.await.expect("it ends well");
        }
        // Last, or it would put them back.
        webhooks::uninstall(&self.client).await.expect("the webhooks go");
    }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Where the server asks: in process, or on loopback with a certificate that the operator makes.
async fn reach(cluster: &Cluster, listener: Option<&TcpListener>) -> Webhooks {
    let Some(listener) = listener else {
        let (namespace, name) = (OPERATOR_NAMESPACE.to_owned(), "trellis-operator".to_owned());
        return Webhooks::On(Reach::Service { namespace, name, port: 443 }, None);
    };
    let reach = Reach::Url(format!("https://{}", listener.local_addr().expect("an address")));
    let source = Source::Made {
        client: cluster.operator.clone(),
        namespace: OPERATOR_NAMESPACE.to_owned(),
        secret: "grove-webhook-server-cert".to_owned(),
        names: webhooks::names(&reach),
    };
    let certificates = Certificates::start(source, CertificateOptions::default(), cluster.now.clone()).await;
    Webhooks::On(reach, Some(certificates.expect("a certificate")))
}

fn in_process(handler: Handler) -> trellis_cluster::admission::Handler {
    Arc::new(move |request| {
        let handler = handler.clone();
        Box::pin(async move { handler.answer(request.uri().path(), request.body()).await.into() })
    })
}

async fn serve(listener: TcpListener, certificates: Certificates, handler: Handler, stop: impl Future<Output = ()>) {
    let answer = move |_, path: String, body: bytes::Bytes| {
        let handler = handler.clone();
        async move {
            let answer = handler.answer(&path, &body).await;
            (answer.code, Answer::CONTENT_TYPE, answer.body)
        }
    };
    serve::https(listener, certificates.resolver(), answer, stop).await.expect("TLS");
}

/// Waits until the server asks the webhooks: then nobody but the operator may write its topology.
async fn is_asked(client: &Client) {
    let topologies: Api<ClusterTopology> = Api::all(client.clone());
    let object = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": { "name": DEFAULT_TOPOLOGY },
        "spec": { "levels": [{ "domain": "host", "key": "kubernetes.io/hostname" }] },
    });
    let object: ClusterTopology = serde_json::from_value(object).expect("a topology");
    let mut ticks = tokio::time::interval(TICK);
    for tick in 0.. {
        ticks.tick().await;
        match topologies.create(&PostParams { dry_run: true, field_manager: None }, &object).await {
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => break,
            other => assert!(tick < TICKS, "the webhooks are not asked: {other:?}"),
        }
    }
    // The server learns of each configuration by itself, and of those for deployments last.
    let deployment = json!({
        "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": { "name": "asked" },
        "spec": { "components": [{ "name": "a", "replicas": 0 }] },
    });
    let deployment: kube::api::DynamicObject = serde_json::from_value(deployment).expect("a deployment");
    let deployments = crate::view::objects(client, "default", trellis_lifecycle::Kind::DynamoGraphDeployment);
    for tick in 0.. {
        ticks.tick().await;
        match deployments.create(&PostParams { dry_run: true, field_manager: None }, &deployment).await {
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => break,
            other => assert!(tick < TICKS, "the webhooks for deployments are not asked: {other:?}"),
        }
    }
}
