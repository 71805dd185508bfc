//! `gen pcap`: a capture becomes a recording.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use sys::net::Netlink;
use sys::stdio::open_input;
use traffic::Rate;
use traffic::replay::{Cut, Edits, Framing, Options, Recording, Timing};

use crate::args::generate::{CutArg, PcapArgs};
use crate::view::say;

/// Reads a capture, and prints remarks about it. Returns also the numbers of packets to which an
/// Ethernet header was added, by link type.
pub fn read(args: &PcapArgs) -> Result<(Recording, BTreeMap<String, u64>)> {
    let path = args.capture.display();
    let input = open_input(&args.capture).with_context(|| format!("cannot read {path}"))?;
    let (recording, notes) =
        Recording::read(input, &options(args)?).with_context(|| path.to_string())?;
    for line in notes.lines() {
        say(&format!("{path}: {line}"));
    }
    let framed = notes.framed.iter().map(|(link, packets)| (link.to_string(), *packets));
    Ok((recording, framed.collect()))
}

fn options(args: &PcapArgs) -> Result<Options> {
    let timing = match (args.run.rate, args.speed) {
        (None, None) => Timing::Captured,
        (None, Some(factor)) => Timing::Scaled(factor),
        (Some(Rate::PacketsPerSecond(pps)), _) => Timing::PacketsPerSecond(pps),
        (Some(Rate::Max), _) => Timing::Max,
        (Some(Rate::BitsPerSecond(_)), _) => {
            bail!("a capture is sent at its own times, at --speed, or at a --rate in pps or max")
        }
    };
    let mut options = Options {
        timing,
        rounds: args.rounds,
        first: args.packets,
        longest_gap: args.longest_gap,
        cut: match args.cut {
            CutArg::Send => Cut::AsCaptured,
            CutArg::Pad => Cut::Pad,
            CutArg::Skip => Cut::LeaveOut,
        },
        edits: Edits {
            macs: args.map_mac.clone(),
            addresses: args.map_ip.clone(),
            ports: args.map_port.clone(),
            vlan: args.map_vlan,
        },
        link: args.link.into(),
        ..Options::default()
    };
    if let Some(dev) = &args.run.dev {
        let link = Netlink::open()?.link(dev)?;
        options.mtu = link.mtu as usize;
        if let Some(source) = link.mac {
            options.framing = Framing { source, ..options.framing };
        }
    }
    Ok(options)
}
