//! `run`: a program, a capture, and what surrounds them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::attach::assignment;
use super::object::ObjectArgs;

/// Who runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuntimeArg {
    /// The engine in user space: no root, any machine, every run the same
    Vm,
    /// This machine's kernel, by test runs: needs root
    Kernel,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Object file (`prog.o`), or the name of a built-in program
    pub object: String,

    /// Capture of Ethernet frames, pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub input: PathBuf,

    /// Write a capture for each verdict and for each place packets went to
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Which program of the object; needed when it holds more than one
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, where the section name does not say it
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Who runs the program
    #[arg(long, value_enum, default_value_t = RuntimeArg::Vm)]
    pub runtime: RuntimeArg,

    /// Interfaces, routes, sockets and clock around the program: a scenario file, or `host` for
    /// those of this machine now
    #[arg(long, value_name = "FILE|host")]
    pub world: Option<PathBuf>,

    /// Write the world that the run had, to run it again elsewhere
    #[arg(long, value_name = "FILE")]
    pub save_world: Option<PathBuf>,

    /// Fill a map from a file of lines `KEY VALUE` (may be repeated)
    #[arg(long = "map", value_name = "NAME=FILE", value_parser = assignment)]
    pub maps: Vec<(String, String)>,

    /// Set a global variable of the object before it is loaded (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub open: ObjectArgs,

    /// A rule of the built-in program `drop` (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,

    /// A translation of the built-in program `forward` (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub nat: Vec<String>,

    /// `forward` hands to the stack what no translation matches
    #[arg(long, requires = "nat")]
    pub nat_only: bool,

    /// Interface that the packets come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub ifindex: u32,

    /// Receive queue that the packets come from, where the capture does not say
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u32,

    /// Processors of the engine's machine
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cpus: u32,

    /// Rounds that measure the rate; the table and the maps are those of one pass
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repeat: u32,

    /// Stop after so many packets
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// Run kernel and engine side by side and stop at the first difference
    #[arg(long, conflicts_with_all = ["runtime", "out", "explain", "trace", "cover"])]
    pub diff: bool,

    /// Neither list nor compare this map, such as one with millions of entries (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub ignore_map: Vec<String>,

    /// Explain one packet, counted from 1: lines taken, calls, bytes changed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["out", "trace", "cover"])]
    pub explain: Option<u64>,

    /// Print every instruction of every packet
    #[arg(long, conflicts_with_all = ["out", "cover"])]
    pub trace: bool,

    /// Show which source lines ran and how often; with a file, write it as lcov
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub cover: Option<Option<PathBuf>>,
}
