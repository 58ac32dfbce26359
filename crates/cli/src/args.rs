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
    Plan(PlanArgs),
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

/// Say where the gangs of the input would go, and what keeps those that wait.
///
/// The input is a cluster with its workloads, in any mix: Nodes or a SimulatedCluster, NodeResourceTopologies,
/// ClusterTopologies or KAI Topologies, PriorityClasses, Pods, PodCliqueSets, PodGangs, KAI PodGroups, or the ZIP that
/// KAI's /get-snapshot gives. PodCliqueSets go through admission and are lowered to gangs and pods; what the input has
/// of these already is taken as it is. All else is passed over. Nothing is changed anywhere.
///
///   trellis plan -f examples/plan/cluster.yaml examples/plan/serving.yaml
///   kubectl get nodes,pods,podgangs,clustertopologies -A -o json | trellis plan -f - new-set.yaml
///
/// Exit code: 0 every gang has a place, 3 some gang waits, 1 some object is refused, 2 unreadable input.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct PlanArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = PlanOutput::Table)]
    pub output: PlanOutput,
    /// Say how long it took, and how many steps each gang
    #[arg(long)]
    pub stats: bool,
    /// Decide so many times on the same snapshot; times are medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanOutput {
    Table,
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
