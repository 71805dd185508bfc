//! A backend as the program delivers to it.

use std::net::IpAddr;
use std::num::NonZeroU16;

use packet::Prefix;

use super::abi;
use super::config::{Backend, Config, Delivery, Service, State, Tunnel};
use super::service::{id, mapped};

/// `BALANCER_DEAD`.
pub(super) const DEAD: u8 = 1;
/// `BALANCER_UNHEALTHY`.
pub(super) const UNHEALTHY: u8 = 8;
/// `BALANCER_NO_SUM`.
pub(super) const NO_SUM: u8 = 2;
/// Ports that IANA registered.
const GUE_PORT: u16 = 6080;
const GENEVE_PORT: u16 = 6081;
/// `BALANCER_TTL`.
const TTL: u16 = 64;

impl Delivery {
    /// As the program numbers them.
    fn number(self) -> abi::Delivery {
        match self {
            Self::Ipip => abi::Delivery::Ipip,
            Self::Gue(_) => abi::Delivery::Gue,
            Self::Geneve(_) => abi::Delivery::Geneve,
            Self::Mac => abi::Delivery::Mac,
            Self::Nat => abi::Delivery::Nat,
        }
    }

    fn tunnel(self) -> Tunnel {
        match self {
            Self::Gue(tunnel) | Self::Geneve(tunnel) => tunnel,
            Self::Ipip | Self::Mac | Self::Nat => Tunnel::default(),
        }
    }

    /// Bytes between the outer IP header and the inner one.
    const fn shim(self) -> u8 {
        match self {
            Self::Ipip | Self::Mac | Self::Nat => 0,
            Self::Gue(_) => 8,
            Self::Geneve(_) => 16,
        }
    }

    /// Bytes of the option that names another backend; 0 without Geneve.
    const fn option(self, backend: IpAddr) -> u8 {
        match (self, backend) {
            (Self::Geneve(_), IpAddr::V4(_)) => 8,
            (Self::Geneve(_), IpAddr::V6(_)) => 20,
            _ => 0,
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Gue(Tunnel { port: 0, .. }) => GUE_PORT,
            Self::Geneve(Tunnel { port: 0, .. }) => GENEVE_PORT,
            Self::Gue(Tunnel { port, .. }) | Self::Geneve(Tunnel { port, .. }) => port,
            Self::Ipip | Self::Mac | Self::Nat => 0,
        }
    }

    /// Bytes that are added to a packet for a backend.
    #[must_use]
    pub fn overhead(self, backend: IpAddr) -> u8 {
        match (self, backend) {
            (Self::Mac | Self::Nat, _) => 0,
            (_, IpAddr::V4(_)) => 20 + self.shim(),
            (_, IpAddr::V6(_)) => 40 + self.shim(),
        }
    }
}

/// The entry of a backend.
pub(super) fn entry(config: &Config, service: &Service, backend: &Backend) -> abi::Backend {
    let delivery = service.delivery;
    let is_ipv4 = backend.address.is_ipv4();
    let source = match (delivery, &config.nat) {
        (Delivery::Nat, Some(nat)) => nat.addresses().find(|one| one.is_ipv4() == is_ipv4),
        _ => None,
    };
    let source = source.and_then(|one| Prefix::new(one, if is_ipv4 { 32 } else { 128 }));
    let source = source.or_else(|| config.source(is_ipv4));
    let (source, spread) =
        source.map_or(([0; 16], [0; 4]), |source| (mapped(source.address()), host_bits(source)));
    let mut flags = if backend.state == State::Down { DEAD } else { 0 };
    if delivery.tunnel().zero_checksum {
        flags |= NO_SUM;
    }
    abi::Backend {
        address: mapped(backend.address),
        source,
        spread,
        sum: sum(backend.address),
        vni: (delivery.tunnel().vni << 8).to_be_bytes(),
        port: backend.port.map_or(delivery.port(), NonZeroU16::get).to_be_bytes(),
        overhead: delivery.overhead(backend.address),
        delivery: delivery.number() as u8,
        is_ipv6: u8::from(backend.address.is_ipv6()),
        flags,
        option: delivery.option(backend.address),
        zero: 0,
        service: id(&service.name),
        weight: if backend.state == State::Up { backend.weight.into() } else { 0 },
        reserved: 0,
    }
}

/// Bits of the last word of an address that its network leaves open.
fn host_bits(network: Prefix) -> [u8; 4] {
    let open = u32::from(network.longest() - network.length()).min(32);
    1_u64.checked_shl(open).map_or(0, |bit| (bit - 1) as u32).to_be_bytes()
}

/// The sum of what the outer IPv4 header always has: version, length, TTL, and the destination.
fn sum(address: IpAddr) -> u32 {
    let IpAddr::V4(address) = address else { return 0 };
    let octets = address.octets();
    let words = [
        0x4500,
        TTL << 8,
        u16::from_be_bytes([octets[0], octets[1]]),
        u16::from_be_bytes([octets[2], octets[3]]),
    ];
    words.iter().map(|word| u32::from(word.swap_bytes())).sum()
}
