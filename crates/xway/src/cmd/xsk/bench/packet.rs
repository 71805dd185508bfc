//! The packet that `tx` and `rtt` send, from the command line and the interface.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use anyhow::Result;
use bench::load::Template;
use lab::frame::Side;
use packet::Mac;
use sys::net::Netlink;
use sys::signal::Stop;

use crate::args::PacketArgs;
use crate::cmd::generate::hop;

/// A packet from an interface of this namespace to the destination in the arguments.
pub fn template(args: &PacketArgs, dev: &str, stop: &Stop) -> Result<Template> {
    let mut netlink = Netlink::open()?;
    let link = netlink.link(dev)?;
    let mac = match (args.dst_mac, args.to) {
        (Some(mac), _) => mac,
        (None, Some(to)) => hop::resolve(&mut netlink, &link, (*to.ip()).into(), stop)?,
        (None, None) => UNASSIGNED,
    };
    let own = netlink.addresses()?.into_iter().find_map(|address| match address.ip {
        IpAddr::V4(ip) if address.ifindex == link.ifindex => Some(ip),
        _ => None,
    });
    let to = args.to.unwrap_or(SocketAddrV4::new(TO, PORT));
    let source =
        Side { mac: link.mac.unwrap_or_default(), ip: own.unwrap_or(FROM).into(), port: PORT };
    let target = Side { mac, ip: (*to.ip()).into(), port: to.port() };
    Ok(Template::new(source, target, args.size as usize)?)
}

const PORT: u16 = 5000;
/// Addresses reserved for benchmarks (RFC 2544).
const FROM: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// An address reserved for documentation (RFC 7042).
const UNASSIGNED: Mac = Mac([0x00, 0x00, 0x5e, 0x00, 0x53, 0x01]);
