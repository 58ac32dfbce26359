//! YAML, and what is wrong with it in the words of a real server.

use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

/// Reads a document. A key that stands there twice is a fault only to the strict; the last one counts for others.
pub fn read(bytes: &[u8], strict: bool) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("error decoding YAML: {error}"))?;
    let mut options = serde_saphyr::Options::default();
    options.duplicate_keys = if strict { DuplicateKeyPolicy::Error } else { DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| said(&error.to_string()))
}

/// `error: line 4 column 21: duplicate mapping key: replicas, set …` and a picture after it.
fn said(error: &str) -> String {
    let first = error.lines().next().unwrap_or_default();
    let first = first.trim_start_matches("error: ");
    let (place, why) = first.split_once(": ").unwrap_or(("", first));
    let line = place.strip_prefix("line ").and_then(|rest| rest.split(' ').next()).unwrap_or("1");
    match why.strip_prefix("duplicate mapping key: ") {
        Some(rest) => {
            let key = rest.split(',').next().unwrap_or_default();
            format!(
                "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line {line}: key {key:?} already \
                 set in map"
            )
        }
        None => format!("error decoding YAML: error converting YAML to JSON: yaml: {why}"),
    }
}
