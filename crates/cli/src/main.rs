//! The `trellis` binary: arguments and files in, data on stdout, talk on stderr.

mod args;
mod bench;
mod cancel;
mod connect;
mod crds;
mod describe;
mod explain;
mod get;
mod input;
mod kubectl;
mod lines;
mod logs;
mod nodes;
mod objects;
mod operator;
mod osmo;
mod output;
mod plan;
mod probes;
mod process;
mod render;
mod scheduler;
mod serve;
mod simulate;
mod submit;
mod up;
mod validate;
mod wait;
mod world;
mod zipped;

use args::{Args, Command};
use clap::Parser as _;
use std::process::ExitCode;

/// Objects are small and many, and live and die on different threads: this takes a third off the time of a simulation. Tests have it from
/// their kit.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Some object was refused.
const REFUSED: u8 = 1;
/// The input could not be read; clap uses the same code for wrong arguments.
const UNREADABLE: u8 = 2;
/// Some gang waits.
const WAITING: u8 = 3;

/// How a command ended that could do what it was asked.
#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    Refused,
    Waiting,
    /// As another program that was run ended.
    As(ExitCode),
}

impl End {
    fn admitted(all: bool) -> Self {
        if all { Self::Done } else { Self::Refused }
    }
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return wrong_arguments(&error),
    };
    let result = match &args.command {
        Command::Validate(args) => validate::run(args).map(End::admitted),
        Command::Render(args) => render::run(args).map(End::admitted),
        Command::Plan(args) => plan::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Submit(args) => submit::run(args).map(End::admitted),
        Command::Get(args) => get::run(args).map(|()| End::Done),
        Command::Describe(args) => describe::run(args).map(|()| End::Done),
        Command::Cancel(args) => cancel::run(args).map(|()| End::Done),
        Command::Crds(args) => crds::run(args).map(End::admitted),
        Command::Up(args) => up::run(args).map(|()| End::Done),
        Command::Kubectl(args) => kubectl::run(args).map(End::As),
        Command::Nodes(args) => nodes::run(args).map(|()| End::Done),
        Command::Operator(args) => Ok(End::As(operator::run(args))),
        Command::Scheduler(args) => Ok(End::As(scheduler::run(args))),
        Command::Wait(args) => wait::run(args).map(|()| End::Done),
        Command::Bench(args) => bench::run(args).map(|()| End::Done),
        Command::Simulate(args) => simulate::run(args).map(End::admitted),
    };
    match result {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Refused) => ExitCode::from(REFUSED),
        Ok(End::Waiting) => ExitCode::from(WAITING),
        Ok(End::As(code)) => code,
        // Whoever reads our output has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(UNREADABLE)
        }
    }
}

/// Says what is wrong, or shows the help that was asked for. The operator's exit codes are those of Grove's, and the scheduler's too.
fn wrong_arguments(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let is_process = std::env::args_os().nth(1).is_some_and(|command| command == "operator" || command == "scheduler");
    match error.use_stderr() {
        false => ExitCode::SUCCESS,
        true if is_process => ExitCode::from(operator::WRONG_ARGUMENTS),
        true => ExitCode::from(UNREADABLE),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
