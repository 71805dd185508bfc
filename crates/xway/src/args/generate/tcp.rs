//! `gen tcp`: destination, number and payload of connections.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::{Args, ValueEnum};
use traffic::Rate;

use super::parse;
use crate::args::sink::MonitorArgs;
use crate::args::value::duration;

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
    /// Destination address and port, such as 10.0.0.2:5001 or [fd00::2]:5001
    #[arg(value_name = "DEST:PORT")]
    pub to: SocketAddr,

    /// Egress interface, without an XDP program
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// Number of connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse::count)]
    pub flows: u64,

    /// First source address; the interface's without it
    #[arg(long, value_name = "ADDRESS")]
    pub src: Option<IpAddr>,

    /// Number of source addresses, from the first one on
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub sources: u32,

    /// Range of local ports, which the host itself must not use
    #[arg(long, value_name = "FIRST..LAST", default_value = "1024..32767",
          value_parser = parse::ports)]
    pub sport: std::ops::RangeInclusive<u16>,

    /// Congestion control algorithm
    #[arg(long, value_enum, default_value_t)]
    pub algorithm: AlgorithmArg,

    /// Maximum segment size in bytes; from the interface's MTU without it
    #[arg(long, value_name = "BYTES")]
    pub mss: Option<u16>,

    /// Bytes that each connection sends, such as 1000, 10k or 5m
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub bytes: Option<u64>,

    /// Duration; 10s without it and without --bytes
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// Highest payload rate of all connections together, such as 1gbps
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Most connections to open per second
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub opens: u32,

    /// Processors to send from, one thread each, such as 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse::cpus)]
    pub cpus: Option<parse::Cpus>,

    /// Segments that a connection sends at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub quantum: u32,

    /// Frames that leave together, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: u32,

    /// Report each connection at the end
    #[arg(long)]
    pub each: bool,

    /// Permit the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub monitor: MonitorArgs,
}
