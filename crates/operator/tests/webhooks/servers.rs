//! The servers that ask: the embedded API with the handler in process, and a real one that asks over TLS on loopback.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Config};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use trellis_api::kinds::config::Authorizer;
use trellis_api::kinds::{ClusterTopology, TopologyLevel};
use trellis_api::settings::Settings;
use trellis_api::{Domain, names};
use trellis_cluster::api::{self, Behaviour};
use trellis_cluster::controllers;
use trellis_cluster::user::User;
use trellis_operator::webhooks::{
    CertificateOptions, Certificates, Configurations, Handler, Reach, Source, configurations, names as names_of,
};
use trellis_operator::{Now, install_crds};
use trellis_testkit::ControlPlane;

use crate::kubectl::Kubectl;
use crate::serve;

/// Where the operator lives.
const NAMESPACE: &str = "trellis-system";
const OPERATOR: &str = "system:serviceaccount:trellis-system:trellis-operator";
const EXEMPT: &str = "system:serviceaccount:kai:scheduler";
/// How often a server is asked whether it asks the webhooks by now.
const TICK: Duration = Duration::from_millis(50);
const TICKS: usize = 600;
const DAY: Duration = Duration::from_hours(24);

/// Topology on, and the default one kept by the operator.
pub fn settings() -> Settings {
    let level = TopologyLevel { domain: Domain::Zone, key: "example.com/zone".to_owned() };
    Settings { default_levels: Some(vec![level]), ..Settings::default() }
}

/// Who answers at the moment; nobody, if there is none.
type Answers = Arc<RwLock<Option<Handler>>>;

/// A server with the webhooks installed.
pub struct Server {
    pub name: &'static str,
    pub kubectl: Kubectl,
    pub admin: Client,
    pub operator: Client,
    pub exempt: Client,
    answers: Answers,
    reach: Reach,
    certificates: Option<Certificates>,
    _folder: Option<TempDir>,
}

/// What the real server's webhooks are served with.
pub struct Hooks {
    pub certificates: Certificates,
    pub clock: Clock,
    pub handshakes: Arc<Handshakes>,
    _plane: ControlPlane,
}

/// A clock that only the test moves.
#[derive(Clone)]
pub struct Clock(Arc<Mutex<Timestamp>>);

impl Clock {
    /// Starts at the full second, since certificates know no others.
    pub fn at(time: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_second(time.as_second()).expect("a time"))))
    }

    pub fn advance(&self, by: Duration) {
        let mut time = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *time = time.checked_add(by).expect("a time");
    }

    pub fn now(&self) -> Now {
        let clock = self.0.clone();
        Arc::new(move || *clock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Counts handshakes by the certificate that was shown, in the order of their first.
#[derive(Debug)]
pub struct Handshakes {
    inner: Arc<dyn ResolvesServerCert>,
    counts: Mutex<Vec<(Vec<u8>, usize)>>,
}

impl Handshakes {
    /// Handshakes with each certificate so far.
    pub fn counts(&self) -> Vec<usize> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, count)| *count).collect()
    }
}

impl ResolvesServerCert for Handshakes {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let shown = self.inner.resolve(hello)?;
        let certificate = shown.cert.first()?.to_vec();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.iter_mut().find(|(known, _)| *known == certificate) {
            Some((_, count)) => *count += 1,
            None => counts.push((certificate, 1)),
        }
        Some(shown)
    }
}

impl Server {
    /// A handler that reads as the operator.
    pub fn handler(&self, settings: Settings, authorizer: Authorizer) -> Handler {
        Handler::new(self.operator.clone(), Arc::new(settings), authorizer, OPERATOR.to_owned())
    }

    /// This handler answers from now on.
    pub fn answer_by(&self, handler: Handler) {
        *self.answers.write().unwrap_or_else(PoisonError::into_inner) = Some(handler);
    }

    /// Nobody answers from now on.
    pub fn fall_silent(&self) {
        *self.answers.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The configurations that this server should have.
    pub fn wanted(&self, authorizer: bool) -> Configurations {
        let bundle = self.certificates.as_ref().and_then(Certificates::bundle);
        configurations(&self.reach, bundle.as_deref(), OPERATOR, authorizer, true)
    }

    /// The same with other authorities.
    pub fn wanted_with(&self, bundle: Option<&[u8]>) -> Configurations {
        configurations(&self.reach, bundle, OPERATOR, false, true)
    }

    /// Waits until the server asks the webhooks of both kinds.
    pub async fn is_asked(&self) {
        let topologies: Api<ClusterTopology> = Api::all(self.admin.clone());
        let object = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": names::DEFAULT_TOPOLOGY},
            "spec": {"levels": [{"domain": "host", "key": "kubernetes.io/hostname"}]},
        });
        let object: ClusterTopology = serde_json::from_value(object).expect("a topology");
        let dry_run = PostParams { dry_run: true, field_manager: None };
        let mut ticks = tokio::time::interval(TICK);
        for tick in 0.. {
            ticks.tick().await;
            match topologies.create(&dry_run, &object).await {
                Err(kube::Error::Api(status)) if status.message.contains("denied the request") => break,
                other => assert!(tick < TICKS, "{}: the webhooks are not asked: {other:?}", self.name),
            }
        }
        let mut set: Value = serde_json::from_str(crate::cases::SMALL_SET).expect("a set");
        set["metadata"]["namespace"] = "default".into();
        for tick in 0.. {
            ticks.tick().await;
            let made = crate::rotation::dry_run(&self.admin, &set).await.expect("a set");
            if made["spec"]["template"]["terminationDelay"] == "4h" {
                break;
            }
            assert!(tick < TICKS, "{}: the webhooks are not asked: {made:#}", self.name);
        }
    }
}

async fn answer(answers: &Answers, path: &str, body: &[u8]) -> serve::Reply {
    let handler = answers.read().unwrap_or_else(PoisonError::into_inner).clone();
    match handler {
        Some(handler) => {
            let answer = handler.answer(path, body).await;
            (answer.code, trellis_operator::webhooks::Answer::CONTENT_TYPE, answer.body)
        }
        None => serve::text(503, "nobody is here"),
    }
}

/// Our kinds, and the namespaces that are used.
async fn furnish(admin: &Client) {
    install_crds(admin).await.expect("definitions");
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    for name in [NAMESPACE, "hooks"] {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        namespaces.create(&PostParams::default(), &namespace).await.expect("a namespace");
    }
}

/// The embedded API, on a socket for kubectl, with the handler in process.
pub async fn embedded() -> Server {
    let behaviour = Behaviour { service_accounts: false, taint_new_nodes: false };
    let api = api::Api::new(api::Options { behaviour, ..api::Options::default() });
    tokio::spawn(controllers::run(api.clone(), controllers::Options::default(), std::future::pending()));
    api.furnish().await.expect("namespaces");
    let client = |user: User| Client::new(api.service(user), "default");
    let admin = client(User::admin());
    furnish(&admin).await;

    let answers = Answers::default();
    let reach = Reach::Service { namespace: NAMESPACE.to_owned(), name: "trellis-operator".to_owned(), port: 443 };
    let by = answers.clone();
    let in_process: trellis_cluster::admission::Handler = Arc::new(move |request| {
        let by = by.clone();
        Box::pin(async move {
            let handler = by.read().unwrap_or_else(PoisonError::into_inner).clone();
            match handler {
                Some(handler) => handler.answer(request.uri().path(), request.body()).await.into(),
                None => http::Response::builder().status(503).body(bytes::Bytes::new()).expect("an answer"),
            }
        })
    });
    api.services().register(NAMESPACE, "trellis-operator", in_process);

    let socket = trellis_cluster::serve::Server::bind(api.clone(), ([127, 0, 0, 1], 0).into()).await.expect("a port");
    let folder = TempDir::new().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    let config = socket.kubeconfig("embedded").expect("an address").to_string();
    std::fs::write(&kubeconfig, config).expect("a file");
    tokio::spawn(socket.run(std::future::pending()));
    let kubectl = Kubectl::new("the embedded API", &kubeconfig).await;
    let server = Server {
        name: "the embedded API",
        kubectl,
        admin,
        operator: client(User::service_account(NAMESPACE, "trellis-operator")),
        exempt: client(User::service_account("kai", "scheduler")),
        answers,
        reach,
        certificates: None,
        _folder: Some(folder),
    };
    server.answer_by(server.handler(settings(), Authorizer::default()));
    server
}

/// kube-apiserver. Its clock is the machine's, so ours starts two thirds of a certificate's life ago: the first certificate is valid
/// now, and due to be followed by another.
pub async fn real() -> (Server, Hooks) {
    let options = trellis_testkit::Options::api_only();
    let options = options.user("operator", OPERATOR, &["system:masters"]).user("exempt", EXEMPT, &["system:masters"]);
    let plane = ControlPlane::start(options).await.expect("a control plane");
    let (admin, operator) = (client(&plane, plane.admin_token()), client(&plane, "operator"));
    furnish(&admin).await;

    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let reach = Reach::Url(format!("https://{}", listener.local_addr().expect("an address")));
    let clock = Clock::at(Timestamp::now().checked_sub(60 * DAY).expect("a time"));
    let source = Source::Made {
        client: operator.clone(),
        namespace: NAMESPACE.to_owned(),
        secret: "webhook-cert".to_owned(),
        names: names_of(&reach),
    };
    let options = CertificateOptions { lifetime: 90 * DAY, ..CertificateOptions::default() };
    let certificates = Certificates::start(source, options, clock.now()).await.expect("a certificate");
    let handshakes = Arc::new(Handshakes { inner: certificates.resolver(), counts: Mutex::default() });
    let answers = Answers::default();
    let by = answers.clone();
    let handler = move |_, path: String, body: bytes::Bytes| {
        let by = by.clone();
        async move { answer(&by, &path, &body).await }
    };
    tokio::spawn(serve::https(listener, handshakes.clone(), handler, std::future::pending()));

    let kubeconfig: PathBuf = plane.kubeconfig_path().to_owned();
    let server = Server {
        name: "kube-apiserver",
        kubectl: Kubectl::new("kube-apiserver", &kubeconfig).await,
        exempt: client(&plane, "exempt"),
        admin,
        operator,
        answers,
        reach,
        certificates: Some(certificates.clone()),
        _folder: None,
    };
    server.answer_by(server.handler(settings(), Authorizer::default()));
    (server, Hooks { certificates, clock, handshakes, _plane: plane })
}

/// A client that tells every answer as it is, where others would try again for minutes.
fn client(plane: &ControlPlane, token: &str) -> Client {
    let mut config = Config::new(plane.url().parse().expect("a URL"));
    config.root_cert_file = Some(plane.ca_path());
    config.auth_info.token = Some(token.to_owned().into());
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}
