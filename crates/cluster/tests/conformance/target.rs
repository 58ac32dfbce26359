//! The servers that are asked: a real one, and the embedded API.

use std::any::Any;
use std::time::Duration;

use base64::Engine as _;
use http::{Request, Response};
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::Value;
use tokio::time::timeout;
use trellis_cluster::api::Api;
use trellis_cluster::serve::Server;
use trellis_testkit::{ControlPlane, Options};

use crate::case::Token;

/// The kinds that the cases use beside the built-in ones.
const DEFINITIONS: &str = include_str!("crds.yaml");

/// For a request on a machine that compiles at the same time.
const LIMIT: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(25);
const TICKS: usize = 800;

/// A server over HTTPS.
pub struct Target {
    /// As in messages.
    pub name: String,
    admin: Client,
    nobody: Client,
    stranger: Client,
    /// Makes it forget the history of its objects. A real server does not know what was before a kind was defined.
    forget: Option<Box<dyn Fn() + Send + Sync>>,
    /// What has to live as long as the server.
    _server: Box<dyn Any + Send + Sync>,
}

/// kube-apiserver with nothing beside it, as other cases than those of controllers need it.
pub async fn real() -> Target {
    // The embedded API has no anonymous users.
    let options = Options::api_only().api_server_flag("--anonymous-auth=false");
    let server = ControlPlane::start(options).await.expect("a control plane");
    let mut config = Config::new(server.url().parse().expect("a URL"));
    config.root_cert_file = Some(server.ca_path());
    config.auth_info.token = Some(server.admin_token().to_owned().into());
    Target::new("a second kube-apiserver", config, None, Box::new(server)).await
}

/// The embedded API, or a second real server if the environment asks for it.
pub async fn other() -> Target {
    match std::env::var_os("TRELLIS_CONFORMANCE_TWICE") {
        Some(_) => real().await,
        None => embedded().await,
    }
}

/// The embedded API, served on loopback with a certificate and a token of its own, without controllers.
async fn embedded() -> Target {
    let api = Api::new(trellis_cluster::api::Options::default());
    api.furnish().await.expect("namespaces");
    let server = Server::bind(api.clone(), ([127, 0, 0, 1], 0).into()).await.expect("a free port");
    let mut config = Config::new(format!("https://{}", server.address().expect("an address")).parse().expect("a URL"));
    config.root_cert = Some(vec![pem(server.ca())]);
    config.auth_info.token = Some(api.admin_token().to_owned().into());
    let forget = api.store().clone();
    let serving = tokio::spawn(server.run(std::future::pending()));
    Target::new("the embedded API", config, Some(Box::new(move || forget.compact())), Box::new(serving)).await
}

/// The certificate in a PEM text.
fn pem(text: &str) -> Vec<u8> {
    let lines: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    base64::engine::general_purpose::STANDARD.decode(lines).expect("base64")
}

impl Target {
    async fn new(
        name: &str,
        mut config: Config,
        forget: Option<Box<dyn Fn() + Send + Sync>>,
        server: Box<dyn Any + Send + Sync>,
    ) -> Self {
        config.default_retry = false;
        let client = |token: Option<&str>| {
            let mut config = config.clone();
            if token.is_some_and(str::is_empty) {
                config.auth_info = AuthInfo::default();
            } else if let Some(token) = token {
                config.auth_info.token = Some(token.to_owned().into());
            }
            Client::try_from(config).expect("a client")
        };
        let (admin, nobody, stranger) = (client(None), client(Some("")), client(Some("no-such-token")));
        let target = Self { name: name.to_owned(), admin, nobody, stranger, forget, _server: server };
        target.define().await;
        target
    }

    /// Sends a request; the answer's body may still be on its way.
    pub async fn send(&self, token: Token, request: Request<Body>) -> Result<Response<Body>, String> {
        let client = match token {
            Token::Admin => &self.admin,
            Token::None => &self.nobody,
            Token::Wrong => &self.stranger,
        };
        let response = timeout(LIMIT, client.send(request)).await;
        response.map_err(|_| format!("no answer within {} s", LIMIT.as_secs()))?.map_err(|error| error.to_string())
    }

    /// Sends a request and reads the answer to its end.
    pub async fn ask(&self, token: Token, request: Request<Body>) -> Result<Response<Vec<u8>>, String> {
        let (parts, body) = self.send(token, request).await?.into_parts();
        let body = timeout(LIMIT, body.collect_bytes()).await.map_err(|_| "the answer does not end".to_owned())?;
        Ok(Response::from_parts(parts, body.map_err(|error| error.to_string())?.to_vec()))
    }

    /// Makes a namespace for a case.
    pub async fn make_namespace(&self, name: &str) -> Result<(), String> {
        let body = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let answer = self.ask(Token::Admin, post("/api/v1/namespaces", &body)).await?;
        match answer.status().as_u16() {
            201 => Ok(()),
            _ => Err(format!("namespace {name}: {}", String::from_utf8_lossy(answer.body()))),
        }
    }

    /// Versions from before this are too old to watch from.
    pub fn expire(&self) {
        if let Some(forget) = &self.forget {
            forget();
        }
    }

    /// Creates the kinds of the cases and waits until they are served.
    async fn define(&self) {
        let definitions: Vec<Value> = serde_saphyr::from_multiple(DEFINITIONS).expect("definitions in YAML");
        for definition in &definitions {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let answer = self.ask(Token::Admin, post(path, definition)).await.expect("an answer");
            let text = String::from_utf8_lossy(answer.body());
            assert_eq!(answer.status().as_u16(), 201, "{}: {text}", self.name);
        }
        for definition in &definitions {
            self.wait_until_served(definition).await;
        }
    }

    async fn wait_until_served(&self, definition: &Value) {
        let spec = &definition["spec"];
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (part(&spec["group"]), part(&spec["names"]["plural"]));
        for version in spec["versions"].as_array().into_iter().flatten() {
            let path = format!("/apis/{group}/{}/{plural}", part(&version["name"]));
            let mut ticks = tokio::time::interval(TICK);
            for tick in 0.. {
                ticks.tick().await;
                let request = Request::get(&path).body(Body::empty()).expect("a request");
                let answer = self.ask(Token::Admin, request).await.expect("an answer");
                if answer.status().is_success() {
                    break;
                }
                assert!(tick < TICKS, "{} does not serve {path}", self.name);
            }
        }
    }
}

fn post(path: &str, body: &Value) -> Request<Body> {
    let request = Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
    request.body(Body::from(body.to_string().into_bytes())).expect("a request")
}
