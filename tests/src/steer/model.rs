//! The decisions of rules about a packet, written a second time from the words of `Rule` and
//! `redirect.abi.h`: on slices, part by part.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::{IpProtocol, Prefix};
use xsk::steer::Rule;

/// What can be known of a packet.
#[derive(Clone, Debug, Default)]
struct Seen {
    ethertype: u16,
    ip: Option<(IpAddr, IpAddr, u8)>,
    ports: Option<(u16, u16)>,
}

/// Whether any rule matches.
pub fn matches(frame: &[u8], rules: &[Rule]) -> bool {
    let Some(seen) = seen(frame) else { return false };
    rules.iter().any(|rule| one_matches(rule, &seen))
}

fn one_matches(rule: &Rule, seen: &Seen) -> bool {
    let ip = |wanted: &dyn Fn(IpAddr, IpAddr, u8) -> bool| {
        seen.ip.is_some_and(|(from, to, protocol)| wanted(from, to, protocol))
    };
    let between = |first: u16, last: u16, port: u16| (first..=last).contains(&port);
    let ports = seen.ports;
    rule.ethertype.is_none_or(|wanted| wanted == seen.ethertype)
        && rule.protocol.is_none_or(|IpProtocol(wanted)| ip(&|_, _, protocol| protocol == wanted))
        && rule.from.is_none_or(|wanted| ip(&|from, _, _| contains(wanted, from)))
        && rule.to.is_none_or(|wanted| ip(&|_, to, _| contains(wanted, to)))
        && rule
            .from_ports
            .is_none_or(|p| ports.is_some_and(|(from, _)| between(p.first(), p.last(), from)))
        && rule.ports.is_none_or(|p| ports.is_some_and(|(_, to)| between(p.first(), p.last(), to)))
}

fn contains(prefix: Prefix, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let differ = (bits(prefix.address()) ^ bits(address)).leading_zeros();
    prefix.address().is_ipv4() == address.is_ipv4() && differ >= u32::from(prefix.length())
}

fn seen(frame: &[u8]) -> Option<Seen> {
    let mut rest = frame.get(12..)?;
    for tags in 0.. {
        let ethertype = word(rest, 0)?;
        rest = rest.get(2..)?;
        let seen = Seen { ethertype, ..Seen::default() };
        match ethertype {
            0x0800 => {
                return Some(ipv4(rest).map_or(seen.clone(), |(ip, ports)| Seen {
                    ip: Some(ip),
                    ports,
                    ..seen
                }));
            }
            0x86dd => {
                return Some(ipv6(rest).map_or(seen.clone(), |(ip, ports)| Seen {
                    ip: Some(ip),
                    ports,
                    ..seen
                }));
            }
            0x8100 | 0x88a8 if tags == 4 => return None,
            0x8100 | 0x88a8 => rest = rest.get(2..)?,
            _ => return Some(seen),
        }
    }
    unreachable!("the loop has no end")
}

type Inside = ((IpAddr, IpAddr, u8), Option<(u16, u16)>);

fn ipv4(packet: &[u8]) -> Option<Inside> {
    let header = packet.get(..20)?;
    let (length, total) = (usize::from(header[0] & 15) * 4, usize::from(word(header, 2)?));
    if header[0] >> 4 != 4 || length < 20 {
        return None;
    }
    let inner = packet.get(length..total)?;
    let address =
        |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    let later = word(header, 6)? & 0x1fff != 0;
    Some(((address(12).into(), address(16).into(), header[9]), ports(header[9], later, inner)))
}

fn ipv6(packet: &[u8]) -> Option<Inside> {
    let header = packet.get(..40)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    // A length of zero before hop-by-hop options is ignored.
    let end = match (word(header, 4)?, header[6]) {
        (0, 0) => packet.len(),
        (length, _) => 40 + usize::from(length),
    };
    let mut inner = packet.get(40..end)?;
    let address =
        |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(&header[at..at + 16]).ok()?));
    let (mut protocol, mut later, mut count) = (header[6], false, 0);
    while !later && matches!(protocol, 0 | 43 | 44 | 51 | 60) {
        if count == 8 {
            return None;
        }
        let extension = inner.get(..8)?;
        let length = match protocol {
            44 => 8,
            51 => (usize::from(extension[1]) + 2) * 4,
            _ => (usize::from(extension[1]) + 1) * 8,
        };
        later = protocol == 44 && word(extension, 2)? & 0xfff8 != 0;
        inner = inner.get(length..)?;
        protocol = extension[0];
        count += 1;
    }
    Some(((address(8)?.into(), address(24)?.into(), protocol), ports(protocol, later, inner)))
}

fn ports(protocol: u8, later: bool, inner: &[u8]) -> Option<(u16, u16)> {
    if later || !IpProtocol(protocol).has_ports() {
        return None;
    }
    Some((word(inner, 0)?, word(inner, 2)?))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
