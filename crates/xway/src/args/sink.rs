//! `sink`: where to listen, for how long, and what becomes of frames that are counted.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::attach::{ModeArg, duration};

/// Where frames are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViaArg {
    /// An XDP program on the interface
    #[default]
    Xdp,
    /// A socket; for interfaces that have an XDP program already
    Stack,
}

/// How a run tells of itself while it lasts.
#[derive(Clone, Copy, Debug, Args)]
pub struct Telling {
    /// Time between lines while it runs; with --json a line of JSON each
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub interval: Option<Duration>,

    /// Answer scrapes by Prometheus at http://ADDRESS:PORT/metrics while it runs
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub prometheus: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub struct SinkArgs {
    /// Network interface that receives
    pub iface: String,

    /// Where frames are taken from
    #[arg(long, value_enum, default_value_t)]
    pub via: ViaArg,

    /// Run the XDP program in this mode and no other; by itself native, else generic
    #[arg(long, value_enum, conflicts_with = "via")]
    pub mode: Option<ModeArg>,

    /// Listen for this long; else until Ctrl-C, a day at most
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,

    /// End when every sender said that it has ended
    #[arg(long)]
    pub until_end: bool,

    /// Send stamped frames back, so that a sink at the sender tells the time both ways
    #[arg(long, conflicts_with_all = ["pass", "via"])]
    pub reflect: bool,

    /// Hand stamped frames to the stack once they are counted, instead of dropping them
    #[arg(long)]
    pub pass: bool,

    /// Do not compute checksums again
    #[arg(long)]
    pub no_verify: bool,

    /// The sender runs on another machine: its clock says nothing here
    #[arg(long)]
    pub other_clock: bool,

    /// Exit with 1 when a frame was lost, corrupted, doubled, or came where none should
    #[arg(long)]
    pub judge: bool,

    #[command(flatten)]
    pub telling: Telling,
}
