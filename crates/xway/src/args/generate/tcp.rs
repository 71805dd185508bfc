//! `gen tcp`: to where, how many connections, carrying what.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::{Args, ValueEnum};
use traffic::Rate;

use super::parse;
use crate::args::attach::duration;
use crate::args::sink::Telling;

/// How the congestion window grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AlgorithmArg {
    /// RFC 5681
    #[value(name = "newreno", alias = "reno")]
    NewReno,
    /// RFC 9438
    #[default]
    Cubic,
}

#[derive(Clone, Debug, Args)]
pub struct TcpArgs {
    /// Where somebody listens: 10.0.0.2:5001 or [fd00::2]:5001
    #[arg(value_name = "DEST:PORT")]
    pub to: SocketAddr,

    /// Network interface that sends; it must have no XDP program
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// Connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse::count)]
    pub flows: u64,

    /// First of the addresses that connections come from; else the interface's
    #[arg(long, value_name = "ADDRESS")]
    pub src: Option<IpAddr>,

    /// How many addresses from the first one on connections come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub sources: u32,

    /// Local ports: those that the host does not use itself
    #[arg(long, value_name = "FIRST..LAST", default_value = "1024..32767",
          value_parser = parse::ports)]
    pub sport: std::ops::RangeInclusive<u16>,

    /// How the congestion window grows
    #[arg(long, value_enum, default_value_t)]
    pub algorithm: AlgorithmArg,

    /// Largest segment; else by the interface's MTU
    #[arg(long, value_name = "BYTES")]
    pub mss: Option<u16>,

    /// Bytes that each connection sends: 1000, 10k, 5m
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub bytes: Option<u64>,

    /// Send for this long; 10s unless bytes are given
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// Bits of payload a second of all connections together, at most
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Connections opened in a second, at most
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub opens: u32,

    /// Processors to send from, a thread each: 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse::cpus)]
    pub cpus: Option<parse::Cpus>,

    /// Segments that a connection sends in one go
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub quantum: u32,

    /// Frames that leave together, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: u32,

    /// Tell of each connection at the end
    #[arg(long)]
    pub each: bool,

    /// Send even on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub telling: Telling,
}
