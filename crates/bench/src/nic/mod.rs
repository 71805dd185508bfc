//! Before a run on network cards: how they and the machine differ from the paper's set-up, and the
//! commands that change it.
//!
//! Rule: nothing here changes anything. What a driver does not report is listed as unknown. The
//! paper is "The eXpress Data Path" (CoNEXT 2018), with the scripts of its published repository.
//! Not here: whether a card may be used at all (`field`).

mod away;
mod item;
mod link;
mod machine;
mod offloads;
mod queues;

pub use item::Item;

use anyhow::Result;
use report::{Bench, Host};

use crate::field::Field;
use crate::harness::Harness;

/// Prints and notes the state of the field before it is measured. On cards that is the checklist,
/// and the wait for a sender on another host.
///
/// # Errors
/// When that sender does not begin, or a card is gone.
pub fn begin(field: &Field, harness: &mut Harness, bench: &mut Bench) -> Result<()> {
    bench.note(field.facts());
    if !field.receiver.is_home() {
        return Ok(());
    }
    let (from, to) = field.addresses()?;
    let mut lines = vec![format!("frames go from {from} to {to}, UDP port {}", crate::field::PORT)];
    lines.push(PAPER.to_owned());
    lines.extend(checklist(field)?.iter().map(Item::to_string));
    for line in lines {
        harness.say(&line);
        bench.note(line);
    }
    if field.is_offer_known() {
        return Ok(());
    }
    bench
        .note("the sender is on another host: what it offered is not known, so neither are losses");
    away::wait(field, harness)
}

/// The items in the order of the list.
fn checklist(field: &Field) -> Result<Vec<Item>> {
    let (receiver, ethtool) = (&field.receiver, field.receiver.ethtool()?);
    let device = receiver.device();
    let mut items = link::items(receiver, &ethtool)?;
    items.extend([queues::used(&ethtool, device), queues::interrupts(receiver)]);
    items.extend([queues::balanced(), queues::rings(&ethtool, device)]);
    items.extend(offloads::items(&ethtool, device));
    items.push(link::flow_control(&ethtool, device));
    if field.is_offer_known() {
        items.push(link::flow_control(&field.sender.ethtool()?, field.sender.device()));
    }
    items.extend(machine::items(&Host::read(), &ethtool, device));
    Ok(items)
}

const PAPER: &str = "checked before the run, nothing was changed; \"the paper\" is The eXpress \
                     Data Path (CoNEXT 2018): ConnectX-5 Ex, Xeon E5-1650 v4, Linux 4.18";
