//! What is balanced in each case: the frame, and the services.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::Result;
use functions::balancer::{
    Backend, Config, Delivery, Key, Network, Ports, Protocol, QuicConfig, ServerId, ServerIds,
    Service, State, Tunnel,
};
use lab::frame::{Flow, Side, TcpFlags};
use packet::Mac;

use super::put_back::Address;

/// A kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// TCP in IPv4.
    V4,
    /// TCP in IPv6.
    V6,
    /// UDP in IPv4.
    Udp,
    /// SYNs, each of another source.
    Syn,
    /// Segments, each of another of ten million sources.
    Sources,
    /// Not for a service.
    None,
    /// Not for a service, each to another of ten million addresses.
    Strays,
    /// TCP in IPv6 in GUE over IPv6, with an outer checksum.
    Gue6,
    /// A segment on a slot that moved.
    Moved,
    /// UDP in IPv4 with a QUIC connection id that is not encrypted.
    Quic,
    /// As above, with an id that is encrypted in one pass.
    QuicOnePass,
    /// As above, in four passes.
    QuicFourPass,
}

impl Case {
    pub const ALL: [Self; 12] = [
        Self::V4,
        Self::V6,
        Self::Udp,
        Self::Syn,
        Self::Sources,
        Self::None,
        Self::Strays,
        Self::Gue6,
        Self::Moved,
        Self::Quic,
        Self::QuicOnePass,
        Self::QuicFourPass,
    ];

    /// Its name in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "v4",
            Self::V6 => "v6",
            Self::Udp => "udp",
            Self::Syn => "syn",
            Self::Sources => "sources",
            Self::None => "none",
            Self::Strays => "strays",
            Self::Gue6 => "gue6",
            Self::Moved => "moved",
            Self::Quic => "quic",
            Self::QuicOnePass => "quic-one-pass",
            Self::QuicFourPass => "quic-four-pass",
        }
    }

    pub(super) const fn is_ipv6(self) -> bool {
        matches!(self, Self::V6 | Self::Gue6)
    }

    /// The address that is another one in each packet.
    pub(super) const fn varies(self) -> Option<Address> {
        match self {
            Self::Syn | Self::Sources => Some(Address::Source),
            Self::Strays => Some(Address::Destination),
            _ => None,
        }
    }

    /// Whether packets are sent to a backend.
    pub(super) fn is_sent(self) -> bool {
        !matches!(self, Self::None | Self::Strays)
    }

    /// Whether katran can do the same; its object has one encapsulation, and no former table.
    pub(super) fn is_compared(self) -> bool {
        !matches!(self, Self::Gue6 | Self::Moved) && self.quic().is_none()
    }

    /// Bytes that are added before the IP header.
    pub(super) const fn overhead(self) -> usize {
        match self {
            Self::None | Self::Strays => 0,
            Self::V6 => 40,
            Self::Gue6 => 48,
            _ => 20,
        }
    }

    /// The frame, from one MAC address to another.
    pub(super) fn frame(self, macs: [Mac; 2]) -> Result<Vec<u8>> {
        let [from, to] = self.ends();
        let side = |mac, (ip, port)| Side { mac, ip, port };
        let flow = Flow::new(side(macs[0], from), side(macs[1], to));
        let flags =
            TcpFlags { syn: self == Self::Syn, ack: self != Self::Syn, ..Default::default() };
        Ok(match self {
            Self::Udp => flow.udp(&[0; UDP_PAYLOAD])?,
            Self::Quic | Self::QuicOnePass | Self::QuicFourPass => {
                flow.udp(&self.short_header())?
            }
            _ => flow.tcp(flags, SEQUENCE, PAYLOAD)?,
        })
    }

    /// How ids are made. Two configurations have the lengths of the draft's examples.
    const fn quic(self) -> Option<QuicConfig> {
        let key = Some(Key(*b"not a secret key"));
        let (server_id_length, nonce_length, key) = match self {
            Self::Quic => (8, 8, None),
            Self::QuicOnePass => (8, 8, key),
            Self::QuicFourPass => (3, 4, key),
            _ => return None,
        };
        Some(QuicConfig { config: 0, server_id_length, nonce_length, key })
    }

    /// The payload of a packet whose id names a backend.
    fn short_header(self) -> [u8; UDP_PAYLOAD] {
        let mut payload = [0x40; UDP_PAYLOAD];
        let made = self.quic().and_then(|quic| {
            let nonce = vec![0x5a; quic.nonce_length.into()];
            quic.id(&server_id(&quic, ROUTED).0, &nonce)
        });
        for (to, from) in payload[1..].iter_mut().zip(made.unwrap_or_default()) {
            *to = from;
        }
        payload
    }

    /// Source and destination.
    fn ends(self) -> [(IpAddr, u16); 2] {
        let port = if self.is_sent() { PORT } else { OTHER_PORT };
        let client: IpAddr = if self.is_ipv6() { CLIENT6.into() } else { CLIENT4.into() };
        [(client, CLIENT_PORT), (self.service(), port)]
    }

    /// The address of the service.
    pub(super) fn service(self) -> IpAddr {
        if self.is_ipv6() { SERVICE6.into() } else { SERVICE4.into() }
    }

    /// The services. Those before a change have other backends.
    pub(super) fn config(self, is_former: bool) -> Result<Config> {
        self.config_of(BACKENDS, is_former)
    }

    /// The services with this number of backends each.
    pub(super) fn config_of(self, backends: u16, is_former: bool) -> Result<Config> {
        let network = |text: &str| text.parse().map(Network);
        let service = |protocol, is_ipv6: bool| -> Result<Service> {
            let quic = self.quic().filter(|_| protocol == Protocol::Udp);
            let address = if is_ipv6 { Case::V6 } else { Case::V4 }.service();
            Ok(Service {
                name: format!("{address} {protocol:?}"),
                address: network(&address.to_string())?,
                protocol,
                port: Ports::Range(PORT, PORT),
                by: Default::default(),
                delivery: match self {
                    Self::Gue6 => Delivery::Gue(Tunnel::default()),
                    _ => Delivery::Ipip,
                },
                datagrams: Default::default(),
                announce: true,
                health: None,
                quic: quic.into_iter().collect(),
                backends: (0..backends)
                    .map(|number| {
                        let number = if is_former { number + backends } else { number };
                        let ids = quic.iter().map(|quic| server_id(quic, number));
                        let server_id = ServerIds(ids.collect());
                        let address = backend(is_ipv6, number);
                        Backend { address, weight: 1, state: State::Up, server_id, port: None }
                    })
                    .collect(),
            })
        };
        let mut services = Vec::new();
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            services.extend([service(protocol, false)?, service(protocol, true)?]);
        }
        let source = vec![network(SOURCE4)?, network(SOURCE6)?];
        Ok(Config { source, services, ..Config::default() })
    }
}

/// What names a backend in ids.
fn server_id(quic: &QuicConfig, number: u16) -> ServerId {
    let length = usize::from(quic.server_id_length);
    ServerId(u64::from(number).to_be_bytes()[8 - length..].to_vec())
}

/// The address of a backend.
pub(super) fn backend(is_ipv6: bool, number: u16) -> IpAddr {
    match is_ipv6 {
        false => Ipv4Addr::new(10, 9, (number >> 8) as u8, number as u8).into(),
        true => Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 1, number).into(),
    }
}

/// Networks of all backends, and the lengths of their prefixes.
pub(super) const NETWORKS: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::new(10, 9, 0, 0)), 16),
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 0)), 64),
];
/// The network of the client in IPv4, to which translated answers go.
pub(super) const CLIENTS: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::new(198, 51, 100, 0)), 24);
/// Backends of each service, as in the paper's measurement of katran.
pub(super) const BACKENDS: u16 = 100;
/// The backend that the ids of packets name.
const ROUTED: u16 = 42;
pub(super) const PORT: u16 = 80;
const OTHER_PORT: u16 = 8080;
const CLIENT_PORT: u16 = 40_000;
const SERVICE4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVICE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1);
const CLIENT4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const CLIENT6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, 7);
/// Outer sources: of a network, each flow has an address, as katran's has.
const SOURCE4: &str = "172.16.0.0/16";
const SOURCE6: &str = "2001:db8:ffff::/112";
const SEQUENCE: u32 = 1_000_000;
/// Bytes that make a frame of 60 bytes in IPv4.
const PAYLOAD: &[u8] = b"packet";
const UDP_PAYLOAD: usize = 18;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lab::frame::check;

    use super::*;

    #[test]
    fn cases_have_names_of_their_own() {
        let names: BTreeSet<_> = Case::ALL.map(Case::name).into();
        assert_eq!(names.len(), Case::ALL.len());
    }

    #[test]
    fn frames_are_as_the_name_states() {
        let frame = |case: Case| case.frame([Mac([2; 6]), Mac([4; 6])]).unwrap();
        for case in Case::ALL {
            let frame = frame(case);
            assert_eq!(frame.len(), if case.is_ipv6() { 80 } else { 60 }, "{}", case.name());
            check(&frame).unwrap();
        }
        let [tcp, udp, syn] = [Case::V4, Case::Udp, Case::Syn].map(frame);
        assert_eq!([tcp[23], udp[23], syn[23]], [6, 17, 6]);
        assert_eq!([tcp[47] & 0x12, syn[47] & 0x12], [0x10, 0x02]);
        assert_ne!(frame(Case::None)[36..38], tcp[36..38], "another port");
    }

    #[test]
    fn former_backends_are_others() {
        let of = |is_former| Case::Moved.config(is_former).unwrap();
        let addresses = |config: Config| -> BTreeSet<_> {
            let all = config.services.into_iter().flat_map(|service| service.backends);
            all.map(|backend| backend.address).collect()
        };
        of(false).check().unwrap();
        let [new, former] = [false, true].map(|is_former| addresses(of(is_former)));
        assert_eq!([new.len(), former.len()], [2 * usize::from(BACKENDS); 2]);
        assert!(new.is_disjoint(&former));
    }
}
