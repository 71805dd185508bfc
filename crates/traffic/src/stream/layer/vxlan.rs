//! VXLAN (RFC 7348).

use serde::{Deserialize, Serialize};

use crate::stream::build::{Builder, Names, Slot};
use crate::stream::error::Error;
use crate::stream::value::Value;

/// The VXLAN header; an Ethernet frame follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vxlan {
    /// VXLAN network identifier, 24 bits.
    pub vni: Option<Value>,
    /// 8 unless given: the network identifier is valid.
    pub flags: Option<Value>,
}

impl Vxlan {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(8);
        b.set(Slot::number("flags", 0, 8), &self.flags, 8)?;
        b.require(Slot::number("vni", 32, 24), &self.vni)?;
        b.unnamed(Names::Vxlan);
        Ok(())
    }
}
