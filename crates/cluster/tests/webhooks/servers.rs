//! The servers that are asked: a real one, the embedded API, and the embedded API with webhooks in process.

use http::Request;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::{Value, json};
use trellis_cluster::api::{Api, Options};
use trellis_cluster::user::User;
use trellis_testkit::ControlPlane;

use crate::hook::{Address, Hook};

/// Where nobody listens.
const NOBODY: &str = "127.0.0.1:1";

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    Admin,
    Node,
}

/// A server and the webhooks that it calls.
pub struct Server {
    pub name: &'static str,
    pub hook: Hook,
    /// `None` if webhooks are called in process.
    address: Option<Address>,
    admin: Client,
    /// The embedded API knows users by the door they come in.
    node: Option<Client>,
}

/// kube-apiserver.
pub async fn real() -> Server {
    let plane = ControlPlane::shared().await.expect("a control plane");
    let mut config = Config::new(plane.url().parse().expect("a URL"));
    config.root_cert_file = Some(plane.ca_path());
    config.auth_info.token = Some(plane.admin_token().to_owned().into());
    config.default_retry = false;
    let hook = Hook::default();
    let address = Some(hook.listen().await);
    Server { name: "kube-apiserver", hook, address, admin: Client::try_from(config).expect("a client"), node: None }
}

/// The embedded API, which calls webhooks by URL or by the name of their service.
pub async fn embedded(in_process: bool) -> Server {
    let api = Api::new(Options::default());
    api.furnish().await.expect("namespaces");
    let hook = Hook::default();
    let (name, address) = match in_process {
        true => ("the embedded API with a service", None),
        false => ("the embedded API", Some(hook.listen().await)),
    };
    api.services().register("hooks", "hook", hook.handler());
    let client = |user: User| Some(Client::new(api.service(user), "default"));
    let admin = Client::new(api.service(User::admin()), "default");
    let mut node = User::node("n");
    node.groups.insert(1, "system:masters".to_owned());
    Server { name, hook, address, admin, node: client(node) }
}

impl Server {
    /// Webhooks that nobody answers are not for services in process.
    pub fn calls_by_url(&self) -> bool {
        self.address.is_some()
    }

    /// How to reach the webhook with this path.
    pub fn client_config(&self, path: &str) -> Value {
        match &self.address {
            Some(Address { authority, bundle }) => {
                let authority = if path == "nobody" { NOBODY } else { authority };
                let bundle = if path == "stranger-to-me" { "" } else { bundle };
                json!({"url": format!("https://{authority}/{path}"), "caBundle": bundle})
            }
            None => json!({"service": {"namespace": "hooks", "name": "hook", "path": format!("/{path}")}}),
        }
    }

    /// The answer: its code, its warnings, and its body with the volatile parts replaced.
    pub async fn ask(&self, caller: Caller, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let content = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path).header("content-type", content);
        let client = match (caller, &self.node) {
            (Caller::Node, Some(node)) => node,
            (Caller::Node, None) => {
                for group in ["system:nodes", "system:masters"] {
                    request = request.header("impersonate-group", group);
                }
                request = request.header("impersonate-user", "system:node:n");
                &self.admin
            }
            (Caller::Admin, _) => &self.admin,
        };
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = client.send(request.body(Body::from(body)).expect("a request")).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let bytes = body.collect_bytes().await.expect("a whole answer");
        let mut body: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        self.clean(&mut body);
        let warnings: Value = head.headers.get_all("warning").iter().map(|value| value.to_str().ok()).collect();
        (head.status.as_u16(), json!({"code": head.status.as_u16(), "warnings": warnings, "body": body}))
    }

    /// What the webhooks were asked since the last time.
    pub fn asked(&self) -> Value {
        let mut asked = self.hook.asked();
        self.clean(&mut asked);
        asked
    }

    fn clean(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean(item)),
            Value::Object(fields) => {
                fields.remove("managedFields");
                // A real server has an id for users of its token file.
                if let Some(user) = fields.get_mut("userInfo").and_then(Value::as_object_mut) {
                    user.remove("uid");
                }
                for (name, value) in fields.iter_mut() {
                    let volatile = matches!(name.as_str(), "uid" | "resourceVersion")
                        || (name.ends_with("Timestamp") || name.ends_with("Time")) && !value.is_null();
                    match volatile {
                        true => *value = json!("<volatile>"),
                        false => self.clean(value),
                    }
                }
            }
            Value::String(text) => {
                if let Some(address) = &self.address {
                    *text = text.replace(&address.authority, "<hook>");
                }
                if let Some((before, after)) = text.split_once("response.uid=\"")
                    && let Some((_, after)) = after.split_once('"')
                {
                    *text = format!("{before}response.uid=<volatile>{after}");
                }
            }
            _ => {}
        }
    }
}
