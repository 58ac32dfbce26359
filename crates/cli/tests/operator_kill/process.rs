//! The operator as a process of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A running `trellis operator`, killed when it is dropped.
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

/// A configuration: topology on, all profiles, nothing listens on a port that others may have.
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

impl Process {
    /// Starts an operator with this configuration; `name` is what its files are called.
    pub fn start(folder: &Path, name: &str, kubeconfig: &Path, configuration: &Value, args: &[&str]) -> Self {
        let (config, log) = (folder.join(format!("{name}.json")), folder.join(format!("{name}.log")));
        fs::write(&config, configuration.to_string()).expect("a file");
        let output = File::options().create(true).append(true).open(&log).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_trellis"))
            .args(["operator", "--listen", "127.0.0.1:0", "--config"])
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
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill runs").success());
    }

    /// Whether it still runs.
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
