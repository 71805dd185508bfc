//! Reads Ethernet headers and VLAN tags.

use packet::EtherType;

use super::cursor::{Cursor, number, word};
use super::{Layer, Reader};
use crate::abi::Need;
use crate::{Field, PacketFields, Reason};

/// EtherType of IPv4.
pub(super) const IPV4: u16 = EtherType::IPV4.0;
/// EtherType of IPv6.
pub(super) const IPV6: u16 = EtherType::IPV6.0;
/// EtherType of PPPoE sessions.
pub(super) const PPPOE: u16 = EtherType::PPPOE_SESSION.0;
/// EtherType of MPLS.
pub(super) const MPLS: u16 = EtherType::MPLS.0;
/// EtherType of MPLS with upstream-assigned labels.
pub(super) const MPLS_MULTICAST: u16 = EtherType::MPLS_MULTICAST.0;
const TAGS: [u16; 2] = [EtherType::VLAN.0, EtherType::SERVICE_VLAN.0];
const MAX_TAGS: usize = 4;

impl Reader<'_> {
    /// Reads the link header of the frame; returns the EtherType, or `None` if it is not needed.
    pub(super) fn link(
        &self,
        layer: &mut Layer,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<u16>, Reason> {
        let (macs, link) = (self.needs.has(Need::Macs), self.needs.has(Need::Link));
        // Fields that every packet has are zero if they cannot be read.
        if macs {
            layer.fields.set(Field::SourceMac, 0_u8).set(Field::DestMac, 0_u8);
        }
        if link {
            layer.fields.set(Field::EtherType, 0_u8);
        }
        if !macs && !link {
            return Ok(None);
        }
        let kind = ethernet(cursor, macs.then_some(&mut layer.fields))?;
        if !link {
            return Ok(None);
        }
        let kind = tags(cursor, kind, &mut layer.fields)?;
        layer.fields.set(Field::EtherType, kind);
        layer.network = Some(cursor.at());
        Ok(Some(kind))
    }
}

/// Reads an Ethernet header without tags; returns its EtherType.
pub(super) fn ethernet(
    cursor: &mut Cursor<'_>,
    packet: Option<&mut PacketFields>,
) -> Result<u16, Reason> {
    let header = cursor.take(14)?;
    if let Some(packet) = packet {
        packet.set(Field::DestMac, number(&header[..6]));
        packet.set(Field::SourceMac, number(&header[6..12]));
    }
    Ok(word(header, 12))
}

/// Reads VLAN tags; returns the EtherType that follows the last one.
pub(super) fn tags(
    cursor: &mut Cursor<'_>,
    mut kind: u16,
    packet: &mut PacketFields,
) -> Result<u16, Reason> {
    let mut count = 0;
    while TAGS.contains(&kind) {
        if count == MAX_TAGS {
            return Err(Reason::TooManyTags);
        }
        let tag = cursor.take(4)?;
        let vlan = word(tag, 0) & 0xfff;
        match count {
            0 => _ = packet.set(Field::Vlan, vlan),
            1 => _ = packet.set(Field::InnerVlan, vlan),
            _ => (),
        }
        kind = word(tag, 2);
        count += 1;
    }
    Ok(kind)
}
