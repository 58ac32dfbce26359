//! Which line of a template a line of its output was written on: lines carry their numbers through the template, as
//! characters that nobody writes.

/// Marks around a line number. They are of the private area of Unicode.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';

/// Output without its marks.
#[derive(Debug, PartialEq, Eq)]
pub struct Marked {
    /// The output.
    pub text: String,
    /// For each line the line it was written on.
    pub lines: Vec<usize>,
}

/// The template with a mark before the first word of every line that has one. Where a line begins with a tag there is none:
/// tags may take away the space around them. Nothing if the text has such characters already.
pub fn mark(text: &str) -> Option<String> {
    if text.contains([OPEN, CLOSE]) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let (mut rest, mut line, mut at_start) = (text, 1, true);
    while !rest.is_empty() {
        if at_start {
            let word = rest.trim_start_matches([' ', '\t']);
            out.push_str(&rest[..rest.len() - word.len()]);
            rest = word;
            at_start = false;
            let is_tag = ["{%", "{#", "{{-"].iter().any(|tag| rest.starts_with(tag));
            if !is_tag && !rest.is_empty() && !rest.starts_with(['\n', '\r']) {
                out.extend([OPEN.to_string(), line.to_string(), CLOSE.to_string()]);
            }
        }
        let end = tag_end(rest);
        if end > 0 {
            line += rest[..end].matches('\n').count();
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        out.push(c);
        rest = &rest[c.len_utf8()..];
        if c == '\n' {
            line += 1;
            at_start = true;
        }
    }
    Some(out)
}

/// How long the tag is that the text begins with; nothing if it begins with none.
fn tag_end(text: &str) -> usize {
    for (open, close) in [("{#", "#}"), ("{{", "}}"), ("{%", "%}")] {
        if let Some(inner) = text.strip_prefix(open) {
            let is_comment = open == "{#";
            let mut quote = None;
            for (i, c) in inner.char_indices() {
                match quote {
                    Some(open) if c == open => quote = None,
                    None if !is_comment && (c == '"' || c == '\'') => quote = Some(c),
                    None if inner[i..].starts_with(close) => return open.len() + i + close.len(),
                    _ => {}
                }
            }
            return text.len();
        }
    }
    0
}

/// Takes the marks out. A line without one was written where the line before it was.
pub fn unmark(text: &str) -> Marked {
    let (mut out, mut lines) = (String::with_capacity(text.len()), Vec::new());
    let mut last = 1;
    for line in text.split_inclusive('\n') {
        let mut own = None;
        let mut rest = line;
        while let Some(open) = rest.find(OPEN) {
            out.push_str(&rest[..open]);
            rest = &rest[open + OPEN.len_utf8()..];
            let close = rest.find(CLOSE).unwrap_or(rest.len());
            own = own.or_else(|| rest[..close].parse::<usize>().ok());
            rest = rest.get(close + CLOSE.len_utf8()..).unwrap_or_default();
        }
        out.push_str(rest);
        last = own.unwrap_or(last);
        lines.push(last);
    }
    Marked { text: out, lines }
}
