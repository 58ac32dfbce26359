//! A certificate that is given as files, such as a mounted Secret that cert-manager keeps.

use std::io;
use std::path::Path;

use super::CertificateError;
use super::rotation::{Held, Pair};

/// Reads the folder. A folder that is mounted from a Secret changes as a whole; if it does so between two files, key and
/// certificate do not match, which shows, and the next look finds them matching.
pub fn read(folder: &Path) -> Result<Held, CertificateError> {
    let file = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|source| CertificateError::File { path, source })
    };
    let bundle = match file("ca.crt") {
        Err(CertificateError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    Ok(Held { serving: Pair { certificate: file("tls.crt")?, key: file("tls.key")? }, bundle, next: None })
}
