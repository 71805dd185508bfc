//! GRE (RFC 2784, with key and sequence number of RFC 2890).

use serde::{Deserialize, Serialize};

use crate::stream::build::{Builder, Cover, Names, Slot};
use crate::stream::error::Error;
use crate::stream::value::{Atom, Value};

/// The GRE header; a packet or an Ethernet frame follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gre {
    /// Left out unless given.
    pub key: Option<Value>,
    /// Left out unless given.
    pub sequence: Option<Value>,
    /// Left out unless given: `right`, `broken` or a number.
    pub checksum: Option<Value>,
    /// Derived from the next layer unless given.
    pub protocol: Option<Value>,
}

impl Gre {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(4);
        let none = Value::Constant(Atom::from("none"));
        let checksum = self.checksum.as_ref().filter(|value| **value != none);
        self.flag(b, 0, checksum.is_some())?;
        if checksum.is_some() {
            b.grow(4);
        }
        for (bit, name, value) in [(2, "key", &self.key), (3, "sequence", &self.sequence)] {
            self.flag(b, bit, value.is_some())?;
            if value.is_some() {
                let at = (b.end() - b.start()) * 8;
                b.grow(4);
                b.set(Slot::number(name, at, 32), value, 0)?;
            }
        }
        if checksum.is_some() {
            let slot = Slot::number("checksum", 32, 16);
            b.checksum(slot, &self.checksum, Cover::All, false)?;
        }
        b.named(Names::Gre, Slot::number("protocol", 16, 16), &self.protocol)
    }

    fn flag(&self, b: &mut Builder, bit: usize, is_set: bool) -> Result<(), Error> {
        b.set(Slot::number("flags", bit, 1), &None, u128::from(is_set))
    }
}
