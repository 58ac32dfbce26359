//! The webhooks that are called: one program on loopback, whose paths say how it answers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use trellis_cluster::admission::Handler;

/// Answers, and writes down what it was asked.
#[derive(Clone, Default)]
pub struct Hook {
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

/// Where the program listens, and the certificate that it shows.
pub struct Address {
    pub authority: String,
    pub bundle: String,
}

impl Hook {
    /// Listens on a free port.
    pub async fn listen(&self) -> Address {
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_no_client_auth();
        let config = config.with_single_cert(vec![certified.cert.der().clone()], key).expect("a key that fits");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let authority = listener.local_addr().expect("an address").to_string();
        let hook = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, hook) = (acceptor.clone(), hook.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
                        let hook = hook.clone();
                        async move {
                            let (head, body) = request.into_parts();
                            let body = body.collect().await.map(http_body_util::Collected::to_bytes);
                            let request = Request::from_parts(head, body.unwrap_or_default());
                            Ok::<_, Infallible>(hook.answer(request).await.map(Full::new))
                        }
                    });
                    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Address { authority, bundle: BASE64.encode(certified.cert.pem()) }
    }

    /// The same answers in process.
    pub fn handler(&self) -> Handler {
        let hook = self.clone();
        Arc::new(move |request| {
            let hook = hook.clone();
            Box::pin(async move { hook.answer(request).await })
        })
    }

    /// What was asked since the last time, in an order that does not depend on who was faster.
    pub fn asked(&self) -> Value {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.sort_by(|(one, _), (other, _)| one.cmp(other));
        asked.into_iter().map(|(path, review)| json!({"path": path, "review": review})).collect()
    }

    async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), review.clone()));
        let answer = |status: u16, text: &str| {
            let response = Response::builder().status(status).header("content-type", "application/json");
            response.body(Bytes::from(text.to_owned())).expect("a response")
        };
        match path.as_str() {
            "never" => std::future::pending().await,
            "broken" => answer(500, "out of order"),
            "empty" => answer(200, "{}"),
            "list" => answer(200, "[]"),
            _ => {
                let mut response = respond(&path, &review["request"]);
                if path != "stranger" {
                    response["uid"] = review["request"]["uid"].clone();
                }
                let review = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
                answer(200, &review.to_string())
            }
        }
    }
}

/// The response to a request, as the path says.
fn respond(path: &str, request: &Value) -> Value {
    let allowed = json!({"allowed": true});
    let denied = |status: Value| json!({"allowed": false, "status": status});
    match path.split_once('/').unwrap_or((path, "")) {
        ("deny", "whole") => denied(json!({
            "code": 422, "reason": "Invalid", "message": "it is too big",
            "details": {"name": "n", "kind": "k", "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "f"}]},
        })),
        ("deny", "code") => denied(json!({"code": 418, "message": "no"})),
        ("deny", "reason") => denied(json!({"reason": "Forbidden"})),
        ("deny", "odd") => denied(json!({"code": 200, "reason": "Conflict", "message": "no"})),
        ("deny", _) => json!({"allowed": false}),
        ("warn", _) => json!({"allowed": true, "warnings": ["be careful", "very \"careful\""]}),
        ("append", letter) => {
            let before = request["object"]["data"]["order"].as_str().unwrap_or_default();
            patched(&json!([{"op": "add", "path": "/data/order", "value": format!("{before}{letter}")}]))
        }
        ("once", _) if request["object"]["data"]["seen"] != "yes" => {
            patched(&json!([{"op": "add", "path": "/data/seen", "value": "yes"}]))
        }
        ("container", name) => {
            let container = json!({"name": name, "image": "registry.example.com/sidecar"});
            patched(&json!([{"op": "add", "path": "/spec/containers/-", "value": container}]))
        }
        ("patch", "kind") => {
            json!({"allowed": true, "patch": BASE64.encode(r#"[{"op":"remove","path":"/data"}]"#), "patchType": "Strategic"})
        }
        ("patch", "untyped") => json!({"allowed": true, "patch": BASE64.encode("[]")}),
        ("patch", _) => json!({"allowed": true, "patchType": "JSONPatch"}),
        ("convert", how) => convert(how, request),
        _ => allowed,
    }
}

fn patched(patch: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": BASE64.encode(patch.to_string())})
}

/// Version v1 has a `size`, v2 says it in words.
fn convert(how: &str, request: &Value) -> Value {
    if how == "fail" {
        return json!({"result": {"status": "Failure", "message": "I do not know how"}});
    }
    let one = |object: &Value| {
        let mut object = object.clone();
        object["apiVersion"] = request["desiredAPIVersion"].clone();
        object["spec"] = match &object["spec"]["size"] {
            Value::Null => json!({"size": object["spec"]["words"].as_str().map(str::len)}),
            size => json!({"words": "x".repeat(size.as_u64().and_then(|size| size.try_into().ok()).unwrap_or(0))}),
        };
        object["metadata"]["labels"] = json!({"converted": "yes"});
        // Not for a webhook to change.
        object["metadata"]["generation"] = 77.into();
        object
    };
    let objects: Vec<Value> = request["objects"].as_array().into_iter().flatten().map(one).collect();
    json!({"result": {"status": "Success"}, "convertedObjects": objects})
}
