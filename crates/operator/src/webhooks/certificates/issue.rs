//! Makes certificates, and reads what is written in them.
//!
//! Every serving certificate has an authority of its own, whose key is thrown away once it has signed: nothing that could sign
//! another certificate is ever kept.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

use super::rotation::Pair;

/// Clocks of API servers may be behind ours.
const BACKDATED: Duration = Duration::from_mins(10);

/// A new authority, in PEM, and the certificate that it vouches for.
pub fn issue(names: &[String], lifetime: Duration, now: Timestamp) -> Result<(String, Pair), rcgen::Error> {
    let second = u64::try_from(now.as_second()).unwrap_or_default();
    let epoch = date_time_ymd(1970, 1, 1);
    let valid = |mut params: CertificateParams, name: String| {
        params.not_before = epoch + Duration::from_secs(second.saturating_sub(BACKDATED.as_secs()));
        params.not_after = epoch + Duration::from_secs(second.saturating_add(lifetime.as_secs()));
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let mut authority = valid(CertificateParams::default(), format!("trellis-operator webhooks {second}"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut leaf = valid(CertificateParams::new(names)?, "trellis-operator".to_owned());
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &authority)?.pem();
    Ok((authority.pem(), Pair { certificate, key: key.serialize_pem() }))
}

/// What is written in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// When it was made.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// Who it is for, in the form of the certificate.
    pub subject: Vec<u8>,
    /// Who vouches for it, in the same form.
    pub issuer: Vec<u8>,
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Facts {
    /// Reads the first certificate of a PEM text.
    pub fn of(pem: &str) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let (_, certificate) = x509_parser::parse_x509_certificate(&der).ok()?;
        let time = |seconds: i64| Timestamp::from_second(seconds).ok();
        let validity = certificate.validity();
        let (names, addresses) = alternatives(&certificate);
        Some(Self {
            issued: time(validity.not_before.timestamp())?.checked_add(BACKDATED).ok()?,
            expires: time(validity.not_after.timestamp())?,
            subject: certificate.subject().as_raw().to_vec(),
            issuer: certificate.issuer().as_raw().to_vec(),
            names,
            addresses,
        })
    }

    /// Whether the certificate is good for a name or an address.
    pub fn is_for(&self, name: &str) -> bool {
        match name.parse::<IpAddr>() {
            Ok(address) => self.addresses.contains(&address),
            Err(_) => self.names.iter().any(|one| one == name),
        }
    }

    /// Whether the time is within its life.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        now < self.expires
    }
}

fn alternatives(certificate: &X509Certificate<'_>) -> (Vec<String>, Vec<IpAddr>) {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    let extension = certificate.subject_alternative_name().ok().flatten();
    for name in extension.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) => names.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => {
                addresses.extend(<[u8; 4]>::try_from(*bytes).map(IpAddr::from));
                addresses.extend(<[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            }
            _ => {}
        }
    }
    (names, addresses)
}

/// The certificates of a PEM text, each by itself.
pub fn split(pem: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    pem.split_inclusive(END)
        .filter_map(|part| part.find("-----BEGIN CERTIFICATE-----").map(|start| format!("{}\n", &part[start..])))
        .filter(|part| part.contains(END))
        .collect()
}
