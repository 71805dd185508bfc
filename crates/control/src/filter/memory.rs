//! Kernel memory that the maps of a rule set need. It is compared with the free memory before
//! anything is loaded, so a filter that does not fit changes nothing.
//!
//! Rule: maps that exist already and are reused are not counted. Not here: the memory of the
//! programs themselves, some tens of KiB, which only the kernel knows.

use spec::{MapDef, Spec};
use sys::memory::{FreeMemory, free_memory};

pub use crate::memory::{MapMemory, Memory, amount};

use crate::error::{MemoryError, Result};

/// Memory of an object's maps, without those named in `shared`.
pub fn of<'n>(spec: &Spec, shared: impl IntoIterator<Item = &'n str>) -> Result<Memory> {
    let shared: Vec<_> = shared.into_iter().collect();
    let made = spec.maps.iter().filter(|map| !shared.contains(&map.name.as_str()));
    let take = |map: &MapDef| Ok(MapMemory { name: map.name.clone(), bytes: kernel::memory(map)? });
    Ok(Memory::of(made.map(take).collect::<Result<_>>()?))
}

/// Compares the memory of maps with a limit in bytes, and with the memory that is free.
///
/// # Errors
/// The maps need more: the error states the amount, what limits it, and the remedies.
pub fn check(memory: &Memory, spec: &Spec, limit: Option<u64>) -> Result<(), MemoryError> {
    if let Some(limit) = limit.filter(|limit| memory.bytes > *limit) {
        return Err(MemoryError::OverLimit { needed: memory.clone(), limit });
    }
    match free_memory() {
        Some(available) => fits(memory, filling(spec), &available),
        None => Ok(()),
    }
}

fn fits(memory: &Memory, filling: u64, available: &FreeMemory) -> Result<(), MemoryError> {
    if memory.bytes + filling <= available.free {
        return Ok(());
    }
    let (free, limited_by) = (available.free, available.by.clone());
    Err(MemoryError::OverFree { needed: memory.clone(), filling, free, limited_by })
}

/// Bytes of the largest value: the kernel copies a value before it writes it.
fn filling(spec: &Spec) -> u64 {
    let contents = spec.maps.iter().filter_map(|map| map.contents.as_ref());
    contents.map(Vec::len).max().unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::of(vec![MapMemory { name: "filter_data".into(), bytes: 3 << 20 }])
    }

    #[test]
    fn the_limit_is_exact_to_the_byte() {
        let spec = Spec::default();
        check(&memory(), &spec, Some(3 << 20)).unwrap();
        let error = check(&memory(), &spec, Some((3 << 20) - 1)).unwrap_err().to_string();
        assert!(error.contains("filter_data 3.0 MiB") && error.contains("--memory"), "{error}");
    }

    #[test]
    fn the_free_memory_is_compared_to_the_byte() {
        let available = |free| FreeMemory { free, by: "/sys/memory.max".into() };
        fits(&memory(), 1 << 20, &available(4 << 20)).unwrap();
        let error = fits(&memory(), 1 << 20, &available((4 << 20) - 1)).unwrap_err().to_string();
        assert!(error.contains("/sys/memory.max") && error.contains("1.0 MiB more"), "{error}");
    }
}
