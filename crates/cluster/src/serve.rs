//! The API on a socket: HTTPS on loopback, with a certificate made at the start and a token for whoever asks.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::api::Api;
use crate::http::answer;
use crate::http::body::{self, Body};
use crate::status::Status;

/// The API, bound to an address and ready to serve.
pub struct Server {
    api: Api,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    ca: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Server {
    /// Takes the address and makes a certificate for it. Port 0 is any free port.
    pub async fn bind(api: Api, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let (ca, config) = certificate(address).map_err(io::Error::other)?;
        Ok(Self { api, listener, acceptor: TlsAcceptor::from(Arc::new(config)), ca })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The certificate authority that vouches for it, in PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// A kubeconfig of the administrator, as JSON, which every reader of YAML takes.
    pub fn kubeconfig(&self, name: &str) -> io::Result<Value> {
        use base64::Engine;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        let server = format!("https://{}", self.address()?);
        Ok(json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name, "preferences": {},
            "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": ca}}],
            "users": [{"name": name, "user": {"token": self.api.admin_token()}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        }))
    }

    /// Serves until `stop` is done; requests under way are then given up, as watches never end by themselves.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(connection(self.api.clone(), self.acceptor.clone(), stream))),
                    // Too many open files, say: the next one may find room again.
                    Err(error) => {
                        tracing::warn!(%error, "a connection was not accepted");
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        connections.shutdown().await;
    }
}

async fn connection(api: Api, acceptor: TlsAcceptor, stream: TcpStream) {
    // Small answers should not wait for more to come.
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = hyper::service::service_fn(move |request| {
        let api = api.clone();
        async move { Ok::<_, std::convert::Infallible>(answered(&api, request).await) }
    });
    if let Err(error) = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn answered(api: &Api, request: Request<Incoming>) -> Response<Body> {
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let open = matches!(request.uri().path(), "/readyz" | "/livez" | "/healthz" | "/version");
    let user = match token.and_then(|token| api.authenticate(token.trim())) {
        Some(user) => user,
        None if open && token.is_none() => crate::user::User::system("anonymous"),
        None => return answer::refusal(&Status::unauthorized(), &[]),
    };
    let (head, body) = request.into_parts();
    match body::collect(body).await {
        Ok(body) => api.handle(&user, Request::<Bytes>::from_parts(head, body)).await,
        Err(status) => answer::refusal(&status, &[]),
    }
}

/// An authority made for this one certificate, and a server that shows it.
fn certificate(
    address: SocketAddr,
) -> Result<(String, rustls::ServerConfig), Box<dyn std::error::Error + Send + Sync>> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "trellis cluster");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), address.ip().to_string()];
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(names)?.signed_by(&key, &authority)?;
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((authority.pem(), config))
}
