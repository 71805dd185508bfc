//! The keys under which a service is found, and the patterns of these keys.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use packet::IpProtocol;

use super::abi;
use super::config::{Config, ConfigError, Datagrams, Delivery, FlowKey, Protocol, Service};
use super::ports::Ports;

/// Patterns of a family: `BALANCER_PATTERNS`.
const MOST: usize = 16;
/// `BALANCER_KEEPS_DATAGRAMS`.
pub(super) const KEEPS_DATAGRAMS: u32 = 1;
/// `BALANCER_TRANSLATES`.
pub(super) const TRANSLATES: u32 = 2;
/// `BALANCER_NO_TABLE`.
pub(super) const NO_TABLE: u32 = u32::MAX;

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

/// As in the keys.
pub(super) const fn number(protocol: Protocol) -> IpProtocol {
    match protocol {
        Protocol::Tcp => IpProtocol::TCP,
        Protocol::Udp => IpProtocol::UDP,
        Protocol::Icmp => IpProtocol::ICMP,
    }
}

/// The keys of a service: one for each block of its ports.
pub(super) fn keys(service: &Service) -> Vec<abi::Key> {
    let protocol = number(service.protocol);
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

/// The service that packets to a destination are for.
pub(super) fn of_flow(config: &Config, protocol: Protocol, to: SocketAddr) -> Option<&Service> {
    let of_protocol = config.services.iter().filter(|one| one.protocol == protocol);
    let with_keys = of_protocol.filter(|one| one.address.0.contains(to.ip())).flat_map(|one| {
        let matches = |key: &abi::Key| {
            let port = to.port() & u16::from_be_bytes(port_mask(key.port_bits));
            u16::from_be_bytes(key.port) == port
        };
        let keys = keys(one).into_iter().filter(matches);
        keys.map(move |key| ((key.address_bits, key.port_bits), one))
    });
    with_keys.max_by_key(|(pattern, _)| *pattern).map(|(_, service)| service)
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
///
/// # Errors
/// Services need too many, or two services have the same key, so that only one would be found.
fn patterns(config: &Config) -> Result<abi::Patterns, ConfigError> {
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    let (mut owners, mut ranges) = (BTreeMap::new(), BTreeMap::new());
    for service in &config.services {
        let family = usize::from(service.address.0.address().is_ipv6());
        let overlap = |first: &Service, ports| ConfigError::Overlap {
            first: first.name.clone(),
            second: service.name.clone(),
            shared: format!("{} port {ports}", service.protocol),
        };
        let same =
            ranges.entry((service.address, service.protocol)).or_insert_with(Vec::<&Service>::new);
        for other in same.iter() {
            if let Some(ports) = ambiguous(service.port, other.port) {
                return Err(overlap(other, ports));
            }
        }
        same.push(service);
        for key in keys(service) {
            if let Some(first) = owners.insert(key, service) {
                return Err(overlap(first, ports_of(&key)));
            }
            found[family].insert((key.address_bits, key.port_bits));
        }
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

impl Config {
    /// # Errors
    /// What contradicts itself.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.checked().map(drop)
    }

    /// The patterns of services that do not contradict themselves.
    pub(super) fn checked(&self) -> Result<abi::Patterns, ConfigError> {
        self.check_each()?;
        patterns(self)
    }
}

fn count(found: &BTreeSet<(u8, u8)>, family: &'static str) -> Result<u32, ConfigError> {
    let (count, most) = (found.len(), MOST);
    if count > most {
        return Err(ConfigError::Patterns { family, count, most });
    }
    Ok(count as u32)
}

/// The ports that two ranges have in common, unless one of them is a smaller part of the other.
fn ambiguous(one: Ports, other: Ports) -> Option<Ports> {
    let bounds = |ports| match ports {
        Ports::Any => (0, u16::MAX),
        Ports::Range(first, last) => (first, last),
    };
    let (one, other) = (bounds(one), bounds(other));
    let common = (one.0.max(other.0), one.1.min(other.1));
    let is_part = one != other && (common == one || common == other);
    (common.0 <= common.1 && !is_part).then(|| range(common))
}

/// The ports of a key.
fn ports_of(key: &abi::Key) -> Ports {
    let first = u16::from_be_bytes(key.port);
    range((first, first | !u16::from_be_bytes(port_mask(key.port_bits))))
}

const fn range((first, last): (u16, u16)) -> Ports {
    match (first, last) {
        (0, u16::MAX) => Ports::Any,
        _ => Ports::Range(first, last),
    }
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

    fn config(services: &[(&str, &str)]) -> Config {
        let text = services.iter().enumerate().map(|(number, (address, port))| {
            format!(
                "[[service]]\nname = 'service {number}'\naddress = '{address}'\n\
                 protocol = 'tcp'\nport = '{port}'\n"
            )
        });
        toml::from_str(&text.collect::<String>()).unwrap()
    }

    #[test]
    fn services_with_the_same_key_are_refused() {
        for [one, other, shared] in [
            ["80", "80", "tcp port 80"],
            ["any", "any", "tcp port any"],
            ["0-65535", "any", "tcp port any"],
            ["80-82", "82-90", "tcp port 82"],
            ["8000-8003", "8000-8003", "tcp port 8000-8003"],
            ["80-90", "70-84", "tcp port 80-84"],
            ["0-4", "4", "tcp port 4"],
        ] {
            let error = config(&[("192.0.2.1", one), ("192.0.2.1", other)]).check().unwrap_err();
            let (first, second) = ("service 0".to_owned(), "service 1".to_owned());
            assert_eq!(error, ConfigError::Overlap { first, second, shared: shared.to_owned() });
        }
        for (one, other) in [
            (("192.0.2.1", "80"), ("192.0.2.2", "80")),
            (("192.0.2.0/24", "80"), ("192.0.2.0", "80")),
            (("192.0.2.1", "80-81"), ("192.0.2.1", "80")),
            (("192.0.2.1", "any"), ("192.0.2.1", "80")),
            (("192.0.2.1", "80-90"), ("192.0.2.1", "82-85")),
        ] {
            assert_eq!(config(&[one, other]).check(), Ok(()), "the more specific one is found");
        }
    }

    #[test]
    fn backends_that_no_packet_can_reach_are_refused() {
        let check = |addresses: &[&str]| {
            let mut config = config(&[("192.0.2.1", "80")]);
            let backends = addresses.iter().map(|one| one.parse().unwrap());
            config.services[0].backends = backends.map(super::super::Backend::new).collect();
            config.check().map_err(|error| error.to_string())
        };
        assert_eq!(check(&["10.0.1.7", "fd00::7", "169.254.0.7"]), Ok(()));
        for (address, what) in [
            ("::ffff:10.0.1.7", "an IPv4 address in IPv6: write 10.0.1.7"),
            ("0.0.0.0", "the unspecified address"),
            ("::", "the unspecified address"),
            ("127.0.0.1", "a loopback address"),
            ("::1", "a loopback address"),
            ("224.0.0.9", "not the address of one host"),
            ("255.255.255.255", "not the address of one host"),
            ("ff02::1", "not the address of one host"),
        ] {
            let error = check(&["10.0.1.7", address]).unwrap_err();
            assert!(error.contains(what), "{address}: {error}");
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
