//! A command line that flags are added to: a line for a shell, or words.

use serde_json::{Map, Value, json};
use trellis_api::dynamo::started;

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

    /// The same for a shell: the user's own, with all that it is given, or any.
    fn into_shell(self) -> (Vec<String>, String, Vec<String>) {
        match self {
            Self::Shell { before, line, behind } => (before, line, behind),
            Self::Words(words) => (shell(), joined(&words), Vec::new()),
        }
    }

    /// Has a shell do something first. What the user's shell is given stays.
    #[must_use]
    pub fn after(self, first: &str) -> Self {
        let (before, line, behind) = self.into_shell();
        Self::Shell { before, line: format!("{first} && {line}"), behind }
    }

    /// Another line for the same shell.
    #[must_use]
    pub fn replaced(self, line: &str) -> Self {
        let (before, _, behind) = self.into_shell();
        Self::Shell { before, line: line.to_owned(), behind }
    }

    /// The words of a command in whose line the engine is started by a launcher. That one is given words only, since it parts them at
    /// spaces, so it stands inside the shell's line.
    pub fn launched_by(self, launcher: &str) -> String {
        let (before, mut line, behind) = self.into_shell();
        let at = module(&line).map_or(0, |module| module.program);
        line.insert_str(at, &format!("{launcher} "));
        joined(&[before, vec![line], behind].concat())
    }

    /// Adds flags behind the engine's name, or at the end. Flags that have to be worked out need a shell.
    pub fn add(&mut self, flags: &str, needs_shell: bool) {
        match self {
            Self::Shell { line, .. } => match module(line) {
                Some(module) => line.insert_str(module.end, &format!(" {flags}")),
                None => *line = format!("{} {flags}", line.trim_end()),
            },
            Self::Words(words) if !needs_shell => words.extend(flags.split(' ').map(str::to_owned)),
            Self::Words(words) => {
                let line = format!("exec {} {flags}", joined(words));
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

/// Where in a line the engine is started.
struct Module {
    /// Where the program begins that runs its module.
    program: usize,
    /// Where the name of the module ends.
    end: usize,
}

/// Finds `python3 -m dynamo.vllm`. The name alone may stand in a message, too.
fn module(line: &str) -> Option<Module> {
    line.match_indices(" -m ").find_map(|(at, flag)| {
        let before = line[..at].trim_end();
        let program = before.rfind([' ', '\t', '\n', '(', ';']).map_or(0, |end| end + 1);
        let rest = line[at + flag.len()..].trim_start();
        let start = line.len() - rest.len();
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').next().unwrap_or_default();
        started(&before[program..], name).map(|_| Module { program, end: start + name.len() })
    })
}

fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
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
        line.add("--a 1", needs_shell);
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
        check(
            &sh,
            &["echo dynamo.vllm -m me; (FAST=1 python3  -m dynamo.vllm --model m)"],
            true,
            &["/bin/sh", "-c", "echo dynamo.vllm -m me; (FAST=1 python3  -m dynamo.vllm --a 1 --model m)"],
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
    fn a_launcher_stands_before_the_engine() {
        let check = |command: &[&str], expected: &str| {
            let main = Map::from_iter([("command".to_owned(), json!(command))]);
            assert_eq!(Line::of(&main).expect("a command line").launched_by("launch"), expected, "{command:?}");
        };
        check(&["python3", "-m", "dynamo.trtllm", "a b"], r"/bin/sh -c 'launch python3 -m dynamo.trtllm '\''a b'\'''");
        check(
            &["bash", "-ec", "cd x && python3 -m dynamo.trtllm $0", "zero"],
            "bash -ec 'cd x && launch python3 -m dynamo.trtllm $0' zero",
        );
        check(&["serve"], "/bin/sh -c 'launch serve'");
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
