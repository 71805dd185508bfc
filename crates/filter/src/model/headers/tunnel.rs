//! Encapsulated packets: PPPoE, MPLS, IP in IP, GRE, Ethernet in IP, VXLAN, Geneve.
//!
//! Rule: an encapsulated packet is a layer of its own. The outer headers alone determine whether
//! there is one, and if it cannot be read, that is an anomaly.

use packet::{EtherType, IpProtocol, Port};

use super::cursor::{Cursor, word};
use super::{FARTHEST, LAYERS, Layer, Reader, link};
use crate::{Field, PacketFields, Reason};

/// The EtherType of an encapsulated packet, and its beginning.
pub(super) type Inside<'a> = (u16, Cursor<'a>);

const IPV4: u8 = IpProtocol::IN_IPV4.0;
const IPV6: u8 = IpProtocol::IN_IPV6.0;
const GRE: u8 = IpProtocol::GRE.0;
const ETHER_IP: u8 = IpProtocol::ETHER_IP.0;
const MPLS: u8 = IpProtocol::MPLS.0;
const ETHERNET: u8 = IpProtocol::ETHERNET.0;
/// Protocols that contain a packet.
pub(super) const PROTOCOLS: [u8; 6] = [IPV4, IPV6, GRE, ETHER_IP, MPLS, ETHERNET];

const VXLAN_PORTS: [u16; 2] = [Port::VXLAN.0, Port::LINUX_VXLAN.0];
const GENEVE_PORT: u16 = Port::GENEVE.0;
/// EtherType of an Ethernet frame in GRE and Geneve.
const BRIDGED: u16 = EtherType::BRIDGED.0;
/// EtherTypes in GRE of PPP, WCCP and ERSPAN, which contain packets but are not read.
const UNREAD: [u16; 4] = [0x880b, 0x883e, 0x88be, 0x22eb];
const MAX_LABELS: usize = 8;

/// Whether the protocol, or the port of UDP, indicates an encapsulated packet.
pub(super) fn is_one(protocol: u8, cursor: &Cursor<'_>) -> bool {
    if protocol != IpProtocol::UDP.0 {
        return PROTOCOLS.contains(&protocol);
    }
    cursor.peek(4).is_some_and(|ports| {
        let port = word(ports, 2);
        port == GENEVE_PORT || VXLAN_PORTS.contains(&port)
    })
}

impl<'a> Reader<'a> {
    /// Reads the link header of the packet inside a layer, of which `layer` is number `number`.
    ///
    /// # Errors
    /// The anomaly, if the packet cannot be read.
    pub(super) fn open(
        &self,
        layer: &Layer,
        number: usize,
    ) -> Result<Option<(Layer, Inside<'a>)>, Reason> {
        if !layer.inner {
            return Ok(None);
        }
        let at = layer.transport.or(layer.network).unwrap_or_default();
        if number == LAYERS || at > FARTHEST {
            return Err(Reason::Tunnel);
        }
        let mut cursor = Cursor::new(self.frame.bytes, at, layer.limit);
        let Some(mut kind) = self.header(layer, &mut cursor)? else { return Ok(None) };

        let mut packet = PacketFields::default();
        for field in LINK {
            if let Some(value) = layer.fields.field(field) {
                packet.set(field, value);
            }
        }
        if kind == BRIDGED {
            packet.clear(Field::Vlan).clear(Field::InnerVlan);
            let macs = layer.fields.field(Field::SourceMac).is_some();
            kind = link::ethernet(&mut cursor, macs.then_some(&mut packet))?;
        }
        kind = link::tags(&mut cursor, kind, &mut packet)?;
        packet.set(Field::EtherType, kind);
        let network = Some(cursor.at());
        let inner = Layer { fields: packet, network, limit: layer.limit, ..Layer::default() };
        Ok(Some((inner, (kind, cursor))))
    }

    /// Reads the header of the tunnel; `None` if it contains no packet.
    fn header(&self, layer: &Layer, cursor: &mut Cursor<'_>) -> Result<Option<u16>, Reason> {
        let Some(protocol) = layer.fields.field(Field::Protocol) else {
            return match layer.fields.field(Field::EtherType) {
                Some(kind) if kind == u128::from(link::PPPOE) => pppoe(cursor),
                _ => labels(cursor),
            };
        };
        match protocol as u8 {
            IPV4 => Ok(Some(link::IPV4)),
            IPV6 => Ok(Some(link::IPV6)),
            MPLS => labels(cursor),
            ETHERNET => Ok(Some(BRIDGED)),
            ETHER_IP => cursor.take(2).map(|_| Some(BRIDGED)),
            GRE => gre(cursor),
            _ => over_udp(cursor, self.is_cut),
        }
    }
}

/// Fields that a packet without an Ethernet header has from the outer packet.
const LINK: [Field; 7] = [
    Field::Interface,
    Field::Queue,
    Field::Length,
    Field::SourceMac,
    Field::DestMac,
    Field::Vlan,
    Field::InnerVlan,
];

/// Reads PPPoE (RFC 2516). A PPP protocol below 256 may be one byte long (RFC 1661, section 6.5).
fn pppoe(cursor: &mut Cursor<'_>) -> Result<Option<u16>, Reason> {
    let header = cursor.take(6)?;
    if header[0] != 0x11 || header[1] != 0 {
        return Err(Reason::BadHeader);
    }
    let first = cursor.take(1)?[0];
    let protocol = if first & 1 == 1 {
        u16::from(first)
    } else {
        u16::from(first) << 8 | u16::from(cursor.take(1)?[0])
    };
    match protocol {
        0x21 => Ok(Some(link::IPV4)),
        0x57 => Ok(Some(link::IPV6)),
        0x281 | 0x283 => Ok(Some(link::MPLS)),
        // Compressed TCP/IP, frames of bridges, multilink, compressed packets.
        0x2d | 0x2f | 0x31 | 0x3d | 0xfd => Err(Reason::Tunnel),
        _ => Ok(None),
    }
}

/// Reads MPLS labels (RFC 3032). The type of the packet after them is its IP version.
fn labels(cursor: &mut Cursor<'_>) -> Result<Option<u16>, Reason> {
    for _ in 0..MAX_LABELS {
        if cursor.take(4)?[2] & 1 == 1 {
            return match cursor.peek(1).ok_or(Reason::Truncated)?[0] >> 4 {
                4 => Ok(Some(link::IPV4)),
                6 => Ok(Some(link::IPV6)),
                _ => Err(Reason::Tunnel),
            };
        }
    }
    Err(Reason::Tunnel)
}

/// Reads GRE (RFC 2784 and 2890), except routed GRE and version 1 (PPTP).
fn gre(cursor: &mut Cursor<'_>) -> Result<Option<u16>, Reason> {
    let header = cursor.take(4)?;
    let (flags, kind) = (word(header, 0), word(header, 2));
    if flags & 0x4007 != 0 || UNREAD.contains(&kind) {
        return Err(Reason::Tunnel);
    }
    // Checksum, key, sequence number: four bytes each.
    let options = (flags & 0xb000).count_ones() as usize;
    cursor.take(options * 4)?;
    Ok(Some(kind))
}

/// Reads VXLAN (RFC 7348) or Geneve (RFC 8926), by port. Other protocols may use these ports, so a
/// datagram without a matching header is not a tunnel, unless its header is cut off.
fn over_udp(cursor: &mut Cursor<'_>, is_cut: bool) -> Result<Option<u16>, Reason> {
    let Some(headers) = cursor.peek(16) else {
        return if is_cut { Err(Reason::Truncated) } else { Ok(None) };
    };
    let is_geneve = word(headers, 2) == GENEVE_PORT;
    let flags = headers[8];
    // VXLAN-GPE with a next protocol, which may differ from Ethernet.
    if !is_geneve && flags & 4 != 0 {
        return Err(Reason::Tunnel);
    }
    if is_geneve && flags >> 6 != 0 || !is_geneve && flags & 8 == 0 {
        return Ok(None);
    }
    cursor.take(16)?;
    if !is_geneve {
        return Ok(Some(BRIDGED));
    }
    cursor.take(usize::from(flags & 0x3f) * 4)?;
    Ok(Some(word(headers, 10)))
}
