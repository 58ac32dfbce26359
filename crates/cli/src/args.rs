//! The command line.

use crate::osmo::Reading;
use crate::wait::Parent;
use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use trellis_api::osmo::template::Values;

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
    Explain(ExplainArgs),
    Submit(SubmitArgs),
    Get(GetArgs),
    Describe(DescribeArgs),
    Cancel(CancelArgs),
    Crds(CrdsArgs),
    Up(UpArgs),
    Kubectl(KubectlArgs),
    Nodes(NodesArgs),
    Operator(OperatorArgs),
    Scheduler(SchedulerArgs),
    Wait(WaitArgs),
    Bench(BenchArgs),
    Simulate(SimulateArgs),
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

/// Print every object that the operator would make of the PodCliqueSets, DynamoGraphDeployments, pools and workflows in the input.
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
/// ClusterTopologies or KAI Topologies, PriorityClasses, Pods, PodCliqueSets, DynamoGraphDeployments, PodGangs, KAI
/// PodGroups, OSMO pools and workflows, or the ZIP that KAI's /get-snapshot gives. Sets, deployments and workflows go through
/// admission and are lowered to gangs and pods; what the input has of these already is taken as it is. All else is passed
/// over. Nothing is changed anywhere.
///
///   trellis plan -f examples/plan/cluster.yaml examples/plan/serving.yaml
///   trellis plan --live -f new-set.yaml     on the cluster of the current kubeconfig, as if it were applied
///   trellis plan --live                     what waits there, and why
///
/// Exit code: 0 every gang has a place, 3 some gang waits, 1 some object is refused, 2 unreadable input.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct PlanArgs {
    /// Files with YAML or JSON, directories of such files, or - for stdin
    #[arg(short, long = "filename", value_name = "FILE", num_args = 1.., required_unless_present = "live")]
    pub files: Vec<PathBuf>,
    /// OperatorConfiguration to judge by
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Plan on the cluster of a kubeconfig; what the files say goes before what it has
    #[arg(long)]
    pub live: bool,
    /// The kubeconfig, if not in a cluster and not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", requires = "live")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME", requires = "live")]
    pub context: Option<String>,
    #[command(flatten)]
    pub osmo: OsmoArgs,
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
    #[command(flatten)]
    pub osmo: OsmoArgs,
}

/// How OSMO's workflows are read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OsmoArgs {
    /// Pool for OSMO workflows, instead of the one that they name
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,
    /// Value for the templates of OSMO workflows: a number if it is one, else text; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
    /// Value for the templates of OSMO workflows: always text; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set_string: Vec<(String, String)>,
}

impl OsmoArgs {
    /// What reading files needs of it.
    pub fn reading(&self) -> Reading {
        let values = Values { set: self.set.clone(), set_string: self.set_string.clone() };
        Reading { values, pool: self.pool.clone() }
    }
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be KEY=VALUE, such as shards=8".to_owned()),
    }
}

/// The cluster of a kubeconfig.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClusterArgs {
    /// The kubeconfig, if not in a cluster and not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Submit OSMO workflows.
///
///   trellis submit workflow.yaml --pool training --set shards=8
///   trellis submit workflow.yaml pools.yaml --dry-run
///
/// Templates are filled in, the workflow is judged by its pool, and the object is created that stands for it in the cluster. It
/// is said which groups the nodes of the cluster could never hold. Pools in the files are created if the cluster has none of
/// their names; those that it has are left as they are. With --dry-run nothing is asked and nothing is written: the files have
/// all that is known, and the objects are printed.
///
/// Exit code: 0 submitted or admitted, 1 some object is refused, 2 unreadable input or no cluster.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SubmitArgs {
    /// Workflows, with the pools and nodes to judge them by; directories of such files, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub osmo: OsmoArgs,
    /// Only say what would be submitted
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Form of the output of --dry-run; JSON is a Kubernetes List
    #[arg(short, long, value_enum, default_value_t = RenderOutput::Yaml)]
    pub output: RenderOutput,
}

/// List the pools or the workflows of a cluster.
///
///   trellis get pools
///   trellis get workflows
///
/// Exit code: 0 found, 2 not found or no cluster.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct GetArgs {
    /// What to list
    #[arg(value_enum)]
    pub what: What,
    /// Only the one of this name
    pub name: Option<String>,
    /// Only workflows of this namespace
    #[arg(short, long, value_name = "NS")]
    pub namespace: Option<String>,
    /// Workflows of all namespaces, which is the default
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = PlanOutput::Table)]
    pub output: PlanOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Where workflows run
    #[value(alias = "pool")]
    Pools,
    /// What runs there
    #[value(alias = "workflow")]
    Workflows,
}

/// Say what is known of a pool: the keys that workflows may use, and the domains that there are, with what is free in each.
///
///   trellis describe pool training
///
/// Exit code: 0 found, 2 not found or no cluster.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct DescribeArgs {
    /// What kind of thing
    #[arg(value_enum)]
    pub what: Described,
    /// Its name
    pub name: String,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Described {
    /// Where workflows run
    #[value(alias = "pools")]
    Pool,
}

/// End workflows. They stay, with what became of them, until they are deleted.
///
///   trellis cancel training
///
/// Exit code: 0 ended, 2 not found or no cluster.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CancelArgs {
    /// Their names
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Their namespace, where several have such a workflow
    #[arg(short, long, value_name = "NS")]
    pub namespace: Option<String>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Say why a gang waits, or where it is and why there.
///
///   trellis explain podgang/llm-0
///   trellis explain pod/llm-0-decode-x7k2p      the gang that it is in
///   trellis explain podcliqueset/llm            all its gangs
///
/// It is read from the cluster: what the scheduler found out last, and where the pods are now.
///
/// Exit code: 0 placed, 3 some gang waits, 2 not found or no cluster.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ExplainArgs {
    /// A PodGang, PodGroup, Pod or PodCliqueSet, as KIND/NAME
    #[arg(value_name = "KIND/NAME")]
    pub what: String,
    /// Its namespace, if not that of the context
    #[arg(short, long, value_name = "NS")]
    pub namespace: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = PlanOutput::Table)]
    pub output: PlanOutput,
    /// The kubeconfig, if not in a cluster and not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
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
    /// OperatorConfiguration of the operator
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
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

/// Run the operator: gangs, pods and all else that PodCliqueSets ask for are made and kept so.
///
///   trellis operator --config config.yaml                     in a cluster, see deploy/operator.yaml
///   trellis operator --config config.yaml --kubeconfig FILE   outside it
///
/// Inside a cluster, the API server reaches the webhooks by the Service `trellis-operator` in the operator's namespace.
/// Outside, it reaches them on 127.0.0.1 if it runs on this machine; otherwise say how, or do without: then faults show as
/// condition `Admitted` of the set.
///
/// /livez, /readyz and /metrics are served on the ports of the configuration.
///
/// Exit code: 0 told to stop, 1 wrong arguments, 2 configuration refused, 3 topology not synchronised, 4 no way to the
/// API, 6 cannot serve or no longer leads.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct OperatorArgs {
    /// OperatorConfiguration to run with
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The kubeconfig, if not in a cluster and not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Where the API server reaches the webhooks, without a path
    #[arg(long, value_name = "URL", conflicts_with = "no_webhooks")]
    pub webhook_url: Option<String>,
    /// Do without webhooks
    #[arg(long)]
    pub no_webhooks: bool,
    /// Apply our CustomResourceDefinitions first
    #[arg(long)]
    pub install_crds: bool,
    /// Address for the webhooks, instead of the configuration's; port 0 is any free one
    #[arg(long, value_name = "ADDR", conflicts_with = "no_webhooks")]
    pub listen_webhooks: Option<SocketAddr>,
    /// Address for health and metrics, instead of the configuration's two
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Namespace of lease and certificate, if not that of the service account or the context
    #[arg(long, value_name = "NS")]
    pub namespace: Option<String>,
}

/// Run the scheduler: gangs are placed whole, within the topology that they ask for, and kept in place.
///
///   trellis scheduler --config config.yaml    in a cluster, see deploy/scheduler.yaml
///   trellis scheduler --kubeconfig FILE       outside it
///
/// It serves pods whose schedulerName is one of its names: members of PodGangs, of KAI's PodGroups, and pods on their own.
/// It needs no operator. Its options are `config` of profile `trellis` in an OperatorConfiguration.
///
/// /livez, /readyz and /metrics are served on the address of --listen.
///
/// Exit code: 0 told to stop, 1 wrong arguments, 2 configuration refused, 4 no way to the API, 6 cannot serve or no longer
/// leads.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SchedulerArgs {
    /// OperatorConfiguration to run with; without one, defaults
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The kubeconfig, if not in a cluster and not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Serve pods with this schedulerName; may be given several times
    #[arg(long, value_name = "NAME", default_value = "trellis")]
    pub scheduler_name: Vec<String>,
    /// Lead at once; nobody else may then
    #[arg(long)]
    pub no_leader_election: bool,
    /// Address for health and metrics; port 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "[::]:2761")]
    pub listen: SocketAddr,
    /// Namespace of the lease, if not that of the service account or the context
    #[arg(long, value_name = "NS")]
    pub namespace: Option<String>,
}

/// Wait until other cliques of a gang are ready.
///
/// The operator puts this into pods that start after others, as an init container; namespace and gang then come from its
/// environment. Pods count when they are ready or have succeeded. An API that fails is waited for.
///
/// Exit code: 0 all are ready, 2 wrong arguments or no cluster.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct WaitArgs {
    /// A PodClique and how many of its pods have to be ready; may be given several times
    #[arg(long, value_name = "NAME:PODS", required = true)]
    pub podcliques: Vec<Parent>,
    /// Namespace of the pods, if not $TRELLIS_NAMESPACE
    #[arg(short, long, value_name = "NS")]
    pub namespace: Option<String>,
    /// PodGang of the pods, if not $TRELLIS_PODGANG
    #[arg(long, value_name = "NAME")]
    pub podgang: Option<String>,
    /// The kubeconfig, if not in a cluster and not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Measure how fast Trellis is on the cluster at hand.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub what: Bench,
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    Operator(BenchOperatorArgs),
    Scheduler(BenchSchedulerArgs),
}

/// Measure the operator: a large set is created, left alone and deleted.
///
/// First the limit is measured: how fast the API server creates and deletes the same pods for a client that does nothing
/// else. Then an operator is started, and its times are given as multiples of that. What misses its target is marked.
///
///   trellis bench operator --kubeconfig FILE
///
/// The cluster has to be one that nobody uses: no sets, no topologies, no other operator. Our CustomResourceDefinitions are
/// applied and stay; the namespace is made and removed. Without nodes and a scheduler only the operator is measured.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct BenchOperatorArgs {
    /// The kubeconfig, if not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Replicas of the set
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    pub replicas: u16,
    /// Pods of each replica
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub pods: u16,
    /// Namespace to make for it; without one, a name that was not used before
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// How long the steady state is watched
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub window: u32,
    /// Requests under way at once when the limit is measured
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    pub in_flight: u16,
    /// Run the operator in this process, whose memory then says nothing
    #[arg(long)]
    pub in_process: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = BenchOutput::Table)]
    pub output: BenchOutput,
}

/// Measure the scheduler: many gangs at once, gangs one after the other, and a backlog at rest.
///
/// First the limit is measured: how fast the API server takes plain binds of as many pods. Then a scheduler is started, and
/// all gangs are there at once; the rate of binds is given as a share of that limit. Then gangs arrive one after the other:
/// how long each waits from its last pod created to its last pod bound. At last there is no room, and it is seen what the
/// scheduler takes while nothing changes. What misses its target is marked.
///
///   trellis bench scheduler --kubeconfig FILE
///
/// The cluster has to be one that nobody uses, without nodes: nodes are made that nobody runs, and removed. Our
/// CustomResourceDefinitions are applied and stay; the namespace is made and removed.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct BenchSchedulerArgs {
    /// The kubeconfig, if not that of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Nodes of eight GPUs, in racks of ten
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..))]
    pub nodes: u16,
    /// Gangs, each of which must be in one rack
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..))]
    pub gangs: u16,
    /// Pods of each gang, of two GPUs each
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=40))]
    pub pods: u16,
    /// Nodes when there is a backlog
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u16).range(1..))]
    pub waiting_nodes: u16,
    /// Gangs that wait then
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    pub waiting: u16,
    /// Namespace to make for it; without one, a name that was not used before
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// How long the backlog is watched at rest
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub window: u32,
    /// Requests of the benchmark under way at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    pub in_flight: u16,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = BenchOutput::Table)]
    pub output: BenchOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchOutput {
    Table,
    Json,
}

/// Play operator and scheduler on a simulated cluster under virtual time, and look at every revision for what must never be.
///
/// Workloads come, change and go, nodes are lost and return, labels change, requests get lost, and operator and scheduler
/// die and start again. One seed decides all of it. A checker that shares no code with them looks for gangs in halves,
/// double booking, broken levels, lost holds and plans that were left lying, and in the end for gangs that wait although
/// there is a place for them. What it finds is written to a file from which the run can be played again.
///
///   trellis simulate --seed 7 --events 500
///   trellis simulate --seeds 100 --events 10000
///   trellis simulate --replay trellis-simulate-7.jsonl
///
/// Exit code: 0 nothing found, 1 something found, 2 unreadable input.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SimulateArgs {
    /// The seed, or the first of several
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "replay")]
    pub seed: u64,
    /// How many seeds, from that one on
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "replay", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Events of each run
    #[arg(long, value_name = "N", default_value_t = 500, conflicts_with = "replay")]
    pub events: usize,
    /// Play a run again, from the file that it left
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Where files of runs go in which something was found
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub journals: PathBuf,
    /// Say on stderr what operator and scheduler log
    #[arg(short, long)]
    pub verbose: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = SimulateOutput::Table)]
    pub output: SimulateOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulateOutput {
    Table,
    Json,
}
