//! Child processes that cannot outlive this one, however it ends.
//!
//! Destructors do not run when a process is killed, nor for what lives in a `static`. So every child gets a small shell
//! as its parent, which reads from a pipe that only this process holds: the operating system closes the pipe when this
//! process is gone, and the shell then kills the child, waits for it, and removes what it left behind.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use crate::{Error, Result};

/// `$1` is the folder to remove, the rest is the command.
///
/// `watch` ends with 0 only after the pipe was closed; otherwise the child ended by itself and its folder, with the log
/// that says why, stays. The shell's own remarks on who was killed do not belong in that log, hence the second `exec`.
/// SIGKILL, because the state is thrown away and a graceful end of an API server takes up to a minute.
const SCRIPT: &str = r#"
scratch=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- & child=$!
exec >/dev/null 2>&1
(read -r line <&3; kill -KILL "$child"; exit 0) & watch=$!
wait "$child"; status=$?
kill "$watch"
wait "$watch" && rm -rf -- "$scratch"
exit "$status"
"#;

/// How many lines of a log an error shows.
const SHOWN_LINES: usize = 20;

/// A running child process, ended by drop.
#[derive(Debug)]
pub(crate) struct Guarded {
    name: String,
    shell: Child,
    /// Closing it ends the child.
    pipe: Option<ChildStdin>,
    log: PathBuf,
}

/// A command that runs `program` under the guarding shell; arguments and environment are added as to any other.
///
/// `scratch` is removed with everything in it if this process goes away before the child.
pub(crate) fn command(program: impl AsRef<Path>, scratch: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT, "guard"]).arg(scratch).arg(program.as_ref());
    command
}

impl Guarded {
    /// Starts a command made by [`command`], with its output going to the file `log`.
    pub(crate) fn start(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let what = || format!("start {name}");
        let output = OpenOptions::new().create(true).append(true).open(log).map_err(Error::path("create", log))?;
        let errors = output.try_clone().map_err(Error::io(what()))?;
        // A process group of its own: Ctrl-C reaches this process only, and the children end by the one way there is.
        command.process_group(0).stdin(Stdio::piped()).stdout(output).stderr(errors);
        let mut shell = command.spawn().map_err(Error::io(what()))?;
        let pipe = shell.stdin.take();
        Ok(Self { name: name.to_owned(), shell, pipe, log: log.to_owned() })
    }

    /// What the child is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The end of the child's output.
    pub(crate) fn log_tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        tail(&String::from_utf8_lossy(&text), SHOWN_LINES)
    }

    /// Fails with the log if the child has ended, for children that are meant to stay.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        let ended = self.shell.try_wait().map_err(Error::io(format!("look after {}", self.name)))?;
        match ended {
            None => Ok(()),
            Some(status) => {
                Err(Error::Ended { program: self.name.clone(), status: status.to_string(), log: self.log_tail() })
            }
        }
    }

    /// Waits for a child that is meant to end.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        // `Child::wait` closes the standard input, but ours was taken out and stays open: the child is left to finish.
        self.shell.wait()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // Nothing is left to do about a child that cannot be waited for.
        let _ = self.shell.wait();
    }
}

/// The last `count` lines of `text`.
fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn is_running(process: &str) -> bool {
        let signal = Command::new("sh").args(["-c", "kill -0 \"$1\" 2>/dev/null", "sh", process]).status();
        signal.unwrap().success()
    }

    /// Starts a child that writes its process id to the log, and returns it with that id.
    async fn start_sleeper(folder: &Path) -> (Guarded, String) {
        let log = folder.join("log");
        let mut command = command("sh", folder);
        command.args(["-c", "echo $$; exec sleep 1000"]);
        let child = Guarded::start("sleeper", command, &log).unwrap();
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        for _ in 0..2000 {
            ticks.tick().await;
            let text = fs::read_to_string(&log).unwrap();
            if text.ends_with('\n') {
                return (child, text.trim().to_owned());
            }
        }
        panic!("the child wrote nothing to its log");
    }

    #[tokio::test]
    async fn drop_ends_the_child_and_removes_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (child, process) = start_sleeper(folder.path()).await;
        assert!(is_running(&process));
        drop(child);
        assert!(!is_running(&process));
        assert!(!folder.path().exists());
    }

    #[test]
    fn a_child_that_ends_by_itself_leaves_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command("sh", folder.path());
        command.args(["-c", "echo bad flag; exit 7"]);
        let mut child = Guarded::start("picky", command, &folder.path().join("log")).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
        let error = child.check_alive().unwrap_err().to_string();
        assert_eq!(error, "picky ended by itself (exit status: 7), and the end of its log is:\nbad flag");
    }

    #[test]
    fn a_child_sees_no_input() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Guarded::start("reader", command("cat", folder.path()), &folder.path().join("log")).unwrap();
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn the_tail_of_a_log_is_its_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a\n", 2), "a");
        assert_eq!(tail("", 2), "");
    }
}
