//! Objects as a client sees them: from the form they rest in to the version that was asked for.

use bytes::{Bytes, BytesMut};
use http::Response;
use serde_json::Value;

use super::Call;
use crate::builtin::events;
use crate::convert;
use crate::http::answer;
use crate::http::body::Body;
use crate::http::media::{Encoding, View};
use crate::resource::{Origin, Resource};
use crate::schema::{defaults, prune};
use crate::status::Status;
use crate::store::Object;

impl Call {
    /// GET of one object.
    pub(crate) async fn get(&self) -> Result<Response<Body>, Status> {
        let object = self.api.store.get(&self.shelf(), &self.key()).ok_or_else(|| self.not_found())?;
        let plain = self.form.view == View::Whole && self.form.encoding == Encoding::Json;
        if plain && !self.is_foreign(&object) {
            let text = with_head(&self.head(), &object.text);
            return Ok(answer::text(200, text, answer::JSON, &self.warnings()));
        }
        let value = self.value(&object).await?;
        Ok(self.show(200, value))
    }

    /// Whether the text of an object is not what a client is to see.
    pub(crate) fn is_foreign(&self, object: &Object) -> bool {
        match &self.resource.origin {
            Origin::Custom { generation, .. } => {
                *object.index.version != *self.version || object.index.schema != *generation
            }
            _ => is_other_event(&self.resource),
        }
    }

    /// An object as data, in the version asked for.
    pub(crate) async fn value(&self, object: &Object) -> Result<Value, Status> {
        let api_version = self.api_version();
        if !self.is_foreign(object) {
            return Ok(object.value(&api_version, &self.resource.kind));
        }
        if is_other_event(&self.resource) {
            return Ok(events::from_core(&object.value("v1", "Event")));
        }
        let mut stored = object.value(&self.resource.api_version(&object.index.version), &self.resource.kind);
        // What came into the schema since the object was written is filled in by the version that it was written in.
        if let Some(version) = self.resource.versions.iter().find(|version| *version.name == *object.index.version) {
            defaults::apply(&mut stored, &version.schema);
        }
        let mut object = self.converted(stored, &api_version).await?;
        prune::prune(&mut object, &self.version().schema);
        Ok(object)
    }

    async fn converted(&self, object: Value, api_version: &str) -> Result<Value, Status> {
        let mut converted = convert::convert(&self.api, &self.resource, vec![object], api_version).await?;
        converted.pop().ok_or_else(|| Status::internal("the conversion webhook returned nothing"))
    }

    /// An object in the version that is stored.
    pub(crate) async fn for_storage(&self, object: Value) -> Result<Value, Status> {
        if is_other_event(&self.resource) {
            return Ok(events::to_core(&object));
        }
        if self.version == self.resource.storage {
            return Ok(object);
        }
        let stored = self.resource.api_version(&self.resource.storage);
        let mut object = self.converted(object, &stored).await?;
        prune::prune(&mut object, &self.resource.stored().schema);
        defaults::apply(&mut object, &self.resource.stored().schema);
        Ok(object)
    }

    /// What a client sees of an object that it has just written: what is stored, in its own version and shape.
    pub(crate) async fn as_written(&self, stored: Value, sealed: &Object) -> Result<Value, Status> {
        let other = self.resource.is_custom() && self.version != self.resource.storage;
        if other || is_other_event(&self.resource) { self.value(sealed).await } else { Ok(stored) }
    }

    /// The beginning of the text of an object in the version asked for.
    pub(crate) fn head(&self) -> String {
        head(&self.api_version(), &self.resource.kind)
    }
}

/// Whether a resource is the newer shape of events, which rest in the older one.
pub(crate) fn is_other_event(resource: &Resource) -> bool {
    resource.group == "events.k8s.io"
}

/// `apiVersion` and `kind`, which texts at rest leave out.
pub(crate) fn head(api_version: &str, kind: &str) -> String {
    format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",")
}

/// The text of an object with its head.
pub(crate) fn with_head(head: &str, text: &Bytes) -> Bytes {
    let mut whole = BytesMut::with_capacity(head.len() + text.len());
    whole.extend_from_slice(head.as_bytes());
    whole.extend_from_slice(text.get(1..).unwrap_or_default());
    whole.freeze()
}
