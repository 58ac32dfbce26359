//! The ZIP that KAI's `/get-snapshot` gives: one file `snapshot.json`, with the objects of the cluster in lists by kind.

use crate::input::{Document, Source, set_type};
use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;
use std::io::{Cursor, Read as _};
use std::rc::Rc;
use trellis_api::names::group;
use zip::ZipArchive;

/// Name of the file inside.
const ENTRY: &str = "snapshot.json";

/// Whether these are the contents of a ZIP file.
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Reads the objects of a snapshot.
pub fn read(file: &str, bytes: Vec<u8>, documents: &mut Vec<Document>) -> Result<()> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).with_context(|| format!("{file} is not readable as ZIP"))?;
    let mut text = String::new();
    let mut entry = archive.by_name(ENTRY).map_err(|error| match error {
        zip::result::ZipError::FileNotFound => {
            anyhow!("{file}: no {ENTRY} in it\nhint: of ZIP files those are read that KAI's /get-snapshot gives")
        }
        other => anyhow!(other).context(format!("cannot read {ENTRY} of {file}")),
    })?;
    entry.read_to_string(&mut text).with_context(|| format!("cannot read {ENTRY} of {file}"))?;
    let name = format!("{file}:{ENTRY}");
    let mut snapshot: Value = serde_json::from_str(&text).with_context(|| format!("{name}: not readable as JSON"))?;
    let Some(Value::Object(lists)) = snapshot.get_mut("rawObjects").map(Value::take) else {
        bail!("{name}: `rawObjects` is missing\nhint: of ZIP files those are read that KAI's /get-snapshot gives");
    };
    let source = Rc::new(Source::new(&name, 1, 0, text));
    for (list, items) in lists {
        let (Some((api_version, kind)), Value::Array(items)) = (type_of(&list), items) else { continue };
        for (i, mut value) in items.into_iter().enumerate() {
            set_type(&mut value, &api_version, kind);
            let prefix = format!("rawObjects.{list}[{i}]");
            documents.push(Document { source: source.clone(), prefix, value, is_workflow: false });
        }
    }
    Ok(())
}

/// What the objects of a list are; nothing for those that are of no use here.
fn type_of(list: &str) -> Option<(String, &'static str)> {
    let (group, version, kind) = match list {
        "pods" => return Some(("v1".to_owned(), "Pod")),
        "nodes" => return Some(("v1".to_owned(), "Node")),
        "queues" => (group::KAI_SCHEDULING, "v2", "Queue"),
        "podGroups" => (group::KAI_SCHEDULING, "v2alpha2", "PodGroup"),
        "bindRequests" => (group::KAI_SCHEDULING, "v1alpha2", "BindRequest"),
        "priorityClasses" => ("scheduling.k8s.io", "v1", "PriorityClass"),
        "topologies" => (group::KAI, group::V1ALPHA1, "Topology"),
        _ => return None,
    };
    Some((format!("{group}/{version}"), kind))
}
