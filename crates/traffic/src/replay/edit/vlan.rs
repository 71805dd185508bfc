//! `Vlan`: sets, adds and removes VLAN tags.

use std::str::FromStr;

use super::super::layers::{Layers, TAG, TYPE_AT};
use super::EditError;

/// A change to a frame's VLAN tags. As text: `set:ID`, `push:ID` or `strip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vlan {
    /// Sets the id of the outermost tag, which keeps its priority; frames without a tag get one.
    Set(u16),
    /// Adds an outermost tag with this id.
    Push(u16),
    /// Removes all tags.
    Strip,
}

impl Vlan {
    /// Applies the change; returns whether the frame changed.
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
    type Err = EditError;

    fn from_str(text: &str) -> Result<Self, EditError> {
        let id = |id: &str| match id.parse() {
            Ok(id) if id <= ID => Ok(id),
            _ => Err(EditError::VlanId { text: id.to_owned() }),
        };
        match text.split_once(':') {
            Some(("set", number)) => Ok(Self::Set(id(number)?)),
            Some(("push", number)) => Ok(Self::Push(id(number)?)),
            None if text == "strip" => Ok(Self::Strip),
            _ => Err(EditError::Vlan { text: text.to_owned() }),
        }
    }
}

/// The bits of a VLAN id.
const ID: u16 = 0xfff;
