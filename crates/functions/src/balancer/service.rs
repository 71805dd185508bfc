//! The keys under which a service is found, and the patterns of these keys.

use std::collections::BTreeSet;
use std::net::IpAddr;

use packet::IpProtocol;

use super::abi;
use super::config::{Config, Datagrams, Delivery, FlowKey, Ports, Protocol, Service};

/// Patterns of a family: `BALANCER_PATTERNS`.
const MOST: usize = 16;
/// `BALANCER_KEEPS_DATAGRAMS`.
const KEEPS_DATAGRAMS: u32 = 1;
/// `BALANCER_TRANSLATES`.
const TRANSLATES: u32 = 2;
/// `BALANCER_NO_TABLE`.
pub(super) const NO_TABLE: u32 = u32::MAX;

/// Services need more combinations of prefix lengths and port ranges than there are patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the services of {family} have {count} combinations of prefix length and size of port \
     ranges; at most {MOST} are possible"
)]
pub struct TooManyPatterns {
    family: &'static str,
    count: usize,
}

/// An address as in the maps: IPv4 is mapped into IPv6.
pub(super) fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// By which the maps know a service of this name.
pub(super) fn id(name: &str) -> u32 {
    super::choice::id(name.as_bytes()) as u32
}

/// The keys of a service: one for each block of its ports.
pub(super) fn keys(service: &Service) -> Vec<abi::Key> {
    let protocol = match service.protocol {
        Protocol::Tcp => IpProtocol::TCP,
        Protocol::Udp => IpProtocol::UDP,
        Protocol::Icmp => IpProtocol::ICMP,
    };
    let key = |(port, port_bits): (u16, u8)| abi::Key {
        address: mapped(service.address.0.address()),
        port: port.to_be_bytes(),
        protocol: protocol.0,
        address_bits: service.address.0.length(),
        port_bits,
        zero: [0; 3],
    };
    blocks(service.port).into_iter().map(key).collect()
}

/// Ports as blocks, each of which is a number and its significant bits.
fn blocks(ports: Ports) -> Vec<(u16, u8)> {
    let (mut first, last) = match ports {
        Ports::Any => return vec![(0, 0)],
        Ports::Range(first, last) => (u32::from(first), u32::from(last)),
    };
    let mut blocks = Vec::new();
    while first <= last {
        let aligned = first.trailing_zeros().min(16);
        let fitting = (last - first + 1).ilog2();
        let bits = aligned.min(fitting);
        blocks.push((first as u16, (16 - bits) as u8));
        first += 1 << bits;
    }
    blocks
}

/// Everything of a service but its tables.
pub(super) fn entry(service: &Service) -> abi::Service {
    let (mut source, mut dest, mut ports) = ([u64::MAX; 2], u64::MAX, [u8::MAX; 4]);
    match service.by {
        FlowKey::Flow => {}
        FlowKey::Source(bits) => {
            let offset = if service.address.0.address().is_ipv4() { 96 } else { 0 };
            source = source_mask(bits.map_or(128, |bits| offset + u32::from(bits)));
            (dest, ports) = (0, [0; 4]);
        }
        FlowKey::Port => {
            source = [0; 2];
            (dest, ports) = (0, [0, 0, u8::MAX, u8::MAX]);
        }
    }
    let keeps = service.datagrams == Datagrams::Keep;
    let translates = service.delivery == Delivery::Nat;
    abi::Service {
        source,
        dest,
        ports,
        table: 0,
        former: NO_TABLE,
        flags: if keeps { KEEPS_DATAGRAMS } else { 0 } | if translates { TRANSLATES } else { 0 },
        id: id(&service.name),
        zero: 0,
    }
}

/// The first bits of an address, as two words that are read from it.
fn source_mask(bits: u32) -> [u64; 2] {
    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0).to_be_bytes();
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| mask[at + i]));
    [word(0), word(8)]
}

/// The patterns of all services, the most specific first.
pub(super) fn patterns(config: &Config) -> Result<abi::Patterns, TooManyPatterns> {
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    for service in &config.services {
        let family = usize::from(service.address.0.address().is_ipv6());
        found[family].extend(keys(service).iter().map(|key| (key.address_bits, key.port_bits)));
    }
    let [v4, v6] = found;
    let (count4, count6) = (count(&v4, "IPv4")?, count(&v6, "IPv6")?);
    let mut patterns = abi::Patterns { count4, count6, ..abi::Patterns::default() };
    for (slot, (address_bits, port_bits)) in patterns.v4.iter_mut().zip(v4.into_iter().rev()) {
        let address = packet::mask4(address_bits).to_be_bytes();
        *slot = abi::Pattern4 { address, port: port_mask(port_bits), address_bits, port_bits };
    }
    for (slot, (address_bits, port_bits)) in patterns.v6.iter_mut().zip(v6.into_iter().rev()) {
        let address = packet::mask6(address_bits).to_be_bytes();
        *slot = abi::Pattern6 { address, port: port_mask(port_bits), address_bits, port_bits };
    }
    Ok(patterns)
}

fn count(found: &BTreeSet<(u8, u8)>, family: &'static str) -> Result<u32, TooManyPatterns> {
    let count = found.len();
    if count > MOST { Err(TooManyPatterns { family, count }) } else { Ok(count as u32) }
}

fn port_mask(bits: u8) -> [u8; 2] {
    u16::MAX.checked_shl(16 - u32::from(bits)).unwrap_or(0).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_blocks_that_cover_them_once() {
        assert_eq!(blocks(Ports::Any), [(0, 0)]);
        assert_eq!(blocks(Ports::Range(80, 80)), [(80, 16)]);
        assert_eq!(blocks(Ports::Range(0, 65535)), [(0, 0)]);
        assert_eq!(blocks(Ports::Range(8000, 8003)), [(8000, 14)]);
        for (first, last) in [(1, 65534), (8000, 8100), (65535, 65535), (0, 1), (7, 9)] {
            let mut next = first;
            for (port, bits) in blocks(Ports::Range(first as u16, last as u16)) {
                let size = 1_u32 << (16 - bits);
                assert_eq!(u32::from(port), next);
                assert_eq!(next % size, 0);
                next += size;
            }
            assert_eq!(next, last + 1);
        }
    }

    #[test]
    fn masks_of_sources_are_of_their_first_bits() {
        assert_eq!(source_mask(128), [u64::MAX; 2]);
        assert_eq!(source_mask(0), [0; 2]);
        assert_eq!(source_mask(96 + 24), [u64::MAX, 0x00ff_ffff_ffff_ffff]);
        assert_eq!(source_mask(48), [0x0000_ffff_ffff_ffff, 0]);
    }
}
