//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
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
    Up(UpArgs),
    Kubectl(KubectlArgs),
    Nodes(NodesArgs),
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

/// Run a Kubernetes API with simulated nodes, in this process.
///
/// It serves the built-in kinds that gangs need and every kind whose CustomResourceDefinition it is given; ours are there
/// from the start. Nodes are simulated: a bound pod becomes Running and Ready, and no container runs anywhere.
///
///   trellis up --cluster examples/plan/cluster.yaml
///   trellis kubectl get nodes
///
/// It says `ready` on stderr, and on /readyz; Ctrl-C stops it.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct UpArgs {
    /// SimulatedCluster to play, with objects to apply beside it; without one, a small cluster of H100 and GB200 racks
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
    /// Address to serve on; port 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Keep the state here; without it, it is gone when this stops
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Wait for the disk with every write, so that a loss of power loses nothing either
    #[arg(long, requires = "data")]
    pub fsync: bool,
    /// Where to write the kubeconfig; it holds a token, and only you can read it
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Leave parts out, for those who bring their own
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    pub without: Vec<Part>,
}

/// A part of `trellis up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The controllers of PodCliqueSets
    Operator,
    /// The scheduler
    Scheduler,
    /// The simulated nodes
    Nodes,
}

/// Run kubectl on the cluster of `trellis up`.
///
///   trellis kubectl get pods --watch
///
/// The kubectl on the PATH is used, with the kubeconfig that `trellis up` wrote.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, disable_help_flag = true)]
pub struct KubectlArgs {
    /// The kubeconfig, where `trellis up` was told to write it elsewhere
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// What kubectl is to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

/// Play simulated nodes on the cluster of the current kubeconfig.
///
/// The nodes of a SimulatedCluster are made there, kept alive, and act on pods that are bound to them; so the same cluster
/// can be played on a real control plane. Objects beside the SimulatedCluster are left alone.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct NodesArgs {
    /// SimulatedCluster to play; without one, a small cluster of H100 and GB200 racks
    #[arg(long, value_name = "FILE")]
    pub cluster: Option<PathBuf>,
    /// The kubeconfig, if not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
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
