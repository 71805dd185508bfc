//! Generic netlink: finding a family by name and asking it.

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_DUMP, NlaBuffer, NlasIterator};

use super::conversation::{Conversation, Request};
use super::emitted;
use crate::error::{Error, Result};

/// A generic netlink family of the running kernel, and a socket in one namespace.
#[derive(Debug)]
pub(super) struct Family {
    conversation: Conversation,
    name: &'static str,
    id: u16,
}

/// The attributes of one reply.
pub(super) struct Attributes(Vec<u8>);

impl Family {
    /// `ENOENT` when this kernel does not have the family.
    pub fn open(name: &'static str) -> Result<Self> {
        let protocol = netlink_sys::protocols::NETLINK_GENERIC;
        let mut conversation = Conversation::open("socket(NETLINK_GENERIC)", protocol)?;
        let mut value = name.as_bytes().to_vec();
        value.push(0);
        let payload = message(CTRL_CMD_GETFAMILY, &[DefaultNla::new(CTRL_ATTR_FAMILY_NAME, value)]);
        let call = "genetlink(CTRL_CMD_GETFAMILY)";
        let request = Request { call, object: name, kind: GENL_ID_CTRL, flags: 0, payload };
        let replies = conversation.exchange(&request)?;
        let id = replies
            .iter()
            .find_map(|reply| Attributes::of(&reply.payload).number(CTRL_ATTR_FAMILY_ID))
            .ok_or_else(|| Error::new(call, name, libc::ENOENT))?;
        Ok(Self { conversation, name, id: id as u16 })
    }

    /// Asks for one object, or for all that match with `dump`.
    pub fn ask(
        &mut self,
        call: &'static str,
        command: u8,
        attributes: &[DefaultNla],
        dump: bool,
    ) -> Result<Vec<Attributes>> {
        let flags = if dump { NLM_F_DUMP } else { 0 };
        let payload = message(command, attributes);
        let request = Request { call, object: self.name, kind: self.id, flags, payload };
        let replies = self.conversation.exchange(&request)?;
        Ok(replies.iter().map(|reply| Attributes::of(&reply.payload)).collect())
    }
}

impl Attributes {
    fn of(payload: &[u8]) -> Self {
        Self(payload.get(GENL_HEADER..).unwrap_or(&[]).to_vec())
    }

    /// An unsigned number of 2, 4 or 8 bytes.
    pub fn number(&self, kind: u16) -> Option<u64> {
        let nla = self.find(kind)?;
        let value = nla.value();
        match value.len() {
            2 => Some(u16::from_ne_bytes(value.try_into().ok()?).into()),
            4 => Some(u32::from_ne_bytes(value.try_into().ok()?).into()),
            8 => Some(u64::from_ne_bytes(value.try_into().ok()?)),
            _ => None,
        }
    }

    /// Whether the attribute exists, regardless of its value.
    pub fn has(&self, kind: u16) -> bool {
        self.find(kind).is_some()
    }

    fn find(&self, kind: u16) -> Option<NlaBuffer<&[u8]>> {
        NlasIterator::new(self.0.as_slice()).flatten().find(|nla| nla.kind() == kind)
    }
}

pub(super) fn number(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().to_vec())
}

/// `struct genlmsghdr` and attributes.
fn message(command: u8, attributes: &[DefaultNla]) -> Vec<u8> {
    let mut payload = vec![command, 1, 0, 0];
    for attribute in attributes {
        debug_assert!(attribute.buffer_len() % 4 == 0, "attributes keep four-byte alignment");
        payload.extend(emitted(attribute));
    }
    payload
}

const GENL_ID_CTRL: u16 = 0x10;
const GENL_HEADER: usize = 4;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
