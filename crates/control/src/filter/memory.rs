//! Kernel memory that the maps of a rule set need. It is compared with the free memory before
//! anything is loaded, so a filter that does not fit changes nothing.
//!
//! Rule: maps that are there already and go on being used count nothing. Not here: the memory of
//! the programs themselves, some tens of KiB, which only the kernel knows.

use serde::Serialize;
use spec::{MapDef, Spec};
use sys::memory::{Room, room};

use crate::error::{Error, Result};

/// Memory of all maps that a program needs and that do not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Sum of all maps.
    pub bytes: u64,
    /// Sorted by size, the largest first.
    pub maps: Vec<MapMemory>,
}

/// Memory of one map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapMemory {
    pub name: String,
    pub bytes: u64,
}

impl Memory {
    pub(super) fn of(mut maps: Vec<MapMemory>) -> Self {
        maps.sort_by_key(|map| std::cmp::Reverse(map.bytes));
        Self { bytes: maps.iter().map(|map| map.bytes).sum(), maps }
    }

    /// `1.3 MiB in 24 maps: filter_data 1.1 MiB, filter_lines 128 KiB, …`
    pub fn text(&self) -> String {
        let shown = self.maps.iter().take(SHOWN);
        let mut shown: Vec<_> =
            shown.map(|map| format!("{} {}", map.name, amount(map.bytes))).collect();
        if self.maps.len() > SHOWN {
            shown.push("…".to_owned());
        }
        format!("{} in {} maps: {}", amount(self.bytes), self.maps.len(), shown.join(", "))
    }
}

/// An amount of memory with its unit.
pub fn amount(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        0x400..0x10_0000 => format!("{:.0} KiB", bytes as f64 / 1024.0),
        0x10_0000.. => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

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
        let taken = memory.text();
        return Err(Error::Memory(format!(
            "the maps take {taken}, which is over --memory ({limit}): {ADVICE}"
        )));
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
    Err(Error::Memory(format!(
        "the maps take {}, and {} more while they are filled, but {free} are free by {by}: raise \
         that or free memory; {ADVICE}",
        memory.text(),
        amount(filling),
    )))
}

/// The kernel copies a value before it writes it: that of the biggest one.
fn filling(spec: &Spec) -> u64 {
    let contents = spec.maps.iter().filter_map(|map| map.contents.as_ref());
    contents.map(Vec::len).max().unwrap_or(0) as u64
}

/// Maps that are named in a text.
const SHOWN: usize = 3;
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

    #[test]
    fn the_biggest_come_first() {
        let map = |name: &str, bytes| MapMemory { name: name.into(), bytes };
        let maps = vec![map("a", 100), map("b", 3 << 20), map("c", 2048), map("d", 1)];
        let memory = Memory::of(maps);
        assert_eq!(memory.bytes, (3 << 20) + 2149);
        assert_eq!(memory.text(), "3.0 MiB in 4 maps: b 3.0 MiB, c 2 KiB, a 100 B, …");
        let json = serde_json::to_value(&memory).unwrap();
        assert_eq!(json["maps"][0]["name"], "b");
        assert_eq!(Memory::of(Vec::new()).text(), "0 B in 0 maps: ");
    }
}
