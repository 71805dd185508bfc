//! `Vlan`: tags set, put on, taken off.

use std::str::FromStr;

use super::super::layers::{Layers, TAG, TYPE_AT};

/// As text: `set:ID`, `push:ID`, `strip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vlan {
    /// The outermost tag has this id, and keeps its priority; frames without a tag get one.
    Set(u16),
    /// One more tag, in front of all.
    Push(u16),
    /// No tags.
    Strip,
}

impl Vlan {
    /// Whether that changed the frame.
    pub(super) fn apply(self, frame: &mut Vec<u8>, layers: &Layers) -> bool {
        match self {
            Self::Strip if layers.tags == 0 => return false,
            Self::Strip => drop(frame.drain(TYPE_AT..TYPE_AT + TAG * layers.tags)),
            Self::Set(id) if layers.tags > 0 => {
                let control = &mut frame[TYPE_AT + 2..TYPE_AT + TAG];
                let [high, low] = (id & ID).to_be_bytes();
                let new = [control[0] & 0xf0 | high, low];
                let changes = control != new;
                control.copy_from_slice(&new);
                return changes;
            }
            Self::Set(id) | Self::Push(id) => {
                let [high, low] = (id & ID).to_be_bytes();
                frame.splice(TYPE_AT..TYPE_AT, [0x81, 0, high, low]);
            }
        }
        true
    }
}

impl FromStr for Vlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = |id: &str| match id.parse() {
            Ok(id) if id <= ID => Ok(id),
            _ => Err(format!("`{id}` is no VLAN id: 0 to {ID}")),
        };
        match text.split_once(':') {
            Some(("set", number)) => Ok(Self::Set(id(number)?)),
            Some(("push", number)) => Ok(Self::Push(id(number)?)),
            None if text == "strip" => Ok(Self::Strip),
            _ => Err(format!("`{text}` is nothing to do with a VLAN: set:ID, push:ID or strip")),
        }
    }
}

/// Bits of an id.
const ID: u16 = 0xfff;
