//! `xway capture`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use control::chain::verdicts;
use functions::capture::MAX_BYTES;
use spec::compose::VerdictSet;

use super::attach::ModeArg;
use super::value::{ValueError, duration, memory};

/// `xway capture`.
#[derive(Debug, Default, Args)]
pub struct CaptureArgs {
    /// Network interface
    pub iface: String,

    /// Capture this interface as well, into the same file; may be repeated
    #[arg(short, long = "interface", value_name = "IFACE")]
    pub interfaces: Vec<String>,

    /// Expression of tcpdump, such as 'udp port 53' (default: all packets)
    #[arg(value_name = "EXPR", trailing_var_arg = true)]
    pub expression: Vec<String>,

    /// Write packets to a capture file (pcapng) instead of printing them; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Capture packets with these verdicts only, such as drop,tx
    #[arg(long, value_name = "VERDICTS", value_parser = verdict_set,
        conflicts_with = "dropped")]
    pub verdict: Option<VerdictSet>,

    /// End after this number of packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// End after this time
    #[arg(long, value_parser = duration)]
    pub time: Option<Duration>,

    /// Begin another file when one has this size, such as 100MiB
    #[arg(long, value_name = "SIZE", value_parser = memory, requires = "write")]
    pub rotate_size: Option<u64>,

    /// Begin another file after this time
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "write")]
    pub rotate_time: Option<Duration>,

    /// Keep the newest files only, this number of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        requires = "write")]
    pub files: Option<u32>,

    /// Memory of the ring of each processor and interface (default: 32MiB, or 512MiB for all
    /// if that is less)
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub ring: Option<u64>,

    /// Mode on interfaces without a program
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
}

/// Which packets are captured, and what of them.
#[derive(Clone, Debug, Default, Args)]
pub struct SelectionArgs {
    /// Capture dropped packets only: the verdicts drop and aborted
    #[arg(long)]
    pub dropped: bool,

    /// Capture packets only that were decided for this reason, such as bad-header or default, or by
    /// the rule of the filter with this name or number
    #[arg(long, value_name = "REASON|RULE")]
    pub reason: Option<String>,

    /// Where packets are captured: as they come, as the programs leave them, or both
    #[arg(long, value_enum, value_name = "POINT", default_value_t)]
    pub at: PointArg,

    /// Bytes of each packet
    #[arg(long, value_name = "BYTES", default_value_t = MAX_BYTES,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BYTES)))]
    pub snaplen: u32,
}

/// Where packets are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PointArg {
    /// As they come; what the programs change is noted
    #[default]
    Before,
    /// As the programs leave them
    After,
    /// As they come and, if they are changed, also as the programs leave them
    Both,
}

fn verdict_set(text: &str) -> Result<VerdictSet, ValueError> {
    let set = verdicts(text).map_err(ValueError::library)?;
    match set == VerdictSet::EMPTY {
        true => Err(ValueError::Expected("verdicts such as drop,tx")),
        false => Ok(set),
    }
}
