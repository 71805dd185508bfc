//! `gen pcap`: a capture, the times of its frames, and changes to them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use traffic::replay::{AddressMap, MacMap, PortMap, Vlan};

use super::parse;
use super::sending::SendArgs;
use crate::args::link::LinkArg;
use crate::args::value::duration;

/// What happens to frames that were captured in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CutArg {
    /// Send the part that was captured
    #[default]
    Send,
    /// Pad with zeros to the original length
    Pad,
    /// Do not send them
    Skip,
}

/// With `--rate`, frames are sent at that rate; without it, at the times of the capture.
#[derive(Clone, Debug, Args)]
pub struct PcapArgs {
    /// Capture file, pcap or pcapng
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,

    /// Speed relative to the capture, such as 2 or 0.5
    #[arg(long, value_name = "FACTOR", value_parser = parse::factor, conflicts_with = "rate")]
    pub speed: Option<f64>,

    /// Number of times to send the capture; 0 repeats it until the run ends
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub rounds: u32,

    /// Send only the first N packets of the capture
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub packets: Option<u64>,

    /// Longest gap between frames; longer ones are shortened, such as 1s
    #[arg(long = "max-gap", alias = "longest-gap", value_name = "TIME", value_parser = duration)]
    pub longest_gap: Option<Duration>,

    /// What to do with frames that were captured in part
    #[arg(long, value_enum, default_value_t)]
    pub cut: CutArg,

    /// What to do with packets that were captured without an Ethernet header
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub link: LinkArg,

    /// Rewrite MAC addresses: [src:|dst:]FROM=TO, * for any (may be repeated)
    #[arg(long, value_name = "MAP")]
    pub map_mac: Vec<MacMap>,

    /// Rewrite IP addresses: [src:|dst:]FROM[/LEN]=TO[/LEN] (may be repeated)
    #[arg(long, value_name = "MAP")]
    pub map_ip: Vec<AddressMap>,

    /// Rewrite ports: [src:|dst:]FROM[..LAST]=TO[..LAST] (may be repeated)
    #[arg(long, value_name = "MAP")]
    pub map_port: Vec<PortMap>,

    /// Set or remove the VLAN tag
    #[arg(long, value_name = "VLAN")]
    pub map_vlan: Option<Vlan>,

    #[command(flatten)]
    pub run: SendArgs,
}
