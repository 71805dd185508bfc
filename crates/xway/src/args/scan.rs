//! `scan`: which targets, in which order.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use packet::Mac;
use traffic::Rate;
use traffic::scan::{Ports, Shard};

use super::generate::{Cpus, parse_cpus};
use super::value::{ValueError, duration, packet_rate};

#[derive(Debug, Subcommand)]
pub enum ScanAction {
    /// Probe each target once, and print its answer
    Run(Box<ScanRunArgs>),
    /// List targets in the order in which they are probed, without sending
    Targets(ScanTargetsArgs),
    /// Show what a scan would send: targets, time, memory, rate per network
    Plan(ScanPlanArgs),
}

/// Which addresses and ports are probed, in which order.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Addresses, ranges, networks and patterns, such as 10.0.0.0/8, 10.0.0.1-10.0.0.9 or
    /// '2001:db8::/32 subnets /48 hosts ::1'
    #[arg(value_name = "TARGET", required_unless_present = "targets")]
    pub target: Vec<String>,

    /// File of further targets, one a line (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub targets: Vec<PathBuf>,

    /// Addresses that are not probed, as targets are named (may be repeated)
    #[arg(long, value_name = "TARGET")]
    pub exclude: Vec<String>,

    /// File of addresses that are not probed, one network, range or address a line (may be
    /// repeated)
    #[arg(long, value_name = "FILE")]
    pub blocklist: Vec<PathBuf>,

    /// Ports of each address, such as 22,80,8000-8099
    #[arg(long, value_name = "PORTS")]
    pub port: Option<Ports>,

    /// Probe only part I of N of all targets; the parts of one seed are disjoint
    #[arg(long, value_name = "I/N", default_value_t = Shard::ALL)]
    pub shard: Shard,

    /// Seed of the order, and of the cookies of `run`, which are as secret as it (default: 1; of
    /// `run`, a random one)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Number of the pass, from 1 on; each has another order
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub pass: u64,

    /// Permit public addresses. Without it, targets must be private or documentation networks;
    /// with it, all special-purpose networks are excluded
    #[arg(long, requires = "contact")]
    pub public: bool,

    /// Page or address that explains the scan to the owners of its targets, such as
    /// https://scan.example.org
    #[arg(long, value_name = "URL", value_parser = contact)]
    pub contact: Option<String>,
}

#[derive(Debug, Args)]
pub struct ScanRunArgs {
    #[command(flatten)]
    pub targets: TargetArgs,

    /// Interface that probes leave by, and answers arrive at (required)
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// What is sent to each target (default: `syn` with --port, or else `icmp`)
    #[arg(long, value_enum)]
    pub probe: Option<ProbeArg>,

    /// Probes a second of all threads together, such as 10kpps, or max
    #[arg(long, value_name = "RATE", default_value = "10kpps")]
    pub rate: Rate,

    /// Source address of probes (default: an address of the interface)
    #[arg(long, value_name = "ADDR")]
    pub src: Option<IpAddr>,

    /// Ethernet address of the next hop (default: that of the gateway to the first target)
    #[arg(long, value_name = "MAC")]
    pub next_hop: Option<Mac>,

    /// Time for answers after the last probe
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = duration)]
    pub wait: Duration,

    /// Processors to send from, one thread each, such as 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<Cpus>,

    /// Permit any rate on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,
}

/// What a scan sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProbeArg {
    /// TCP SYN; an open port is reset
    Syn,
    /// UDP without payload
    Udp,
    /// ICMP or ICMPv6 echo request
    Icmp,
}

#[derive(Debug, Args)]
pub struct ScanTargetsArgs {
    #[command(flatten)]
    pub targets: TargetArgs,

    /// List only the first N targets
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

#[derive(Debug, Args)]
pub struct ScanPlanArgs {
    #[command(flatten)]
    pub targets: TargetArgs,

    /// Probes a second, such as 10kpps
    #[arg(long, value_name = "RATE", default_value = "10kpps", value_parser = rate)]
    pub rate: f64,
}

fn rate(text: &str) -> Result<f64, ValueError> {
    let pps = packet_rate(text).filter(|pps| *pps >= 1.0);
    pps.ok_or(ValueError::Expected("a rate of at least 1pps, such as 10kpps"))
}

fn contact(text: &str) -> Result<String, ValueError> {
    let schemes = ["https://", "http://", "mailto:"];
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    match rest.is_some_and(|rest| !rest.is_empty()) {
        true => Ok(text.to_owned()),
        false => Err(ValueError::Expected("a URL that begins with https://, http:// or mailto:")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_and_rates() {
        assert!(contact("https://scan.example.org").is_ok() && contact("mailto:a@b").is_ok());
        for text in ["", "https://", "scan.example.org", "ftp://x"] {
            assert!(contact(text).is_err(), "{text}");
        }
        assert!((rate("10kpps").unwrap() - 10_000.0).abs() < f64::EPSILON);
        assert!(rate("0pps").is_err() && rate("1gbps").is_err());
    }
}
