//! An independent check of frames: dissects them with etherparse, including tunnels, and computes
//! every checksum over the final bytes.

use etherparse::{Ipv6ExtensionSlice, NetSlice, SlicedPacket, TransportSlice};

/// Returns the layers of a frame, outermost first, if all lengths and checksums are correct.
pub fn judge(frame: &[u8]) -> Result<Vec<String>, String> {
    let mut seen = vec!["ethernet".to_owned()];
    let packet = SlicedPacket::from_ethernet(frame).map_err(|error| error.to_string())?;
    seen.extend(packet.vlan_ids().iter().map(|id| format!("vlan {}", id.value())));
    network(&packet, &mut seen)?;
    Ok(seen)
}

fn packet(bytes: &[u8], seen: &mut Vec<String>) -> Result<(), String> {
    let packet = SlicedPacket::from_ip(bytes).map_err(|error| error.to_string())?;
    network(&packet, seen)
}

fn network(packet: &SlicedPacket, seen: &mut Vec<String>) -> Result<(), String> {
    let (addresses, payload) = match &packet.net {
        Some(NetSlice::Arp(_)) => {
            seen.push("arp".into());
            return Ok(());
        }
        Some(NetSlice::Ipv4(ip)) => {
            seen.push("ipv4".into());
            let header = ip.header();
            let right = header.to_header().calc_header_checksum();
            same("IPv4 header", header.header_checksum(), right)?;
            ([header.source().to_vec(), header.destination().to_vec()], ip.payload())
        }
        Some(NetSlice::Ipv6(ip)) => {
            seen.push("ipv6".into());
            let mut last = ip.header().destination().to_vec();
            for extension in ip.extensions().clone() {
                let (name, way) = self::extension(&extension);
                seen.push(name.into());
                last = way.unwrap_or(last);
            }
            ([ip.header().source().to_vec(), last], ip.payload())
        }
        other => return Err(format!("no network layer: {other:?}")),
    };
    match (payload.fragmented, &packet.transport) {
        (true, _) => seen.push("piece".into()),
        (false, Some(inner)) => transport(inner, payload.payload, &addresses, seen)?,
        (false, None) => match payload.ip_number.0 {
            47 => gre(payload.payload, seen)?,
            4 | 41 => self::packet(payload.payload, seen)?,
            _ => {}
        },
    }
    Ok(())
}

fn transport(
    transport: &TransportSlice,
    bytes: &[u8],
    addresses: &[Vec<u8>; 2],
    seen: &mut Vec<String>,
) -> Result<(), String> {
    match transport {
        TransportSlice::Udp(udp) => {
            seen.push("udp".into());
            if usize::from(udp.length()) != bytes.len() {
                return Err(format!("UDP length {} of {}", udp.length(), bytes.len()));
            }
            match (udp.checksum(), addresses[0].len()) {
                (0, 16) => return Err("no UDP checksum".into()),
                (0, _) => {}
                _ => covered("UDP", bytes, addresses, 17)?,
            }
            match udp.destination_port() {
                4789 => vxlan(udp.payload(), seen),
                _ => Ok(()),
            }
        }
        TransportSlice::Tcp(tcp) => {
            seen.push("tcp".into());
            let options: Result<Vec<_>, _> = tcp.options_iterator().collect();
            options.map_err(|error| error.to_string())?;
            covered("TCP", bytes, addresses, 6)
        }
        TransportSlice::Icmpv4(icmp) => {
            seen.push("icmp".into());
            same("ICMP", 0, !plain(bytes))?;
            match icmp.type_u8() {
                3 | 11 | 12 => packet(icmp.payload(), seen),
                _ => Ok(()),
            }
        }
        TransportSlice::Icmpv6(_) => {
            seen.push("icmpv6".into());
            covered("ICMPv6", bytes, addresses, 58)
        }
        TransportSlice::Igmp(_) => Err("IGMP".into()),
    }
}

fn extension(extension: &Ipv6ExtensionSlice) -> (&'static str, Option<Vec<u8>>) {
    match extension {
        Ipv6ExtensionSlice::HopByHop(_) => ("hop_by_hop", None),
        Ipv6ExtensionSlice::DestinationOptions(_) => ("destination_options", None),
        Ipv6ExtensionSlice::Fragment(_) => ("fragment", None),
        Ipv6ExtensionSlice::Authentication(_) => ("authentication", None),
        Ipv6ExtensionSlice::Routing(routing) => {
            let bytes = routing.slice();
            let first = bytes[8..24].to_vec();
            let last = bytes[bytes.len() - 16..].to_vec();
            let way = if bytes[2] == 4 { first } else { last };
            ("routing", (bytes[3] > 0).then_some(way))
        }
    }
}

fn vxlan(bytes: &[u8], seen: &mut Vec<String>) -> Result<(), String> {
    if bytes.len() < 8 || bytes[0] != 8 || bytes[1..4] != [0; 3] || bytes[7] != 0 {
        return Err(format!("VXLAN header {:?}", &bytes[..8.min(bytes.len())]));
    }
    seen.push("vxlan".into());
    seen.extend(judge(&bytes[8..])?);
    Ok(())
}

fn gre(bytes: &[u8], seen: &mut Vec<String>) -> Result<(), String> {
    seen.push("gre".into());
    let mut header = 4;
    for flag in [0x80, 0x20, 0x10] {
        header += if bytes[0] & flag != 0 { 4 } else { 0 };
    }
    if bytes[0] & 0x80 != 0 {
        same("GRE", 0, !plain(bytes))?;
    }
    let inner = &bytes[header..];
    match u16::from_be_bytes([bytes[2], bytes[3]]) {
        0x0800 | 0x86dd => packet(inner, seen),
        0x6558 => {
            seen.extend(judge(inner)?);
            Ok(())
        }
        other => Err(format!("GRE protocol {other:#x}")),
    }
}

fn covered(what: &str, bytes: &[u8], addresses: &[Vec<u8>; 2], protocol: u8) -> Result<(), String> {
    let len = (bytes.len() as u32).to_be_bytes();
    let whole = [&addresses[0][..], &addresses[1], &len, &[0, 0, 0, protocol], bytes].concat();
    same(what, 0, !plain(&whole))
}

fn same(what: &str, is: u16, right: u16) -> Result<(), String> {
    if is == right { Ok(()) } else { Err(format!("{what} checksum is off by {right:#06x}")) }
}

/// The folded sum of all words.
fn plain(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|it| u64::from(it[0]) << 8 | u64::from(*it.get(1).unwrap_or(&0)));
    let sum: u64 = words.sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    ((folded >> 16) + (folded & 0xffff)) as u16
}
