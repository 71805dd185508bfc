//! What rules take of the kernel's memory, and whether there is as much: asked before anything is
//! loaded, so that a filter that does not fit changes nothing and takes nothing from others.
//!
//! Rule: maps that are there already and go on being used count nothing. Not here: the memory of
//! the programs themselves, some tens of KiB, which only the kernel knows.

use anyhow::{Result, bail};
use spec::{MapDef, Spec};
use sys::memory::{Room, room};

use crate::view::filter::memory::{MapMemory, Memory, amount};

/// What the maps of an object take, without those that are `shared` with it.
pub fn of<'n>(spec: &Spec, shared: impl IntoIterator<Item = &'n str>) -> Result<Memory> {
    let shared: Vec<_> = shared.into_iter().collect();
    let made = spec.maps.iter().filter(|map| !shared.contains(&map.name.as_str()));
    let take = |map: &MapDef| Ok(MapMemory { name: map.name.clone(), bytes: kernel::memory(map)? });
    Ok(Memory::of(made.map(take).collect::<Result<_>>()?))
}

/// Refuses what is over the limit that somebody set, or over what there is.
///
/// # Errors
/// Says how much is too much, by whose limit, and what can be done.
pub fn check(memory: &Memory, spec: &Spec, limit: Option<u64>) -> Result<()> {
    if let Some(limit) = limit.filter(|limit| memory.bytes > *limit) {
        let limit = amount(limit);
        bail!("the maps take {}, which is over --memory ({limit}): {ADVICE}", memory.text());
    }
    match room() {
        Some(room) => fits(memory, filling(spec), &room),
        None => Ok(()),
    }
}

fn fits(memory: &Memory, filling: u64, room: &Room) -> Result<()> {
    if memory.bytes + filling <= room.free {
        return Ok(());
    }
    let (free, by) = (amount(room.free), &room.by);
    bail!(
        "the maps take {}, and {} more while they are filled, but {free} are free by {by}: raise \
         that or free memory; {ADVICE}",
        memory.text(),
        amount(filling),
    )
}

/// The kernel copies a value before it writes it: that of the biggest one.
fn filling(spec: &Spec) -> u64 {
    let contents = spec.maps.iter().filter_map(|map| map.contents.as_ref());
    contents.map(Vec::len).max().unwrap_or(0) as u64
}

const ADVICE: &str = "smaller sets, fewer rules, or limits `per rule` take less";

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::of(vec![MapMemory { name: "filter_data".into(), bytes: 3 << 20 }])
    }

    #[test]
    fn a_limit_is_kept_to_the_byte() {
        let spec = Spec::default();
        check(&memory(), &spec, Some(3 << 20)).unwrap();
        let told = check(&memory(), &spec, Some((3 << 20) - 1)).unwrap_err().to_string();
        assert!(told.contains("filter_data 3.0 MiB") && told.contains("--memory"), "{told}");
    }

    #[test]
    fn so_is_what_there_is() {
        let room = |free| Room { free, by: "/sys/memory.max".into() };
        fits(&memory(), 1 << 20, &room(4 << 20)).unwrap();
        let told = fits(&memory(), 1 << 20, &room((4 << 20) - 1)).unwrap_err().to_string();
        assert!(told.contains("/sys/memory.max") && told.contains("1.0 MiB more"), "{told}");
    }
}
