//! Tokens that stand for what is known only when a task runs: `{{host:task}}`, `{{workflow_id}}` and so on. They look like
//! templates and are none: templates leave them alone, and pods get what they stand for.

use crate::kinds::osmo::Task;

/// What stands in for the braces while templates are rendered. They are of the private area of Unicode.
const OPEN: &str = "\u{E002}";
const CLOSE: &str = "\u{E003}";

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// The workflow's unique id.
    Uuid,
    /// The workflow's name.
    WorkflowId,
    /// Where a task leaves what it makes.
    Output,
    /// Where a task finds an input, by number or by task.
    Input(&'a str),
    /// The host name of a task.
    Host(&'a str),
}

impl<'a> Token<'a> {
    /// The token between braces, if there is one.
    fn read(inner: &'a str) -> Option<Self> {
        let inner = inner.trim();
        let named = |prefix: &str| {
            let name = inner.strip_prefix(prefix)?.trim();
            let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            (!name.is_empty() && name.chars().all(fit)).then_some(name)
        };
        match inner {
            "uuid" => Some(Self::Uuid),
            "workflow_id" => Some(Self::WorkflowId),
            "output" => Some(Self::Output),
            _ => named("host:").map(Self::Host).or_else(|| named("input:").map(Self::Input)),
        }
    }
}

/// Walks over the text, and gives each token, or none for the text between two.
fn walk<'a>(text: &'a str, mut visit: impl FnMut(&'a str, Option<Token<'a>>)) {
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let inner = &rest[open + 2..];
        let token = inner.find("}}").and_then(|close| Some((close, Token::read(&inner[..close])?)));
        let (end, token) = token.map_or((open + 2, None), |(close, token)| (open + close + 4, Some(token)));
        let start = if token.is_some() { open } else { end };
        visit(&rest[..start], None);
        if token.is_some() {
            visit(&rest[open..end], token);
        }
        rest = &rest[end..];
    }
    visit(rest, None);
}

/// All tokens of a text.
pub fn all(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    walk(text, |_, token| found.extend(token));
    found
}

/// The tasks whose hosts a task names.
pub fn hosts_of(task: &Task) -> impl Iterator<Item = &str> {
    let environment = task.environment.values().filter_map(|value| value.as_str());
    let files = task.files.iter().filter(|file| !file.base64).map(|file| file.contents.as_str());
    let texts = task.command.iter().chain(&task.args).map(String::as_str).chain(environment).chain(files);
    texts.flat_map(all).filter_map(|token| match token {
        Token::Host(task) => Some(task),
        _ => None,
    })
}

/// The text with what its tokens stand for; those for which there is nothing stay.
pub fn replace(text: &str, stands_for: impl Fn(Token<'_>) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    walk(text, |part, token| match token.and_then(&stands_for) {
        Some(value) => out.push_str(&value),
        None => out.push_str(part),
    });
    out
}

/// Hides tokens from templates.
pub(super) fn hide(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    walk(text, |part, token| match token {
        Some(_) => out.extend([OPEN, &part[2..part.len() - 2], CLOSE]),
        None => out.push_str(part),
    });
    out
}

/// Shows hidden tokens again.
pub(super) fn show(text: &str) -> String {
    text.replace(OPEN, "{{").replace(CLOSE, "}}")
}
