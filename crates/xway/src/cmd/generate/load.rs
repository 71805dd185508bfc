//! Converts arguments to streams: those of a file, or one described by options.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use control::text;
use traffic::Expect;
use traffic::stream::{File, Payload, Quick, QuickProtocol, Value};

use crate::args::generate::{Destination, ExpectArg, FrameArgs, HostArgs, Load, PortArgs};

/// The streams that arguments describe, whose addresses may still be missing. With `stamped`,
/// protocols with room for a stamp carry one, unless it was disabled.
pub fn file<S: Args>(load: &Load<S>, stamped: bool) -> Result<File> {
    match load {
        Load::File(args) => read(&args.streams),
        Load::Udp(args) => of_ports(QuickProtocol::Udp, args, stamped),
        Load::Syn(args) => of_ports(QuickProtocol::TcpSyn, args, false),
        Load::Icmp(args) => of_host(QuickProtocol::Icmp, args, stamped),
        Load::Arp(args) => of_host(QuickProtocol::Arp, args, false),
        Load::Raw(args) => {
            let protocol = QuickProtocol::Raw(args.bytes.clone());
            let (size, stamp) = (args.size.clone(), args.stamp);
            Ok(alone(&Quick { size, stamp, name: "raw".into(), ..Quick::new(protocol) }))
        }
    }
}

/// The options for the use of the streams.
pub fn run<S: Args>(load: &Load<S>) -> &S {
    match load {
        Load::File(args) => &args.run,
        Load::Udp(args) | Load::Syn(args) => &args.run,
        Load::Icmp(args) | Load::Arp(args) => &args.run,
        Load::Raw(args) => &args.run,
    }
}

/// Reads the streams of a file, TOML or JSON.
pub fn read(path: &Path) -> Result<File> {
    File::parse(&text::read(path)?).with_context(|| format!("{}", path.display()))
}

fn of_ports<S: Args>(protocol: QuickProtocol, args: &PortArgs<S>, stamped: bool) -> Result<File> {
    if args.to.port.is_some() && args.dport.is_some() {
        bail!("specify the port after the address or in --dport, not in both");
    }
    let (sport, dport) = (args.sport.clone(), args.to.port.clone().or(args.dport.clone()));
    if dport.is_none() && protocol == QuickProtocol::TcpSyn {
        bail!("specify the port after the address: 10.0.0.2:80");
    }
    // Discard (RFC 863), at both ends.
    let port = |given: Option<Value>| given.or_else(|| Some(Value::from(9)));
    let stream = of_frame(protocol, &args.to, &args.frame, stamped);
    Ok(alone(&Quick { sport: port(sport), dport: port(dport), ..stream }))
}

fn of_host<S: Args>(protocol: QuickProtocol, args: &HostArgs<S>, stamped: bool) -> Result<File> {
    if args.to.port.is_some() {
        bail!("there are no ports in these frames: write the address alone");
    }
    Ok(alone(&of_frame(protocol, &args.to, &args.frame, stamped)))
}

/// The stream of frame options. SYN segments and ARP requests, which carry no data, are stamped
/// only on request.
fn of_frame(protocol: QuickProtocol, to: &Destination, args: &FrameArgs, stamped: bool) -> Quick {
    let payload = args
        .payload
        .as_ref()
        .map(|payload| Payload { hex: Some(packet::hex(&payload.0)), ..Payload::default() });
    let name = match protocol {
        QuickProtocol::Udp => "udp",
        QuickProtocol::TcpSyn => "syn",
        QuickProtocol::Icmp => "icmp",
        QuickProtocol::Arp => "arp",
        QuickProtocol::Raw(_) => "raw",
    };
    Quick {
        name: name.to_owned(),
        src_mac: args.src_mac.clone(),
        dst_mac: args.dst_mac.clone(),
        src: args.src.clone(),
        dst: Some(to.address.clone()),
        ttl: args.ttl.map(|ttl| Value::from(u64::from(ttl))),
        dscp: args.dscp.map(|dscp| Value::from(u64::from(dscp))),
        vlans: args.vlan.iter().flat_map(|vlans| vlans.0.clone()).collect(),
        size: args.size.clone(),
        payload,
        checksum: args.bad_checksum.then(|| Value::from("broken")),
        stamp: args.stamp || args.expect == ExpectArg::Drop || (stamped && !args.no_stamp),
        expect: match args.expect {
            ExpectArg::Pass => Expect::Pass,
            ExpectArg::Drop => Expect::Drop,
        },
        ..Quick::new(protocol)
    }
}

fn alone(quick: &Quick) -> File {
    File { streams: vec![quick.stream()] }
}
