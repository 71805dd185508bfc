//! `gen`: frames to send, their interface, rate and duration.
//!
//! Kinds of frames are subcommands that take the same options (`frame`, `sending`); `inject` and
//! `ndr` take them too, with options of their own.

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
pub use parse::{Bytes, Cpus, Destination, count as parse_count, cpus as parse_cpus, hex};
pub use replay::{CutArg, PcapArgs};
pub use sending::{RewriteArg, SendArgs, SinkSide};
pub use tcp::{AlgorithmArg, TcpArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct GenArgs {
    #[command(subcommand)]
    pub action: Option<Action>,

    /// Stream file, TOML or JSON; short for `gen file`
    #[arg(value_name = "STREAMS")]
    pub streams: Option<PathBuf>,

    /// Options for `streams`.
    #[command(flatten)]
    pub run: SendArgs,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    #[command(flatten)]
    Load(Load<SendArgs>),
    /// Replay a capture
    Pcap(PcapArgs),
    /// Inject frames into this host as if an interface had received them
    Inject(InjectArgs),
    /// Send over real TCP connections
    Tcp(TcpArgs),
    /// Search for the highest rate without loss (RFC 2544)
    #[command(subcommand)]
    Ndr(Load<NdrArgs>),
}

/// Frames of a stream, with the options `S` for their use.
#[derive(Debug, Subcommand)]
pub enum Load<S: Args> {
    /// Send the streams of a file
    File(FileArgs<S>),
    /// Send UDP packets
    Udp(PortArgs<S>),
    /// Send ICMP echo requests
    Icmp(HostArgs<S>),
    /// Send TCP SYN segments without completing connections
    #[command(visible_alias = "tcp-syn")]
    Syn(PortArgs<S>),
    /// Send ARP requests
    Arp(HostArgs<S>),
    /// Send frames given in hexadecimal
    Raw(RawArgs<S>),
}

#[derive(Debug, Args)]
pub struct FileArgs<S: Args> {
    /// Stream file, TOML or JSON
    #[arg(value_name = "STREAMS")]
    pub streams: PathBuf,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct PortArgs<S: Args> {
    /// Destination addresses and ports: 10.0.0.2:53, 10.0.0.0/24:1000..1999, [fd00::2]:53
    #[arg(value_name = "DEST[:PORT]")]
    pub to: Destination,

    /// Source ports: 4000, 1024..65535, 53,80, random:1024..65535
    #[arg(long, value_name = "PORTS", value_parser = parse::value)]
    pub sport: Option<Value>,

    /// Destination ports, if they are not part of the destination
    #[arg(long, value_name = "PORTS", value_parser = parse::value)]
    pub dport: Option<Value>,

    #[command(flatten)]
    pub frame: FrameArgs,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct HostArgs<S: Args> {
    /// Destination addresses, such as 10.0.0.2 or 10.0.0.0/24
    #[arg(value_name = "DEST")]
    pub to: Destination,

    #[command(flatten)]
    pub frame: FrameArgs,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct RawArgs<S: Args> {
    /// Frame including its Ethernet header, in hexadecimal; spaces and colons are ignored
    #[arg(value_name = "HEX")]
    pub bytes: String,

    /// Frame size in bytes; padded with zeros
    #[arg(long, value_name = "SIZES")]
    pub size: Option<Sizes>,

    /// Overwrite the last 16 bytes of each frame with a stamp, so that a sink can verify it
    #[arg(long)]
    pub stamp: bool,

    #[command(flatten)]
    pub run: S,
}

#[derive(Debug, Args)]
pub struct InjectArgs {
    #[command(subcommand)]
    pub what: Injected,

    /// Run this XDP program on each frame, instead of passing it to the stack
    #[arg(long = "to", global = true, value_name = "PROG.o")]
    pub object: Option<String>,

    /// Program of the object; required if there are several
    #[arg(long, global = true, value_name = "NAME", requires = "object")]
    pub program: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Injected {
    #[command(flatten)]
    Load(Box<Load<SendArgs>>),
    /// Inject the frames of a capture
    Pcap(Box<PcapArgs>),
}

#[cfg(test)]
mod tests;
