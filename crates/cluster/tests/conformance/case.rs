//! The case files, read and checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Names a case file and brings its text into the test program, so that it runs from any folder.
macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("cases/", $name, ".yaml")))),*] };
}

const FILES: &[(&str, &str)] = files![
    "admission",
    "apply-builtin",
    "apply-custom",
    "apply-subresources",
    "bad",
    "custom",
    "definitions",
    "deletion",
    "discovery",
    "events",
    "fields",
    "kinds",
    "lists",
    "names",
    "objects",
    "patch",
    "pods",
    "strategic",
    "subresources",
    "tables",
    "watches",
];

/// One sequence of requests.
#[derive(Debug)]
pub struct Case {
    /// The file it stands in.
    pub file: &'static str,
    /// What it shows.
    pub name: String,
    /// A name for the namespace of the case, unique among all cases.
    pub namespace: String,
    /// Texts and objects of the file for `{…}`.
    pub names: BTreeMap<String, Value>,
    /// In order.
    pub steps: Vec<Step>,
}

/// A step: exactly one of `request`, `watch`, `events` and `expire` is given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Step {
    /// Method and path.
    #[serde(rename = "do")]
    pub request: Option<String>,
    /// Sent as JSON.
    pub body: Option<Value>,
    /// Applied to the body as a merge patch.
    pub with: Option<Value>,
    /// Sent as it is.
    pub raw: Option<String>,
    /// Sent with the request, in place of what is usual for the method.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Who asks.
    #[serde(default)]
    pub token: Token,
    /// The name for the answer or the watch.
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// The status that the real server answers.
    pub expect: Option<u16>,
    /// A text in the real server's answer.
    pub has: Option<String>,
    /// Repeat until `expect` and `has` hold.
    #[serde(default)]
    pub eventually: bool,
    /// The only part of the body that is compared.
    pub at: Option<String>,
    /// A field, and the values of it that list items have which are compared.
    #[serde(default)]
    pub keep: BTreeMap<String, Vec<String>>,
    /// The path of a watch to open.
    pub watch: Option<String>,
    /// The name of a watch to read from.
    pub events: Option<String>,
    /// How many events to read.
    pub count: Option<usize>,
    /// Read until the stream ends.
    #[serde(default)]
    pub end: bool,
    /// Make the server forget its history.
    #[serde(default)]
    pub expire: bool,
}

/// Who sends a request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Token {
    /// The administrator.
    #[default]
    Admin,
    /// Somebody without a token.
    None,
    /// Somebody whose token the server does not know.
    Wrong,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    names: BTreeMap<String, Value>,
    cases: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    case: String,
    steps: Vec<Step>,
}

impl Case {
    /// The name by which `differences.yaml` and messages call it.
    pub fn title(&self) -> String {
        format!("{}: {}", self.file, self.name)
    }

    /// Whether it makes the server forget what others may still need.
    pub fn expires(&self) -> bool {
        self.steps.iter().any(|step| step.expire)
    }
}

impl Step {
    /// What the step is called in messages and in `differences.yaml`, counted from one.
    pub fn title(&self, index: usize) -> String {
        let (verb, what) = match (&self.request, &self.watch, &self.events) {
            (Some(request), ..) => ("", request.as_str()),
            (_, Some(path), _) => ("watch ", path.as_str()),
            (.., Some(name)) => ("events of ", name.as_str()),
            _ => ("", "expire"),
        };
        format!("{}. {verb}{what}", index + 1)
    }

    fn is_one_thing(&self) -> bool {
        let kinds = [self.request.is_some(), self.watch.is_some(), self.events.is_some(), self.expire];
        let bodies = [self.body.is_some(), self.raw.is_some()];
        let read = self.events.is_none() || self.count.is_some() != self.end;
        kinds.iter().filter(|&&given| given).count() == 1 && !(bodies[0] && bodies[1]) && read
    }
}

/// All cases of all files.
///
/// # Panics
/// If a file cannot be read as described at the top of the runner.
pub fn all() -> Vec<Case> {
    FILES.iter().flat_map(|(file, text)| read(file, text)).collect()
}

fn read(name: &'static str, text: &str) -> Vec<Case> {
    // `yes` and `on` are texts, as for everybody who reads YAML today.
    let mut options = serde_saphyr::Options::default();
    options.strict_booleans = true;
    let file: File =
        serde_saphyr::from_str_with_options(text, options).unwrap_or_else(|error| panic!("{name}.yaml: {error}"));
    let case = |(index, entry): (usize, Entry)| {
        let wrong = entry.steps.iter().position(|step| !step.is_one_thing());
        assert!(wrong.is_none(), "{name}.yaml: `{}`: step {wrong:?} has to be one thing", entry.case);
        let namespace = format!("{name}-{}", index + 1);
        Case { file: name, name: entry.case, namespace, names: file.names.clone(), steps: entry.steps }
    };
    file.cases.into_iter().enumerate().map(case).collect()
}
