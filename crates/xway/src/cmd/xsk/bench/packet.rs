//! The packets: UDP with a number of 64 bits.
//!
//! ```text
//! 0 ─ Ethernet ─ 14 ─ IPv4 ─ 34 ─ UDP ─ 42 ─ stream and number, big-endian ─ 50 ─ zeros
//! ```
//! The number's first byte is the stream, the sender's queue; each stream counts from 0. There is
//! no UDP checksum, so nothing else changes from packet to packet.

use std::net::{Ipv4Addr, SocketAddrV4};

use anyhow::Result;
use lab::frame::{Flow, Side};
use packet::Mac;
use sys::net::Netlink;
use sys::signal::Stop;

use crate::args::PacketArgs;
use crate::cmd::generate::hop;

/// A packet without its number.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
}

impl Template {
    /// From an interface of this namespace to where the arguments say.
    pub fn new(args: &PacketArgs, dev: &str, stop: &Stop) -> Result<Self> {
        let mut netlink = Netlink::open()?;
        let link = netlink.link(dev)?;
        let mac = match (args.dst_mac, args.to) {
            (Some(mac), _) => mac,
            (None, Some(to)) => hop::resolve(&mut netlink, &link, (*to.ip()).into(), stop)?,
            (None, None) => NOBODY,
        };
        let own = netlink.addresses()?.into_iter().find_map(|address| match address.ip {
            std::net::IpAddr::V4(ip) if address.ifindex == link.ifindex => Some(ip),
            _ => None,
        });
        let to = args.to.unwrap_or(SocketAddrV4::new(TO, PORT));
        let source =
            Side { mac: link.mac.unwrap_or_default(), ip: own.unwrap_or(FROM).into(), port: PORT };
        let target = Side { mac, ip: (*to.ip()).into(), port: to.port() };
        let bytes = Flow::new(source, target).udp_of_length(args.size as usize)?;
        Ok(Self { bytes })
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes all of a packet, as one who builds packets does.
    #[inline]
    pub fn write(&self, packet: &mut [u8], number: u64) {
        packet.copy_from_slice(&self.bytes);
        if let Some(place) = packet.get_mut(NUMBER..NUMBER + 8) {
            place.copy_from_slice(&number.to_be_bytes());
        }
    }
}

/// The number of a packet; `None` when it is no UDP over IPv4.
#[inline]
pub fn number(packet: &[u8]) -> Option<u64> {
    let head = packet.first_chunk::<{ NUMBER + 8 }>()?;
    let is_udp = head[12] == 8 && head[13] == 0 && head[14] == 0x45 && head[23] == 17;
    let number = head.last_chunk::<8>()?;
    is_udp.then(|| u64::from_be_bytes(*number))
}

/// Source and destination take each other's place.
#[inline]
pub fn swap_macs(packet: &mut [u8]) {
    if let Some(macs) = packet.first_chunk_mut::<12>() {
        let (target, source) = macs.split_at_mut(6);
        target.swap_with_slice(source);
    }
}

/// Where the number stands.
const NUMBER: usize = 42;
const PORT: u16 = 5000;
/// For benchmarks (RFC 2544).
const FROM: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// For documentation (RFC 7042).
const NOBODY: Mac = Mac([0x00, 0x00, 0x5e, 0x00, 0x53, 0x01]);

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_where_they_were_written() {
        let side = |last| Side { mac: Mac([2, 0, 0, 0, 0, last]), ip: FROM.into(), port: PORT };
        let bytes = Flow::new(side(1), side(2)).udp_of_length(60).unwrap();
        let (template, mut packet) = (Template { bytes }, [0; 60]);
        template.write(&mut packet, 0x0700_0000_0000_0102);
        assert_eq!(number(&packet), Some(0x0700_0000_0000_0102));
        swap_macs(&mut packet);
        assert_eq!(packet[..12], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        assert_eq!(number(&packet[..49]), None, "too short");
        packet[12] = 0x86;
        assert_eq!(number(&packet), None, "no IPv4");
    }
}
