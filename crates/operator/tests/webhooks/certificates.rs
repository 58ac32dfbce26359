//! Certificates that replicas share, and certificates that are given as files, as a client of the socket sees them.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use trellis_cluster::api::{self, Options};
use trellis_cluster::user::User;
use trellis_operator::webhooks::{CertificateOptions, Certificates, Reach, Source, names};

use crate::servers::Clock;

const DAY: Duration = Duration::from_hours(24);
const OPTIONS: CertificateOptions = CertificateOptions {
    lifetime: Duration::from_hours(90 * 24),
    overlap: Duration::from_mins(10),
    poll: Duration::from_mins(1),
};

async fn embedded() -> Client {
    let api = api::Api::new(Options::default());
    api.furnish().await.expect("namespaces");
    Client::new(api.service(User::admin()), "default")
}

fn made(client: &Client) -> Source {
    let reach = Reach::Service { namespace: "default".to_owned(), name: "trellis-operator".to_owned(), port: 443 };
    Source::Made {
        client: client.clone(),
        namespace: "default".to_owned(),
        secret: "cert".to_owned(),
        names: names(&reach),
    }
}

/// A handshake in memory: the certificate that was shown, or why the client did not like it.
async fn handshake(certificates: &Certificates, bundle: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let server = server.expect("versions").with_no_client_auth().with_cert_resolver(certificates.resolver());
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.expect("PEM")).expect("an authority");
    }
    let client = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let client = client.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let (here, there) = tokio::io::duplex(1 << 16);
    let accepting = tokio::spawn(async move {
        let accepted = TlsAcceptor::from(Arc::new(server)).accept(there).await;
        drop(accepted);
    });
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let connected = TlsConnector::from(Arc::new(client)).connect(name, here).await;
    accepting.await.expect("a server");
    let shown = connected.map_err(|error| error.to_string())?;
    let shown = shown.get_ref().1.peer_certificates().and_then(<[_]>::first).expect("a certificate");
    Ok(shown.to_vec())
}

/// A replica of the operator, and what it has published.
struct Replica {
    certificates: Certificates,
    published: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Replica {
    async fn start(client: &Client, clock: &Clock) -> Self {
        let certificates = Certificates::start(made(client), OPTIONS, clock.now()).await.expect("a certificate");
        Self { certificates, published: Arc::default() }
    }

    /// One look; how long nothing is due.
    async fn step(&self) -> Duration {
        let publish = |bundle: Option<Vec<u8>>| {
            let published = self.published.clone();
            async move {
                published.lock().unwrap_or_else(PoisonError::into_inner).push(bundle.expect("a bundle"));
                Ok::<_, String>(())
            }
        };
        self.certificates.step(publish).await.expect("a look")
    }

    fn published(&self) -> Vec<u8> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner).last().cloned().expect("a bundle")
    }

    /// What a client sees that trusts this bundle.
    async fn shown(&self, bundle: &[u8]) -> Vec<u8> {
        handshake(&self.certificates, bundle, "trellis-operator.default.svc").await.expect("a good certificate")
    }
}

fn authorities(bundle: &[u8]) -> usize {
    String::from_utf8_lossy(bundle).matches("BEGIN CERTIFICATE").count()
}

#[tokio::test]
async fn replicas_share_a_certificate_and_change_it_together() {
    let client = embedded().await;
    let clock = Clock::at(Timestamp::now().checked_sub(60 * DAY).expect("a time"));
    let (one, other) = tokio::join!(Replica::start(&client, &clock), Replica::start(&client, &clock));
    clock.advance(Duration::from_secs(1));
    tokio::join!(one.step(), other.step());
    assert_eq!(one.published(), other.published());
    let first = one.shown(&one.published()).await;
    assert_eq!(other.shown(&one.published()).await, first);
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let version = secrets.get("cert").await.expect("a Secret").resource_version();
    one.step().await;
    assert_eq!(secrets.get("cert").await.expect("a Secret").resource_version(), version, "written for nothing");
    let old = one.published();

    // It is time: whoever looks first makes the next one, and both publish before either shows it.
    clock.advance(60 * DAY);
    assert_eq!(one.step().await, OPTIONS.overlap);
    assert_eq!(authorities(&one.published()), 2);
    assert_eq!(authorities(&other.published()), 1);
    assert_eq!(other.step().await, OPTIONS.overlap);
    let both = other.published();
    assert_eq!(one.published(), both);
    for replica in [&one, &other] {
        assert_eq!(replica.shown(&old).await, first, "shown before a server that is slow has heard of it");
    }

    // The other one switches; until the first has looked, it shows the old one, and clients trust both.
    clock.advance(OPTIONS.overlap);
    other.step().await;
    let second = other.shown(&both).await;
    assert_ne!(second, first);
    assert_eq!(one.shown(&both).await, first);
    one.step().await;
    assert_eq!(one.shown(&both).await, second);

    // The first authority goes when it has expired.
    clock.advance(30 * DAY);
    one.step().await;
    assert_eq!(authorities(&one.published()), 1);
    assert_eq!(one.shown(&one.published()).await, second);
    let late = Replica::start(&client, &clock).await;
    assert_eq!(late.shown(&one.published()).await, second, "one that starts later finds the same");
}

#[tokio::test]
async fn a_replica_that_cannot_publish_shows_what_is_published() {
    let client = embedded().await;
    let clock = Clock::at(Timestamp::now().checked_sub(60 * DAY).expect("a time"));
    let replica = Replica::start(&client, &clock).await;
    replica.step().await;
    let first = replica.shown(&replica.published()).await;
    clock.advance(61 * DAY);
    let refused = |_: Option<Vec<u8>>| async { Err::<(), _>("not today") };
    for _ in 0..3 {
        let error = replica.certificates.step(refused).await.expect_err("no publication");
        assert_eq!(error.to_string(), "cannot publish the certificate authorities: not today");
        clock.advance(OPTIONS.overlap);
    }
    assert_eq!(replica.shown(&replica.published()).await, first);
    let secret = Api::<Secret>::default_namespaced(client).get("cert").await.expect("a Secret");
    assert!(!secret.data.expect("data").contains_key("next.crt"), "nothing follows before all is published");
}

#[tokio::test]
async fn a_secret_that_a_chart_made_is_filled() {
    let client = embedded().await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let metadata = ObjectMeta { name: Some("cert".to_owned()), ..ObjectMeta::default() };
    let data =
        [("mine".to_owned(), ByteString(b"kept".to_vec())), ("tls.crt".to_owned(), ByteString(b"what".to_vec()))];
    let empty = Secret { metadata, data: Some(data.into()), ..Secret::default() };
    secrets.create(&PostParams::default(), &empty).await.expect("a Secret");
    let replica = Replica::start(&client, &Clock::at(Timestamp::now())).await;
    let bundle = replica.certificates.bundle().expect("a bundle");
    replica.shown(&bundle).await;
    let data = secrets.get("cert").await.expect("a Secret").data.expect("data");
    assert_eq!(data.keys().collect::<Vec<_>>(), ["ca.crt", "mine", "tls.crt", "tls.key"]);
    assert_eq!(data["ca.crt"].0, bundle);
}

/// Writes a certificate of its own authority into a folder.
fn put(folder: &Path, with_authority: bool) -> Vec<u8> {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority =
        rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().expect("a key")).expect("an authority");
    let key = rcgen::KeyPair::generate().expect("a key");
    let leaf = rcgen::CertificateParams::new(["localhost".to_owned()])
        .expect("a name")
        .signed_by(&key, &authority)
        .expect("a certificate");
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).expect("a file");
    write("tls.crt", leaf.pem());
    write("tls.key", key.serialize_pem());
    if with_authority {
        write("ca.crt", authority.pem());
    }
    authority.pem().into_bytes()
}

#[tokio::test]
async fn files_are_read_again_when_they_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = Clock::at(Timestamp::now()).now();
    let source = || Source::Given(folder.path().to_owned());
    let error = Certificates::start(source(), OPTIONS, now.clone()).await.expect_err("an empty folder");
    assert!(error.to_string().contains("tls.crt: No such file"), "{error}");

    let authority = put(folder.path(), false);
    let certificates = Certificates::start(source(), OPTIONS, now.clone()).await.expect("a certificate");
    assert_eq!(certificates.bundle(), None, "somebody else injects it");
    let first = handshake(&certificates, &authority, "localhost").await.expect("a good certificate");

    let published = Mutex::new(Vec::new());
    let publish = |bundle: Option<Vec<u8>>| {
        published.lock().unwrap_or_else(PoisonError::into_inner).push(bundle);
        async { Ok::<_, String>(()) }
    };
    let authority = put(folder.path(), true);
    assert_eq!(certificates.step(&publish).await.expect("a look"), OPTIONS.poll);
    let second = handshake(&certificates, &authority, "localhost").await.expect("a good certificate");
    assert_ne!(first, second);
    assert_eq!(certificates.bundle(), Some(authority.clone()));

    // Half of a change, or nonsense, is told, and what was good stays.
    let key = std::fs::read_to_string(folder.path().join("tls.key")).expect("a key");
    for (name, text) in [("tls.key", "nonsense"), ("tls.crt", "nonsense")] {
        let before = std::fs::read_to_string(folder.path().join(name)).expect("a file");
        std::fs::write(folder.path().join(name), text).expect("a file");
        let error = certificates.step(&publish).await.expect_err("nonsense").to_string();
        assert!(error.contains(name) && !error.contains(key.lines().nth(1).expect("a key")), "{error}");
        std::fs::write(folder.path().join(name), before).expect("a file");
    }
    assert_eq!(handshake(&certificates, &authority, "localhost").await.expect("a good certificate"), second);
    assert!(!format!("{certificates:?} {:?}", certificates.resolver()).contains("PRIVATE"));
}
