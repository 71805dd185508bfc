//! The outer headers of a packet that user space sends to a backend: those that the program makes,
//! byte for byte, as tests compare.
//!
//! Rule: the same as `bpf/balancer/outer.h`, for whole packets that are not fragmented and whose
//! checksums are right. Not here: the way to the backend.

use std::net::IpAddr;

use packet::{EtherType, IpProtocol, checksum};

use super::abi::{self, Delivery};
use super::config::{Backend, Config, Service};
use super::flow::Fields;
use super::{object, service, tunnel};

/// The packet as it is delivered to a backend of a service: in its tunnel, or as it is.
#[must_use]
pub fn wrap(config: &Config, service: &Service, backend: &Backend, packet: &[u8]) -> Vec<u8> {
    let entry = tunnel::entry(config, service, backend);
    if entry.delivery == Delivery::Mac as u8 {
        return packet.to_vec();
    }
    Outer { entry: &entry, hash: hash(config, service, packet), inner: packet }.packet()
}

struct Outer<'a> {
    entry: &'a abi::Backend,
    hash: u64,
    inner: &'a [u8],
}

impl Outer<'_> {
    fn packet(&self) -> Vec<u8> {
        let shim = self.shim();
        let total = self.inner.len() + usize::from(self.entry.overhead);
        let mut packet = match self.entry.is_ipv6 {
            0 => self.ip4(total),
            _ => self.ip6(total - IP6),
        };
        packet.extend(shim);
        packet.extend(self.inner);
        packet
    }

    fn is_inner6(&self) -> bool {
        self.inner.first().is_some_and(|byte| byte >> 4 == 6)
    }

    fn traffic_class(&self) -> u8 {
        match self.inner {
            [first, second, ..] if self.is_inner6() => first << 4 | second >> 4,
            [_, class, ..] => *class,
            _ => 0,
        }
    }

    fn may_fragment(&self) -> bool {
        !self.is_inner6() && self.inner.get(6).is_some_and(|flags| flags & DF == 0)
    }

    fn protocol(&self) -> IpProtocol {
        if self.entry.delivery != Delivery::Ipip as u8 {
            return IpProtocol::UDP;
        }
        if self.is_inner6() { IpProtocol(41) } else { IpProtocol(4) }
    }

    /// The source, of which the hash selects the bits that are left open.
    fn source(&self) -> [u8; 16] {
        let mut source = self.entry.source;
        let chosen = ((self.hash >> 16) as u32).to_le_bytes();
        for (at, (chosen, spread)) in chosen.iter().zip(self.entry.spread).enumerate() {
            source[12 + at] |= chosen & spread;
        }
        source
    }

    fn ip4(&self, total: usize) -> Vec<u8> {
        let mut ip = vec![0x45, self.traffic_class()];
        ip.extend((total as u16).to_be_bytes());
        let flags = if self.may_fragment() { 0 } else { DF };
        ip.extend([0, 0, flags, 0, TTL, self.protocol().0, 0, 0]);
        ip.extend(&self.source()[12..]);
        ip.extend(&self.entry.address[12..]);
        let sum = !checksum::fold(checksum::sum(&ip));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip
    }

    fn ip6(&self, length: usize) -> Vec<u8> {
        let label = self.hash as u32 & 0xf_ffff;
        let first = 6 << 28 | u32::from(self.traffic_class()) << 20 | label;
        let mut ip = first.to_be_bytes().to_vec();
        ip.extend((length as u16).to_be_bytes());
        ip.extend([self.protocol().0, TTL]);
        ip.extend(self.source());
        ip.extend(self.entry.address);
        ip
    }

    /// What is between the outer IP header and the packet.
    fn shim(&self) -> Vec<u8> {
        if self.entry.delivery == Delivery::Ipip as u8 {
            return Vec::new();
        }
        let mut shim = (FIRST_PORT | self.hash as u16 & PORT_MASK).to_be_bytes().to_vec();
        shim.extend(self.entry.port);
        shim.extend([0; 4]);
        if self.entry.delivery == Delivery::Geneve as u8 {
            let inner = if self.is_inner6() { EtherType::IPV6 } else { EtherType::IPV4 };
            shim.extend([0; 2]);
            shim.extend(inner.0.to_be_bytes());
            shim.extend(self.entry.vni);
        }
        let length = shim.len() + self.inner.len();
        shim[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        if self.entry.is_ipv6 != 0 && self.entry.flags & tunnel::NO_SUM == 0 {
            let addresses = [self.source(), self.entry.address].concat();
            let sum = checksum::pseudo_header(&addresses, IpProtocol::UDP, length);
            let sum = !checksum::fold(sum + checksum::sum(&shim) + checksum::sum(self.inner));
            shim[6..8].copy_from_slice(&if sum == 0 { u16::MAX } else { sum }.to_be_bytes());
        }
        shim
    }
}

/// The hash of the flow of a packet, as the program computes it (`balancer_hash`).
fn hash(config: &Config, service: &Service, packet: &[u8]) -> u64 {
    let is_ipv6 = packet.first().is_some_and(|byte| byte >> 4 == 6);
    let (addresses, size, protocol) = if is_ipv6 { (8, 16, 6) } else { (12, 4, 9) };
    let transport = if is_ipv6 { IP6 } else { 20 };
    let address = |at: usize| {
        let bytes = packet.get(at..at + size).unwrap_or_default();
        let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
        let v6 = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
        v4.or(v6).map_or([0; 16], service::mapped)
    };
    let mut protocol = packet.get(protocol).copied().unwrap_or_default();
    let at = |at: usize| packet.get(transport + at).copied().unwrap_or_default();
    let mut ports = [at(0), at(1), at(2), at(3)];
    if protocol == IpProtocol::ICMP.0 || protocol == IpProtocol::ICMPV6.0 {
        protocol = IpProtocol::ICMP.0;
        ports = [at(4), at(5), 0, 0];
    }
    let seeds = config.key.as_deref().map_or(object::SEED, object::seeds);
    let (source, dest) = (address(addresses), address(addresses + size));
    Fields { source, dest, ports, protocol }.hash(&service::entry(service), &seeds)
}

/// Bytes of an IPv6 header.
const IP6: usize = 40;
/// "Don't fragment", in the upper byte of the flags.
const DF: u8 = 0x40;
/// `BALANCER_TTL`.
const TTL: u8 = 64;
/// `BALANCER_FIRST_PORT` and `BALANCER_PORT_MASK`.
const FIRST_PORT: u16 = 0xc000;
const PORT_MASK: u16 = 0x3fff;
