//! Checksums that a device, or the kernel in its place, completes.

use packet::{IpPacket, IpProtocol, Limits, checksum};

use super::Offload;

/// Writes the sum of the pseudo header into the checksum field, and returns the
/// [request](crate::Frame::request) by which the device adds the bytes from the transport header
/// on. Supports TCP and UDP over IPv4 or IPv6 without extension headers, after up to two VLAN tags;
/// for other packets it returns `None` and writes nothing.
pub fn prepare(packet: &mut [u8]) -> Option<Offload> {
    let ip = IpPacket::find(packet, LIMITS).ok()?;
    let is_known = matches!(ip.protocol, IpProtocol::TCP | IpProtocol::UDP);
    if !is_known || ip.fragment.is_part() || !ip.is_length_stated {
        return None;
    }
    let at = ip.checksum()?;
    let pseudo = checksum::fold(ip.pseudo_header(packet, ip.end - ip.transport)?);
    packet.get_mut(at..at + 2)?.copy_from_slice(&pseudo.to_be_bytes());
    let offset = at - ip.transport;
    Some(Offload::Checksum { start: ip.transport as u16, offset: offset as u16 })
}

/// The bytes may be the first of several parts of a packet.
const LIMITS: Limits = Limits {
    tags: 2,
    tag_types: &[packet::EtherType::VLAN, packet::EtherType::SERVICE_VLAN],
    extensions: 0,
    is_cut: true,
};
