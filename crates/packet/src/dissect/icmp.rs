//! ICMP and ICMPv6: echoes, errors with the packet that they quote, neighbour discovery.

use crate::EtherType;

use super::Next;
use super::reader::Reader;

pub fn v4(reader: &mut Reader<'_>) -> Option<Next> {
    let (kind, code) = start(reader, "icmp")?;
    let name = match (kind, code) {
        (0, _) => "echo reply",
        (3, 0) => "network unreachable",
        (3, 1) => "host unreachable",
        (3, 3) => "port unreachable",
        (3, 4) => "fragmentation needed",
        (3, _) => "unreachable",
        (5, _) => "redirect",
        (8, _) => "echo request",
        (11, 0) => "time to live exceeded",
        (11, _) => "time exceeded",
        (12, _) => "parameter problem",
        _ => return unknown(reader, "ICMP", (kind, code)),
    };
    match kind {
        0 | 8 => echo(reader, "ICMP", name),
        5 => {
            let gateway = reader.ipv4("gateway")?;
            quoted(reader, &format!("ICMP {name} to {gateway}"), EtherType::IPV4)
        }
        3 if code == 4 => {
            reader.bytes("unused", 2)?;
            let mtu = reader.half("mtu")?;
            quoted(reader, &format!("ICMP {name} mtu {mtu}"), EtherType::IPV4)
        }
        _ => {
            reader.bytes("unused", 4)?;
            quoted(reader, &format!("ICMP {name}"), EtherType::IPV4)
        }
    }
}

pub fn v6(reader: &mut Reader<'_>) -> Option<Next> {
    let (kind, code) = start(reader, "icmpv6")?;
    let name = match (kind, code) {
        (1, 4) => "port unreachable",
        (1, _) => "unreachable",
        (2, _) => "packet too big",
        (3, _) => "time exceeded",
        (4, _) => "parameter problem",
        (128, _) => "echo request",
        (129, _) => "echo reply",
        (135, _) => "neighbour solicitation",
        (136, _) => "neighbour advertisement",
        _ => return unknown(reader, "ICMPv6", (kind, code)),
    };
    match kind {
        2 => {
            let mtu = reader.number("mtu", 4)?;
            quoted(reader, &format!("ICMPv6 {name} mtu {mtu}"), EtherType::IPV6)
        }
        1 | 3 | 4 => {
            reader.bytes("unused", 4)?;
            quoted(reader, &format!("ICMPv6 {name}"), EtherType::IPV6)
        }
        128 | 129 => echo(reader, "ICMPv6", name),
        _ => {
            reader.bytes("flags", 4)?;
            let target = reader.ipv6("target")?;
            reader.sum(&format!("ICMPv6 {name} {target}"));
            None
        }
    }
}

fn start(reader: &mut Reader<'_>, layer: &str) -> Option<(u8, u8)> {
    reader.open(layer);
    let kind = reader.byte("type")?;
    let code = reader.byte("code")?;
    reader.code("checksum")?;
    Some((kind, code))
}

fn echo(reader: &mut Reader<'_>, protocol: &str, name: &str) -> Option<Next> {
    let id = reader.half("id")?;
    let sequence = reader.half("sequence")?;
    let len = reader.left();
    reader.sum(&format!("{protocol} {name} id {id} seq {sequence} len {len}"));
    None
}

/// An error holds the beginning of the packet that it is about.
fn quoted(reader: &mut Reader<'_>, words: &str, ether_type: EtherType) -> Option<Next> {
    reader.sum(&format!("{words} about"));
    reader.partial();
    Some(Next::EtherType(ether_type))
}

fn unknown(reader: &mut Reader<'_>, protocol: &str, (kind, code): (u8, u8)) -> Option<Next> {
    reader.sum(&format!("{protocol} type {kind} code {code} len {}", reader.left()));
    None
}
