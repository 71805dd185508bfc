//! The dispatcher that a chain replaced, recorded with the chain.
//!
//! Rule: the record is made with the chain, so it exists exactly if the chain runs. A process that
//! is killed before it has removed libxdp's pins leaves both, and the next command that changes
//! the interface removes the pins. Programs have numbers of their own, so no other dispatcher is
//! meant. Not here: how a chain replaces a dispatcher (`adoption`).

use spec::{Map as _, MapDef};
use sys::net::Ifindex;

use super::Folder;
use crate::error::Result;
use crate::map_names::DISPATCHER;
use crate::notice::Notice;
use crate::state::Slot;
use crate::text_map::text_map;

/// The record of a dispatcher by the id of its program.
pub fn record(id: u32) -> MapDef {
    text_map(DISPATCHER, &id.to_string())
}

/// Removes the pins of the dispatcher that the running program replaced, if they remain.
///
/// # Errors
/// The record cannot be read.
pub fn remove_pins(slot: &Slot, ifindex: Ifindex, running: u32) -> Result<()> {
    for generation in slot.generations_of(running)? {
        let Some(record) = generation.map_if_kept(DISPATCHER)? else { continue };
        let id = record.lookup(&[0; 4])?.unwrap_or_default();
        let id = std::str::from_utf8(&id).ok().and_then(|id| id.parse().ok());
        if let Some(folder) = id.and_then(|id| Folder::find(ifindex, id)) {
            let lock = folder.lock()?;
            remove(slot, &folder);
            drop(lock);
        }
    }
    Ok(())
}

/// Removes the pins of a dispatcher that does not run any more; if that fails, a notice has the
/// path.
pub fn remove(slot: &Slot, folder: &Folder) {
    if let Err(error) = folder.remove() {
        let path = folder.path().display().to_string();
        slot.notify(&Notice::PinsRemain { path, reason: error.to_string() });
    }
}
