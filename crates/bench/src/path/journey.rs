//! Where packets of a path are sent to, where they arrive, and their correct contents there.

use anyhow::{Context, Result, ensure};
use lab::frame::check;
use packet::{IpPacket, Limits};

use crate::field::{Line, PORT, Place};

/// How a path changes a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journey {
    /// Sent to the forwarder's address, it arrives with the sink's.
    Translated,
    /// Sent to the sink by way of the forwarder, which counts its time to live down.
    Routed,
    /// Sent to the sink as on one link, it arrives unchanged.
    Bridged,
    /// Arrives at the sink with its hardware addresses exchanged.
    Crossed,
    /// Comes back to the sender with its hardware addresses exchanged.
    Returned,
    /// Ends at the forwarder's ingress.
    Stopped,
}

impl Journey {
    /// What the sender sends.
    pub fn frame(self, line: &Line) -> Result<Vec<u8>> {
        let (mac, ip) = self.target(line);
        line.frame(mac, ip)
    }

    /// The frame without a payload and its checksum, for a sender that writes into it.
    pub fn blank(self, line: &Line) -> Result<Vec<u8>> {
        let (mac, ip) = self.target(line);
        line.blank(mac, ip)
    }

    /// Whose hardware address frames have, and whose IP address.
    fn target(self, line: &Line) -> (&Place, &Place) {
        match self {
            Self::Translated | Self::Stopped => (&line.near, &line.near),
            Self::Routed | Self::Crossed | Self::Returned => (&line.near, &line.sink),
            Self::Bridged => (&line.sink, &line.sink),
        }
    }

    /// Where packets arrive.
    pub fn end(self, line: &Line) -> &Place {
        match self {
            Self::Translated | Self::Routed | Self::Bridged | Self::Crossed => &line.sink,
            Self::Returned => &line.sender,
            Self::Stopped => &line.near,
        }
    }

    /// Checks a packet that arrived after `sent` was sent.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn judge(self, line: &Line, sent: &[u8], got: &[u8]) -> Result<()> {
        check(got).map_err(anyhow::Error::msg)?;
        match self {
            Self::Bridged | Self::Stopped => same(sent, got),
            Self::Crossed | Self::Returned => same(&turned(sent), got),
            Self::Routed => same(&routed(line, sent)?, got),
            Self::Translated => translated(line, got),
        }
    }
}

fn same(want: &[u8], got: &[u8]) -> Result<()> {
    ensure!(want == got, "{got:02x?} arrived, not {want:02x?}");
    Ok(())
}

/// With its hardware addresses exchanged.
fn turned(sent: &[u8]) -> Vec<u8> {
    [&sent[6..12], &sent[..6], &sent[12..]].concat()
}

/// The packet that a router forwards: hardware addresses of the next link, and one hop less.
fn routed(line: &Line, sent: &[u8]) -> Result<Vec<u8>> {
    let mut want = [&line.sink.mac()?.0, &line.far.mac()?.0, &sent[12..]].concat();
    want[TTL] -= 1;
    let sum = u16::from_be_bytes([want[TTL + 2], want[TTL + 3]]);
    let (sum, over) = sum.overflowing_add(0x0100);
    want[TTL + 2..TTL + 4].copy_from_slice(&(sum + u16::from(over)).to_be_bytes());
    Ok(want)
}

/// The addresses of the last link, and a checksum: proxies make a packet of their own.
fn translated(line: &Line, got: &[u8]) -> Result<()> {
    let ip_packet = IpPacket::find(got, Limits::default()).context("no IP packet")?;
    let transport = &got[ip_packet.transport..];
    let (ip, port) = (&got[ip_packet.network + 16..ip_packet.network + 20], &transport[2..4]);
    ensure!(got[..6] == line.sink.mac()?.0, "to another hardware address: {got:02x?}");
    ensure!(ip == line.sink.ipv4()?.octets(), "to another address: {got:02x?}");
    ensure!(port == PORT.to_be_bytes(), "to another port: {got:02x?}");
    ensure!(transport[6..8] != [0, 0], "the UDP checksum is gone: {got:02x?}");
    Ok(())
}

/// Offset of the TTL in an IPv4 frame without a tag.
const TTL: usize = 22;
