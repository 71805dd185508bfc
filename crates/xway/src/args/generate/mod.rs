//! `gen`: what to send, from where, how fast and how long.
//!
//! Kinds of frames are subcommands that take the same options (`frame`, `sending`); `inject` and
//! `ndr` take them again, with what is done with the frames.

mod frame;
mod ndr;
mod parse;
mod replay;
mod sending;
mod tcp;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use traffic::stream::{Sizes, Value};

pub use frame::{ExpectArg, FrameArgs};
pub use ndr::NdrArgs;
pub use parse::{Cpus, Destination, count as parse_count, cpus as parse_cpus};
pub use replay::{CutArg, PcapArgs};
pub use sending::{RewriteArg, SendArgs, SinkSide};
pub use tcp::{AlgorithmArg, TcpArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct GenArgs {
    #[command(subcommand)]
    pub action: Option<Action>,

    /// Description of the streams, TOML or JSON: short for `gen file`
    #[arg(value_name = "STREAMS")]
    pub streams: Option<PathBuf>,

    /// With `streams` alone.
    #[command(flatten)]
    pub run: SendArgs,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    #[command(flatten)]
    Load(Load<SendArgs>),
    /// Send a capture again
    Pcap(PcapArgs),
    /// Hand frames to this host as if an interface had received them
    Inject(InjectArgs),
    /// Send over real TCP connections
    Tcp(TcpArgs),
    /// Search for the highest rate that loses nothing, as RFC 2544 does
    #[command(subcommand)]
    Ndr(Load<NdrArgs>),
}

/// Frames that a stream makes, with the options `S` of what is done with them.
#[derive(Debug, Subcommand)]
pub enum Load<S: Args> {
    /// Send streams that a TOML or JSON file describes
    File(FileArgs<S>),
    /// Send UDP
    Udp(PortArgs<S>),
    /// Send ICMP echo requests
    Icmp(HostArgs<S>),
    /// Send TCP SYN segments, without connections behind them
    #[command(visible_alias = "tcp-syn")]
    Syn(PortArgs<S>),
    /// Send ARP requests
    Arp(HostArgs<S>),
    /// Send frames written in hexadecimal
    Raw(RawArgs<S>),
}

#[derive(Debug, Args)]
pub struct FileArgs<S: Args> {
    /// Description of the streams, TOML or JSON
    #[arg(value_name = "STREAMS")]
    pub streams: PathBuf,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct PortArgs<S: Args> {
    /// Address, and port where the frames have one: 10.0.0.2:53, 10.0.0.0/24:1000..1999,
    /// [fd00::2]:53
    #[arg(value_name = "DEST[:PORT]")]
    pub to: Destination,

    /// Source port, one or varying: 4000, 1024..65535, 53,80, random:1024..65535
    #[arg(long, value_name = "PORTS", value_parser = parse::value)]
    pub sport: Option<Value>,

    /// Destination port, when it does not stand behind the address
    #[arg(long, value_name = "PORTS", value_parser = parse::value)]
    pub dport: Option<Value>,

    #[command(flatten)]
    pub frame: FrameArgs,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct HostArgs<S: Args> {
    /// Address, one or varying
    #[arg(value_name = "DEST")]
    pub to: Destination,

    #[command(flatten)]
    pub frame: FrameArgs,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct RawArgs<S: Args> {
    /// The frame from its Ethernet header on, in hexadecimal; blanks and colons do not count
    #[arg(value_name = "HEX")]
    pub bytes: String,

    /// Bytes of a frame: zeros behind what is given
    #[arg(long, value_name = "SIZES")]
    pub size: Option<Sizes>,

    /// End frames with a stamp, over their last 16 bytes, so that a sink can judge them
    #[arg(long)]
    pub stamp: bool,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct InjectArgs {
    #[command(subcommand)]
    pub what: Injected,

    /// Run this XDP program on each frame, instead of handing it to the stack
    #[arg(long = "to", global = true, value_name = "PROG.o")]
    pub object: Option<String>,

    /// Which program of the object; needed when it holds more than one
    #[arg(long, global = true, value_name = "NAME", requires = "object")]
    pub program: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Injected {
    #[command(flatten)]
    Load(Box<Load<SendArgs>>),
    /// Hand over the frames of a capture
    Pcap(Box<PcapArgs>),
}

#[cfg(test)]
mod tests;
