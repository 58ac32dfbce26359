//! Small HTTP servers: the webhooks over TLS, health and metrics without.
//!
//! HTTP/1.1 only: those who ask are API servers, kubelets and scrapers, a few connections each, and nothing is streamed. Everything
//! that a client could draw out has an end: the handshake, the head of a request, its body.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::ResolvesServerCert;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The largest body that is read; a review carries an object twice, and none is larger than etcd takes.
const BODY_MAX: usize = 3 * 1024 * 1024;
/// Connections that are served at once; more wait.
const CONNECTIONS: usize = 1024;
/// How long a handshake, or the body of a request, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may wait for the head of a request. Longer than clients keep idle connections (Go: 90 s): one that is
/// closed from here at the moment that it is used fails a request.
const IDLE: Duration = Duration::from_mins(3);
/// How long requests under way may take once no new ones are accepted.
const LAST_REQUESTS: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted: too many open files, say.
const BREATH: Duration = Duration::from_millis(20);

/// Status code, content type and body.
pub type Reply = (u16, &'static str, Vec<u8>);

/// Serves HTTPS until `stop` is done, with the certificate that the resolver has at each handshake. Requests under way are finished.
pub async fn https<H, F>(
    listener: TcpListener,
    resolver: Arc<dyn ResolvesServerCert>,
    handler: H,
    stop: impl Future<Output = ()>,
) -> Result<(), rustls::Error>
where
    H: Fn(Method, String, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let connect = move |stream: TcpStream| {
        let acceptor = acceptor.clone();
        async move { tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await.ok()?.ok() }
    };
    accept(listener, connect, handler, stop).await;
    Ok(())
}

/// Serves HTTP until `stop` is done. Requests under way are finished.
pub async fn http<H, F>(listener: TcpListener, handler: H, stop: impl Future<Output = ()>)
where
    H: Fn(Method, String, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    accept(listener, |stream: TcpStream| async move { Some(stream) }, handler, stop).await;
}

/// Accepts connections, and lets the last ones finish.
async fn accept<C, G, S, H, F>(listener: TcpListener, connect: C, handler: H, stop: impl Future<Output = ()>)
where
    C: Fn(TcpStream) -> G,
    G: Future<Output = Option<S>> + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Method, String, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let (ending, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = async {
            let place = room.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            () = &mut stop => break,
            (place, accepted) = next => match accepted {
                Ok((stream, _)) => {
                    // Small answers should not wait for more to come.
                    let _ = stream.set_nodelay(true);
                    let (connected, handler, ended) = (connect(stream), handler.clone(), ended.clone());
                    connections.spawn(async move {
                        let _place = place;
                        if let Some(stream) = connected.await {
                            serve(stream, handler, ended).await;
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop((listener, ending));
    let last = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_REQUESTS, last).await.is_err() {
        tracing::warn!(left = connections.len(), "connections were cut off");
    }
}

/// Serves one connection; when the server ends, no further request is taken from it.
async fn serve<S, H, F>(stream: S, handler: H, mut ended: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Fn(Method, String, Bytes) -> F + Clone,
    F: Future<Output = Reply>,
{
    let service = hyper::service::service_fn(move |request| {
        let handler = handler.clone();
        async move { Ok::<_, Infallible>(answer(request, handler).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let mut connection = std::pin::pin!(server.serve_connection(TokioIo::new(stream), service));
    let served = tokio::select! {
        served = connection.as_mut() => served,
        _ = ended.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn answer<H, F>(request: Request<Incoming>, handler: H) -> Response<Full<Bytes>>
where
    H: Fn(Method, String, Bytes) -> F,
    F: Future<Output = Reply>,
{
    let (head, body) = request.into_parts();
    let body = tokio::time::timeout(PATIENCE, Limited::new(body, BODY_MAX).collect()).await;
    let (code, content_type, body) = match body {
        Ok(Ok(body)) => handler(head.method, head.uri.path().to_owned(), body.to_bytes()).await,
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            text(413, &format!("the body is larger than {BODY_MAX} bytes"))
        }
        Ok(Err(error)) => text(400, &format!("the body cannot be read: {error}")),
        Err(_) => text(408, "the body did not come"),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A reply for people.
pub fn text(code: u16, words: &str) -> Reply {
    (code, "text/plain; charset=utf-8", format!("{words}\n").into_bytes())
}
