//! A command line that flags are added to: a line for a shell, or words.

use serde_json::{Map, Value, json};
use trellis_api::dynamo::place;

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
        match line_of_shell(&words) {
            Some(at) => Some(Self::Shell {
                before: words[..at].to_vec(),
                line: words[at].clone(),
                behind: words[at + 1..].to_vec(),
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
        let at = place(&line).map_or(0, |place| place.program);
        line.insert_str(at, &format!("{launcher} "));
        joined(&[before, vec![line], behind].concat())
    }

    /// Whether it can be told which of its commands is the engine.
    pub fn has_place(&self) -> bool {
        match self {
            Self::Shell { line, .. } => place(line).is_some(),
            Self::Words(_) => true,
        }
    }

    /// Adds flags behind the engine's name, or behind the only command. Flags that have to be worked out need a shell.
    pub fn add(&mut self, flags: &str, needs_shell: bool) {
        match self {
            Self::Shell { line, .. } => {
                if let Some(place) = place(line) {
                    line.insert_str(place.end, &format!(" {flags}"));
                }
            }
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

/// Where the line stands that a shell is given, also one that another program starts, as in `tini -- bash -c`.
fn line_of_shell(words: &[String]) -> Option<usize> {
    let shell = words.iter().position(|word| is_shell(word))?;
    let is_line_next = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let options = words[shell + 1..].iter().take_while(|word| word.starts_with(['-', '+']));
    let at = shell + 2 + options.clone().position(is_line_next)?;
    (at < words.len()).then_some(at)
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash" | "zsh"))
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
        for start in [
            "python3 -u -m dynamo.vllm",
            "python3 -X dev -W ignore -um dynamo.vllm",
            "python3 -OOmdynamo.vllm",
            "python3 \\\n  -u -m dynamo.vllm",
            "cd /w && A=1 exec /usr/bin/python3 -u -m dynamo.vllm",
            "python3 x.py; python3 -u -m dynamo.vllm",
            "bash -lc 'python3 -u -m dynamo.vllm",
        ] {
            check(
                &sh,
                &[&format!("{start} --m 2>&1 | tee /l")],
                true,
                &["/bin/sh", "-c", &format!("{start} --a 1 --m 2>&1 | tee /l")],
            );
        }
        // The only command that there is.
        check(&sh, &["serve it 2>&1"], true, &["/bin/sh", "-c", "serve it 2>&1 --a 1"]);
        check(&sh, &["A='x; y' serve \\\n it\n"], true, &["/bin/sh", "-c", "A='x; y' serve \\\n it --a 1\n"]);
        check(
            &["tini", "--", "bash", "-c"],
            &["python3 -m dynamo.vllm | tee"],
            true,
            &["tini", "--", "bash", "-c", "python3 -m dynamo.vllm --a 1 | tee"],
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
        check(
            &["sh", "-c", "cd /w && python3 -u -m dynamo.trtllm"],
            "sh -c 'cd /w && launch python3 -u -m dynamo.trtllm'",
        );
        check(&["sh", "-c", "A=1 exec serve"], "sh -c 'A=1 exec launch serve'");
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
