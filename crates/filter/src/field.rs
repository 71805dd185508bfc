//! What rules can ask of a packet, and a packet's answers.
//!
//! Every field is a number of a known width in the machine's byte order; a packet has it or not. A
//! test of a field that a packet does not have fails, also when it is negated.

use spec::asm::Size;

use super::abi::Known;

/// One number of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Index of the interface that the packet came in by.
    Interface,
    Queue,
    /// Bytes of the frame, from its Ethernet header on.
    Length,
    SourceMac,
    DestMac,
    /// EtherType behind all tags.
    EtherType,
    /// Number in the outermost tag.
    Vlan,
    /// Number in the second tag.
    InnerVlan,
    Source4,
    Dest4,
    Source6,
    Dest6,
    /// Time to live, or hop limit.
    Ttl,
    Dscp,
    /// 0 whole, 1 first fragment, 2 later fragment.
    Fragment,
    /// Extension headers seen: a set of bits, `abi::Extension`.
    Extensions,
    /// Behind all extension headers.
    Protocol,
    SourcePort,
    DestPort,
    TcpFlags,
    /// Type of ICMP or ICMPv6 in the high byte, code in the low one.
    Icmp,
}

/// Kinds of packet, each with rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    Ipv4,
    Ipv6,
    /// Neither: ARP, LLDP, what could not be read.
    Other,
}

/// A packet as rules see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts([Option<u128>; Field::COUNT]);

/// Where generated code finds a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In `struct filter_packet`. IPv6 addresses are two words, the high one first.
    pub offset: i16,
    pub size: Size,
    /// Bits of `known` of which one is set when it is there; 0 for what every packet has.
    pub known: u32,
}

impl Field {
    pub const COUNT: usize = Self::Icmp as usize + 1;

    pub const ALL: [Self; Self::COUNT] = [
        Self::Interface,
        Self::Queue,
        Self::Length,
        Self::SourceMac,
        Self::DestMac,
        Self::EtherType,
        Self::Vlan,
        Self::InnerVlan,
        Self::Source4,
        Self::Dest4,
        Self::Source6,
        Self::Dest6,
        Self::Ttl,
        Self::Dscp,
        Self::Fragment,
        Self::Extensions,
        Self::Protocol,
        Self::SourcePort,
        Self::DestPort,
        Self::TcpFlags,
        Self::Icmp,
    ];

    pub const fn bits(self) -> u32 {
        match self {
            Self::Fragment => 2,
            Self::Dscp => 6,
            Self::Ttl | Self::Extensions | Self::Protocol | Self::TcpFlags => 8,
            Self::Vlan | Self::InnerVlan => 12,
            Self::EtherType | Self::SourcePort | Self::DestPort | Self::Icmp => 16,
            Self::Interface | Self::Queue | Self::Length | Self::Source4 | Self::Dest4 => 32,
            Self::SourceMac | Self::DestMac => 48,
            Self::Source6 | Self::Dest6 => 128,
        }
    }

    /// The highest number that fits.
    pub const fn highest(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// Whether packets of a family can have it at all.
    pub const fn is_in(self, family: Family) -> bool {
        match self {
            Self::Source4 | Self::Dest4 => matches!(family, Family::Ipv4),
            Self::Source6 | Self::Dest6 => matches!(family, Family::Ipv6),
            Self::Interface
            | Self::Queue
            | Self::Length
            | Self::SourceMac
            | Self::DestMac
            | Self::EtherType
            | Self::Vlan
            | Self::InnerVlan => true,
            _ => !matches!(family, Family::Other),
        }
    }

    pub const fn place(self) -> Place {
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
        Place { offset, size, known }
    }
}

impl Place {
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
    /// Where `known` is in `struct filter_packet`.
    pub const OFFSET: i16 = 60;
    /// One of the bits is set in any IP packet.
    pub const EITHER_IP: u32 = Self::Ipv4 as u32 | Self::Ipv6 as u32;
}

impl Family {
    pub const ALL: [Self; 3] = [Self::Ipv4, Self::Ipv6, Self::Other];
}

impl Facts {
    /// `None` when the packet does not have it.
    pub fn field(&self, field: Field) -> Option<u128> {
        self.0[field as usize]
    }

    pub fn set(&mut self, field: Field, value: impl Into<u128>) -> &mut Self {
        self.0[field as usize] = Some(value.into());
        self
    }

    pub(super) fn clear(&mut self, field: Field) -> &mut Self {
        self.0[field as usize] = None;
        self
    }

    pub fn family(&self) -> Family {
        let has = |field| self.field(field).is_some();
        match (has(Field::Source4), has(Field::Source6)) {
            (true, _) => Family::Ipv4,
            (_, true) => Family::Ipv6,
            _ => Family::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_numbered_in_order() {
        for (number, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field as usize, number);
        }
        assert_eq!(Field::Dscp.highest(), 63);
        assert_eq!(Field::Source6.highest(), u128::MAX);
    }

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
        assert_eq!(crate::code::NETWORK, offset("network"));
        assert_eq!(crate::code::TRANSPORT, offset("transport"));
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
