//! `trellis kubectl`: the user's kubectl, on the cluster of `trellis up`.

use std::process::{Command, ExitCode};

use anyhow::{Result, anyhow, bail};

use crate::args::KubectlArgs;
use crate::up;

/// Runs kubectl and passes on how it ended.
pub fn run(args: &KubectlArgs) -> Result<ExitCode> {
    let kubeconfig = args.kubeconfig.clone().map_or_else(up::default_kubeconfig, Ok)?;
    if !kubeconfig.exists() {
        bail!("there is no {}\nhint: start a cluster with `trellis up`", kubeconfig.display());
    }
    let status = Command::new("kubectl").args(&args.arguments).env("KUBECONFIG", &kubeconfig).status();
    let status = status.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow!("there is no `kubectl` on the PATH\nhint: any version from 1.30 on will do")
        }
        _ => anyhow!("cannot run `kubectl`: {error}"),
    })?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
