//! The certificate that the webhooks show, and the authorities that API servers check it with.
//!
//! Either the operator makes them and keeps them in a Secret that its replicas share, or they are given as files. In both cases a
//! new certificate is shown only after the authorities that vouch for it were published, without a restart.

mod files;
mod issue;
mod rotation;
mod secret;

use std::fmt::{self, Debug, Display};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use kube::Client;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Reach;
use crate::Now;
use rotation::{Held, Pair, Turn};
use secret::Secret;

/// How often others may be in the way of one look before it is given up until the next.
const ATTEMPTS: usize = 8;
/// How soon a look that failed is repeated.
const RETRY: Duration = Duration::from_secs(5);

/// Where the certificate comes from.
#[derive(Clone)]
pub enum Source {
    /// Made here, and kept in a Secret that all replicas read.
    Made {
        /// Reads and writes the Secret.
        client: Client,
        /// Namespace of the Secret.
        namespace: String,
        /// Name of the Secret.
        secret: String,
        /// The names and addresses that the webhooks are reached by, see [`names`].
        names: Vec<String>,
    },
    /// Given from outside, in a folder with `tls.crt`, `tls.key` and perhaps `ca.crt`.
    Given(PathBuf),
}

impl Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made { namespace, secret, .. } => write!(out, "Made({namespace}/{secret})"),
            Self::Given(folder) => out.debug_tuple("Given").field(folder).finish(),
        }
    }
}

/// How long things last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a certificate is valid that is made here; after two thirds of it the next one is made.
    pub lifetime: Duration,
    /// How long the next certificate waits after its authority was published: API servers have to hear of it.
    pub overlap: Duration,
    /// How often to look at the Secret or the files.
    pub poll: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { lifetime: Duration::from_hours(90 * 24), overlap: Duration::from_mins(10), poll: Duration::from_mins(1) }
    }
}

/// Why there is no certificate, or no newer one.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The API server refused, or could not be reached.
    #[error("cannot {doing} Secret {name}: {source}")]
    Api {
        /// What was tried.
        doing: &'static str,
        /// Namespace and name.
        name: String,
        /// What the server said.
        source: Box<kube::Error>,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}; hint: with `certProvisionMode: manual`, `server.webhooks.serverCertDir` has tls.crt and tls.key", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Nothing can be made of what was read.
    #[error("{place}: {why}")]
    Unfit {
        /// File or Secret.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The authorities could not be published.
    #[error("cannot publish the certificate authorities: {0}")]
    Publish(String),
    /// Others kept changing the Secret.
    #[error("Secret {0} keeps changing")]
    Contended(String),
}

/// The names and addresses that a certificate has to be good for.
pub fn names(reach: &Reach) -> Vec<String> {
    match reach {
        Reach::Service { namespace, name, .. } => {
            let short = format!("{name}.{namespace}");
            vec![name.clone(), short.clone(), format!("{short}.svc"), format!("{short}.svc.cluster.local")]
        }
        Reach::Url(url) => {
            let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
            let host = url.parse::<http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
            let host = host.trim_matches(['[', ']']).to_owned();
            if !host.is_empty() && !names.contains(&host) {
                names.push(host);
            }
            names
        }
    }
}

/// The certificate in use. Cheap to clone; all clones are the same one.
#[derive(Clone)]
pub struct Certificates {
    shared: Arc<Shared>,
}

struct Shared {
    source: Source,
    options: Options,
    now: Now,
    shown: Arc<Shown>,
    bundle: RwLock<Option<Vec<u8>>>,
}

impl Debug for Certificates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Certificates").field("source", &self.shared.source).finish_non_exhaustive()
    }
}

/// What handshakes get.
#[derive(Default)]
struct Shown {
    current: RwLock<Option<(Pair, Arc<CertifiedKey>)>>,
}

impl Debug for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shown").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, key)| key.clone())
    }
}

impl Shown {
    /// Shows this one from now on, unless nothing can be made of it.
    fn show(&self, pair: &Pair, place: &str) -> Result<(), CertificateError> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_none_or(|(shown, _)| shown != pair) {
            *current = Some((pair.clone(), Arc::new(certified(pair, place)?)));
            tracing::info!(from = place, "the webhooks show another certificate");
        }
        Ok(())
    }
}

fn certified(pair: &Pair, place: &str) -> Result<CertifiedKey, CertificateError> {
    let unfit = |why: String| CertificateError::Unfit { place: place.to_owned(), why };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pair.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| unfit(format!("tls.crt is no PEM: {error}")))?;
    if chain.is_empty() {
        return Err(unfit("tls.crt holds no certificate".to_owned()));
    }
    // What is wrong with a key is told without showing any of it.
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())
        .map_err(|_| unfit("tls.key holds no private key in PEM".to_owned()))?;
    CertifiedKey::from_der(chain, key, &provider()).map_err(|error| unfit(format!("tls.crt and tls.key: {error}")))
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

impl Certificates {
    /// Finds a certificate, or makes one where there is none to be used. Nothing is rotated before [`Certificates::keep`], which
    /// publishes first.
    pub async fn start(source: Source, options: Options, now: Now) -> Result<Self, CertificateError> {
        let shared = Shared { source, options, now, shown: Arc::default(), bundle: RwLock::default() };
        let certificates = Self { shared: Arc::new(shared) };
        match &certificates.shared.source {
            Source::Given(folder) => certificates.take(&files::read(folder)?, &folder.display().to_string())?,
            Source::Made { .. } => certificates.begin().await?,
        }
        Ok(certificates)
    }

    /// For the TLS socket: every handshake gets the certificate of its moment.
    pub fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        self.shared.shown.clone()
    }

    /// The authorities to publish, in PEM; none where somebody else does that.
    pub fn bundle(&self) -> Option<Vec<u8>> {
        self.shared.bundle.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the certificate current, for ever. `publish` is handed the authorities at every look, and has to write only where they
    /// are not what is published.
    pub async fn keep<F, P, E>(self, publish: F)
    where
        F: Fn(Option<Vec<u8>>) -> P,
        P: Future<Output = Result<(), E>>,
        E: Display,
    {
        loop {
            let wait = match self.step(&publish).await {
                Ok(wait) => wait.min(self.shared.options.poll),
                Err(error) => {
                    tracing::warn!(%error, "the webhooks' certificate could not be looked after");
                    RETRY.min(self.shared.options.poll)
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// One look: publishes, shows, and makes the next certificate where it is time. Returns how long nothing will be due.
    pub async fn step<F, P, E>(&self, publish: F) -> Result<Duration, CertificateError>
    where
        F: Fn(Option<Vec<u8>>) -> P,
        P: Future<Output = Result<(), E>>,
        E: Display,
    {
        let told = |error: E| CertificateError::Publish(error.to_string());
        let Shared { source, options, now, .. } = &*self.shared;
        let (client, namespace, name, names) = match source {
            Source::Given(folder) => {
                let held = files::read(folder)?;
                publish(bundle_of(&held)).await.map_err(told)?;
                self.take(&held, &folder.display().to_string())?;
                return Ok(options.poll);
            }
            Source::Made { client, namespace, secret, names } => (client, namespace, secret, names),
        };
        let secret = Secret::new(client.clone(), namespace, name);
        for _ in 0..ATTEMPTS {
            let found = secret.read().await?;
            if let Some(held) = found.held.as_ref().filter(|held| rotation::is_usable(held, names, now())) {
                publish(bundle_of(held)).await.map_err(told)?;
                self.take(held, secret.title())?;
            }
            match rotation::turn(found.held.as_ref(), names, options, now())? {
                Turn::Stay(wait) => return Ok(wait),
                // What was written, or what another replica wrote instead, is looked at like anything else.
                Turn::Write(held) => drop(secret.write(found, &held).await?),
            }
        }
        Err(CertificateError::Contended(secret.title().to_owned()))
    }

    /// Takes what the Secret holds, or fills it.
    async fn begin(&self) -> Result<(), CertificateError> {
        let Shared { source, options, now, .. } = &*self.shared;
        let Source::Made { client, namespace, secret, names } = source else { return Ok(()) };
        let secret = Secret::new(client.clone(), namespace, secret);
        for _ in 0..ATTEMPTS {
            let found = secret.read().await?;
            match &found.held {
                Some(held) if rotation::is_usable(held, names, now()) => return self.take(held, secret.title()),
                held => {
                    let held = rotation::fresh(held.as_ref(), names, options, now())?;
                    secret.write(found, &held).await?;
                }
            }
        }
        Err(CertificateError::Contended(secret.title().to_owned()))
    }

    fn take(&self, held: &Held, place: &str) -> Result<(), CertificateError> {
        *self.shared.bundle.write().unwrap_or_else(PoisonError::into_inner) = bundle_of(held);
        self.shared.shown.show(&held.serving, place)
    }
}

fn bundle_of(held: &Held) -> Option<Vec<u8>> {
    Some(held.bundle.clone().into_bytes()).filter(|bundle| !bundle.is_empty())
}
