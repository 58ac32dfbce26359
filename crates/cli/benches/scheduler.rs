//! How fast the scheduler is on a real kube-apiserver: `cargo bench -p trellis --bench scheduler`.
//!
//! Starts a control plane on loopback, without controllers, and runs `trellis bench scheduler` on it. Arguments after `--` are passed on.

use std::process::{Command, ExitCode};
use trellis_testkit::{ControlPlane, Options};

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let control_plane = runtime.block_on(ControlPlane::start(Options::api_only())).expect("a control plane");
    let status = Command::new(env!("CARGO_BIN_EXE_trellis"))
        .args(["bench", "scheduler", "--kubeconfig"])
        .arg(control_plane.kubeconfig_path())
        // This one is cargo's.
        .args(std::env::args_os().skip(1).filter(|argument| argument != "--bench"))
        .status()
        .expect("the program runs");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
