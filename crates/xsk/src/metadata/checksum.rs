//! Checksums that a device, or the kernel for it, finishes.

use super::Offload;

/// Puts the sum of the pseudo header where the checksum goes, so that whoever adds up the bytes
/// from the transport header on gets the right one, and says where that is, to be
/// [requested](crate::Frame::request). Knows TCP and UDP, over IPv4 or IPv6 without extension
/// headers, behind up to two VLAN tags; `None` for anything else, and nothing is written.
pub fn prepare(packet: &mut [u8]) -> Option<Offload> {
    let network = network(packet)?;
    let ip = packet.get(network.start..)?;
    let Addresses { first, len, header, protocol, length } = match network.ethertype {
        IPV4 => ipv4(ip)?,
        IPV6 => ipv6(ip)?,
        _ => return None,
    };
    let offset = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    let addresses = sum(ip.get(first..first + len)?);
    let pseudo = fold(addresses + u32::from(protocol) + u32::from(length));
    let start = network.start + header;
    packet.get_mut(start + offset..start + offset + 2)?.copy_from_slice(&pseudo.to_be_bytes());
    Some(Offload::Checksum { start: start as u16, offset: offset as u16 })
}

struct Network {
    start: usize,
    ethertype: u16,
}

struct Addresses {
    /// Where in the IP header source and destination start, and their bytes.
    first: usize,
    len: usize,
    /// Bytes of the IP header.
    header: usize,
    protocol: u8,
    /// Bytes behind the IP header.
    length: u16,
}

fn network(packet: &[u8]) -> Option<Network> {
    let mut at = 12;
    for _ in 0..=TAGS {
        let ethertype = word(packet, at)?;
        if ![0x8100, 0x88a8].contains(&ethertype) {
            return Some(Network { start: at + 2, ethertype });
        }
        at += 4;
    }
    None
}

fn ipv4(ip: &[u8]) -> Option<Addresses> {
    let header = usize::from(ip.first()? & 15) * 4;
    let length = word(ip, 2)?.checked_sub(header as u16)?;
    let is_fragment = word(ip, 6)? & 0x3fff != 0;
    let protocol = *ip.get(9)?;
    let is_whole = header >= 20 && !is_fragment;
    is_whole.then_some(Addresses { first: 12, len: 8, header, protocol, length })
}

fn ipv6(ip: &[u8]) -> Option<Addresses> {
    let (length, protocol) = (word(ip, 4)?, *ip.get(6)?);
    Some(Addresses { first: 8, len: 32, header: 40, protocol, length })
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

const TAGS: usize = 2;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
