//! What a request brings is read, cut down to what its kind knows, and filled with defaults.

use serde_json::{Value, json};

use super::Call;
use crate::builtin;
use crate::http::body;
use crate::http::media::Content;
use crate::patch;
use crate::protobuf;
use crate::schema::{defaults, prune};
use crate::status::{About, Fault, Status, What};

/// What is done about fields that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Strictness {
    Ignore,
    #[default]
    Warn,
    Strict,
}

impl Call {
    /// The object in a body, with the paths of fields that stand there twice.
    pub(crate) fn object(&self, bytes: &[u8]) -> Result<(Value, Vec<String>), Status> {
        let (mut object, twice) = self.read(bytes)?;
        let (api_version, kind) = self.wanted();
        if !self.resource.is_custom()
            && let Some(fields) = object.as_object_mut()
        {
            // A client may leave out what the path says.
            fields.entry("apiVersion").or_insert_with(|| api_version.clone().into());
            fields.entry("kind").or_insert_with(|| kind.clone().into());
        }
        let given = |field: &str| object[field].as_str().unwrap_or_default();
        for (field, name) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
            if given(field).is_empty() {
                let why = format!("Object '{name}' is missing in '{}'", String::from_utf8_lossy(bytes));
                return Err(body::unrecognized(bytes, &kind, &why));
            }
        }
        let (given_kind, given_version) = (given("kind"), given("apiVersion"));
        if given_kind == kind && given_version == api_version {
            return Ok((object, twice));
        }
        let version = given_version.rsplit('/').next().unwrap_or_default();
        let (group, _) = given_version.split_once('/').unwrap_or(("", given_version));
        let table = self.api.registry.table();
        let known =
            table.of_kind(group, given_kind).is_some_and(|other| !other.is_custom() && other.served(version).is_some());
        if self.resource.is_custom() && given_version == api_version {
            let fault = Fault::of(What::Invalid, "kind", given_kind.into(), format!("must be {kind}"));
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            return Err(Status::invalid(About { group: &self.resource.group, kind: given_kind, name }, &[fault]));
        }
        if self.resource.is_custom() {
            let message = format!(
                "the API version in the data ({given_version}) does not match the expected API version ({api_version})"
            );
            return Err(Status::bad_request(message));
        }
        let why = if known && !self.resource.is_custom() {
            format!("converting (v1.{given_kind}) to (core.{kind}): unknown conversion")
        } else {
            format!(
                "no kind {given_kind:?} is registered for version {given_version:?} in scheme \"pkg/runtime/scheme.go:111\""
            )
        };
        Err(Status::bad_request(format!("{given_kind} in version {version:?} cannot be handled as a {kind}: {why}")))
    }

    /// The object in a body whose kind belongs to a subresource.
    pub(crate) fn object_of_any_kind(&self, bytes: &[u8]) -> Result<Value, Status> {
        Ok(self.read(bytes)?.0)
    }

    /// The object in a body of a kind that belongs to a subresource.
    pub(crate) fn object_of(&self, bytes: &[u8], group: &str, kind: &str) -> Result<Value, Status> {
        let object = self.object_of_any_kind(bytes)?;
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let given = object["kind"].as_str().unwrap_or(kind);
        let version = api_version.rsplit('/').next().filter(|version| !version.is_empty()).unwrap_or("v1");
        let why = if given == kind {
            match builtin::unreadable(kind, group, &object) {
                Some(why) => why,
                None => return Ok(object),
            }
        } else {
            let table = self.api.registry.table();
            let known = table.of_kind(api_version.split_once('/').map_or("", |(group, _)| group), given);
            match known.filter(|known| !known.is_custom()) {
                Some(_) => format!("converting (v1.{given}) to (core.{kind}): unknown conversion"),
                None => format!(
                    "no kind {given:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
                ),
            }
        };
        Err(Status::bad_request(format!("{given} in version {version:?} cannot be handled as a {kind}: {why}")))
    }

    fn read(&self, bytes: &[u8]) -> Result<(Value, Vec<String>), Status> {
        let content = Content::of(Some(&self.content_type))?;
        let (api_version, kind) = self.wanted();
        if content == Content::Protobuf && self.resource.is_custom() && !protobuf::decodes(&api_version, &kind) {
            let accepted = "application/json, application/yaml";
            return Err(Status::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: {accepted}"
            )));
        }
        body::decode(bytes, content, &api_version, &kind)
    }

    /// The `apiVersion` and `kind` that a body should have.
    fn wanted(&self) -> (String, String) {
        (self.api_version(), self.resource.kind.clone())
    }

    /// Cuts an object down to what its kind knows and fills in what is not given.
    pub(crate) fn take_in(&self, object: &mut Value, twice: &[String]) -> Result<(), Status> {
        self.sift(object, twice).map_err(|why| Status::bad_request(self.in_words(&why)))
    }

    /// As [`Call::take_in`], for an object that a patch made: faults are the patch's.
    pub(crate) fn take_in_patched(&self, object: &mut Value, shown: &dyn Fn(&Value) -> String) -> Result<(), Status> {
        let before = object.clone();
        self.sift(object, &[]).map_err(|why| patch::unreadable(&shown(&before), &why))
    }

    /// As [`Call::take_in`], for an object that an applied configuration made: what nobody knows was refused already.
    pub(crate) fn take_in_applied(&self, object: &mut Value) -> Result<(), Status> {
        if !self.resource.is_custom() {
            return self.clean(object).map(drop).map_err(|why| Status::bad_request(self.in_words(&why)));
        }
        if let Some(why) = self.misfit(object) {
            return Err(Status::bad_request(self.in_words(&why)));
        }
        let schema = &self.version().schema;
        prune::prune_unknown(object, schema);
        builtin::settle_metadata(&mut object["metadata"]);
        defaults::apply(object, schema);
        Ok(())
    }

    /// Brings an object into the form of its kind, and returns what was in it that nobody knows.
    fn clean(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let version = self.version();
        if let Some(why) = self.misfit(object) {
            return Err(why);
        }
        let custom = self.resource.is_custom();
        let prune = if custom { prune::prune } else { prune::prune_unknown };
        let unknown = prune(object, &version.schema);
        if custom {
            prune::coerce(object, &version.schema).map_err(|fault| fault.to_string())?;
            builtin::settle_metadata(&mut object["metadata"]);
            defaults::apply(object, &version.schema);
        } else {
            builtin::default(&self.resource.kind, &self.resource.group, object);
            super::definitions::default(self, object);
        }
        Ok(unknown)
    }

    fn sift(&self, object: &mut Value, twice: &[String]) -> Result<(), String> {
        let unknown = self.clean(object)?;
        let complaints = twice
            .iter()
            .map(|path| format!("duplicate field {path:?}"))
            .chain(unknown.iter().map(|path| format!("unknown field {path:?}")));
        match self.strictness {
            Strictness::Ignore => {}
            Strictness::Warn => complaints.for_each(|complaint| self.warn(complaint)),
            Strictness::Strict => {
                let all: Vec<String> = complaints.collect();
                if !all.is_empty() {
                    return Err(format!("strict decoding error: {}", all.join(", ")));
                }
            }
        }
        Ok(())
    }

    /// Objects are read into typed fields, custom ones as far as their metadata go, so a wrong type is unreadable rather than invalid.
    fn misfit(&self, object: &Value) -> Option<String> {
        if self.resource.is_custom() {
            return builtin::unreadable_metadata(&object["metadata"]);
        }
        builtin::unreadable(&self.resource.kind, &self.resource.group, object)
    }

    /// How a real server says that a body of a built-in kind cannot be read.
    fn in_words(&self, why: &str) -> String {
        let kind = &self.resource.kind;
        format!("{kind} in version {:?} cannot be handled as a {kind}: {why}", self.version)
    }
}

impl Strictness {
    /// What a request asks for.
    pub(crate) fn of(text: Option<&str>, options: &str) -> Result<Self, Status> {
        match text {
            None | Some("Warn") => Ok(Self::Warn),
            Some("Ignore") => Ok(Self::Ignore),
            Some("Strict") => Ok(Self::Strict),
            Some(other) => {
                let supported = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
                let fault = Fault::of(What::NotSupported, "fieldValidation", other.into(), supported);
                Err(Status::invalid(About { group: "meta.k8s.io", kind: options, name: "" }, &[fault]))
            }
        }
    }
}

/// Whether a request wants to see what would happen, without it happening.
pub(crate) fn dry_run(values: &[String], options: &str) -> Result<bool, Status> {
    match values.iter().find(|value| *value != "All") {
        None => Ok(!values.is_empty()),
        Some(_) => {
            let fault = Fault::of(What::NotSupported, "dryRun", json!(values), "supported values: \"All\"");
            Err(Status::invalid(About { group: "meta.k8s.io", kind: options, name: "" }, &[fault]))
        }
    }
}
