//! Changes that must be confirmed: `--confirm 60s` and `xway confirm`.
//!
//! Rule: the return needs no process, because the running program contains it (`deadline`). Not
//! here: how pins follow (`state::confirmation`).

use std::time::Duration;

use serde::Serialize;
use sys::net::{Link, Netlink};
use sys::netns::NetNs;

use crate::Control;
use crate::error::{ConfirmationError, Result};
use crate::state::{State, Writer};
use crate::target::no_interface;

/// A change that waits for a confirmation, or was confirmed or reverted.
#[derive(Clone, Debug, Serialize)]
pub struct UnconfirmedChange {
    /// Name of the interface.
    pub interface: String,
    /// Name of what was attached; names of all members of a chain.
    pub program: String,
    /// Seconds until the previous state returns.
    pub left_s: f64,
}

/// How to end the time of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The new program runs without a deadline.
    Confirm,
    /// The previous program runs again.
    Revert,
}

/// Lists the changes of this namespace that wait for a confirmation.
pub fn list(control: &Control) -> Result<Vec<UnconfirmedChange>> {
    let links = Netlink::open()?.links()?;
    if links.iter().all(|link| link.xdp.is_empty()) {
        return Ok(Vec::new());
    }
    let (state, netns) = (State::read(control)?, NetNs::current()?.id()?);
    let mut changes = Vec::new();
    for link in &links {
        let slot = state.slot(netns, link.ifindex);
        for (_, program) in link.xdp.programs() {
            if let Some((_, left)) = slot.unconfirmed(program)? {
                changes.push(change(link, slot.names_of(program)?, left));
            }
        }
    }
    Ok(changes)
}

/// Confirms or reverts the changes of these interfaces; of all interfaces if none is named.
///
/// # Errors
/// A named interface does not exist, or no change of it waits for a confirmation; then nothing has
/// changed.
pub fn end(
    control: &Control,
    interfaces: &[String],
    ending: Ending,
) -> Result<Vec<UnconfirmedChange>> {
    let writer = Writer::open(control)?;
    let (links, netns) = (Netlink::open()?.links()?, NetNs::current()?.id()?);
    let mut waiting = Vec::new();
    for link in &links {
        let slot = writer.slot(netns, link.ifindex);
        for (mode, program) in link.xdp.programs() {
            if let Some((_, left)) = slot.unconfirmed(program)? {
                let one = change(link, slot.names_of(program)?, left);
                waiting.push((one, slot.clone(), link, mode, program));
            }
        }
    }
    for name in interfaces {
        if !links.iter().any(|link| link.name == *name) {
            return Err(no_interface(name, &links));
        }
        if !waiting.iter().any(|(one, ..)| one.interface == *name) {
            return Err(ConfirmationError::Nothing { interface: name.clone() }.into());
        }
    }
    waiting.retain(|(one, ..)| interfaces.is_empty() || interfaces.contains(&one.interface));
    waiting
        .into_iter()
        .map(|(change, slot, link, mode, program)| {
            match ending {
                Ending::Confirm => slot.confirm(link.ifindex, mode, program)?,
                Ending::Revert => slot.revert(link.ifindex, mode, program)?,
            }
            Ok(change)
        })
        .collect()
}

fn change(link: &Link, program: String, left: Duration) -> UnconfirmedChange {
    UnconfirmedChange { interface: link.name.clone(), program, left_s: left.as_secs_f64() }
}
