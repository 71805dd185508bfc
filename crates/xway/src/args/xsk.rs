//! `xsk`: AF_XDP sockets, measured and listed.

use std::net::SocketAddrV4;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use packet::Mac;
use traffic::Rate;
use xsk::steer::Rule;

use super::generate::{Cpus, parse_count, parse_cpus};
use super::value::{ValueError, duration};

#[derive(Debug, Subcommand)]
pub enum XskAction {
    /// Send, receive, echo or forward numbered packets, and count every loss
    Bench(Box<BenchArgs>),
    /// List AF_XDP sockets by queue and owner
    List,
    /// Show what an interface supports for AF_XDP sockets
    Info {
        /// Network interface
        dev: String,
    },
}

/// Role of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Send numbered packets
    Tx,
    /// Count numbered packets
    Rx,
    /// Send packets back with exchanged Ethernet addresses
    Echo,
    /// Forward from --dev to --out-dev
    Forward,
    /// Send one packet at a time and wait for its echo
    Rtt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CopyArg {
    /// Zero copy if the driver supports it
    #[default]
    Auto,
    Copy,
    /// Zero copy; an error if the driver does not support it
    ZeroCopy,
}

/// How a thread waits for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WaitArg {
    /// Poll without a pause
    Spin,
    /// Sleep until a packet arrives
    Poll,
    /// Poll while packets arrive in quick succession, else sleep
    #[default]
    Adaptive,
    /// Busy polling: run the driver's receive code in the thread
    BusyPoll,
}

/// Queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueArg {
    All,
    One(u32),
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Role of the sockets
    #[arg(value_enum)]
    pub role: RoleArg,

    /// Network interface (required)
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// Egress interface
    #[arg(long, value_name = "IFACE", required_if_eq("role", "forward"))]
    pub out_dev: Option<String>,

    /// Queue with a socket, or all; each has a thread of its own
    #[arg(long, value_name = "N|all", default_value = "0", value_parser = queue)]
    pub queue: QueueArg,

    /// Copy mode or zero copy
    #[arg(long, value_enum, default_value_t)]
    pub mode: CopyArg,

    /// Steer only packets that match this rule to the sockets, such as 'any udp 5000' (may be
    /// repeated)
    #[arg(long, value_name = "RULE")]
    pub steer: Vec<Rule>,

    /// Packets per batch
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: u32,

    /// Slots of each ring; a power of two
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub rings: u32,

    /// How to wait for packets
    #[arg(long, value_enum, default_value_t)]
    pub wait: WaitArg,

    /// Processors of the threads, such as 0,2..3; those of the queues' interrupts without it
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub packet: PacketArgs,

    /// Stop this long after the first packet; on Ctrl-C, after a day at most, without --count and
    /// --time
    #[arg(long, value_parser = duration, value_name = "TIME", alias = "seconds")]
    pub time: Option<Duration>,

    /// Stop after N packets, such as 1000, 10k or 5m
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub count: Option<u64>,

    /// Interval between progress lines, such as 1s; with --json a line of JSON each
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub interval: Option<Duration>,

    /// Print {"ready":true} on standard output when the sockets are open
    #[arg(long)]
    pub ready: bool,

    /// Permit the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,
}

/// Packets that `tx` and `rtt` send: UDP over IPv4 without a checksum, with a 64-bit number.
#[derive(Clone, Copy, Debug, Args)]
pub struct PacketArgs {
    /// Packet size in bytes, without the Ethernet checksum
    #[arg(long, value_name = "BYTES", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(60..=3840))]
    pub size: u32,

    /// Rate of all queues together: 500kpps, 2gbps, or max
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Destination, whose next hop is looked up; an address reserved for benchmarks (RFC 2544)
    /// without it
    #[arg(long, value_name = "IPV4:PORT")]
    pub to: Option<SocketAddrV4>,

    /// Destination MAC address; that of the next hop, or one reserved for documentation (RFC 7042),
    /// without it
    #[arg(long, value_name = "MAC")]
    pub dst_mac: Option<Mac>,
}

fn queue(text: &str) -> Result<QueueArg, ValueError> {
    if text == "all" {
        return Ok(QueueArg::All);
    }
    let number = text.parse().map(QueueArg::One);
    number.map_err(|_| ValueError::Expected("a number from 0, or all"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn bench(words: &str) -> Result<BenchArgs, clap::Error> {
        let cli = Cli::try_parse_from("xway xsk bench".split(' ').chain(words.split(' ')))?;
        match cli.command {
            Command::Xsk(XskAction::Bench(args)) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_become_values() {
        let args = bench("tx --dev e --queue all --seconds 0.5 --rate 5kpps").unwrap();
        assert_eq!((args.role, args.queue), (RoleArg::Tx, QueueArg::All));
        assert_eq!(args.time, Some(Duration::from_millis(500)));
        assert_eq!((args.batch, args.packet.size), (64, 60));
        let cli = ["xway", "xsk", "bench", "rx", "--dev", "e", "--steer", "any udp 5000"];
        let Command::Xsk(XskAction::Bench(args)) = Cli::try_parse_from(cli).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(args.steer, ["any udp 5000".parse().unwrap()]);
    }

    #[test]
    fn errors_name_the_cause() {
        for (words, reason) in [
            ("tx", "--dev"),
            ("forward --dev e", "--out-dev"),
            ("tx --dev e --queue x", "a number from 0, or all"),
            ("tx --dev e --batch 0", "1..=4096"),
            ("tx --dev e --size 59", "60..=3840"),
            ("tx --dev e --mode driver", "zero-copy"),
            ("drop --dev e", "forward"),
        ] {
            let error = bench(words).unwrap_err().to_string();
            assert!(error.contains(reason), "{words}: {error}");
        }
    }
}
