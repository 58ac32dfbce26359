//! A command line that flags are added to: a line for a shell, or words.

use serde_json::{Map, Value, json};
use trellis_api::kinds::dynamo::Backend;

/// The command line of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `sh -c` and a line; what stands before and behind the line is kept.
    Shell { before: Vec<String>, line: String, behind: Vec<String> },
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Line {
    /// The command line, unless the image has its own.
    pub fn of(main: &Map<String, Value>) -> Option<Self> {
        let list = |field: &str| main.get(field).and_then(Value::as_array).into_iter().flatten();
        let words: Vec<String> =
            list("command").chain(list("args")).filter_map(|word| Some(word.as_str()?.to_owned())).collect();
        if words.is_empty() {
            return None;
        }
        let at = words.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
        match at.filter(|at| is_shell(&words[0]) && words.len() > at + 1) {
            Some(at) => Some(Self::Shell {
                before: words[..=at].to_vec(),
                line: words[at + 1].clone(),
                behind: words[at + 2..].to_vec(),
            }),
            None => Some(Self::Words(words)),
        }
    }

    /// Puts it back.
    pub fn write(self, main: &mut Map<String, Value>) {
        let (command, args) = match self {
            Self::Shell { before, line, behind } => {
                let args: Vec<String> = std::iter::once(line).chain(behind).collect();
                (before, args)
            }
            Self::Words(mut words) => {
                let args = words.split_off(words.len().min(1));
                (words, args)
            }
        };
        main.insert("command".to_owned(), json!(command));
        main.insert("args".to_owned(), json!(args));
    }

    /// The whole as a line for a shell.
    pub fn text(&self) -> String {
        match self {
            Self::Shell { line, .. } => line.clone(),
            Self::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// Adds flags behind the engine's name, or at the end. Flags that have to be worked out need a shell.
    pub fn add(&mut self, backend: Backend, flags: &str, needs_shell: bool) {
        match self {
            Self::Shell { line, .. } => match end_of_module(line, backend) {
                Some(end) => line.insert_str(end, &format!(" {flags}")),
                None => *line = format!("{} {flags}", line.trim_end()),
            },
            Self::Words(words) if !needs_shell => words.extend(flags.split(' ').map(str::to_owned)),
            Self::Words(_) => {
                let line = format!("exec {} {flags}", self.text());
                *self = Self::Shell { before: shell(), line, behind: Vec::new() };
            }
        }
    }

    /// The number behind a flag, by any of its names: `--flag 8`, `--flag=8`.
    pub fn number(&self, names: &[&str]) -> Option<i64> {
        let text = match self {
            Self::Shell { line, .. } => line.clone(),
            Self::Words(words) => words.join(" "),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let value = |(i, word): (usize, &&str)| match word.split_once('=') {
            Some((name, value)) if names.contains(&name) => value.parse().ok(),
            None if names.contains(word) => words.get(i + 1)?.parse().ok(),
            _ => None,
        };
        words.iter().enumerate().find_map(value)
    }
}

/// A shell that reads a line.
pub fn shell() -> Vec<String> {
    ["/bin/sh", "-c"].map(str::to_owned).to_vec()
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash" | "zsh"))
}

/// Where the name of the engine's module ends.
fn end_of_module(line: &str, backend: Backend) -> Option<usize> {
    let name = format!("dynamo.{}", backend.as_str());
    let start = line.find(&name)? + name.len();
    // `dynamo.vllm.main` ends later.
    let rest = &line[start..];
    Some(start + rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len()))
}

/// A word that a shell takes as it is. Kubernetes fills in `$(NAME)` before the shell sees it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &[&str], args: &[&str], needs_shell: bool, expected: &[&str]) {
        let mut main = Map::from_iter([("command".to_owned(), json!(command)), ("args".to_owned(), json!(args))]);
        let mut line = Line::of(&main).expect("a command line");
        line.add(Backend::Vllm, "--a 1", needs_shell);
        line.write(&mut main);
        let words = ["command", "args"].map(|field| main[field].as_array().cloned().unwrap_or_default()).concat();
        assert_eq!(words, expected, "{command:?} {args:?}");
    }

    #[test]
    fn flags_stand_behind_the_engine() {
        let sh = ["/bin/sh", "-c"];
        check(
            &sh,
            &["python3 -m dynamo.vllm --model m"],
            true,
            &["/bin/sh", "-c", "python3 -m dynamo.vllm --a 1 --model m"],
        );
        check(&sh, &["python3 -m dynamo.vllm"], false, &["/bin/sh", "-c", "python3 -m dynamo.vllm --a 1"]);
        check(
            &sh,
            &["x && python3 -m dynamo.vllm.main; y"],
            true,
            &["/bin/sh", "-c", "x && python3 -m dynamo.vllm.main --a 1; y"],
        );
        check(&["bash", "-ec"], &["serve it", "zero"], true, &["bash", "-ec", "serve it --a 1", "zero"]);
        check(&["python3"], &["-m", "dynamo.vllm"], false, &["python3", "-m", "dynamo.vllm", "--a", "1"]);
        check(
            &["python3", "-m"],
            &["dynamo.vllm", "it's"],
            true,
            &["/bin/sh", "-c", r"exec python3 -m dynamo.vllm 'it'\''s' --a 1"],
        );
        assert_eq!(Line::of(&Map::new()), None);
    }

    #[test]
    fn numbers_behind_flags() {
        let check = |text: &str, expected: Option<i64>| {
            let line = Line::Words(text.split(' ').map(str::to_owned).collect());
            assert_eq!(line.number(&["--tensor-parallel-size", "-tp"]), expected, "{text}");
        };
        check("x --tensor-parallel-size 8", Some(8));
        check("x --tensor-parallel-size=16 y", Some(16));
        check("x -tp 4", Some(4));
        check("x --tensor-parallel-sizes 8", None);
        check("x --tensor-parallel-size", None);
        check("x --tensor-parallel-size many", None);
    }
}
