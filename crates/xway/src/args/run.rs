//! `run`: a program, a capture, and the environment of the run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::object::ObjectArgs;
use super::value::assignment;

/// Runtime of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuntimeArg {
    /// The engine in user space: no root, any machine, reproducible
    Vm,
    /// This machine's kernel, by test runs; requires root
    Kernel,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Object file such as prog.o, or name of a built-in program (drop, forward)
    pub object: String,

    /// Capture of Ethernet frames, pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub input: PathBuf,

    /// Write a capture for each verdict and for each destination of packets to a directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Program of the object; required if there are several
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, if the section name does not contain it, such as xdp or xdp.frags
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Runtime that runs the program
    #[arg(long, value_enum, default_value_t = RuntimeArg::Vm)]
    pub runtime: RuntimeArg,

    /// Environment of the program (interfaces, routes, sockets, clock): a scenario file, or host
    /// for that of this machine
    #[arg(long, value_name = "FILE|host")]
    pub world: Option<PathBuf>,

    /// Write the environment of the run to a scenario file, to reproduce it elsewhere
    #[arg(long, value_name = "FILE")]
    pub save_world: Option<PathBuf>,

    /// Fill a map from a file of lines `KEY VALUE` (may be repeated)
    #[arg(long = "map", value_name = "NAME=FILE", value_parser = assignment)]
    pub maps: Vec<(String, String)>,

    /// Set a global variable before the program is loaded, such as port=53 (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub open: ObjectArgs,

    /// Rule of the built-in program drop (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,

    /// NAT rule of the built-in program forward (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub nat: Vec<String>,

    /// Let forward pass packets that match no NAT rule to the stack
    #[arg(long, requires = "nat")]
    pub nat_only: bool,

    /// Number of the interface that receives the packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub ifindex: u32,

    /// Receive queue of packets for which the capture does not contain one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u32,

    /// Number of processors in the engine
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cpus: u32,

    /// Rounds that measure the rate; verdicts and maps are those of one pass
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repeat: u32,

    /// Stop after N packets
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// Run kernel and engine side by side, and stop at the first difference
    #[arg(long, conflicts_with_all = ["runtime", "out", "explain", "trace", "cover"])]
    pub diff: bool,

    /// Do not list or compare this map (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub ignore_map: Vec<String>,

    /// Explain packet N, counted from 1: source lines, calls, bytes changed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["out", "trace", "cover"])]
    pub explain: Option<u64>,

    /// Print every instruction of every packet
    #[arg(long, conflicts_with_all = ["out", "cover"])]
    pub trace: bool,

    /// Show how often each source line ran; with a file, write it in lcov format
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub cover: Option<Option<PathBuf>>,
}
