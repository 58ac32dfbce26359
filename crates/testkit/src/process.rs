//! The binary as a process of its own: started, signalled, and asked what it said.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use serde_json::{Value, json};

/// A running process, killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A configuration of operator and scheduler: topology on, all profiles, nothing listens on a port that others may have.
pub fn configuration() -> Value {
    json!({
        "apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration",
        "logFormat": "text",
        "topologyAwareScheduling": { "enabled": true, "levels": [
            { "domain": "rack", "key": "test/rack" }, { "domain": "host", "key": "kubernetes.io/hostname" },
        ] },
        "scheduler": {
            "profiles": [{ "name": "trellis", "default": true }, { "name": "kai-scheduler" }],
        },
        "initImage": "trellis:test",
    })
}

/// Writes a kubeconfig for whoever has this token.
///
/// # Panics
/// If the folder cannot be written to.
pub fn kubeconfig(folder: &Path, name: &str, server: &str, authority: Option<&Path>, token: Option<&str>) -> PathBuf {
    let mut cluster = json!({ "server": server });
    if let Some(authority) = authority {
        cluster["certificate-authority"] = json!(authority);
    }
    let user = token.map_or_else(|| json!({}), |token| json!({ "token": token }));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{ "name": "test", "cluster": cluster }],
        "users": [{ "name": "test", "user": user }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
    });
    let path = folder.join(name);
    fs::write(&path, config.to_string()).expect("a file");
    path
}

/// What is started.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The binary: `env!("CARGO_BIN_EXE_trellis")`, which only the tests of its own crate know.
    pub binary: &'a str,
    /// The command: `operator` or `scheduler`.
    pub command: &'a str,
    /// Where configuration and log go.
    pub folder: &'a Path,
}

impl Process {
    /// Starts a command of a binary with this configuration; `name` is what its files are called. Several may have one name, one after the
    /// other: what they say goes to one log.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(program: Program<'_>, name: &str, kubeconfig: &Path, configuration: &Value, args: &[&str]) -> Self {
        let Program { binary, command, folder } = program;
        let (config, log) = (folder.join(format!("{name}.json")), folder.join(format!("{name}.log")));
        fs::write(&config, configuration.to_string()).expect("a file");
        let output = File::options().create(true).append(true).open(&log).expect("a file");
        let child = Command::new(binary)
            .args([command, "--listen", "127.0.0.1:0", "--config"])
            .arg(config)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(args)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file"))
            .stderr(output)
            .spawn()
            .expect("the binary runs");
        Self { child, log }
    }

    /// Sends it a signal, such as `-STOP`.
    ///
    /// # Panics
    /// If there is no `kill`.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill runs").success());
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(mut self) {
        // One that has ended by itself cannot be killed; either way it is gone then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Whether it still runs.
    ///
    /// # Panics
    /// If it cannot be asked.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// The end of what it said.
    pub fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// With which code it ends by itself.
    ///
    /// # Panics
    /// If it does not.
    pub async fn code(&mut self, patience: Duration) -> Option<i32> {
        let ends = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(20));
            loop {
                ticks.tick().await;
                if let Some(status) = self.child.try_wait().expect("a child") {
                    return status.code();
                }
            }
        };
        let ended = tokio::time::timeout(patience, ends).await;
        ended.unwrap_or_else(|_| panic!("it goes on, and says:\n{}", self.said()))
    }
}

/// Waits until somebody holds a lease, and somebody else than before; who it is.
///
/// # Panics
/// If nobody comes.
pub async fn leader(client: &Client, namespace: &str, lease: &str, former: Option<&str>) -> String {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let asked = async {
        loop {
            ticks.tick().await;
            let found = leases.get_opt(lease).await.expect("an answer");
            let holder = found.and_then(|lease| lease.spec?.holder_identity).filter(|holder| !holder.is_empty());
            if let Some(holder) = holder.filter(|holder| Some(holder.as_str()) != former) {
                return holder;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), asked).await.expect("somebody leads")
}
