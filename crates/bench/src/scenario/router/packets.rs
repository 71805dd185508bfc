//! The packets that routers are measured with, as a flood and as frames for test runs.
//!
//! Rule: both have the same headers. Not here: the lab (`net`), and what the packets are for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::Result;
use lab::frame::{Flow, Side, Tag};
use packet::VlanTag;
use traffic::Template;
use traffic::stream::{Order, Pool, Quick, QuickProtocol, Sizes, Value, Vary};

use super::net::{LISTED, Net};
use crate::field::{FRAME, PORT};

/// UDP packets from the sender.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// Destinations, in turn.
    pub destinations: &'a [IpAddr],
    /// Number of sources, in turn: the sender's address and those after it.
    pub sources: u8,
    /// The tag that they have.
    pub tag: Option<VlanTag>,
    /// TTL or hop limit.
    pub ttl: u8,
}

impl<'a> Packets<'a> {
    /// From the sender's address, without a tag, and with the usual TTL.
    pub fn to(destinations: &'a [IpAddr]) -> Self {
        Self { destinations, sources: 1, tag: None, ttl: TTL }
    }

    fn is_ipv6(&self) -> bool {
        self.destinations.iter().any(IpAddr::is_ipv6)
    }

    /// Length of a frame.
    fn length(&self) -> usize {
        let length = if self.is_ipv6() { FRAME6 } else { FRAME };
        length + if self.tag.is_some() { TAG } else { 0 }
    }
}

impl Net {
    /// The flood's stream of packets to these destinations.
    ///
    /// # Errors
    /// The lab's interfaces cannot be read.
    pub fn stream(&self, destinations: &[IpAddr]) -> Result<Template> {
        self.stream_of(&Packets::to(destinations))
    }

    /// UDP frames, in IPv4 without a UDP checksum. The list of destinations always has the same
    /// length, so that making the frames costs the same. All are from the sender's own address.
    pub(super) fn stream_of(&self, packets: &Packets<'_>) -> Result<Template> {
        let is_ipv6 = packets.is_ipv6();
        let source = self.source(is_ipv6)?;
        let address = |address: &IpAddr| address.to_string().as_str().into();
        let list = packets.destinations.iter().cycle().take(LISTED).map(address).collect();
        let vary = Vary { pool: Pool::List(list), step: 1, order: Order::Sequence };
        let quick = Quick {
            src_mac: Some(self.sender.mac()?.to_string().as_str().into()),
            dst_mac: Some(self.near.mac()?.to_string().as_str().into()),
            src: Some(source.to_string().as_str().into()),
            dst: Some(Value::Vary(vary)),
            dport: Some(u64::from(PORT).into()),
            ttl: Some(u64::from(packets.ttl).into()),
            vlans: packets.tag.iter().map(|tag| u64::from(tag.id()).into()).collect(),
            size: Some(Sizes::Fixed(packets.length())),
            checksum: (!is_ipv6).then(|| "none".into()),
            ..Quick::new(QuickProtocol::Udp)
        };
        Ok(quick.stream().template(0, MTU)?)
    }

    /// The frames, one for each destination.
    pub(super) fn frames_of(&self, packets: &Packets<'_>) -> Result<Vec<Vec<u8>>> {
        let (sender, near) = (self.sender.mac()?, self.near.mac()?);
        let first = self.source(packets.is_ipv6())?;
        let tags: Vec<Tag> = packets.tag.iter().map(frame_tag).collect();
        let sources = (0..packets.sources.max(1)).cycle();
        let frames = packets.destinations.iter().zip(sources).map(|(ip, number)| {
            let source = Side { mac: sender, ip: after(first, number), port: PORT };
            let flow = Flow::new(source, Side { mac: near, ip: *ip, port: PORT });
            Ok(Flow { tags: tags.clone(), ..flow }
                .ttl(packets.ttl)
                .udp_of_length(packets.length())?)
        });
        frames.collect()
    }
}

fn frame_tag(tag: &VlanTag) -> Tag {
    Tag { ether_type: tag.protocol().0, control: tag.id() }
}

/// The address that is this much greater.
fn after(address: IpAddr, number: u8) -> IpAddr {
    match address {
        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() + u32::from(number)).into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() + u128::from(number)).into(),
    }
}

/// An IPv6 frame with as much after the headers as [`FRAME`].
const FRAME6: usize = FRAME + 20;
/// Bytes of a tag.
const TAG: usize = 4;
const TTL: u8 = 64;
/// MTU of the lab's links.
const MTU: usize = 1500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_follow_the_sender() {
        let after = |text: &str, number| after(text.parse().unwrap(), number).to_string();
        assert_eq!(after("10.0.1.2", 0), "10.0.1.2");
        assert_eq!(after("10.0.1.2", 250), "10.0.1.252");
        assert_eq!(after("fd00:0:0:1::2", 250), "fd00:0:0:1::fc");
    }
}
