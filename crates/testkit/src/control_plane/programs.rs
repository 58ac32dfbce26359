//! The programs of the control plane, built from pinned sources, once per machine.
//!
//! `control-plane/go.mod` names the versions and `go.sum` the contents of everything that goes in; both are compiled in,
//! so a test program finds them wherever it runs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::{self, say};
use crate::guard::{self, Guarded};
use crate::{Error, Result, toolchain};

const GO_MOD: &str = include_str!("../../control-plane/go.mod");
const GO_SUM: &str = include_str!("../../control-plane/go.sum");

/// A program that can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `etcd`, the store under the API server.
    Etcd,
    /// `kube-apiserver`.
    ApiServer,
    /// `kube-controller-manager`, for garbage collection, namespace deletion and service accounts.
    ControllerManager,
    /// `kube-scheduler`, the peer to measure against.
    Scheduler,
    /// `kubectl`.
    Kubectl,
}

/// Programs that are built in one go, since they share most of their packages.
///
/// Two lots, because most tests need only the first and should not wait for the second.
#[derive(Debug, PartialEq, Eq)]
struct Lot {
    programs: &'static [Program],
    /// What to tell the person who waits.
    takes: &'static str,
}

const SERVERS: Lot = Lot { programs: &[Program::Etcd, Program::ApiServer], takes: "about five minutes" };
const OTHERS: Lot =
    Lot { programs: &[Program::ControllerManager, Program::Scheduler, Program::Kubectl], takes: "about two minutes" };

impl Program {
    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
        }
    }

    /// The version it is built from, such as `v1.36.3`.
    pub fn version(self) -> &'static str {
        let module = match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            _ => "k8s.io/kubernetes",
        };
        required_version(module)
    }

    fn package(self) -> String {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
            _ => format!("k8s.io/kubernetes/cmd/{}", self.name()),
        }
    }

    /// What `go build` calls the program: the last part of the package that is no version.
    fn built_name(self) -> &'static str {
        match self {
            Self::Etcd => "server",
            _ => self.name(),
        }
    }

    fn lot(self) -> &'static Lot {
        if SERVERS.programs.contains(&self) { &SERVERS } else { &OTHERS }
    }
}

/// The path of a program that can be run, built now if this machine has not built it yet.
///
/// It blocks while it builds, minutes on a small machine; call it from async code through `spawn_blocking`.
pub fn path(program: Program) -> Result<PathBuf> {
    let cache = cache::folder()?.join("control-plane");
    let folder = cache.join(folder_name());
    let path = folder.join(program.name());
    if path.exists() {
        return Ok(path);
    }
    fs::create_dir_all(&folder).map_err(Error::path("create", &folder))?;
    let _lock = cache::lock(&folder.join("lock"))?;
    // Another process may have built it while this one waited.
    if !path.exists() {
        build(program.lot(), &folder)?;
    }
    Ok(path)
}

/// Builds in a folder of its own and moves each finished program into place, so that a path that exists is complete.
fn build(lot: &Lot, folder: &Path) -> Result<()> {
    let names: Vec<String> =
        lot.programs.iter().map(|program| program.name().to_owned() + " " + program.version()).collect();
    let names = names.join(", ");
    let go = toolchain::go()?;
    say(&format!("building {names}, once per machine, {} on two cores", lot.takes));

    let scratch = tempfile::tempdir_in(folder).map_err(Error::path("create a folder in", folder))?;
    let built = scratch.path().join("built");
    let temporary = scratch.path().join("temporary");
    for folder in [&built, &temporary] {
        fs::create_dir(folder).map_err(Error::path("create", folder))?;
    }
    for (name, text) in [("go.mod", GO_MOD), ("go.sum", GO_SUM)] {
        let path = scratch.path().join(name);
        fs::write(&path, text).map_err(Error::path("write", &path))?;
    }

    let mut command = guard::command(go, scratch.path());
    command.args(["build", "-trimpath", "-ldflags", &link_flags(), "-o"]).arg(&built);
    command.args(lot.programs.iter().map(|program| program.package()));
    toolchain::isolate(&mut command).env("CGO_ENABLED", "0").env("GOTMPDIR", &temporary).current_dir(scratch.path());
    let mut go = Guarded::start("go", command, &scratch.path().join("log"))?;
    let status = go.wait().map_err(Error::io("wait for `go build`"))?;
    if !status.success() {
        return Err(Error::Build { programs: names, log: go.log_tail() });
    }
    for program in lot.programs {
        let path = folder.join(program.name());
        fs::rename(built.join(program.built_name()), &path).map_err(Error::path("create", &path))?;
    }
    say(&format!("built {names}"));
    Ok(())
}

/// Without these the API server calls itself v0.0.0-master, and clients judge features by the version.
fn link_flags() -> String {
    let version = Program::ApiServer.version();
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let variable = "-X k8s.io/component-base/version";
    format!("-s -w {variable}.gitVersion={version} {variable}.gitMajor={major} {variable}.gitMinor={minor}")
}

/// The versions for people, and a hash of all that decides what is built.
fn folder_name() -> String {
    let hash = super::hash(&[GO_MOD, &link_flags()].concat());
    format!("kubernetes-{}-etcd-{}-{}", Program::ApiServer.version(), Program::Etcd.version(), &hash[..8])
}

/// The version that the module file requires of `module`.
///
/// # Panics
/// If the module is not in the file, which a unit test rules out.
fn required_version(module: &str) -> &'static str {
    let version = GO_MOD.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next() == Some(module)).then(|| words.next()).flatten()
    });
    version.unwrap_or_else(|| panic!("`control-plane/go.mod` requires no version of `{module}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_module_file() {
        assert_eq!(Program::ApiServer.version(), "v1.36.3");
        assert_eq!(Program::Kubectl.version(), "v1.36.3");
        assert_eq!(Program::Etcd.version(), "v3.6.16");
    }

    #[test]
    fn the_folder_name_says_what_is_in_it() {
        let name = folder_name();
        assert!(name.starts_with("kubernetes-v1.36.3-etcd-v3.6.16-"), "{name}");
    }

    #[test]
    fn the_version_is_linked_in() {
        assert!(link_flags().ends_with("version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"));
    }

    #[test]
    fn every_program_is_a_tool_of_the_module_file_and_in_the_lot_that_builds_it() {
        for program in [&SERVERS, &OTHERS].into_iter().flat_map(|lot| lot.programs) {
            assert!(GO_MOD.contains(&format!("\t{}\n", program.package())), "{program:?}");
            assert!(program.lot().programs.contains(program));
        }
    }
}
