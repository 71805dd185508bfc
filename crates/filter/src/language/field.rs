//! What rules can ask of a packet, and a packet's answers.
//!
//! Every field is a number of a known width in the machine's byte order; a packet has it or not. A
//! test of a field that a packet does not have fails, also when it is negated.

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
pub struct PacketFields([Option<u128>; Field::COUNT]);

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
}

impl Family {
    pub const ALL: [Self; 3] = [Self::Ipv4, Self::Ipv6, Self::Other];
}

impl PacketFields {
    /// `None` when the packet does not have it.
    pub fn field(&self, field: Field) -> Option<u128> {
        self.0[field as usize]
    }

    pub fn set(&mut self, field: Field, value: impl Into<u128>) -> &mut Self {
        self.0[field as usize] = Some(value.into());
        self
    }

    pub(crate) fn clear(&mut self, field: Field) -> &mut Self {
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
}
