//! ICMP (RFC 792), ICMPv6 (RFC 4443) and neighbor solicitation (RFC 4861).

use serde::{Deserialize, Serialize};

use crate::stream::build::{Builder, Cover, Names, Slot};
use crate::stream::error::Error;
use crate::stream::number::Kind;
use crate::stream::value::Value;

/// ICMP or ICMPv6: an echo request unless `type` is given. The next layer is its body: bytes, or
/// the packet that an error quotes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Icmp {
    /// `echo` (the default), `echo-reply` or a number.
    #[serde(rename = "type")]
    pub kind: Option<Value>,
    /// 0 unless given.
    pub code: Option<Value>,
    /// 1 unless it or `rest` is given.
    pub id: Option<Value>,
    /// 1 unless it or `rest` is given.
    pub sequence: Option<Value>,
    /// The four bytes that hold `id` and `sequence` in an echo request.
    pub rest: Option<Value>,
    /// Correct unless given as `broken` or a number.
    pub checksum: Option<Value>,
}

/// An ICMPv6 neighbor solicitation. Bytes after it are Ethernet padding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Solicitation {
    /// The address to resolve.
    pub target: Option<Value>,
    /// Source link-layer address: an option, left out unless given.
    pub link: Option<Value>,
    /// Correct unless given as `broken` or a number.
    pub checksum: Option<Value>,
}

const CHECKSUM: Slot = Slot::number("checksum", 16, 16);
const TYPES: Kind = Kind::Names(&[("echo", 8), ("echo-reply", 0)]);
const TYPES_V6: Kind = Kind::Names(&[("echo", 128), ("echo-reply", 129)]);

impl Icmp {
    pub(super) fn build(&self, b: &mut Builder, is_v6: bool) -> Result<(), Error> {
        b.grow(8);
        let (types, echo, cover) = match is_v6 {
            true => (TYPES_V6, 128, Cover::Addressed),
            false => (TYPES, 8, Cover::All),
        };
        b.set(Slot::new("type", 0, 8, types), &self.kind, echo)?;
        b.set(Slot::number("code", 8, 8), &self.code, 0)?;
        let one = u128::from(self.rest.is_none());
        b.set(Slot::number("id", 32, 16), &self.id, one)?;
        b.set(Slot::number("sequence", 48, 16), &self.sequence, one)?;
        b.set(Slot::number("rest", 32, 32), &self.rest, 0)?;
        b.checksum(CHECKSUM, &self.checksum, cover, false)?;
        b.unnamed(Names::Icmp);
        Ok(())
    }
}

impl Solicitation {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.append(&[135, 0]);
        b.grow(22);
        if self.link.is_some() {
            b.append(&[1, 1]);
            b.grow(6);
            b.set(Slot::mac("link", 26), &self.link, 0)?;
        }
        b.require(Slot::v6("target", 8), &self.target)?;
        b.checksum(CHECKSUM, &self.checksum, Cover::Addressed, false)?;
        b.pad();
        b.unnamed(Names::Nothing);
        Ok(())
    }
}
