//! `run`: a program, a capture, and the environment of the run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::generate::parse_count;
use super::link::LinkArg;
use super::object::ObjectArgs;
use super::value::{ValueError, assignment};

/// Runtime of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuntimeArg {
    /// The engine in user space: no root, any machine, reproducible
    Vm,
    /// This machine's kernel, by test runs; requires root
    Kernel,
}

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Object file such as prog.o, or name of a built-in program (drop, forward)
    #[arg(required_unless_present = "cover")]
    pub object: Option<String>,

    /// Capture file, pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub input: PathBuf,

    /// What to do with packets that were captured without an Ethernet header
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub link: LinkArg,

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
    #[arg(long = "count", alias = "limit", value_name = "N", value_parser = parse_count)]
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
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub cover: Option<Option<PathBuf>>,
}

impl RunArgs {
    /// These arguments with an object. The name after `--cover` is that of the object if there is
    /// no other, because the file is optional.
    ///
    /// # Errors
    /// There is no object.
    pub fn with_object(mut self) -> Result<Self, ValueError> {
        if self.object.is_none() {
            let file = self.cover.as_mut().and_then(Option::take);
            self.object = file.map(|path| path.to_string_lossy().into_owned());
        }
        match self.object {
            Some(_) => Ok(self),
            None => Err(ValueError::Expected("an object file, such as prog.o")),
        }
    }
}
