//! `xsk`: AF_XDP sockets, measured and listed.

use std::net::SocketAddrV4;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use packet::Mac;
use traffic::Rate;
use xsk::steer::Rule;

use super::attach::duration;
use super::generate::{Cpus, parse_count, parse_cpus};

#[derive(Debug, Subcommand)]
pub enum XskAction {
    /// Send, receive, answer or forward numbered packets, and count what becomes of them
    Bench(Box<BenchArgs>),
    /// Which queues have sockets, and whose
    List,
    /// What an interface can do for sockets
    Info {
        /// Network interface
        dev: String,
    },
}

/// What a socket does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Send numbered packets
    Tx,
    /// Count numbered packets
    Rx,
    /// Send packets back, their Ethernet addresses exchanged
    Echo,
    /// Send what --dev receives out of --out-dev
    Forward,
    /// Send one packet, wait until it is sent back, and so on
    Rtt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CopyArg {
    /// Zero copy where the driver has it
    #[default]
    Auto,
    Copy,
    /// Zero copy, or an error
    ZeroCopy,
}

/// What is done when nothing has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WaitArg {
    /// Look again, without a pause
    Spin,
    /// Sleep until something comes
    Poll,
    /// Spin while single packets come in quick succession, else sleep
    #[default]
    Adaptive,
    /// Run the driver's receive code in the thread
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
    /// What is done
    #[arg(value_enum)]
    pub role: RoleArg,

    /// Network interface; none is ever guessed
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// Where packets are forwarded to
    #[arg(long, value_name = "IFACE", required_if_eq("role", "forward"))]
    pub out_dev: Option<String>,

    /// Which queue has a socket, or `all`, each with a thread of its own
    #[arg(long, value_name = "N|all", default_value = "0", value_parser = queue)]
    pub queue: QueueArg,

    /// Whether the driver works on the memory itself
    #[arg(long, value_enum, default_value_t)]
    pub mode: CopyArg,

    /// Only packets that match one of these rules go to the sockets, such as `any udp 5000`; may be
    /// given several times
    #[arg(long, value_name = "RULE")]
    pub steer: Vec<Rule>,

    /// Packets at a time
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: u32,

    /// Slots of each ring, a power of two
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub rings: u32,

    /// What is done when nothing has come
    #[arg(long, value_enum, default_value_t)]
    pub wait: WaitArg,

    /// Processors of the threads, in turn: 0,2..3; else those of the queues' interrupts
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub packet: PacketArgs,

    /// End this long after the first packet; without count and time, by Ctrl-C, a day at most
    #[arg(long, value_parser = duration, value_name = "TIME", alias = "seconds")]
    pub time: Option<Duration>,

    /// End after so many packets: 1000, 10k, 5m
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub count: Option<u64>,

    /// Time between lines while it runs; with --json a line of JSON each
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub interval: Option<Duration>,

    /// Print {"ready":true} on standard output when packets may come
    #[arg(long)]
    pub ready: bool,

    /// Even on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,
}

/// What `tx` and `rtt` send: UDP over IPv4 without a checksum, with a number of 64 bits.
#[derive(Clone, Copy, Debug, Args)]
pub struct PacketArgs {
    /// Bytes of a packet without the Ethernet checksum
    #[arg(long, value_name = "BYTES", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(60..=3840))]
    pub size: u32,

    /// Packets or bits a second of all queues: 500kpps, 2gbps, or max
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Destination, for which the next hop is asked; else an address of nobody (RFC 2544)
    #[arg(long, value_name = "IPV4:PORT")]
    pub to: Option<SocketAddrV4>,

    /// Destination Ethernet address; else that of the next hop, or of nobody (RFC 7042)
    #[arg(long, value_name = "MAC")]
    pub dst_mac: Option<Mac>,
}

fn queue(text: &str) -> Result<QueueArg, String> {
    if text == "all" {
        return Ok(QueueArg::All);
    }
    let number = text.parse().map(QueueArg::One);
    number.map_err(|_| format!("`{text}` is no queue: write a number from 0 on, or all"))
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
    fn what_is_refused_says_why() {
        for (words, reason) in [
            ("tx", "--dev"),
            ("forward --dev e", "--out-dev"),
            ("tx --dev e --queue x", "a number from 0 on, or all"),
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
