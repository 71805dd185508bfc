//! The verdicts that drop should return, written a second time from the words of `drop.abi.h` and
//! `parse.h`: slow, on slices, rule by rule. The program is compared with it on random packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use functions::drop::{Reason, Rule};
use packet::{IpProtocol, Prefix};

/// What rules match: address, protocol if the headers before it could be read, and the
/// destination port or why there is none.
struct Flow {
    to: IpAddr,
    protocol: Option<u8>,
    port: Result<u16, Reason>,
}

pub fn reason(frame: &[u8], rules: &[Rule]) -> Reason {
    match flow(frame) {
        Err(reason) => reason,
        Ok(flow) if rules.iter().any(|rule| matches(rule, &flow)) => Reason::Rule,
        Ok(flow) => match flow.port.err() {
            Some(Reason::TooManyExtensions) if !rules.iter().any(is_about_ipv6) => Reason::NoRule,
            reason => reason.unwrap_or(Reason::NoRule),
        },
    }
}

fn is_about_ipv6(rule: &Rule) -> bool {
    rule.to.is_none_or(|prefix| prefix.address().is_ipv6())
}

fn matches(rule: &Rule, flow: &Flow) -> bool {
    rule.to.is_none_or(|prefix| contains(prefix, flow.to))
        && rule.protocol.is_none_or(|protocol| flow.protocol == Some(protocol.0))
        && rule.port.is_none_or(|port| flow.port == Ok(port))
}

fn contains(prefix: Prefix, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let differ = (bits(prefix.address()) ^ bits(address)).leading_zeros();
    prefix.address().is_ipv4() == address.is_ipv4() && differ >= u32::from(prefix.length())
}

fn flow(frame: &[u8]) -> Result<Flow, Reason> {
    let mut rest = frame.get(12..).ok_or(Reason::Truncated)?;
    for tags in 0.. {
        let ether_type = word(rest, 0)?;
        rest = rest.get(2..).ok_or(Reason::Truncated)?;
        match ether_type {
            0x0800 => return ipv4(rest),
            0x86dd => return ipv6(rest),
            0x8100 | 0x88a8 if tags == 4 => return Err(Reason::TooManyTags),
            0x8100 | 0x88a8 if rest.len() < 4 => return Err(Reason::Truncated),
            0x8100 | 0x88a8 => rest = &rest[2..],
            _ => return Err(Reason::NotIp),
        }
    }
    unreachable!("the loop has no end")
}

fn word(bytes: &[u8], at: usize) -> Result<u16, Reason> {
    let pair = bytes.get(at..at + 2).ok_or(Reason::Truncated)?;
    Ok(u16::from_be_bytes([pair[0], pair[1]]))
}

fn ipv4(packet: &[u8]) -> Result<Flow, Reason> {
    let header = packet.get(..20).ok_or(Reason::Truncated)?;
    if header[0] >> 4 != 4 {
        return Err(Reason::BadHeader);
    }
    let to = Ipv4Addr::new(header[16], header[17], header[18], header[19]).into();
    let (length, total) = (usize::from(header[0] & 15) * 4, usize::from(word(header, 2)?));
    let later = word(header, 6)? & 0x1fff != 0;
    let inner = if length < 20 || total < length {
        Err(Reason::BadHeader)
    } else {
        packet.get(length..total).ok_or(Reason::Truncated)
    };
    Ok(of(to, inner.map(|inner| (header[9], later, inner))))
}

/// What follows the addresses: protocol, whether it is in another fragment, and its bytes.
fn of(to: IpAddr, rest: Result<(u8, bool, &[u8]), Reason>) -> Flow {
    match rest {
        Ok((protocol, later, inner)) => {
            Flow { to, protocol: Some(protocol), port: port(protocol, later, inner) }
        }
        Err(reason) => Flow { to, protocol: None, port: Err(reason) },
    }
}

fn ipv6(packet: &[u8]) -> Result<Flow, Reason> {
    let header = packet.get(..40).ok_or(Reason::Truncated)?;
    if header[0] >> 4 != 6 {
        return Err(Reason::BadHeader);
    }
    let to: [u8; 16] = header[24..40].try_into().map_err(|_| Reason::Truncated)?;
    Ok(of(Ipv6Addr::from(to).into(), chain(packet)))
}

/// Skips extension headers. A length of zero before hop-by-hop options is ignored.
fn chain(packet: &[u8]) -> Result<(u8, bool, &[u8]), Reason> {
    let end = match (word(packet, 4)?, packet[6]) {
        (0, 0) => packet.len(),
        (length, _) => 40 + usize::from(length),
    };
    let mut inner = packet.get(40..end).ok_or(Reason::Truncated)?;
    let (mut protocol, mut later, mut count) = (packet[6], false, 0);
    while !later && matches!(protocol, 0 | 43 | 44 | 51 | 60) {
        if count == 8 {
            return Err(Reason::TooManyExtensions);
        }
        let extension = inner.get(..8).ok_or(Reason::Truncated)?;
        let length = match protocol {
            44 => 8,
            51 => (usize::from(extension[1]) + 2) * 4,
            _ => (usize::from(extension[1]) + 1) * 8,
        };
        later = protocol == 44 && word(extension, 2)? & 0xfff8 != 0;
        inner = inner.get(length..).ok_or(Reason::Truncated)?;
        protocol = extension[0];
        count += 1;
    }
    Ok((protocol, later, inner))
}

/// The destination port, or the reason for the packet if no rule without a port matches.
fn port(protocol: u8, later: bool, inner: &[u8]) -> Result<u16, Reason> {
    match (IpProtocol(protocol).has_ports(), later) {
        (false, _) => Err(Reason::NoRule),
        (true, true) => Err(Reason::LaterFragment),
        (true, false) if inner.len() < 4 => Err(Reason::Truncated),
        (true, false) => word(inner, 2),
    }
}
