//! Runs kubectl and compares what it says.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::StreamExt;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use trellis_testkit::kubectl::{self, Version};

/// A command and what it should say.
pub struct Case {
    /// The arguments, divided by spaces.
    pub arguments: &'static str,
    /// What it reads from its standard input.
    pub input: &'static str,
    /// Words that are replaced in the input: from, to.
    pub replaced: &'static [(&'static str, &'static str)],
    /// Its exit code.
    pub code: i32,
    /// What its output or its errors contain, with one blank where there are more; after `!` what they must not.
    pub shows: &'static [&'static str],
    /// Whether it is run again until it says so, for what the server does in its own time.
    pub until: bool,
}

/// A command that goes on by itself, and what makes it say more.
pub struct Watch {
    pub arguments: &'static str,
    /// What it shows first, line by line.
    pub first: &'static [&'static str],
    /// Run when the first lines are there.
    pub then: Case,
    /// What one of the following lines contains.
    pub shows: &'static str,
}

/// A command that succeeds.
pub const fn ok(arguments: &'static str, shows: &'static [&'static str]) -> Case {
    Case { arguments, input: "", replaced: &[], code: 0, shows, until: false }
}

/// A command that fails.
pub const fn fails(arguments: &'static str, shows: &'static [&'static str]) -> Case {
    Case { code: 1, ..ok(arguments, shows) }
}

impl Case {
    pub const fn reads(self, input: &'static str) -> Self {
        Self { input, ..self }
    }

    pub const fn with(self, replaced: &'static [(&'static str, &'static str)]) -> Self {
        Self { replaced, ..self }
    }

    pub const fn in_time(self) -> Self {
        Self { until: true, ..self }
    }
}

/// A kubectl with a home of its own, so that it neither reads nor leaves anything in the user's.
pub struct Kubectl {
    program: PathBuf,
    version: Version,
    home: TempDir,
    /// What was read from the server, by the name under which inputs ask for it.
    remembered: Vec<(String, String)>,
}

/// As many as help on a small machine.
const AT_ONCE: usize = 4;
/// No command takes so long; one that does hangs.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often, and how many times, a command is run that may have to wait for the server.
const AGAIN: Duration = Duration::from_millis(500);
const TRIES: usize = 60;

impl Kubectl {
    pub async fn new(kubeconfig: &Path, version: Version) -> Self {
        let program = tokio::task::spawn_blocking(move || kubectl::path(version)).await.unwrap().unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::copy(kubeconfig, home.path().join("kubeconfig")).unwrap();
        let kubectl = Self { program, version, home, remembered: Vec::new() };
        // Not by `--namespace`, which would forbid objects of other namespaces in the same file.
        kubectl.one_by_one(&[ok("config set-context --current --namespace=kubectl", &["modified"])]).await;
        kubectl
    }

    /// Runs cases in their order.
    pub async fn one_by_one(&self, cases: &[Case]) {
        let mut faults = Vec::new();
        for case in cases {
            faults.extend(self.fault(case).await);
        }
        self.report(&faults);
    }

    /// Runs cases that do not depend on each other.
    pub async fn together(&self, cases: &[Case]) {
        let runs = futures::stream::iter(cases.iter().map(|case| self.fault(case)));
        let faults: Vec<Option<String>> = runs.buffered(AT_ONCE).collect().await;
        self.report(&faults.into_iter().flatten().collect::<Vec<_>>());
    }

    /// Runs watches in their order.
    pub async fn watch_each(&self, watches: &[Watch]) {
        for watch in watches {
            self.watch(watch).await;
        }
    }

    /// Starts a command, waits for what it shows first, and expects more of it after another command.
    async fn watch(&self, watch: &Watch) {
        let mut child = self.command(watch.arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = async |wanted: &str| {
            let found = async {
                while let Some(line) = lines.next_line().await.unwrap() {
                    if squeezed(&line).contains(wanted) {
                        return true;
                    }
                }
                false
            };
            let found = tokio::time::timeout(PATIENCE, found).await.unwrap_or_default();
            assert!(found, "kubectl {:?} {}: no line with {wanted:?}", self.version, watch.arguments);
        };
        for wanted in watch.first {
            next(wanted).await;
        }
        self.one_by_one(std::slice::from_ref(&watch.then)).await;
        next(watch.shows).await;
        child.kill().await.unwrap();
    }

    /// Keeps the words that a command says under these names.
    pub async fn remember(&mut self, names: &[&str], arguments: &str) {
        let (code, said) = self.run(arguments, "").await;
        assert_eq!(code, Some(0), "kubectl {arguments}: {said}");
        let words: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(words.len(), names.len(), "kubectl {arguments}: {said}");
        self.remembered = names.iter().zip(words).map(|(name, word)| ((*name).to_owned(), word.to_owned())).collect();
    }

    fn report(&self, faults: &[String]) {
        assert!(faults.is_empty(), "kubectl {}\n\n{}", self.version.name(), faults.join("\n\n"));
    }

    /// What is wrong about what a command says, if anything.
    async fn fault(&self, case: &Case) -> Option<String> {
        let mut input = case.input.to_owned();
        for (from, to) in case.replaced {
            assert!(input.contains(from), "{from:?} is not in the input of {}", case.arguments);
            input = input.replace(from, to);
        }
        for (from, to) in &self.remembered {
            input = input.replace(from, to);
        }
        let mut ticks = tokio::time::interval(AGAIN);
        let mut tries = if case.until { TRIES } else { 1 };
        loop {
            ticks.tick().await;
            tries -= 1;
            let (code, said) = self.run(case.arguments, &input).await;
            let fault = difference(case, code, &said)?;
            if tries == 0 {
                return Some(format!("{}\n{fault}\nit said: {said}", case.arguments));
            }
        }
    }

    /// The exit code, and output and errors, one after the other.
    async fn run(&self, arguments: &str, input: &str) -> (Option<i32>, String) {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Small inputs fit into the pipe; a command that reads nothing has closed it.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        match tokio::time::timeout(PATIENCE, child.wait_with_output()).await {
            Ok(output) => {
                let output = output.unwrap();
                let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
                (output.status.code(), said.join("\n"))
            }
            Err(_) => (None, format!("nothing, and it did not end within {} s", PATIENCE.as_secs())),
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let home = self.home.path();
        let mut command = Command::new(&self.program);
        command.args(arguments.split(' ')).current_dir(home).env_clear().kill_on_drop(true).stdout(Stdio::piped());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", home);
        command.env("HOME", home).env("KUBECONFIG", home.join("kubeconfig"));
        // For `edit`.
        command.env("KUBE_EDITOR", "sed -i -e s/day/night/ -e s/before/after/");
        command
    }
}

fn difference(case: &Case, code: Option<i32>, said: &str) -> Option<String> {
    if code != Some(case.code) {
        return Some(format!("ended with {code:?}, not {}", case.code));
    }
    let said = squeezed(said);
    case.shows.iter().find_map(|wanted| match wanted.strip_prefix('!') {
        Some(unwanted) => said.contains(unwanted).then(|| format!("shows {unwanted:?}")),
        None => (!said.contains(wanted)).then(|| format!("does not show {wanted:?}")),
    })
}

/// With one blank where there are several, since columns are as wide as their widest cell.
fn squeezed(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.join("\n")
}
