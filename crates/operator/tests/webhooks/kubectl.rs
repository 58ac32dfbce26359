//! Runs kubectl and compares what it says.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use trellis_testkit::kubectl::{Version, path};

/// A command and what it should say.
#[derive(Clone, Copy)]
pub struct Case {
    /// The arguments, divided by spaces.
    arguments: &'static str,
    input: &'static str,
    /// Words that are replaced in the input: from, to.
    replaced: &'static [(&'static str, &'static str)],
    code: i32,
    /// What its output or its errors contain; after `!` what they must not.
    shows: &'static [&'static str],
    until: bool,
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
    /// What it reads from its standard input.
    pub const fn reads(self, input: &'static str) -> Self {
        Self { input, ..self }
    }

    /// With these words replaced in the input.
    pub const fn with(self, replaced: &'static [(&'static str, &'static str)]) -> Self {
        Self { replaced, ..self }
    }

    /// Run again until it says so, for what a server does in its own time.
    pub const fn in_time(self) -> Self {
        Self { until: true, ..self }
    }
}

/// No command takes so long; one that does hangs.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often, and how many times, a command is run that may have to wait for the server.
const AGAIN: Duration = Duration::from_millis(250);
const TRIES: usize = 120;

/// A kubectl with a home of its own, so that it neither reads nor leaves anything in the user's.
pub struct Kubectl {
    of: &'static str,
    program: PathBuf,
    home: TempDir,
}

impl Kubectl {
    /// For the server `of` this kubeconfig.
    pub async fn new(of: &'static str, kubeconfig: &Path) -> Self {
        let program = tokio::task::spawn_blocking(|| path(Version::V1_36)).await.expect("a task").expect("kubectl");
        let home = tempfile::tempdir().expect("a folder");
        std::fs::copy(kubeconfig, home.path().join("kubeconfig")).expect("a kubeconfig");
        Self { of, program, home }
    }

    /// Runs cases in their order, and tells of all that went wrong.
    pub async fn one_by_one(&self, cases: &[Case]) {
        let mut faults = Vec::new();
        for case in cases {
            faults.extend(self.fault(case).await);
        }
        assert!(faults.is_empty(), "{}\n\n{}", self.of, faults.join("\n\n"));
    }

    async fn fault(&self, case: &Case) -> Option<String> {
        let mut input = case.input.to_owned();
        for (from, to) in case.replaced {
            assert!(input.contains(from), "{from:?} is not in the input of {}", case.arguments);
            input = input.replace(from, to);
        }
        let mut ticks = tokio::time::interval(AGAIN);
        for tries in 1.. {
            ticks.tick().await;
            let (code, said) = self.run(case.arguments, &input).await;
            let fault = difference(case, code, &said)?;
            if !case.until || tries == TRIES {
                return Some(format!("kubectl {}\n{input}{fault}\nit said: {said}", case.arguments));
            }
        }
        None
    }

    /// The exit code, and output and errors, one after the other.
    async fn run(&self, arguments: &str, input: &str) -> (Option<i32>, String) {
        let home = self.home.path();
        let mut command = Command::new(&self.program);
        command.args(arguments.split(' ')).current_dir(home).env_clear().kill_on_drop(true);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", home);
        command.env("HOME", home).env("KUBECONFIG", home.join("kubeconfig"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl");
        let mut stdin = child.stdin.take().expect("its input");
        // Small inputs fit into the pipe; a command that reads nothing has closed it.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        match tokio::time::timeout(PATIENCE, child.wait_with_output()).await {
            Ok(output) => {
                let output = output.expect("its output");
                let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
                (output.status.code(), said.join("\n"))
            }
            Err(_) => (None, format!("nothing, and it did not end within {} s", PATIENCE.as_secs())),
        }
    }
}

fn difference(case: &Case, code: Option<i32>, said: &str) -> Option<String> {
    if code != Some(case.code) {
        return Some(format!("ended with {code:?}, not {}", case.code));
    }
    case.shows.iter().find_map(|wanted| match wanted.strip_prefix('!') {
        Some(unwanted) => said.contains(unwanted).then(|| format!("shows {unwanted:?}")),
        None => (!said.contains(wanted)).then(|| format!("does not show {wanted:?}")),
    })
}
