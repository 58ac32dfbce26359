//! Which form of an answer a client wants, and what form its body has.

use crate::status::Status;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// Whole objects, tables or metadata alone.
    pub view: View,
    /// JSON or YAML.
    pub encoding: Encoding,
}

/// How much of the objects is shown, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// As they are.
    #[default]
    Whole,
    /// A table.
    Table,
    /// `PartialObjectMetadata`
    Metadata,
    /// `PartialObjectMetadataList`
    MetadataList,
}

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// JSON
    #[default]
    Json,
    /// YAML
    Yaml,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Kubernetes' protobuf
    Protobuf,
}

impl Form {
    /// The first form in an `Accept` header that can be served.
    pub fn accepted(header: Option<&str>, custom: bool) -> Result<Self, Status> {
        let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Ok(Self::default()) };
        header.split(',').find_map(Self::read).ok_or_else(|| {
            let known = |clause: &str| matches!(essence(Some(clause)), "application/json" | "application/yaml");
            if custom || header.split(',').any(known) {
                let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
                return Status::other(406, "NotAcceptable", format!("only the following media types are accepted: {accepted}"));
            }
            Status::not_acceptable(
                "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, \
                 application/vnd.kubernetes.protobuf;stream=watch",
            )
        })
    }

    fn read(clause: &str) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        let encoding = match parts.next()? {
            "application/json" | "*/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            _ => return None,
        };
        let (mut view, mut version) = (View::Whole, None);
        for part in parts {
            match part.split_once('=') {
                Some(("as", "Table")) => view = View::Table,
                Some(("as", "PartialObjectMetadata")) => view = View::Metadata,
                Some(("as", "PartialObjectMetadataList")) => view = View::MetadataList,
                Some(("as", _)) => return None,
                Some(("v", text)) => version = Some(text),
                _ => {}
            }
        }
        let known = view == View::Whole || version == Some("v1");
        known.then_some(Self { view, encoding })
    }
}

impl Content {
    /// What a `Content-Type` header says of a body that is an object.
    pub fn of(header: Option<&str>) -> Result<Self, Status> {
        match essence(header) {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            other => {
                let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
                let message = format!(
                    "the body of the request was in an unknown format - accepted media types include: {accepted}"
                );
                tracing::debug!(other, "unknown content type");
                Err(Status::unsupported_media_type(message))
            }
        }
    }
}

/// A media type without its parameters.
pub fn essence(header: Option<&str>) -> &str {
    header.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
