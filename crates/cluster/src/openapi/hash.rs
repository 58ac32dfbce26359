//! A hash of all that a document is made of, which costs much less than the document.

use std::io;
use std::sync::Arc;

use ring::digest::{Context, SHA512};

use crate::discovery::{hex, served_in};
use crate::resource::Resource;

/// The hash of a document, if there is one: for its address, and in quotes as its `ETag`.
pub fn hash(resources: &[Arc<Resource>], group: &str, version: &str) -> Option<String> {
    let served = served_in(resources, group, version);
    if served.is_empty() {
        return None;
    }
    let mut digest = Digest(Context::new(&SHA512));
    // Another build of this program may describe the same resources in other words.
    digest.add(&(env!("CARGO_PKG_VERSION"), group, version));
    for (resource, version) in served {
        digest.add(&(&resource.plural, &resource.singular, &resource.kind, &resource.list_kind, resource.namespaced));
        digest.add(&(version.subresources.status, version.subresources.scale.is_some(), &version.subresources.others));
        digest.add(version.published.as_ref());
    }
    Some(hex(digest.0.finish().as_ref()))
}

struct Digest(Context);

impl Digest {
    fn add(&mut self, value: &impl serde::Serialize) {
        // Writing to a digest cannot fail, and all that is added has string keys.
        let _ = serde_json::to_writer(&mut *self, value);
    }
}

impl io::Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
