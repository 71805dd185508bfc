//! Egress interface, rate and duration of a run, and its output.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use traffic::Rate;

use super::parse;
use crate::args::sink::MonitorArgs;
use crate::args::value::duration;

/// Whether headers are rewritten in each frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RewriteArg {
    /// If the receiver may change the frames, as on veth
    #[default]
    Auto,
    Always,
    Never,
}

/// Options of every command that sends frames.
#[derive(Clone, Debug, Args)]
pub struct SendArgs {
    /// Egress interface (required)
    #[arg(long, value_name = "IFACE", required_unless_present = "dry_run")]
    pub dev: Option<String>,

    /// Rate of all threads together: 500kpps, 2gbps, or max, the default
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Change the rate linearly from --rate to this one within a time, such as 1mpps:10s
    #[arg(long, value_name = "RATE:TIME", value_parser = parse::ramp, requires = "rate")]
    pub ramp: Option<(Rate, Duration)>,

    /// Send frames in bursts of N, at the average rate
    #[arg(long, value_name = "N", requires = "rate",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub burst: Option<u32>,

    /// Send with exponentially distributed gaps
    #[arg(long, requires = "rate", conflicts_with = "burst")]
    pub poisson: bool,

    /// Number of threads, each on a processor of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse::threads)]
    pub threads: usize,

    /// Processors to send from, one thread each, such as 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse::cpus, conflicts_with = "threads")]
    pub cpus: Option<parse::Cpus>,

    /// Stop after N frames, such as 1000, 10k or 5m
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub count: Option<u64>,

    /// Stop after this time, such as 10s; on Ctrl-C, after a day at most, without --count and
    /// --time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// Seed of random values: equal seeds give equal frames
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Frames that leave together, 1 to 256; chosen by the rate without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: Option<u32>,

    /// Whether headers and length are rewritten in each frame
    #[arg(long, value_enum, default_value_t)]
    pub rewrite: RewriteArg,

    /// Write the first frames to a capture file (pcapng)
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// Number of frames that --write writes
    #[arg(long, value_name = "N", default_value_t = 100, requires = "write",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub first: u32,

    /// Send nothing, only write the capture; requires neither root nor an interface
    #[arg(long, requires = "write")]
    pub dry_run: bool,

    /// Send frames after the last one that announce the end of each stream to a sink; they are not
    /// counted. Default with --sink
    #[arg(long)]
    pub announce_end: bool,

    /// Exit with 0 even if the rate was missed by more than 1 %
    #[arg(long)]
    pub allow_miss: bool,

    /// Permit any rate on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub sink: SinkSide,

    #[command(flatten)]
    pub monitor: MonitorArgs,
}

/// A sink in the same process.
#[derive(Clone, Debug, Args)]
pub struct SinkSide {
    /// Ingress interface on which arriving frames are verified during the run
    #[arg(long, value_name = "IFACE")]
    pub sink: Option<String>,

    /// Network namespace of that interface
    #[arg(long, value_name = "NAME", requires = "sink")]
    pub sink_netns: Option<String>,

    /// Exit with 1 if a frame was lost, corrupted, duplicated, or arrived unexpectedly
    #[arg(long, requires = "sink")]
    pub judge: bool,
}
