//! Ethernet and its VLAN tags.

use serde::{Deserialize, Serialize};

use crate::stream::build::{Builder, Names, Slot};
use crate::stream::error::Error;
use crate::stream::value::Value;

/// The Ethernet header: first in a frame, or inside VXLAN and GRE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ethernet {
    pub src: Option<Value>,
    pub dst: Option<Value>,
    /// Derived from the next layer unless given.
    pub ethertype: Option<Value>,
}

/// One VLAN tag. Of several tags all but the innermost are service tags (0x88a8).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vlan {
    /// VLAN id, 12 bits.
    pub id: Option<Value>,
    /// Priority, 0 to 7; 0 unless given.
    pub pcp: Option<Value>,
    /// Drop eligible indicator; 0 unless given.
    pub dei: Option<Value>,
    /// Derived from the next layer unless given.
    pub ethertype: Option<Value>,
}

impl Ethernet {
    pub(super) const LEN: usize = 14;
    /// Offset of the source address.
    pub(super) const SOURCE: usize = 6;

    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(Self::LEN);
        b.enter_ethernet();
        b.require(Slot::mac("dst", 0), &self.dst)?;
        b.require(Slot::mac("src", Self::SOURCE), &self.src)?;
        b.named(Names::Ethertype, Slot::number("ethertype", 96, 16), &self.ethertype)
    }
}

impl Vlan {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(4);
        b.set(Slot::number("pcp", 0, 3), &self.pcp, 0)?;
        b.set(Slot::number("dei", 3, 1), &self.dei, 0)?;
        b.require(Slot::number("id", 4, 12), &self.id)?;
        b.named(Names::Ethertype, Slot::number("ethertype", 16, 16), &self.ethertype)
    }
}
