//! A real Kubernetes control plane on loopback: etcd, the API server, and on request the controller manager.
//!
//! Decided here: the order in which they start, when each counts as ready, and what a failed start says.

mod access;
mod flags;
mod options;
pub mod programs;
mod ready;

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use kube::Client;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use self::access::Access;
pub use self::options::{Options, TokenUser};
use self::programs::Program;
use crate::guard::{self, Guarded};
use crate::{Error, Result};

/// How often a start is tried when another process takes a port between its choice and its use.
const ATTEMPTS: usize = 5;

/// A running control plane, ended by drop, and by the operating system's help in every other case: nothing stays behind
/// when the test process panics, is killed, or keeps this in a `static`.
#[derive(Debug)]
pub struct ControlPlane {
    access: Access,
    /// In the order of their start.
    children: Vec<Guarded>,
    /// Holds logs and data; declared last, so that it goes after the children that write into it.
    folder: TempDir,
}

impl ControlPlane {
    /// Starts a control plane and waits until it serves.
    ///
    /// The first time on a machine this builds the programs, see [`programs::path`]; after that it takes seconds.
    pub async fn start(options: Options) -> Result<Self> {
        let mut needed = vec![Program::Etcd, Program::ApiServer];
        needed.extend(options.controller_manager.then_some(Program::ControllerManager));
        // Before anything else, since ports that are free now may be taken after minutes of building.
        let built =
            spawn_blocking(move || needed.into_iter().try_for_each(|program| programs::path(program).map(drop)));
        built.await.map_err(|error| Error::io("build the control plane")(error.into()))??;

        let mut attempt = 1;
        loop {
            match Self::try_start(&options).await {
                Err(Error::Ended { log, .. }) if attempt < ATTEMPTS && log.contains("address already in use") => {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// The control plane without controllers that all tests of this process share, started by whoever asks first.
    ///
    /// A start costs seconds and 400 MB, so tests share one and keep apart by namespace. If it cannot be started, all
    /// who ask get the same error.
    pub async fn shared() -> Result<&'static Self, &'static Error> {
        static SHARED: OnceCell<Result<ControlPlane>> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(Options::api_only())).await.as_ref()
    }

    /// As [`ControlPlane::shared`], with the controller manager: a second one, for tests that need what it does.
    pub async fn shared_with_controllers() -> Result<&'static Self, &'static Error> {
        static SHARED: OnceCell<Result<ControlPlane>> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(Options::with_controllers())).await.as_ref()
    }

    /// A new client of the administrator.
    ///
    /// A client belongs to the runtime that made it and every `#[tokio::test]` has its own, so each caller gets a new one.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn client(&self) -> Result<Client> {
        self.client_for(&self.access.admin_token)
    }

    /// As [`ControlPlane::client`], for the user with this token, see [`Options::user`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn client_for(&self, token: &str) -> Result<Client> {
        access::client(self.access.config(token))
    }

    /// A kubeconfig file of the administrator, for programs such as kubectl.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.access.kubeconfig
    }

    /// The address of the API server.
    pub fn url(&self) -> String {
        self.access.url()
    }

    /// A file with the certificate authority that vouches for the API server, in PEM.
    pub fn ca_path(&self) -> PathBuf {
        self.access.ca()
    }

    /// The administrator's bearer token, for clients that are not made here.
    pub fn admin_token(&self) -> &str {
        &self.access.admin_token
    }

    async fn try_start(options: &Options) -> Result<Self> {
        let folder = TempDir::with_prefix("trellis-control-plane-").map_err(Error::io("create a temporary folder"))?;
        let [api_port, etcd_port, peer_port] = free_ports()?;
        let access = Access::prepare(folder.path(), api_port, &options.users)?;
        let mut started = Self { access, children: Vec::new(), folder };

        let data = started.folder.path().join("etcd");
        started.run(Program::Etcd, flags::etcd(&data, etcd_port, peer_port))?;
        ready::listening(&mut started.children, etcd_port).await?;

        let flags = flags::api_server(&started.access, etcd_port, options);
        started.run(Program::ApiServer, flags)?;
        ready::listening(&mut started.children, api_port).await?;
        let client = started.probe()?;
        ready::serving(&mut started.children, &client).await?;

        if options.controller_manager {
            let flags = flags::controller_manager(&started.access, options);
            started.run(Program::ControllerManager, flags)?;
            ready::controlling(&mut started.children, &client).await?;
        }
        Ok(started)
    }

    /// Starts a program that is already built.
    fn run(&mut self, program: Program, flags: Vec<String>) -> Result<()> {
        let path = programs::path(program)?;
        let mut command = guard::command(path, self.folder.path());
        // The programs read settings from the environment too, and those of the user are not meant for them.
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).args(flags);
        let log = self.folder.path().join(program.name()).with_extension("log");
        self.children.push(Guarded::start(program.name(), command, &log)?);
        Ok(())
    }

    /// A client that reports every answer as it is, where others would retry for minutes.
    fn probe(&self) -> Result<Client> {
        let mut config = self.access.config(&self.access.admin_token);
        config.default_retry = false;
        access::client(config)
    }
}

/// Three different ports that are free now. All are held until all are chosen, or the same one might come up twice.
fn free_ports() -> Result<[u16; 3]> {
    let what = || Error::io("find a free port on 127.0.0.1");
    let mut held = Vec::new();
    let mut ports = [0; 3];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(what())?;
        *port = listener.local_addr().map_err(what())?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// The SHA-256 of `text` in hexadecimal digits.
fn hash(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}
