//! How webhooks are reached: in process by the name of a service, or by URL over HTTPS.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::hooks::Known;

/// The largest answer that is read.
const LIMIT: usize = 8 * 1024 * 1024;

/// A webhook in process.
pub type Handler = Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> + Send + Sync>;

/// Webhooks in process, by namespace and name of the service that a configuration names.
#[derive(Default)]
pub struct Services {
    handlers: RwLock<HashMap<(String, String), Handler>>,
    pub(crate) known: Known,
}

impl fmt::Debug for Services {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Services").finish_non_exhaustive()
    }
}

impl Services {
    /// Requests to this service are answered by `handler` from now on.
    pub fn register(&self, namespace: &str, name: &str, handler: Handler) {
        let mut handlers = self.handlers.write().unwrap_or_else(PoisonError::into_inner);
        handlers.insert((namespace.to_owned(), name.to_owned()), handler);
    }

    /// Nobody answers for this service from now on.
    pub fn unregister(&self, namespace: &str, name: &str) {
        let mut handlers = self.handlers.write().unwrap_or_else(PoisonError::into_inner);
        handlers.remove(&(namespace.to_owned(), name.to_owned()));
    }

    fn find(&self, namespace: &str, name: &str) -> Option<Handler> {
        let handlers = self.handlers.read().unwrap_or_else(PoisonError::into_inner);
        handlers.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}

/// Sends a review to where a `clientConfig` says, and returns the answer.
pub(crate) async fn post(
    services: &Services,
    config: &Value,
    review: &Value,
    timeout: Duration,
) -> Result<Value, String> {
    let url = match (config["url"].as_str(), config["service"].as_object()) {
        (Some(url), _) => url.to_owned(),
        (None, Some(_)) => service_url(&config["service"]),
        (None, None) => return Err("neither url nor service is given".to_owned()),
    };
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{separator}timeout={}s", timeout.as_secs());
    let sent = async {
        let body = Bytes::from(review.to_string());
        match config["service"].is_object() && config["url"].is_null() {
            true => in_process(services, &config["service"], &url, body).await,
            false => by_url(&url, config["caBundle"].as_str(), body).await,
        }
    };
    let late = |_| format!("Post {url:?}: context deadline exceeded");
    let answer = tokio::time::timeout(timeout, sent).await.map_err(late)??;
    let answer: Value = serde_json::from_slice(&answer).map_err(|error| unread(&error))?;
    let kind = match &answer {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null | Value::Object(_) => return Ok(answer),
    };
    Err(unread(&format!(
        "json: cannot unmarshal {kind} into Go value of type struct {{ APIVersion string \
         \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )))
}

fn unread(why: &dyn fmt::Display) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// Where a service would listen on a cluster.
fn service_url(service: &Value) -> String {
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let port = service["port"].as_u64().unwrap_or(443);
    let path = text("path");
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("https://{}.{}.svc:{port}{slash}{path}", text("name"), text("namespace"))
}

fn request(uri: &str, host: &str, body: Bytes) -> Result<Request<Bytes>, String> {
    let request = Request::post(uri).header(header::HOST, host).header(header::CONTENT_TYPE, "application/json");
    request.header(header::ACCEPT, "application/json").body(body).map_err(|error| error.to_string())
}

async fn in_process(services: &Services, service: &Value, url: &str, body: Bytes) -> Result<Bytes, String> {
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let handler = services.find(namespace, name).ok_or_else(|| format!("service {name:?} not found"))?;
    let host = format!("{name}.{namespace}.svc");
    accept(handler(request(url, &host, body)?).await)
}

async fn by_url(url: &str, ca: Option<&str>, body: Bytes) -> Result<Bytes, String> {
    let failed = |error: &dyn fmt::Display| format!("Post {url:?}: {error}");
    let uri: Uri = url.parse().map_err(|error| failed(&error))?;
    let host = uri.host().ok_or_else(|| failed(&"no host"))?.to_owned();
    let connector = TlsConnector::from(Arc::new(tls(ca).map_err(|error| failed(&error))?));
    let port = uri.port_u16().unwrap_or(443);
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await;
    let stream = stream.map_err(|error| failed(&format!("dial tcp {host}:{port}: connect: {}", unreached(&error))))?;
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(|error| failed(&error))?;
    let stream = connector.connect(name, stream).await.map_err(|error| failed(&untrusted(&error)))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = request(path, &host, body)?.map(Full::new);
    let answer = async {
        let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, LIMIT).collect().await.map_err(|error| failed(&error))?;
        accept(Response::from_parts(head, body.to_bytes()))
    };
    let answer = answer.await;
    driver.abort();
    answer
}

/// Why nobody could be reached.
fn unreached(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Why the one who answers is not trusted.
fn untrusted(error: &std::io::Error) -> String {
    use rustls::{CertificateError, Error};
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        Some(error) => format!("tls: failed to verify certificate: {error}"),
        None => error.to_string(),
    }
}

/// The body of a good answer.
fn accept(answer: Response<Bytes>) -> Result<Bytes, String> {
    let (head, body) = answer.into_parts();
    if head.status.is_success() {
        return Ok(body);
    }
    let content = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let said =
        if content.starts_with("text/") { String::from_utf8_lossy(&body).trim().to_owned() } else { String::new() };
    let said = if said.is_empty() { "unknown".to_owned() } else { said };
    Err(match head.status.as_u16() {
        404 => "the server could not find the requested resource".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        _ => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
    })
}

/// Trusts the bundle of the configuration and nobody else.
fn tls(ca: Option<&str>) -> Result<rustls::ClientConfig, String> {
    let bundle = BASE64.decode(ca.unwrap_or_default()).map_err(|error| format!("caBundle: {error}"))?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bundle) {
        let certificate = certificate.map_err(|error| format!("caBundle: {error}"))?;
        roots.add(certificate).map_err(|error| format!("caBundle: {error}"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}
