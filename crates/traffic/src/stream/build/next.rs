//! What may follow a layer, and the number by which the layer says so.

use super::{Builder, Slot};
use crate::stream::error::Error;
use crate::stream::layer::Layer;
use crate::stream::value::Value;

/// How a layer names what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Names {
    /// Nothing is before it.
    Start,
    Ethertype,
    /// Protocols over IPv4, and over IPv6.
    V4,
    V6,
    /// The same behind extension headers: hop-by-hop options come first.
    Extension,
    Gre,
    /// By port: VXLAN alone.
    Udp,
    Vxlan,
    /// A quoted packet.
    Icmp,
    /// Bytes that mean nothing here.
    Data,
    /// Nothing at all.
    Nothing,
}

/// What the layer before says of what follows it.
pub(super) struct Next {
    names: Names,
    /// Where in the frame the number is.
    slot: Option<(usize, Slot)>,
    is_given: bool,
    /// Why the layer before carries bytes alone, if it does.
    only_data: Option<&'static str>,
    pub varies: bool,
}

impl Next {
    pub const fn start() -> Self {
        Self::unnamed(Names::Start)
    }

    pub const fn unnamed(names: Names) -> Self {
        Self { names, slot: None, is_given: false, only_data: None, varies: false }
    }

    /// The byte in which the number of an IP protocol is.
    pub fn at(&self) -> Option<usize> {
        self.slot.map(|(start, slot)| start + slot.bit / 8)
    }
}

impl Builder<'_> {
    /// What follows is named in this field, unless the user gives its value.
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

    /// What follows is not named, or nothing does.
    pub fn unnamed(&mut self, names: Names) {
        self.next = Next::unnamed(names);
    }

    /// Nothing but bytes may follow, for this reason.
    pub fn only_data(&mut self, why: &'static str) {
        self.next.only_data = Some(why);
    }

    /// Checks that the layer may follow the one before, and writes its number there.
    pub(super) fn enter(
        &mut self,
        layer: &Layer,
        before: &str,
        after: Option<&Layer>,
    ) -> Result<(), Error> {
        let follows = layer.follows(self.next.names, after);
        if follows == Follows::Not {
            let before = if before.is_empty() { "the beginning" } else { before };
            return Err(self.error("", format!("cannot follow {before}")));
        }
        if let (Some(why), Follows::As(_)) = (self.next.only_data, follows) {
            return Err(self.error("", format!("cannot follow: {why}")));
        }
        self.say(follows, before)
    }

    /// The last layer's own field has to say what is behind, when no layer is.
    pub(super) fn leave(&mut self) -> Result<(), Error> {
        let last = self.layer.clone();
        self.say(Follows::Unnamed, &last)
    }

    fn say(&mut self, follows: Follows, before: &str) -> Result<(), Error> {
        let Some((start, slot)) = self.next.slot.filter(|_| !self.next.is_given) else {
            return Ok(());
        };
        let Follows::As(number) = follows else {
            let why = "is not given, and no layer follows that says what it is";
            return Err(Error::new(self.place(before, slot.name), why));
        };
        let here = std::mem::replace(&mut self.start, start);
        self.write(slot.bit, slot.bits, number.into());
        self.start = here;
        Ok(())
    }
}

/// Whether a layer may stand behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Follows {
    Not,
    /// Yes, but nothing says what it is.
    Unnamed,
    As(u16),
}
