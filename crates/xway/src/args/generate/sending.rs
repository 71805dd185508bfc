//! Where frames leave, how fast and how long, and how a run tells of itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use traffic::Rate;

use super::parse;
use crate::args::attach::duration;
use crate::args::sink::Telling;

/// Whether headers are written again into each frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RewriteArg {
    /// Where the receiver may change the frames that it is handed, as on veth
    #[default]
    Auto,
    Always,
    Never,
}

/// Of every command that sends frames.
#[derive(Clone, Debug, Args)]
pub struct SendArgs {
    /// Network interface that sends; none is ever guessed
    #[arg(long, value_name = "IFACE", required_unless_present = "dry_run")]
    pub dev: Option<String>,

    /// Frames or bits a second of all threads: 500kpps, 2gbps, or max, the default
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Go evenly from --rate to this one within that time, and stay there: 1mpps:10s
    #[arg(long, value_name = "RATE:TIME", value_parser = parse::ramp, requires = "rate")]
    pub ramp: Option<(Rate, Duration)>,

    /// Send so many frames at once, then none until the rate is kept
    #[arg(long, value_name = "N", requires = "rate",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub burst: Option<u32>,

    /// Send frames independently of each other, with exponential gaps
    #[arg(long, requires = "rate", conflicts_with = "burst")]
    pub poisson: bool,

    /// Threads, each on a processor of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse::threads)]
    pub threads: usize,

    /// Processors to send from, a thread each: 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse::cpus, conflicts_with = "threads")]
    pub cpus: Option<parse::Cpus>,

    /// End after so many frames: 1000, 10k, 5m
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub count: Option<u64>,

    /// End after this time; without count and time, by Ctrl-C, a day at most
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// What random values are drawn from: the same seed, the same frames
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Frames that leave together, 1 to 256; else chosen by the rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: Option<u32>,

    /// Write headers and length again into each frame
    #[arg(long, value_enum, default_value_t)]
    pub rewrite: RewriteArg,

    /// Write the first frames to this capture (pcapng)
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// How many of the first frames are written
    #[arg(long, value_name = "N", default_value_t = 100, requires = "write",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub first: u32,

    /// Send nothing, only write the capture: needs neither root nor interface
    #[arg(long, requires = "write")]
    pub dry_run: bool,

    /// Send however fast on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub sink: SinkSide,

    #[command(flatten)]
    pub telling: Telling,
}

/// A sink in the same process.
#[derive(Clone, Debug, Args)]
pub struct SinkSide {
    /// Interface on which the frames arrive: what does is counted and judged along
    #[arg(long, value_name = "IFACE")]
    pub sink: Option<String>,

    /// Network namespace of that interface, by its name
    #[arg(long, value_name = "NAME", requires = "sink")]
    pub sink_netns: Option<String>,

    /// Exit with 1 when a frame was lost, corrupted, doubled, or came where none should
    #[arg(long, requires = "sink")]
    pub judge: bool,
}
