//! What `trellis up` says while it starts, and what to type next.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::args::{Part, UpArgs};

/// Talk on stderr.
#[derive(Debug)]
pub struct Steps {
    live: bool,
}

impl Steps {
    /// Numbers run on a terminal; elsewhere only what is done is said.
    pub fn new() -> Self {
        Self { live: std::io::stderr().is_terminal() }
    }

    /// Something is done.
    pub fn say(&self, text: &str) {
        self.clear();
        eprintln!("{text}");
    }

    /// Something is under way.
    pub fn count(&self, what: &str, done: usize, all: usize) {
        if self.live {
            eprint!("\r\x1b[K{what} {done}/{all}");
            let _ = std::io::stderr().flush();
        }
    }

    fn clear(&self) {
        if self.live {
            eprint!("\r\x1b[K");
        }
    }

    /// It runs: where, and what to type next.
    pub fn welcome(&self, args: &UpArgs, kubeconfig: &Path, took: Duration) {
        let custom = args.kubeconfig.is_some();
        let flag = if custom { format!(" --kubeconfig {}", kubeconfig.display()) } else { String::new() };
        self.say(&format!("kubeconfig: {}", kubeconfig.display()));
        self.say("try:");
        let labels = if args.cluster.is_none() { " -L example.com/rack,nvidia.com/gpu.clique" } else { "" };
        self.say(&format!("  trellis kubectl{flag} get nodes{labels}"));
        self.say(&format!("  trellis kubectl{flag} get podcliquesets,podgangs,pods"));
        self.say(&format!("  export KUBECONFIG={}", kubeconfig.display()));
        if args.without.contains(&Part::Scheduler) {
            self.say("no scheduler runs here: pods wait for one of yours");
        }
        if args.data.is_none() {
            self.say("state is in memory and gone when this stops; keep it with `--data DIR`");
        }
        self.say(&format!("ready after {:.1} s; Ctrl-C stops it", took.as_secs_f64()));
    }
}
