//! The `trellis` binary: arguments and files in, data on stdout, talk on stderr.

mod args;
mod crds;
mod input;
mod lines;
mod objects;
mod output;
mod render;
mod validate;
mod world;

use args::{Args, Command};
use clap::Parser as _;
use std::process::ExitCode;

/// Some object was refused.
const REFUSED: u8 = 1;
/// The input could not be read; clap uses the same code for wrong arguments.
const UNREADABLE: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Validate(args) => validate::run(args),
        Command::Render(args) => render::run(args),
        Command::Crds(args) => crds::run(args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(REFUSED),
        // Whoever reads our output has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(UNREADABLE)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
