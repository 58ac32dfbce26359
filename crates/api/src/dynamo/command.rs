//! A line for a shell, as far as it has to be read to find the command that starts an engine.

use super::backend::backend_of;
use crate::kinds::dynamo::Backend;
use std::ops::Range;

/// Options of Python's, beside letters, that take the next word.
const LONG_WITH_VALUE: &str = "--check-hash-based-pycs";

/// Where in a line an engine is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where its program begins.
    pub program: usize,
    /// Where flags for it may stand: behind its module, or behind the whole command.
    pub end: usize,
}

/// The engine that a line starts, as in `python3 -u -m dynamo.vllm`, and where. The module's name alone may stand in a message, too.
pub fn engine(line: &str) -> Option<(Backend, Place)> {
    commands(line, true).into_iter().find_map(|range| {
        let words = words(line, range);
        words.iter().enumerate().filter(|(_, (_, word))| is_python(bare(word))).find_map(|(i, (at, word))| {
            let (start, module) = module_behind(words[i + 1..].iter().copied())?;
            let name = module.trim_start_matches(QUOTES);
            let start = start + module.len() - name.len();
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c)).unwrap_or(name.len());
            // A quote around the program is a part of it; one that only begins there stands around the whole command.
            let program =
                if word.ends_with(QUOTES) { *at } else { at + word.len() - word.trim_start_matches(QUOTES).len() };
            Some((backend_of(&name[..end])?, Place { program, end: start + end }))
        })
    })
}

/// Where a line starts its engine: by its module, or else by the only command that there is.
pub fn place(line: &str) -> Option<Place> {
    if let Some((_, place)) = engine(line) {
        return Some(place);
    }
    match commands(line, false).as_slice() {
        [only] => {
            let words = words(line, only.clone());
            let is_before = |word: &str| word == "exec" || (word.contains('=') && !word.contains(QUOTES));
            let program = words.iter().find(|(_, word)| !is_before(word)).map_or(only.start, |(at, _)| *at);
            Some(Place { program, end: only.end })
        }
        _ => None,
    }
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

fn bare(word: &str) -> &str {
    word.trim_matches(QUOTES)
}

/// `python3`, also with a path before it.
fn is_python(word: &str) -> bool {
    word.rsplit('/').next().is_some_and(|name| name.starts_with("python"))
}

/// The words of a part of a line, and where they begin.
fn words(line: &str, range: Range<usize>) -> Vec<(usize, &str)> {
    let (part, from) = (&line[range.clone()], range.start);
    let mut words = Vec::new();
    let mut rest = part;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let (word, behind) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        // A line that goes on in the next one.
        if word != "\\" {
            words.push((from + part.len() - rest.len(), word));
        }
        rest = behind;
    }
    words
}

/// The module that Python is told to run by the words behind it, and where it stands.
fn module_behind<'a>(mut words: impl Iterator<Item = (usize, &'a str)>) -> Option<(usize, &'a str)> {
    while let Some((at, word)) = words.next() {
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
        if letters.starts_with('-') {
            if word == LONG_WITH_VALUE {
                words.next();
            }
            continue;
        }
        // Letters may stand together, and what follows one that takes a value is its value.
        let Some(i) = letters.find(['m', 'c', 'W', 'X']) else { continue };
        match (&letters[i..=i], &letters[i + 1..]) {
            ("m", "") => return words.next(),
            ("m", module) => return Some((at + 2 + i, module)),
            ("c", _) => return None,
            (_, "") => {
                words.next();
            }
            _ => {}
        }
    }
    None
}

/// The commands of a line: what stands between `|`, `&`, `;`, parentheses and ends of lines. Deep ones are parted in quotes and in `$(…)` too,
/// where a line for another shell may stand.
fn commands(line: &str, deep: bool) -> Vec<Range<usize>> {
    let (mut ranges, mut start) = (Vec::new(), 0);
    let (mut quote, mut depth, mut before) = (None, 0_usize, ' ');
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or('\n', |(_, next)| *next);
        let is_outer = quote.is_none() && depth == 0;
        let mut parts = false;
        match c {
            '\\' if quote != Some('\'') => {
                chars.next();
            }
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            '#' if is_outer && before.is_whitespace() => {
                while chars.next_if(|(_, c)| *c != '\n').is_some() {}
                ranges.push(start..at);
                start = chars.peek().map_or(line.len(), |(end, _)| *end);
            }
            '(' if before == '$' || depth > 0 => (depth, parts) = (depth + 1, deep),
            ')' if depth > 0 => (depth, parts) = (depth - 1, deep),
            // `2>&1` and `&> /log` part nothing.
            '&' if matches!(before, '>' | '<') || next == '>' => {}
            '|' | '&' | ';' | '(' | ')' | '\n' => parts = deep || is_outer,
            _ => {}
        }
        if parts {
            ranges.push(start..at);
            start = at + 1;
        }
        before = c;
    }
    ranges.push(start..line.len());
    let trimmed = |range: Range<usize>| {
        let part = line[range.clone()].trim_end();
        let end = range.start + part.len();
        end - part.trim_start().len()..end
    };
    ranges.into_iter().map(trimmed).filter(|range| !range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_started_by_python() {
        let check = |line: &str, expected: Option<&str>| {
            let found = engine(line);
            assert_eq!(found.map(|(_, place)| &line[place.program..place.end]), expected, "{line:?}");
            assert!(found.is_none_or(|(backend, _)| backend == Backend::Vllm), "{line:?}");
        };
        check("python3 -m dynamo.vllm --m", Some("python3 -m dynamo.vllm"));
        check("x python3.11 -u -m dynamo.vllm", Some("python3.11 -u -m dynamo.vllm"));
        check("python -X dev -Wignore -um dynamo.vllm.main", Some("python -X dev -Wignore -um dynamo.vllm.main"));
        check("(python3 -mdynamo.vllm)", Some("python3 -mdynamo.vllm"));
        check("\"/opt/python3\" -m \"dynamo.vllm\"", Some("\"/opt/python3\" -m \"dynamo.vllm"));
        check("bash -c 'python3 -m dynamo.vllm'", Some("python3 -m dynamo.vllm"));
        check("x=$(python3 \\\n -m dynamo.vllm)", Some("python3 \\\n -m dynamo.vllm"));
        check("python3 -m dynamo.frontend & python3 -m dynamo.vllm", Some("python3 -m dynamo.vllm"));
        let long = "python3 --check-hash-based-pycs always -m dynamo.vllm";
        check(long, Some(long));
        for line in [
            "python3 -u | cat -m dynamo.vllm",
            "python3 && x -m dynamo.vllm",
            "python3\n-m dynamo.vllm",
            "python3 serve.py -m dynamo.vllm",
            "python3 -c 1 -m dynamo.vllm",
            "python3 -X -m dynamo.vllm",
            "node -m dynamo.vllm",
            "echo dynamo.vllm",
            "# python3 -m dynamo.vllm",
            "python3 -m",
            "python3 -m dynamo.frontend",
            "",
        ] {
            check(line, None);
        }
    }

    /// Of several commands, none of which is known, any may be the engine.
    #[test]
    fn places() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(place(line).map(|place| &line[place.program..place.end]), expected, "{line:?}");
        };
        check(" serve it \n", Some("serve it"));
        check("A=1 exec serve 2>&1", Some("serve 2>&1"));
        check("serve &> /log", Some("serve &> /log"));
        check("serve --x 'a | b' \"c; d\" $(E) $((1 + 2)) &", Some("serve --x 'a | b' \"c; d\" $(E) $((1 + 2))"));
        check("serve \\\n it # or not", Some("serve \\\n it"));
        check("cd /w && python3 -u -m dynamo.vllm | tee /log", Some("python3 -u -m dynamo.vllm"));
        for line in ["serve | tee /log", "cd /w && serve", "a; b", "a\nb", "serve & wait", "", "# nothing"] {
            check(line, None);
        }
    }
}
