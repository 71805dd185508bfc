//! Offsets of fields in `struct filter_packet`, for generated code.

use spec::asm::Size;

use crate::Field;
use crate::abi::Known;

/// The place of a field in `struct filter_packet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLocation {
    /// Offset in bytes. IPv6 addresses are two words, of which the high one is first.
    pub offset: i16,
    pub size: Size,
    /// Bits of `known` of which one is set if the packet has the field; 0 if every packet has it.
    pub known: u32,
}

impl Field {
    /// The place of the field.
    pub const fn place(self) -> FieldLocation {
        let (offset, size, known) = match self {
            Self::Source4 => (8, Size::Word, Known::Ipv4 as u32),
            Self::Dest4 => (24, Size::Word, Known::Ipv4 as u32),
            Self::Source6 => (0, Size::Double, Known::Ipv6 as u32),
            Self::Dest6 => (16, Size::Double, Known::Ipv6 as u32),
            Self::SourceMac => (32, Size::Double, 0),
            Self::DestMac => (40, Size::Double, 0),
            Self::Length => (48, Size::Word, 0),
            Self::Interface => (52, Size::Word, 0),
            Self::Queue => (56, Size::Word, 0),
            Self::Fragment => (68, Size::Word, Known::EITHER_IP),
            Self::Extensions => (84, Size::Word, Known::Ipv6 as u32),
            Self::EtherType => (74, Size::Half, 0),
            Self::Vlan => (72, Size::Half, Known::Vlan as u32),
            Self::InnerVlan => (76, Size::Half, Known::InnerVlan as u32),
            Self::SourcePort => (78, Size::Half, Known::Ports as u32),
            Self::DestPort => (80, Size::Half, Known::Ports as u32),
            Self::Icmp => (82, Size::Half, Known::Icmp as u32),
            Self::Protocol => (89, Size::Byte, Known::Protocol as u32),
            Self::Ttl => (88, Size::Byte, Known::EITHER_IP),
            Self::Dscp => (90, Size::Byte, Known::EITHER_IP),
            Self::TcpFlags => (91, Size::Byte, Known::Tcp as u32),
        };
        FieldLocation { offset, size, known }
    }
}

impl FieldLocation {
    /// Width of a load; fields of 128 bits take two.
    pub const fn bits(self) -> u32 {
        match self.size {
            Size::Byte => 8,
            Size::Half => 16,
            Size::Word => 32,
            Size::Double => 64,
        }
    }
}

impl Known {
    /// Offset of `known` in `struct filter_packet`.
    pub const OFFSET: i16 = 60;
    /// Bits of which one is set in every IP packet.
    pub const EITHER_IP: u32 = Self::Ipv4 as u32 | Self::Ipv6 as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_program() {
        let spec = spec::Spec::parse("filter", crate::OBJECT).unwrap();
        let btf = spec.btf.as_ref().unwrap();
        let packet = btf.types().find(|ty| ty.name() == "filter_packet").unwrap();
        let offset = |name: &str| {
            let member = packet.members().find(|member| member.name == name).unwrap();
            i16::try_from(member.bit_offset / 8).unwrap()
        };
        assert_eq!(Known::OFFSET, offset("known"));
        assert_eq!(crate::compile::code::NETWORK, offset("network"));
        assert_eq!(crate::compile::code::TRANSPORT, offset("transport"));
        for (field, name) in [
            (Field::Interface, "interface"),
            (Field::Queue, "queue"),
            (Field::Length, "length"),
            (Field::SourceMac, "source_mac"),
            (Field::DestMac, "dest_mac"),
            (Field::EtherType, "ethertype"),
            (Field::Vlan, "vlan"),
            (Field::InnerVlan, "inner_vlan"),
            (Field::Source6, "source"),
            (Field::Dest6, "dest"),
            (Field::Ttl, "ttl"),
            (Field::Dscp, "dscp"),
            (Field::Fragment, "fragment"),
            (Field::Extensions, "extensions"),
            (Field::Protocol, "protocol"),
            (Field::SourcePort, "source_port"),
            (Field::DestPort, "dest_port"),
            (Field::TcpFlags, "tcp_flags"),
            (Field::Icmp, "icmp"),
        ] {
            assert_eq!(field.place().offset, offset(name), "{name}");
        }
        assert_eq!(Field::Source4.place().offset, offset("source") + 8);
        assert_eq!(Field::Dest4.place().offset, offset("dest") + 8);
    }
}
