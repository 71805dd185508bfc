//! `gen pcap`: a capture, when its frames leave, and what is changed in them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use traffic::replay::{AddressMap, MacMap, PortMap, Vlan};

use super::parse;
use super::sending::SendArgs;
use crate::args::attach::duration;

/// What becomes of frames that the capture cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CutArg {
    /// What was captured is sent
    #[default]
    Send,
    /// Zeros are sent behind it, up to the length that they had
    Pad,
    /// They are not sent
    Skip,
}

/// With `--rate` frames leave evenly, or flat out for `max`; else when they were captured.
#[derive(Clone, Debug, Args)]
pub struct PcapArgs {
    /// Capture, pcap or pcapng
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,

    /// Send so many times as fast as captured: 2, 0.5
    #[arg(long, value_name = "FACTOR", value_parser = parse::factor, conflicts_with = "rate")]
    pub speed: Option<f64>,

    /// Send the capture so many times, one behind the other; 0 until the run ends
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub rounds: u32,

    /// Send only so many packets from the start of the capture
    #[arg(long, value_name = "N", value_parser = parse::count)]
    pub packets: Option<u64>,

    /// Shorten gaps between frames to this
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub longest_gap: Option<Duration>,

    /// What becomes of frames of which only the beginning was captured
    #[arg(long, value_enum, default_value_t)]
    pub cut: CutArg,

    /// Change Ethernet addresses: [src:|dst:]FROM=TO, * for any (may be repeated)
    #[arg(long, value_name = "MAP")]
    pub map_mac: Vec<MacMap>,

    /// Change IP addresses: [src:|dst:]FROM[/LEN]=TO[/LEN] (may be repeated)
    #[arg(long, value_name = "MAP")]
    pub map_ip: Vec<AddressMap>,

    /// Change ports: [src:|dst:]FROM[..LAST]=TO[..LAST] (may be repeated)
    #[arg(long, value_name = "MAP")]
    pub map_port: Vec<PortMap>,

    /// Change, add or take off the VLAN
    #[arg(long, value_name = "VLAN")]
    pub map_vlan: Option<Vlan>,

    #[command(flatten)]
    pub run: SendArgs,
}
