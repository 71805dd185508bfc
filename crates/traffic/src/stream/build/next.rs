//! Which layers may follow a layer, and the number by which a layer names the next one.

use super::{Builder, Slot};
use crate::stream::error::{Error, Reason};
use crate::stream::value::Value;

/// How a layer names what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Names {
    /// The beginning of a frame.
    Start,
    /// By Ethertype.
    Ethertype,
    /// By protocol number, over IPv4.
    V4,
    /// By protocol number, over IPv6.
    V6,
    /// By protocol number, after an extension header: hop-by-hop options must come first.
    Extension,
    /// By Ethertype, in GRE.
    Gre,
    /// By port: only VXLAN.
    Udp,
    /// An Ethernet frame.
    Vxlan,
    /// A quoted packet.
    Icmp,
    /// Bytes without a structure.
    Data,
    /// Nothing may follow.
    Nothing,
}

/// How the previous layer names the next one.
pub(super) struct Next {
    names: Names,
    /// Start of the previous layer, and its field for the number.
    slot: Option<(usize, Slot)>,
    is_given: bool,
    /// The previous layer is a later fragment, so only bytes may follow.
    only_data: bool,
    pub varies: bool,
}

impl Next {
    pub const fn start() -> Self {
        Self::unnamed(Names::Start)
    }

    pub const fn unnamed(names: Names) -> Self {
        Self { names, slot: None, is_given: false, only_data: false, varies: false }
    }

    /// Offset of the byte with the IP protocol number.
    pub fn at(&self) -> Option<usize> {
        self.slot.map(|(start, slot)| start + slot.bit / 8)
    }
}

impl Builder<'_> {
    /// The next layer is named in this field, unless its value is given.
    pub fn named(&mut self, names: Names, slot: Slot, value: &Option<Value>) -> Result<(), Error> {
        self.set(slot, value, 0)?;
        self.next = Next {
            slot: Some((self.start, slot)),
            is_given: value.is_some(),
            varies: matches!(value, Some(Value::Vary(_))),
            ..Next::unnamed(names)
        };
        Ok(())
    }

    /// The next layer is not named, or there is none.
    pub fn unnamed(&mut self, names: Names) {
        self.next = Next::unnamed(names);
    }

    /// Only bytes may follow: the packet is a later fragment.
    pub fn only_data(&mut self) {
        self.next.only_data = true;
    }

    /// How the last layer so far names the next one.
    pub fn names(&self) -> Names {
        self.next.names
    }

    /// Checks that a layer may follow the previous one, and writes its number there.
    pub(super) fn enter(&mut self, follows: Follows, previous: &str) -> Result<(), Error> {
        if follows == Follows::Not {
            let previous = if previous.is_empty() { "the beginning" } else { previous };
            return Err(self.error("", Reason::CannotFollow { previous: previous.to_owned() }));
        }
        if self.next.only_data && matches!(follows, Follows::As(_)) {
            return Err(self.error("", Reason::AfterFragment));
        }
        self.write_number(follows, previous)
    }

    /// The last layer needs a given value where it names the next one.
    pub(super) fn leave(&mut self) -> Result<(), Error> {
        let last = self.layer.clone();
        self.write_number(Follows::Unnamed, &last)
    }

    fn write_number(&mut self, follows: Follows, previous: &str) -> Result<(), Error> {
        let Some((start, slot)) = self.next.slot.filter(|_| !self.next.is_given) else {
            return Ok(());
        };
        let Follows::As(number) = follows else {
            return Err(Error::new(self.place(previous, slot.name), Reason::MissingNext));
        };
        let here = std::mem::replace(&mut self.start, start);
        self.write(slot.bit, slot.bits, number.into());
        self.start = here;
        Ok(())
    }
}

/// Whether a layer may follow another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Follows {
    /// It may not.
    Not,
    /// It may, and has no number.
    Unnamed,
    /// It may, and has this number.
    As(u16),
}
