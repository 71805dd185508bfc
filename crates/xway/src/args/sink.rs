//! `sink`: where to receive, for how long, and what happens to counted frames.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::attach::ModeArg;
use super::value::duration;

/// Source of the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViaArg {
    /// XDP program on the interface
    #[default]
    Xdp,
    /// Packet socket, for interfaces that have an XDP program already
    Stack,
}

/// Progress output and metrics during a run.
#[derive(Clone, Copy, Debug, Args)]
pub struct MonitorArgs {
    /// Interval between progress lines, such as 1s; with --json a line of JSON each
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub interval: Option<Duration>,

    /// Serve Prometheus metrics at http://ADDRESS:PORT/metrics during the run
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub prometheus: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub struct SinkArgs {
    /// Ingress interface
    pub iface: String,

    /// Source of the frames
    #[arg(long, value_enum, default_value_t)]
    pub via: ViaArg,

    /// Mode of the XDP program; native, else generic, without it
    #[arg(long, value_enum, conflicts_with = "via")]
    pub mode: Option<ModeArg>,

    /// Stop after this time; on Ctrl-C, after a day at most, without it
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,

    /// Stop when every sender has announced its end (`gen --announce-end`)
    #[arg(long)]
    pub until_end: bool,

    /// Send stamped frames back, so that a sink at the sender measures round trips
    #[arg(long, conflicts_with_all = ["pass", "via"])]
    pub reflect: bool,

    /// Pass stamped frames to the stack after counting, instead of dropping them
    #[arg(long)]
    pub pass: bool,

    /// Do not verify checksums
    #[arg(long)]
    pub no_verify: bool,

    /// The sender is another machine: do not compute one-way latency from its clock
    #[arg(long)]
    pub other_clock: bool,

    /// Exit with 1 if a frame was lost, corrupted, duplicated, or arrived unexpectedly
    #[arg(long)]
    pub judge: bool,

    #[command(flatten)]
    pub monitor: MonitorArgs,
}
