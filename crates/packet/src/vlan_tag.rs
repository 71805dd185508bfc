//! VLAN tags by their protocol and ID.

use std::fmt;

use crate::{EtherType, ParseError};

/// A tag that names a VLAN: its protocol and its ID, without a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanTag {
    protocol: EtherType,
    id: u16,
}

impl VlanTag {
    /// # Errors
    /// The protocol is neither 802.1Q nor 802.1ad, or the ID is not 1 to 4094.
    pub fn new(protocol: EtherType, id: u16) -> Result<Self, ParseError> {
        if !matches!(protocol, EtherType::VLAN | EtherType::SERVICE_VLAN) {
            let reason = "not a VLAN protocol; expected 0x8100 (802.1Q) or 0x88a8 (802.1ad)";
            return Err(ParseError::new(protocol.to_string(), reason));
        }
        if !(1..=4094).contains(&id) {
            return Err(ParseError::new(id.to_string(), "not a VLAN ID; expected 1 to 4094"));
        }
        Ok(Self { protocol, id })
    }

    /// 802.1Q or 802.1ad.
    #[must_use]
    pub fn protocol(self) -> EtherType {
        self.protocol
    }

    /// The VLAN ID, 1 to 4094.
    #[must_use]
    pub fn id(self) -> u16 {
        self.id
    }

    /// As in a frame, with priority 0.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 4] {
        let ([a, b], [c, d]) = (self.protocol.0.to_be_bytes(), self.id.to_be_bytes());
        [a, b, c, d]
    }
}

/// As `ip link` spells it: `802.1Q 5`.
impl fmt::Display for VlanTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.protocol == EtherType::VLAN { "802.1Q" } else { "802.1ad" };
        write!(f, "{protocol} {}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_that_name_a_vlan() {
        let tag = VlanTag::new(EtherType::SERVICE_VLAN, 0x123).unwrap();
        assert_eq!((tag.to_bytes(), &*tag.to_string()), ([0x88, 0xa8, 1, 0x23], "802.1ad 291"));
        for (protocol, id) in [(EtherType::LEGACY_VLAN, 5), (EtherType::VLAN, 0)] {
            assert!(VlanTag::new(protocol, id).is_err(), "{protocol} {id}");
        }
        assert!(VlanTag::new(EtherType::VLAN, 4094).is_ok());
        assert!(VlanTag::new(EtherType::VLAN, 4095).is_err());
    }
}
