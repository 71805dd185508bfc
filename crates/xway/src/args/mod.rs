//! Command-line arguments as plain values: no I/O happens here.

mod apply;
mod attach;
mod balance;
mod bench;
mod capture;
mod chain;
mod daemon;
mod debug;
mod detect;
pub mod examples;
mod extcap;
mod filter;
pub mod generate;
mod lab;
mod link;
mod measure;
mod object;
#[cfg(test)]
mod page;
mod route;
mod run;
mod scan;
mod scenario;
mod sink;
mod top;
mod value;
mod why_drop;
mod xsk;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub use self::xsk::{BenchArgs, CopyArg, PacketArgs, QueueArg, RoleArg, WaitArg, XskAction};
pub use apply::{ApplyArgs, ConfirmArgs, SaveArgs};
pub use attach::{AttachArgs, DetachArgs, DropArgs, StatusArgs};
pub use balance::{
    BalanceAction, BalanceBackendArgs, BalanceCheckArgs, BalanceFixturesArgs, BalanceHealthArgs,
    BalanceLoadArgs, BalancePlanArgs, BalanceSyncArgs, BalanceTopArgs, BalanceWhyArgs,
};
pub use bench::{BenchAction, BenchCompareArgs, BenchRunArgs};
pub use capture::{CaptureArgs, PointArg};
pub use chain::{ChainAction, ChainAddArgs, ChainArgs};
pub use daemon::DaemonArgs;
pub use debug::DebugArgs;
pub use detect::FilterDetectArgs;
pub use extcap::ExtcapArgs;
pub use filter::{
    FilterAction, FilterAddArgs, FilterBanArgs, FilterBansArgs, FilterCheckArgs, FilterExplainArgs,
    FilterExportArgs, FilterFlushArgs, FilterImportArgs, FilterLoadArgs, FilterRemoveArgs,
    FilterSampleArgs, FilterShowArgs, FilterTopArgs, FilterTryArgs, FilterUnbanArgs,
    FilterUnloadArgs, ForeignExport, ForeignImport,
};
pub use generate::GenArgs;
pub use lab::{LabAction, LabArgs, Shape};
pub use measure::DemoArgs;
pub use object::{Dump, MapAction, ObjectArgs, ProgAction, Ref};
pub use route::{Refusals, RouteAction, RouteStartArgs, RouteStopArgs, RouteTopArgs, RouteWhyArgs};
pub use run::{RunArgs, RuntimeArg};
pub use scan::{ProbeArg, ScanAction, ScanPlanArgs, ScanRunArgs, ScanTargetsArgs, TargetArgs};
pub use scenario::ScenarioArgs;
pub use sink::{MonitorArgs, SinkArgs, ViaArg};
pub use top::TopArgs;
pub use why_drop::WhyDropArgs;

/// The eXpress Data Path from end to end.
#[derive(Debug, Parser)]
#[command(name = "xway", version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 negative result, 2 error. A file named - is standard \
    input or output. `xway doctor` reports what this machine permits."
)]
pub struct Cli {
    /// Print JSON on standard output
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,

    /// When to color output
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t)]
    pub color: ColorArg,

    /// Print results and errors alone: no progress and no notices
    #[arg(short, long, global = true, help_heading = GLOBAL, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Also report each program that is loaded and attached, and complete logs of the verifier
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub verbose: bool,

    /// State directory: locks, and the bpffs that keeps attached programs
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        env = "XWAY_STATE",
        default_value = STATE_DIR,
        value_name = "DIR"
    )]
    pub state: PathBuf,

    #[command(subcommand)]
    pub command: Command,
}

/// When output has colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    Always,
    Never,
}

/// The state directory without `--state`.
pub const STATE_DIR: &str = "/run/xway";
const GLOBAL: &str = "Global options";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Attach an XDP program to an interface
    Attach(AttachArgs),
    /// Capture packets of an interface with what its programs do to them
    Capture(CaptureArgs),
    /// Capture packets for Wireshark, which starts this command from its list of interfaces
    Extcap(ExtcapArgs),
    /// Run several programs on an interface, one after the other
    #[command(subcommand_required = true)]
    Chain(ChainArgs),
    /// Detach the programs that xway attached to an interface
    Detach(DetachArgs),
    /// Make interfaces equal to the declarations in a directory
    Apply(ApplyArgs),
    /// Write what runs as declarations
    Save(SaveArgs),
    /// Apply declarations when interfaces appear, and export metrics of all interfaces
    Daemon(DaemonArgs),
    /// Confirm changes that were made with --confirm, which are undone otherwise
    Confirm(ConfirmArgs),
    /// Show the programs of each interface: mode, owner, packet rates by verdict
    Status(StatusArgs),
    /// Show live what interfaces, programs, processors and queues do
    Top(TopArgs),
    /// Count frames that an interface loses, with the cause and the remedy of each
    WhyDrop(WhyDropArgs),
    /// Drop packets by destination, protocol and port
    Drop(DropArgs),
    /// Route packets in the driver by the kernel's tables, and show what is routed and why
    #[command(subcommand)]
    Route(RouteAction),
    /// Route packets, as `route start` does, whose other name this is
    Forward(RouteStartArgs),
    /// Balance connections to services over backends, and change backends without breaking any
    #[command(subcommand)]
    Balance(BalanceAction),
    /// Filter packets by ordered rules that are compiled to a program
    #[command(subcommand)]
    Filter(FilterAction),
    /// Load an object's programs without attaching them, and explain why the verifier rejects them
    Check(CheckArgs),
    /// Print the instructions of an object's programs with source lines
    Disasm(DisasmArgs),
    /// Assemble source in the notation of LLVM to an object file
    ///
    /// The source is what `clang -S` writes, or written by hand: docs/assembly.md describes it. All
    /// commands that take an object file also take a source whose name ends with `.s`.
    Asm(AsmArgs),
    /// Run a program on the packets of a capture, in user space or in the kernel
    Run(Box<RunArgs>),
    /// Step through a program on the packets of a capture, forward and backward
    Debug(Box<DebugArgs>),
    /// Generate traffic: packet streams, captures, TCP connections
    Gen(Box<GenArgs>),
    /// Receive generated traffic and report loss, order, corruption and latency
    Sink(SinkArgs),
    /// Plan scans of networks: each target once, in a keyed order
    #[command(subcommand)]
    Scan(ScanAction),
    /// Measure and list AF_XDP sockets, and show what an interface supports
    #[command(subcommand)]
    Xsk(XskAction),
    /// Measure XDP and its alternatives, with figures and a report
    #[command(subcommand)]
    Bench(BenchAction),
    /// Inspect the programs in the kernel
    #[command(subcommand)]
    Prog(ProgAction),
    /// Inspect and change the maps in the kernel
    #[command(subcommand)]
    Map(MapAction),
    /// Prepare a state directory for a user other than root
    #[command(subcommand)]
    State(StateAction),
    /// Create network namespaces and links to experiment in
    Lab(LabArgs),
    /// Report what this kernel, this user and the interfaces permit, and what to change
    Doctor(DoctorArgs),
    /// Show a flooded service with and without XDP
    Demo(DemoArgs),
    /// Print a completion script for a shell
    Completions {
        /// Shell that reads the script
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a directory
    Man {
        /// Directory, which is created if it is missing
        dir: PathBuf,
    },
}

/// `xway state`.
#[derive(Debug, Subcommand)]
pub enum StateAction {
    /// Create the directory given by --state, mount its bpffs, and give both to a user or a group
    ///
    /// Afterwards the owner changes programs with CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON alone, and
    /// members of the group see what runs without any capability. Preparing needs CAP_SYS_ADMIN, to
    /// mount, and CAP_CHOWN.
    Init(StateInitArgs),
}

/// `xway state init`.
#[derive(Debug, clap::Args)]
pub struct StateInitArgs {
    /// Owner of the directory: a user name or number, such as xdp or 1000 (default: the caller)
    #[arg(long, value_name = "USER", required_unless_present = "group")]
    pub owner: Option<String>,

    /// Group that may read the directory: a group name or number, such as xway
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
}

/// `xway doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Network interfaces to examine; all except loopback without them
    #[arg(value_name = "IFACE")]
    pub ifaces: Vec<String>,
}

/// `xway disasm`.
#[derive(Debug, clap::Args)]
pub struct DisasmArgs {
    /// Object file, or name of a built-in program (drop, forward)
    pub object: String,

    /// Program of the object; all of them without this option
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Print assembly source of the whole object, which `asm` assembles again
    #[arg(long, conflicts_with = "program")]
    pub assembly: bool,
}

/// `xway asm`.
#[derive(Debug, clap::Args)]
pub struct AsmArgs {
    /// Assembly source; `-` is standard input
    pub source: String,

    /// Object file to write; `-` is standard output (default: name of the source, ending with .o)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `xway check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Object file, or name of a built-in program (drop, forward)
    pub object: String,

    /// Program of the object; all of them without this option
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, if the section name does not contain it, such as xdp or xdp.frags
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub open: ObjectArgs,

    /// Print the complete verifier log, with source lines
    #[arg(long)]
    pub log: bool,
}
