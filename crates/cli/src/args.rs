//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Topology-aware scheduling for AI workloads on Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "trellis", version, propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Validate(ValidateArgs),
    Render(RenderArgs),
    Crds(CrdsArgs),
}

/// Say whether objects would be admitted, and if not, why.
///
/// All objects of the input together are the cluster: topologies that sets refer to, and pods that show which sets are
/// scheduled. Kinds that are not ours pass unjudged.
///
/// Without --config, topology-aware scheduling is on, the default scheduler profile is `trellis`, and a ClusterTopology
/// named `grove-topology` in the input stands for the operator's own.
///
/// Exit code: 0 all admitted, 1 some refused, 2 unreadable input.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ValidateArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Earlier versions of objects in the input, which make these updates; also what else is in the cluster
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub old: Vec<PathBuf>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = ValidateOutput::Table)]
    pub output: ValidateOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ValidateOutput {
    Table,
    Json,
}

/// Print every object that the operator would make of the PodCliqueSets in the input.
///
/// The objects are those of the steady state, sorted by kind and name; pods are named `<podclique>-<index>` and carry
/// their scheduling gate. Live PodCliques and PodCliqueScalingGroups in the input give the replica counts where these
/// are autoscaled. Constraints that cannot be translated are left out and named on stderr.
///
/// Exit code: 0 rendered, 1 some set is refused, 2 unreadable input.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RenderArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Form of the output; JSON is a Kubernetes List
    #[arg(short, long, value_enum, default_value_t = RenderOutput::Yaml)]
    pub output: RenderOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RenderOutput {
    Yaml,
    Json,
}

#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Files with YAML or JSON, directories of such files, or - for stdin
    #[arg(short, long = "filename", value_name = "FILE", num_args = 1.., required = true)]
    pub files: Vec<PathBuf>,
    /// OperatorConfiguration to judge by
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Print the CustomResourceDefinitions.
///
/// kubectl apply --server-side -f <(trellis crds)
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CrdsArgs {
    /// Write one file for each into this directory instead
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Kinds of others, for clusters that do not have them
    #[arg(long, value_enum)]
    pub with: Vec<Others>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Others {
    /// KAI's Topology, PodGroup and Queue
    Kai,
}
