//! The fields of packets that rules can test, and their values in a packet.
//!
//! Every field is a number of a fixed width in the machine's byte order, which a packet may lack. A
//! test of a field that a packet lacks fails, even if it is negated.

/// A field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Index of the receiving interface.
    Interface,
    /// Number of the receive queue.
    Queue,
    /// Length of the frame in bytes, with its Ethernet header.
    Length,
    /// Source address of the Ethernet header.
    SourceMac,
    /// Destination address of the Ethernet header.
    DestMac,
    /// EtherType that follows all VLAN tags.
    EtherType,
    /// VLAN of the outermost tag.
    Vlan,
    /// VLAN of the second tag.
    InnerVlan,
    /// IPv4 source address.
    Source4,
    /// IPv4 destination address.
    Dest4,
    /// IPv6 source address.
    Source6,
    /// IPv6 destination address.
    Dest6,
    /// Time to live, or hop limit.
    Ttl,
    /// Differentiated services code point.
    Dscp,
    /// 0 for a whole packet, 1 for a first fragment, 2 for a later one.
    Fragment,
    /// IPv6 extension headers, as a set of bits of `abi::Extension`.
    Extensions,
    /// IP protocol that follows all extension headers.
    Protocol,
    /// Source port of TCP, UDP, DCCP, SCTP or UDP-Lite.
    SourcePort,
    /// Destination port of the same protocols.
    DestPort,
    /// Flags of the TCP header, as a set of bits.
    TcpFlags,
    /// Type of ICMP or ICMPv6 in the high byte, code in the low byte.
    Icmp,
}

/// The families of packets; the rules are compiled once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Packets with IPv4 addresses.
    Ipv4,
    /// Packets with IPv6 addresses.
    Ipv6,
    /// All other packets: ARP, LLDP, and packets whose IP header could not be read.
    Other,
}

/// The fields of one packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketFields([Option<u128>; Field::COUNT]);

impl Field {
    /// The number of fields.
    pub const COUNT: usize = Self::Icmp as usize + 1;

    /// All fields, by number.
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

    /// Width in bits.
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

    /// The highest value.
    pub const fn highest(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// Whether packets of a family can have the field.
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
    /// All families, by number.
    pub const ALL: [Self; 3] = [Self::Ipv4, Self::Ipv6, Self::Other];
}

impl PacketFields {
    /// The value of a field; `None` if the packet lacks it.
    pub fn field(&self, field: Field) -> Option<u128> {
        self.0[field as usize]
    }

    /// Sets the value of a field.
    pub fn set(&mut self, field: Field, value: impl Into<u128>) -> &mut Self {
        self.0[field as usize] = Some(value.into());
        self
    }

    /// Removes a field.
    pub(crate) fn clear(&mut self, field: Field) -> &mut Self {
        self.0[field as usize] = None;
        self
    }

    /// The family, by the addresses that the packet has.
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
