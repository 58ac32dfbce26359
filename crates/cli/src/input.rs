//! Reads files: YAML and JSON, several documents each, directories and stdin; and ZIP files of KAI's snapshots.

use crate::lines::Lines;
use crate::zipped;
use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;
use serde_saphyr::{MessageFormatter as _, UserMessageFormatter};
use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use trellis_api::osmo::template;

/// The text of one document, and where it stands.
#[derive(Debug)]
pub struct Source {
    /// Name of the file, for messages.
    pub file: String,
    /// Position of the document in its file, from 1.
    pub number: usize,
    /// Line of the file before the document's first.
    pub line_offset: usize,
    /// The document itself.
    pub text: String,
    /// Lines of its fields, read when one is asked for.
    lines: OnceCell<Lines>,
    /// For each line of the text the line that it was written on, where templates have moved them.
    pub written_on: Option<Vec<usize>>,
}

impl Source {
    /// A document of a file.
    pub fn new(file: &str, number: usize, line_offset: usize, text: String) -> Self {
        Self { file: file.to_owned(), number, line_offset, text, lines: OnceCell::new(), written_on: None }
    }

    /// The line of the file on which a line of the text was written.
    pub fn line(&self, line: usize) -> usize {
        let written = self.written_on.as_ref().and_then(|lines| lines.get(line.saturating_sub(1)).or(lines.last()));
        self.line_offset + written.copied().unwrap_or(line)
    }
}

/// A document and what it says.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it stands.
    pub source: Rc<Source>,
    /// Path of the object within the document, for items of a List.
    pub prefix: String,
    /// The object.
    pub value: Value,
    /// Whether the text is an OSMO workflow, which is a template before it is YAML and has no value yet.
    pub is_workflow: bool,
}

impl Document {
    /// `file:line` of a field, or of the object where the field is not written.
    pub fn place(&self, field: &str) -> String {
        let field = match (self.prefix.as_str(), field) {
            ("", field) => field.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, field) => format!("{prefix}.{field}"),
        };
        let source = &self.source;
        let lines = source.lines.get_or_init(|| Lines::of(&source.text));
        format!("{}:{}", source.file, source.line(lines.of_field(&field)))
    }
}

/// Reads all documents of all files, in the order given; directories by the names of their files.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("cannot read stdin")?;
            read_bytes("<stdin>", bytes, &mut documents)?;
        } else if path.is_dir() {
            for file in files_of(path)? {
                read_file(&file, &mut documents)?;
            }
        } else {
            read_file(path, &mut documents)?;
        }
    }
    Ok(documents)
}

/// The manifests of a directory, as kubectl takes them: not those of folders below it.
fn files_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read directory {}", directory.display());
    let entries = std::fs::read_dir(directory).with_context(cannot)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(cannot)?.path();
        let is_manifest = path.extension().is_some_and(|ext| ["yaml", "yml", "json"].iter().any(|known| ext == *known));
        if is_manifest && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("no manifests in {}\nhint: files named *.yaml, *.yml and *.json are read", directory.display());
    }
    files.sort();
    Ok(files)
}

fn read_file(path: &Path, documents: &mut Vec<Document>) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    read_bytes(&path.display().to_string(), bytes, documents)
}

fn read_bytes(file: &str, bytes: Vec<u8>, documents: &mut Vec<Document>) -> Result<()> {
    if zipped::is_zip(&bytes) {
        return zipped::read(file, bytes, documents);
    }
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{file} is not UTF-8 text"))?;
    read_text(file, &text, documents)
}

/// Reads the documents of one text.
pub fn read_text(file: &str, text: &str, documents: &mut Vec<Document>) -> Result<()> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = text.trim_start().starts_with(['{', '[']);
    for source in split(file, text) {
        if template::is_workflow(&source.text) {
            let (source, prefix) = (Rc::new(source), String::new());
            documents.push(Document { source, prefix, value: Value::Null, is_workflow: true });
            continue;
        }
        let values = match is_json.then(|| read_json(&source.text)) {
            // What looks like JSON and is not may still be YAML in flow style.
            Some(Ok(values)) => values,
            _ => vec![read_yaml(&source)?],
        };
        let source = Rc::new(source);
        for value in values {
            let prefix = String::new();
            flatten(Document { source: source.clone(), prefix, value, is_workflow: false }, documents);
        }
    }
    Ok(())
}

/// Reads the one YAML document of a source.
pub fn read_yaml(source: &Source) -> Result<Value> {
    serde_saphyr::from_str_with_options(&source.text, options()).map_err(|error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
        let message = UserMessageFormatter.format_message(error.without_snippet()).escape_debug().to_string();
        let (file, line, number) = (&source.file, source.line(line), source.number);
        anyhow!("{file}:{line} (document {number}): not readable as YAML: {message}")
    })
}

/// As strict as kubectl about keys that stand twice, and with room for large clusters.
pub fn options() -> serde_saphyr::Options {
    let mut options = serde_saphyr::Options::default();
    if let Some(budget) = &mut options.budget {
        budget.max_events = 500_000_000;
        budget.max_nodes = 250_000_000;
        budget.max_total_scalar_bytes = 2 << 30;
    }
    options
}

fn read_json(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    serde_json::Deserializer::from_str(text).into_iter().collect()
}

/// Splits at lines that begin with `---`, as kubectl does, and leaves out documents without content.
fn split(file: &str, text: &str) -> Vec<Source> {
    let mut documents: Vec<(usize, String)> = vec![(0, String::new())];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let rest = line.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        match rest {
            // What follows on the line belongs to the new document; spaces keep its column.
            Some(rest) => documents.push((number, format!("   {rest}"))),
            None => {
                if let Some((_, text)) = documents.last_mut() {
                    text.push_str(line);
                }
            }
        }
    }
    let has_content = |text: &str| {
        text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#') && line != "...")
    };
    let with_content = documents.into_iter().filter(|(_, text)| has_content(text));
    with_content.enumerate().map(|(i, (line_offset, text))| Source::new(file, i + 1, line_offset, text)).collect()
}

/// Takes the items out of Lists. Those of a list of one kind, as the API gives it, need not repeat what they are.
fn flatten(mut document: Document, documents: &mut Vec<Document>) {
    let of_kind = document.value["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    match (document.value.get_mut("items").map(Value::take), of_kind) {
        (Some(Value::Array(items)), Some(kind)) => {
            let api_version = document.value["apiVersion"].as_str().unwrap_or_default().to_owned();
            for (i, mut value) in items.into_iter().enumerate() {
                if !kind.is_empty() {
                    set_type(&mut value, &api_version, &kind);
                }
                let prefix = match document.prefix.as_str() {
                    "" => format!("items[{i}]"),
                    outer => format!("{outer}.items[{i}]"),
                };
                flatten(Document { source: document.source.clone(), prefix, value, is_workflow: false }, documents);
            }
        }
        (taken, _) => {
            if let Some(items) = taken {
                document.value["items"] = items;
            }
            documents.push(document);
        }
    }
}

/// Says what an object is, if it does not say so itself.
pub fn set_type(value: &mut Value, api_version: &str, kind: &str) {
    if let Some(fields) = value.as_object_mut()
        && !fields.contains_key("kind")
    {
        fields.insert("kind".to_owned(), kind.into());
        fields.entry("apiVersion").or_insert_with(|| api_version.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<Document> {
        let mut documents = Vec::new();
        read_text("f", text, &mut documents).expect("readable");
        documents
    }

    #[test]
    fn documents_keep_their_lines() {
        let documents = read_all("# c\n---\n\n---\na: 1\nb:\n  c: 2\n--- {d: 3}\n---\n# only a comment\n");
        let places: Vec<_> = documents.iter().map(|d| (d.value.to_string(), d.source.number, d.place(""))).collect();
        assert_eq!(
            places,
            [
                (r#"{"a":1,"b":{"c":2}}"#.to_owned(), 1, "f:5".to_owned()),
                (r#"{"d":3}"#.to_owned(), 2, "f:8".to_owned())
            ]
        );
        assert_eq!(documents[0].place("b.c"), "f:7");
        assert_eq!(documents[0].place("b.missing"), "f:6");
    }

    #[test]
    fn lists_are_taken_apart() {
        let documents = read_all("kind: List\nitems:\n- kind: A\n- kind: PodList\n  items:\n  - kind: B\n    x: 1\n");
        let kinds: Vec<_> = documents.iter().map(|d| d.value["kind"].to_string()).collect();
        assert_eq!(kinds, ["\"A\"", "\"B\""]);
        assert_eq!(documents[1].place("x"), "f:7");
        let documents = read_all(r#"{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}"#);
        assert_eq!(documents[0].value["kind"], "Node");
        assert_eq!(documents[0].value["apiVersion"], "v1");
    }

    #[test]
    fn json_streams_and_flow_yaml_are_read() {
        assert_eq!(read_all("{\"a\": 1}\n{\"b\": 2}").len(), 2);
        assert_eq!(read_all("{a: 1, b: [x]}")[0].value["b"][0], "x");
        assert_eq!(read_all("\u{feff}a: yes")[0].value["a"], true);
    }

    #[test]
    fn errors_point_to_file_document_and_line() {
        let error = read_text("f.yaml", "a: 1\n---\nb: 1\nb: 2\n", &mut Vec::new()).expect_err("b stands twice");
        assert!(error.to_string().starts_with("f.yaml:4 (document 2): "), "{error}");
    }
}
