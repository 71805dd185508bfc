//! UDP (RFC 768).

use serde::{Deserialize, Serialize};

use super::Layer;
use crate::stream::build::{Builder, Cover, Names, Slot};
use crate::stream::error::Error;
use crate::stream::value::Value;

/// The UDP header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Udp {
    /// 49152 unless given.
    pub src: Option<Value>,
    /// Required, except before VXLAN, where it is 4789 unless given.
    pub dst: Option<Value>,
    /// Derived from the frame's size unless given.
    pub length: Option<Value>,
    /// Correct unless given as `broken`, `none` (over IPv4) or a number.
    pub checksum: Option<Value>,
}

/// First port of the dynamic range (RFC 6335), the default source port.
pub(super) const DYNAMIC_PORT: u128 = 49152;

impl Udp {
    pub(super) fn build(&self, b: &mut Builder, after: Option<&Layer>) -> Result<(), Error> {
        b.grow(8);
        b.set(Slot::number("src", 0, 16), &self.src, DYNAMIC_PORT)?;
        let dst = Slot::number("dst", 16, 16);
        match matches!(after, Some(Layer::Vxlan(_))) {
            true => b.set(dst, &self.dst, 4789)?,
            false => b.require(dst, &self.dst)?,
        }
        b.length(Slot::number("length", 32, 16), &self.length, b.start())?;
        b.checksum(Slot::number("checksum", 48, 16), &self.checksum, Cover::Addressed, true)?;
        b.unnamed(Names::Udp);
        Ok(())
    }
}
