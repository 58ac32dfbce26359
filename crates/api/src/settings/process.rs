//! What the process that runs the operator needs of the configuration: sockets, lease, certificate, logs, workers.

use crate::duration;
use crate::kinds::config::{CertProvisionMode, LeaderElection, LogFormat, LogLevel, OperatorConfiguration};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How the operator's process runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Leader election, if there is any.
    pub election: Option<Election>,
    /// Where the admission webhooks are served.
    pub webhooks: Address,
    /// Where their certificate comes from.
    pub certificate: Certificate,
    /// Where liveness and readiness are served, if they are.
    pub health: Option<Address>,
    /// Where metrics are served.
    pub metrics: Address,
    /// How many sets are worked on at the same time.
    pub workers: usize,
    /// How much is logged.
    pub log_level: LogLevel,
    /// How it is logged.
    pub log_format: LogFormat,
}

/// Leader election between replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// Name of the lease.
    pub name: String,
    /// Its namespace, if not the operator's own.
    pub namespace: Option<String>,
    /// How long it lasts.
    pub duration: Duration,
    /// How long a leader tries to renew it.
    pub renew_deadline: Duration,
    /// How long between tries.
    pub retry_period: Duration,
}

/// Where something listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an IP address; empty for all addresses of the machine.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(out, "[{}]:{}", self.host, self.port),
            false => write!(out, "{}:{}", self.host, self.port),
        }
    }
}

/// Where the webhooks' certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The operator makes and rotates it, and keeps it in this Secret.
    Made(String),
    /// It is given in this folder.
    Given(PathBuf),
}

impl Process {
    /// Resolves a configuration that was admitted. Total: of one that was not, it makes the best sense.
    pub fn of(config: &OperatorConfiguration) -> Self {
        let server = &config.server;
        let health = &server.health_probes;
        let webhooks = &server.webhooks;
        let certificate = match webhooks.cert_provision_mode.unwrap_or(CertProvisionMode::Auto) {
            CertProvisionMode::Auto => {
                Certificate::Made(text(webhooks.secret_name.as_ref(), "grove-webhook-server-cert"))
            }
            CertProvisionMode::Manual => {
                let folder = text(webhooks.server_cert_dir.as_ref(), "/etc/grove-operator/webhook-certs");
                Certificate::Given(folder.into())
            }
        };
        let workers = config.controllers.pod_clique_set.concurrent_syncs;
        Self {
            election: config.leader_election.enabled.then(|| Election::of(&config.leader_election)),
            webhooks: address(webhooks.bind_address.as_ref(), webhooks.port, 2750),
            certificate,
            health: health.enable.unwrap_or(true).then(|| address(health.bind_address.as_ref(), health.port, 2751)),
            metrics: address(server.metrics.bind_address.as_ref(), server.metrics.port, 2752),
            workers: workers.and_then(|workers| usize::try_from(workers).ok()).filter(|n| *n > 0).unwrap_or(10),
            log_level: config.log_level.unwrap_or(LogLevel::Info),
            log_format: config.log_format.unwrap_or(LogFormat::Json),
        }
    }
}

impl Election {
    /// What is written about it, whether or not the operator is to have one.
    pub fn of(election: &LeaderElection) -> Self {
        let lasts = |written: Option<&String>, default: u64| {
            written.and_then(|text| duration::parse(text)).unwrap_or(Duration::from_secs(default))
        };
        Self {
            name: text(election.resource_name.as_ref(), "grove-operator-leader-election"),
            namespace: election.resource_namespace.clone().filter(|namespace| !namespace.is_empty()),
            duration: lasts(election.lease_duration.as_ref(), 15),
            renew_deadline: lasts(election.renew_deadline.as_ref(), 10),
            retry_period: lasts(election.retry_period.as_ref(), 2),
        }
    }
}

fn address(host: Option<&String>, port: Option<i32>, default: u16) -> Address {
    let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or(default);
    Address { host: host.cloned().unwrap_or_default(), port }
}

fn text(written: Option<&String>, default: &str) -> String {
    written.cloned().filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn process(config: serde_json::Value) -> Process {
        Process::of(&serde_json::from_value(config).expect("a configuration"))
    }

    fn all(port: u16) -> Address {
        Address { host: String::new(), port }
    }

    #[test]
    fn what_is_left_out_is_filled_in() {
        let expected = Process {
            election: None,
            webhooks: all(2750),
            certificate: Certificate::Made("grove-webhook-server-cert".to_owned()),
            health: Some(all(2751)),
            metrics: all(2752),
            workers: 10,
            log_level: LogLevel::Info,
            log_format: LogFormat::Json,
        };
        assert_eq!(process(json!({})), expected);
        let election = process(json!({"leaderElection": {"enabled": true}})).election.expect("an election");
        let expected = Election {
            name: "grove-operator-leader-election".to_owned(),
            namespace: None,
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        };
        assert_eq!(election, expected);
    }

    #[test]
    fn what_is_written_holds() {
        let process = process(json!({
            "leaderElection": {"enabled": true, "leaseDuration": "1m", "renewDeadline": "40s", "retryPeriod": "500ms",
                "resourceName": "lock", "resourceNamespace": "elsewhere"},
            "server": {
                "webhooks": {"bindAddress": "10.0.0.1", "port": 9443, "certProvisionMode": "manual", "serverCertDir": "/certs"},
                "healthProbes": {"enable": false},
                "metrics": {"bindAddress": "::1", "port": 0}},
            "controllers": {"podCliqueSet": {"concurrentSyncs": 3}},
            "logLevel": "debug", "logFormat": "text",
        }));
        let election = process.election.expect("an election");
        assert_eq!((election.name.as_str(), election.namespace.as_deref()), ("lock", Some("elsewhere")));
        let times = [election.duration, election.renew_deadline, election.retry_period];
        assert_eq!(times, [60_000, 40_000, 500].map(Duration::from_millis));
        assert_eq!(process.webhooks.to_string(), "10.0.0.1:9443");
        assert_eq!(process.certificate, Certificate::Given("/certs".into()));
        assert_eq!((process.health, process.metrics.to_string().as_str()), (None, "[::1]:0"));
        assert_eq!((process.workers, process.log_level, process.log_format), (3, LogLevel::Debug, LogFormat::Text));
    }
}
