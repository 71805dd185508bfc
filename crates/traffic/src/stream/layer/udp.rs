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
    /// 49152.
    pub src: Option<Value>,
    /// 4789 before VXLAN.
    pub dst: Option<Value>,
    /// By the frame's size.
    pub length: Option<Value>,
    /// Right; or `broken`, `none` (over IPv4), or a number.
    pub checksum: Option<Value>,
}

/// The first port that is for anyone.
pub(super) const SOURCE: u128 = 49152;

impl Udp {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(8);
        b.set(Slot::number("src", 0, 16), &self.src, SOURCE)?;
        let dst = Slot::number("dst", 16, 16);
        match b.is_before(|layer| matches!(layer, Layer::Vxlan(_))) {
            true => b.set(dst, &self.dst, 4789)?,
            false => b.require(dst, &self.dst)?,
        }
        b.length(Slot::number("length", 32, 16), &self.length, b.start())?;
        b.checksum(Slot::number("checksum", 48, 16), &self.checksum, Cover::Addressed, true)?;
        b.unnamed(Names::Udp);
        Ok(())
    }
}
