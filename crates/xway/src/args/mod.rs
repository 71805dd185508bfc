//! What was typed, as plain values: no I/O happens here.

mod attach;
mod bench;
mod detect;
mod filter;
pub mod generate;
mod lab;
mod measure;
mod object;
mod run;
mod sink;
mod xsk;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use self::xsk::{BenchArgs, CopyArg, PacketArgs, QueueArg, RoleArg, WaitArg, XskAction};
pub use attach::{AttachArgs, DetachArgs, DropArgs, ForwardArgs, StatusArgs};
pub use bench::{BenchAction, BenchCompareArgs, BenchRunArgs};
pub use detect::FilterDetectArgs;
pub use filter::{
    FilterAction, FilterAddArgs, FilterBanArgs, FilterBansArgs, FilterCheckArgs, FilterExplainArgs,
    FilterExportArgs, FilterFlushArgs, FilterImportArgs, FilterLoadArgs, FilterRemoveArgs,
    FilterSampleArgs, FilterShowArgs, FilterTopArgs, FilterTryArgs, FilterUnbanArgs,
    FilterUnloadArgs, ForeignExport, ForeignImport,
};
pub use generate::GenArgs;
pub use lab::{LabAction, LabArgs, Shape};
pub use measure::DemoArgs;
pub use object::{Dump, MapAction, ObjectArgs, ProgAction, Ref, parse_bytes};
pub use run::{RunArgs, RuntimeArg};
pub use sink::{SinkArgs, Telling, ViaArg};

/// The eXpress Data Path from end to end.
#[derive(Debug, Parser)]
#[command(name = "xway", version, about, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 the answer is no, 2 an error. \
    `xway doctor` says what this machine allows.")]
pub struct Cli {
    /// Print JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,

    /// Folder of the locks and of the bpffs that keeps attached programs
    #[arg(
        long,
        global = true,
        env = "XWAY_STATE",
        default_value = "/run/xway",
        value_name = "DIR"
    )]
    pub state: PathBuf,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Attach a program to an interface
    Attach(AttachArgs),
    /// Detach what xway attached
    Detach(DetachArgs),
    /// Show each interface: its program, mode, owner and rates by verdict
    Status(StatusArgs),
    /// Drop packets by destination, protocol and port
    Drop(DropArgs),
    /// Forward packets by the routing table, with destination NAT
    Forward(ForwardArgs),
    /// Ordered rules, compiled: the first that matches decides what becomes of a packet
    #[command(subcommand)]
    Filter(FilterAction),
    /// Load an object's programs without attaching and explain what the verifier dislikes
    Check(CheckArgs),
    /// Run a program over a capture, in user space or in the kernel
    Run(Box<RunArgs>),
    /// Send traffic: streams, captures, connections
    Gen(Box<GenArgs>),
    /// Count what a generator sent, stream by stream, packet by packet
    Sink(SinkArgs),
    /// AF_XDP sockets: measure them, list them, ask what an interface can do for them
    #[command(subcommand)]
    Xsk(XskAction),
    /// Measure what XDP does, beside what else there is, with figures and a page
    #[command(subcommand)]
    Bench(BenchAction),
    /// List, show and dump programs in the kernel
    #[command(subcommand)]
    Prog(ProgAction),
    /// List, show, dump and change maps in the kernel
    #[command(subcommand)]
    Map(MapAction),
    /// Prepare the state directory for a user without root
    #[command(subcommand)]
    State(StateAction),
    /// Namespaces and veth pairs to experiment in
    Lab(LabArgs),
    /// What this kernel and user allow, each probed by trying
    Doctor,
    /// See a flooded service die without XDP and live with it
    Demo(DemoArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Write the manual pages into a folder
    Man { dir: PathBuf },
}

/// `xway state`.
#[derive(Debug, Subcommand)]
pub enum StateAction {
    /// Create the directory given by --state, mount its bpffs, and give both to a user
    ///
    /// Afterwards this user changes programs with CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON alone.
    /// Preparing needs CAP_SYS_ADMIN, to mount, and CAP_CHOWN.
    Init(StateInitArgs),
}

/// `xway state init`.
#[derive(Debug, clap::Args)]
pub struct StateInitArgs {
    /// User who is to own the directory: a name or a number, such as `xdp` or 1000
    #[arg(long, value_name = "USER")]
    pub owner: String,
}

/// `xway check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Object file, or the name of a built-in program
    pub object: String,

    /// Only this program of the object
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, where the section name does not say it (such as xdp)
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub open: ObjectArgs,

    /// Print the verifier's whole log, with source lines
    #[arg(long)]
    pub log: bool,
}
