//! Sample packets of the traffic that hosts need.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use packet::tcp_flag::{ACK, PSH as PUSH, SYN};

use super::Session;
use crate::Family;

/// A kind of traffic that hosts need.
pub(super) struct Probe {
    pub what: &'static str,
    pub why: &'static str,
    pub families: &'static [Family],
    /// Sample packets; the traffic is cut off if one of them is dropped.
    pub frames: fn(Family, &Place) -> Vec<Vec<u8>>,
    /// A rule that passes the traffic.
    pub remedy: fn(Family) -> &'static str,
}

/// The interface, VLAN and addresses of a sample packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub ifindex: u32,
    pub vlan: Option<u16>,
    pub source: (Ipv4Addr, Ipv6Addr),
    pub dest: (Ipv4Addr, Ipv6Addr),
}

impl Default for Place {
    /// A place with addresses for documentation (RFC 5737, RFC 3849).
    fn default() -> Self {
        let v6 = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
        let (source, dest) = (Ipv4Addr::new(198, 51, 100, 7), Ipv4Addr::new(192, 0, 2, 1));
        Self { ifindex: 0, vlan: None, source: (source, v6(7)), dest: (dest, v6(1)) }
    }
}

/// All kinds of traffic that hosts need.
pub(super) const NEEDS: &[Probe] = &[
    Probe {
        what: "ARP",
        why: "no host on the link is reached over IPv4 once its entry expires",
        families: &[Family::Ipv4],
        frames: |_, place| vec![arp(place, 1), arp(place, 2)],
        remedy: |_| "pass arp",
    },
    Probe {
        what: "IPv6 neighbor discovery",
        why: "no host on the link is reached over IPv6 once its entry expires",
        families: &[Family::Ipv6],
        frames: |_, place| vec![neighbor(place, 135), neighbor(place, 136)],
        remedy: |_| "pass icmpv6 type 133-136",
    },
    Probe {
        what: "replies to this host's own TCP connections",
        why: "it can open none",
        families: &[Family::Ipv4, Family::Ipv6],
        frames: |family, place| {
            let reply = |flags| transport(family, place, 6, &tcp(443, OWN_PORT, flags));
            vec![reply(SYN | ACK), reply(ACK)]
        },
        remedy: |_| "pass tcp flags ack dport 32768-60999",
    },
    Probe {
        what: "answers to this host's own DNS queries",
        why: "it finds no address by name",
        families: &[Family::Ipv4, Family::Ipv6],
        frames: |family, place| vec![transport(family, place, 17, &udp(53, OWN_PORT))],
        remedy: |_| "pass udp sport 53 dport 32768-60999",
    },
    Probe {
        what: "DHCP",
        why: "an address that is leased is lost when the lease ends",
        families: &[Family::Ipv4, Family::Ipv6],
        frames: |family, place| {
            let (server, client) = if family == Family::Ipv4 { (67, 68) } else { (547, 546) };
            vec![transport(family, place, 17, &udp(server, client))]
        },
        remedy: |family| match family {
            Family::Ipv6 => "pass udp sport 547 dport 546",
            _ => "pass udp sport 67 dport 68",
        },
    },
    Probe {
        what: "ICMP errors that path MTU discovery needs",
        why: "connections over smaller links hang",
        families: &[Family::Ipv4, Family::Ipv6],
        frames: |family, place| {
            let (protocol, kind) = if family == Family::Ipv4 { (1, [3, 4]) } else { (58, [2, 0]) };
            let message = [&kind[..], &[0; 26]].concat();
            vec![transport(family, place, protocol, &message)]
        },
        remedy: |family| match family {
            Family::Ipv6 => "pass icmpv6 type packet-too-big",
            _ => "pass icmp type 3/4",
        },
    },
];

/// A segment of an SSH session.
pub(super) fn session(session: &Session, vlan: Option<u16>) -> Vec<u8> {
    let Session { client, server } = session;
    let ends = |end: &SocketAddr, mut both: (Ipv4Addr, Ipv6Addr)| {
        match end.ip() {
            IpAddr::V4(ip) => both.0 = ip,
            IpAddr::V6(ip) => both.1 = ip,
        }
        both
    };
    let usual = Place::default();
    let (source, dest) = (ends(client, usual.source), ends(server, usual.dest));
    let place = Place { vlan, source, dest, ..usual };
    let family = if client.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 };
    transport(family, &place, 6, &tcp(client.port(), server.port(), ACK | PUSH))
}

/// Addresses a frame to this host, unless it goes to all or to a group.
pub(super) fn address_to(frame: &mut [u8], mac: [u8; 6]) {
    if frame.starts_with(&OWN_MAC) {
        frame[..6].copy_from_slice(&mac);
    }
}

fn ethernet(place: &Place, dest: [u8; 6], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [dest, [2, 0, 0, 0, 0, 2]].concat();
    if let Some(vlan) = place.vlan {
        frame.extend([0x81, 0]);
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn arp(place: &Place, operation: u8) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation, 2, 0, 0, 0, 0, 2];
    packet.extend(place.source.0.octets());
    packet.extend([0; 6]);
    packet.extend(place.dest.0.octets());
    ethernet(place, if operation == 1 { [0xff; 6] } else { OWN_MAC }, 0x806, &packet)
}

/// A message of neighbor discovery, with link-local addresses (RFC 4861).
fn neighbor(place: &Place, kind: u8) -> Vec<u8> {
    let source = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
    let [.., high, middle, low] = place.dest.1.octets();
    let group = Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | u16::from(high),
        u16::from_be_bytes([middle, low]),
    );
    let target = if kind == 135 { group } else { Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1) };
    let mut message = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    message.extend(place.dest.1.octets());
    let dest = if kind == 135 { [0x33, 0x33, 0xff, high, middle, low] } else { OWN_MAC };
    ethernet(place, dest, 0x86dd, &ipv6(source, target, 58, &message))
}

fn transport(family: Family, place: &Place, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let (source, dest) = (place.source, place.dest);
    match family {
        Family::Ipv6 => {
            ethernet(place, OWN_MAC, 0x86dd, &ipv6(source.1, dest.1, protocol, payload))
        }
        _ => ethernet(place, OWN_MAC, 0x800, &ipv4(source.0, dest.0, protocol, payload)),
    }
}

fn ipv4(source: Ipv4Addr, dest: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    packet.extend(source.octets());
    packet.extend(dest.octets());
    packet.extend(payload);
    packet
}

fn ipv6(source: Ipv6Addr, dest: Ipv6Addr, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 255]);
    packet.extend(source.octets());
    packet.extend(dest.octets());
    packet.extend(payload);
    packet
}

fn tcp(source: u16, dest: u16, flags: u8) -> Vec<u8> {
    let mut segment = ports(source, dest);
    segment.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment
}

fn udp(source: u16, dest: u16) -> Vec<u8> {
    let mut datagram = ports(source, dest);
    datagram.extend([0, 20, 0, 0]);
    datagram.extend([0; 12]);
    datagram
}

fn ports(source: u16, dest: u16) -> Vec<u8> {
    [source.to_be_bytes(), dest.to_be_bytes()].concat()
}

const OWN_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// A port of the range that Linux uses for its own connections.
const OWN_PORT: u16 = 40_000;
