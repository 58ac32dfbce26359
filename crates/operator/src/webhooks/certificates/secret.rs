//! The Secret that holds the certificate for all replicas. It is made by whoever comes first, and changed only by
//! compare-and-swap, so that all replicas go through the same certificates.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use trellis_api::names::{self, label};

use super::CertificateError;
use super::rotation::{Held, Pair};

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const BUNDLE: &str = "ca.crt";
/// The certificate that is shown once its authority is known everywhere.
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";

/// A Secret by name.
pub struct Secret {
    api: Api<v1::Secret>,
    name: String,
    title: String,
}

/// What was found there.
pub struct Found {
    secret: Option<v1::Secret>,
    /// What it holds, if it holds a certificate at all.
    pub held: Option<Held>,
}

impl Secret {
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        let title = format!("{namespace}/{name}");
        Self { api: Api::namespaced(client, namespace), name: name.to_owned(), title }
    }

    /// Namespace and name.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub async fn read(&self) -> Result<Found, CertificateError> {
        let secret = self.api.get_opt(&self.name).await.map_err(|error| self.error("read", error))?;
        let held = secret.as_ref().and_then(|secret| secret.data.as_ref()).and_then(held);
        Ok(Found { secret, held })
    }

    /// Writes, unless somebody else wrote since it was found. Returns whether it was written.
    pub async fn write(&self, found: Found, held: &Held) -> Result<bool, CertificateError> {
        let (doing, written) = match found.secret {
            Some(mut secret) => {
                fill(secret.data.get_or_insert_default(), held);
                ("change", self.api.replace(&self.name, &PostParams::default(), &secret).await)
            }
            None => {
                let mut data = BTreeMap::new();
                fill(&mut data, held);
                let labels = [(label::MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned())].into();
                let metadata =
                    ObjectMeta { name: Some(self.name.clone()), labels: Some(labels), ..ObjectMeta::default() };
                let type_ = Some("kubernetes.io/tls".to_owned());
                let secret = v1::Secret { metadata, data: Some(data), type_, ..v1::Secret::default() };
                ("create", self.api.create(&PostParams::default(), &secret).await)
            }
        };
        match written {
            Ok(_) => Ok(true),
            // Somebody else was faster, or took it away.
            Err(kube::Error::Api(status))
                if status.is_conflict() || status.is_already_exists() || status.is_not_found() && doing == "change" =>
            {
                Ok(false)
            }
            Err(error) => Err(self.error(doing, error)),
        }
    }

    fn error(&self, doing: &'static str, source: kube::Error) -> CertificateError {
        CertificateError::Api { doing, name: self.title.clone(), source: Box::new(source) }
    }
}

fn held(data: &BTreeMap<String, ByteString>) -> Option<Held> {
    let text = |key: &str| data.get(key).and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
    let pair = |certificate: &str, key: &str| Some(Pair { certificate: text(certificate)?, key: text(key)? });
    Some(Held {
        serving: pair(CERTIFICATE, KEY)?,
        bundle: text(BUNDLE).unwrap_or_default(),
        next: pair(NEXT_CERTIFICATE, NEXT_KEY),
    })
}

fn fill(data: &mut BTreeMap<String, ByteString>, held: &Held) {
    let mut put = |key: &str, text: Option<&String>| match text {
        Some(text) => drop(data.insert(key.to_owned(), ByteString(text.clone().into_bytes()))),
        None => drop(data.remove(key)),
    };
    put(CERTIFICATE, Some(&held.serving.certificate));
    put(KEY, Some(&held.serving.key));
    put(BUNDLE, Some(&held.bundle));
    put(NEXT_CERTIFICATE, held.next.as_ref().map(|next| &next.certificate));
    put(NEXT_KEY, held.next.as_ref().map(|next| &next.key));
}
