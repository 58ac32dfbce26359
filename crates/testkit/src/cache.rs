//! Where built programs are kept between test runs, and how test processes take turns there.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The folder of this project in the user's cache, made if it is missing.
pub(crate) fn folder() -> Result<PathBuf> {
    let folder = named_by(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")).ok_or(Error::NoCache)?;
    fs::create_dir_all(&folder).map_err(Error::path("create", &folder))?;
    Ok(folder)
}

/// A relative path counts as unset, as the XDG base directory specification asks.
fn named_by(xdg_cache_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(xdg_cache_home)
        .or_else(|| absolute(home).map(|home| home.join(".cache")))
        .map(|cache| cache.join("trellis"))
}

/// Waits until no other process holds the lock at `path`; it is held until the file that comes back is dropped.
///
/// The operating system lets go of it when the process ends, so a killed test run blocks nobody.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).map_err(Error::path("create", path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            say("waiting for another test process that fills the same cache folder");
        }
        Err(TryLockError::Error(source)) => return Err(Error::path("lock", path)(source)),
    }
    file.lock().map_err(Error::path("lock", path))?;
    Ok(file)
}

/// Writes a line for the person who waits.
///
/// Not `eprintln!`, which the test harness would hold back until the test has failed.
pub(crate) fn say(line: &str) {
    // A closed stderr is no reason to fail: nobody is there to read.
    let _ = writeln!(std::io::stderr(), "trellis-testkit: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(xdg_cache_home: Option<&str>, home: Option<&str>, expected: Option<&str>) {
        let found = named_by(xdg_cache_home.map(OsString::from), home.map(OsString::from));
        assert_eq!(found.as_deref(), expected.map(Path::new));
    }

    #[test]
    fn the_cache_folder_follows_the_xdg_rules() {
        check(Some("/x"), Some("/home/u"), Some("/x/trellis"));
        check(None, Some("/home/u"), Some("/home/u/.cache/trellis"));
        check(Some(""), Some("/home/u"), Some("/home/u/.cache/trellis"));
        check(Some("relative"), Some("/home/u"), Some("/home/u/.cache/trellis"));
        check(None, None, None);
    }

    #[test]
    fn a_lock_is_free_again_once_its_file_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path).unwrap();
        let other = File::open(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        assert!(other.try_lock().is_ok());
    }
}
