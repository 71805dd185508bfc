//! Computes the memory of an object's maps before they are created.
//!
//! Rule: the numbers are the kernel's own account of a map (`memlock` in its `fdinfo`), estimated
//! from sizes alone: headers of maps and of elements differ by some bytes between kernels. Not
//! here: the memory of programs, and whether the memory is available.

use spec::{MapDef, MapKind};
use sys::bpf::uapi::map_flag;

use crate::error::Result;

/// Bytes of the kernel's memory that a map takes with all of its elements, on this machine: values
/// for each processor count for each that may ever be there.
///
/// # Errors
/// The list of possible CPUs cannot be read.
pub fn memory(def: &MapDef) -> Result<u64> {
    let entries = u64::from(entries(def)?);
    let processors = sys::cpu::possible()? as u64;
    let inner = def.inner.as_deref().map_or(Ok(0), memory)?;
    Ok(HEAD + inner + elements(def, entries, processors))
}

/// The number of entries on this machine.
pub(super) fn entries(def: &MapDef) -> Result<u32> {
    let cpus = u32::try_from(sys::cpu::possible()?).unwrap_or(u32::MAX);
    Ok(def.entries_on(cpus, sys::mmap::page_size() as u32))
}

fn elements(def: &MapDef, entries: u64, processors: u64) -> u64 {
    let (key, value) = (eights(def.key_size), eights(def.value_size));
    let of_all = value * processors;
    match def.kind {
        MapKind::ARRAY if def.flags & map_flag::MMAPABLE != 0 => {
            (entries * value).next_multiple_of(page()) + page()
        }
        MapKind::ARRAY => entries * value,
        MapKind::PERCPU_ARRAY => entries * (POINTER + of_all),
        // For each processor one more, to be exchanged.
        MapKind::HASH => (entries + processors) * (ELEMENT + key + value) + buckets(entries),
        MapKind::LRU_HASH => entries * (ELEMENT + key + value) + buckets(entries),
        MapKind::PERCPU_HASH | MapKind::LRU_PERCPU_HASH => {
            entries * (ELEMENT + key + POINTER + of_all) + buckets(entries)
        }
        MapKind::RINGBUF | MapKind::USER_RINGBUF => entries + 3 * page(),
        MapKind::LPM_TRIE => 2 * entries * (ELEMENT + key + value),
        // Slots for what is put in.
        MapKind::PROG_ARRAY
        | MapKind::PERF_EVENT_ARRAY
        | MapKind::ARRAY_OF_MAPS
        | MapKind::DEVMAP
        | MapKind::CPUMAP
        | MapKind::XSKMAP => entries * POINTER,
        _ => entries * (ELEMENT + key + value),
    }
}

fn eights(size: u32) -> u64 {
    u64::from(size).next_multiple_of(8)
}

fn buckets(entries: u64) -> u64 {
    entries.next_power_of_two() * BUCKET
}

fn page() -> u64 {
    sys::mmap::page_size() as u64
}

/// What describes a map.
const HEAD: u64 = 320;
/// What describes an element of a hash.
const ELEMENT: u64 = 48;
const BUCKET: u64 = 16;
const POINTER: u64 = 8;
