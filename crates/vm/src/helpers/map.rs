//! Helpers on map elements: lookup, update, delete, and iteration.

use spec::MapKind;
use spec::asm::Helper;

use super::{HelperRow, KfuncRow, bad_argument, helper_row, kfunc_row};
use crate::errno::Errno;
use crate::fault::{Cause, Fault};
use crate::interpreter;
use crate::maps::{Cursor, Entry, Map, UNSERVED};
use crate::memory::{RegionId, offset};
use crate::objects::{Kind, LENT_BYTES};
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::MAP_LOOKUP_ELEM, lookup),
    helper_row(Helper::MAP_UPDATE_ELEM, update),
    helper_row(Helper::MAP_DELETE_ELEM, delete),
    helper_row(Helper::MAP_LOOKUP_PERCPU_ELEM, lookup_percpu),
    helper_row(Helper::FOR_EACH_MAP_ELEM, for_each),
];

pub(super) const KFUNCS: &[KfuncRow] = &[kfunc_row("bpf_map_sum_elem_count", count)];

fn lookup(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let cpu = processor.cpu;
    lookup_of("bpf_map_lookup_elem", processor, args, cpu)
}

fn lookup_percpu(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_map_lookup_percpu_elem";
    let Some(map) = map_at(&processor.maps, args[0]) else { return Err(no_map(NAME)) };
    if !map.attributes().kind.is_per_cpu() {
        return Err(bad_argument(NAME, 1, "the map is not per CPU"));
    }
    let cpu = args[2] as u32;
    if cpu >= processor.shared.cpus {
        return Ok(0);
    }
    lookup_of(NAME, processor, args, cpu)
}

/// Number of elements of a hash; the kernel counts those of no other type.
fn count(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let Processor { maps, scratch, frames, cpu, .. } = &mut *processor;
    let Some(map) = map_at(maps, args[0]) else {
        return Err(no_map("bpf_map_sum_elem_count"));
    };
    let attributes = map.attributes();
    frames.charge(attributes.max_entries.into())?;
    if !matches!(
        attributes.kind,
        MapKind::HASH | MapKind::PERCPU_HASH | MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH
    ) {
        return Ok(0);
    }
    let (mut cursor, mut seen) = (Cursor::default(), 0);
    let key = &mut scratch[..attributes.key_size as usize];
    while map.walk(*cpu, &mut cursor, key).is_some() {
        seen += 1;
    }
    Ok(seen)
}

/// Calls back with map, key, value and context for each element; returns the number of elements
/// visited.
fn for_each(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_for_each_map_elem";
    let [map, callback, context, flags, _] = *args;
    let Some(found) = map_at(&processor.maps, map) else { return Err(no_map(NAME)) };
    if !found.is_walkable() {
        return Err(bad_argument(NAME, 1, "the map type does not support iteration"));
    }
    if flags != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let (key_len, entries) = (found.attributes().key_size as usize, found.attributes().max_entries);
    processor.charge(entries.into())?;
    let Processor { objects, memory, scratch, .. } = &mut *processor;
    let Some(key) = objects.lend(memory, (Kind::Key, 0), &scratch[..key_len], false) else {
        let fits = key_len <= LENT_BYTES;
        let cause = if fits { Cause::TooManyObjects } else { Cause::KeyTooLong { len: key_len } };
        return Err(Fault::new(cause));
    };
    let (mut cursor, mut seen) = (Cursor::default(), 0);
    while let Some(value) = walk(processor, map, &mut cursor, key, key_len) {
        seen += 1;
        if interpreter::call_back(processor, callback, [map, key, value, context, 0])? != 0 {
            break;
        }
    }
    processor.objects.hide(key);
    Ok(seen)
}

#[inline]
fn lookup_of(
    name: &'static str,
    processor: &mut Processor,
    args: &[u64; 5],
    cpu: u32,
) -> Result<u64, Box<Fault>> {
    let Processor { maps, memory, scratch, .. } = &mut *processor;
    let Some(map) = map_at(maps, args[0]) else { return Err(no_map(name)) };
    let len = map.attributes().key_size as usize;
    let value = match memory.view(args[1], len, &mut scratch[..]) {
        Ok(key) => map.lookup(cpu, key),
        Err(refused) => {
            return Err(processor.bad_memory(name, 2, (args[1], len, false))(refused));
        }
    };
    // Neither 0 nor the address of a value: one comparison.
    if value.wrapping_sub(1) < RegionId::VALUES.at(0) - 1 {
        special(processor, args[0], value)
    } else {
        Ok(value)
    }
}

/// Handles a lookup that returns no value: another map, or a map without lookups.
fn special(processor: &mut Processor, map: u64, value: u64) -> Result<u64, Box<Fault>> {
    if value == UNSERVED {
        return Err(unserved(processor, "bpf_map_lookup_elem", map));
    }
    if RegionId::of(value) == RegionId::MAPS && offset(value) as usize >= processor.maps.len() {
        processor.refresh();
    }
    Ok(value)
}

/// The fault of a helper on a map whose type it does not support.
#[cold]
fn unserved(processor: &Processor, function: &str, map: u64) -> Box<Fault> {
    let Some(map) = map_at(&processor.maps, map) else { return no_map(function) };
    if map.is_plain() && !map.attributes().program_writes() {
        let why = format!("programs may not write into `{}`", map.attributes().name);
        return bad_argument(function, 1, why);
    }
    let kind = map.attributes().kind.name().unwrap_or("unknown");
    bad_argument(function, 1, format!("`{}` is a map of type {kind}", map.attributes().name))
}

fn update(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_map_update_elem";
    let Processor { maps, memory, scratch, cpu, frames, .. } = &mut *processor;
    let Some(map) = map_at(maps, args[0]) else { return Err(no_map(NAME)) };
    if !map.is_plain() || !map.attributes().program_writes() {
        return Err(unserved(processor, NAME, args[0]));
    }
    let (key_len, value_len) =
        (map.attributes().key_size as usize, map.attributes().value_size as usize);
    frames.charge(value_len as u64)?;
    let (for_key, for_value) = scratch.split_at_mut(key_len);
    let Ok(key) = memory.view(args[1], key_len, for_key) else {
        return Err(processor.bad_memory(NAME, 2, (args[1], key_len, false))(
            crate::memory::Refused,
        ));
    };
    let Ok(value) = memory.view(args[2], value_len, for_value) else {
        return Err(processor.bad_memory(NAME, 3, (args[2], value_len, false))(
            crate::memory::Refused,
        ));
    };
    Ok(in_r0(map.update(*cpu, Entry { key, value, flags: args[3] })))
}

fn delete(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_map_delete_elem";
    let Processor { maps, memory, scratch, .. } = &mut *processor;
    let Some(map) = map_at(maps, args[0]) else { return Err(no_map(NAME)) };
    if !map.is_plain() || !map.attributes().program_writes() {
        return Err(unserved(processor, NAME, args[0]));
    }
    let len = map.attributes().key_size as usize;
    match memory.view(args[1], len, &mut scratch[..]) {
        Ok(key) => Ok(in_r0(map.delete(key))),
        Err(refused) => Err(processor.bad_memory(NAME, 2, (args[1], len, false))(refused)),
    }
}

/// The map of a map pointer.
#[inline]
pub(super) fn map_at(maps: &[std::sync::Arc<Map>], pointer: u64) -> Option<&Map> {
    if RegionId::of(pointer) != RegionId::MAPS {
        return None;
    }
    maps.get(offset(pointer) as usize).map(|map| &**map)
}

#[cold]
pub(super) fn no_map(function: &str) -> Box<Fault> {
    bad_argument(function, 1, "not a map pointer")
}

/// Value of r0 for a call that can fail.
pub(super) fn in_r0(result: Result<(), Errno>) -> u64 {
    result.map_or_else(Errno::in_r0, |()| 0)
}

/// The key, lent read-only, and the start of the value that contains `address`.
pub(super) fn element_at(processor: &mut Processor, map: u64, address: u64) -> Option<(u64, u64)> {
    let map = map_at(&processor.maps, map)?;
    let key = &mut processor.scratch[..map.attributes().key_size as usize];
    let value = map.key_at(address, key)?;
    let shown = processor.objects.lend(&mut processor.memory, (Kind::Key, 0), key, false)?;
    Some((shown, value))
}

/// One step of a walk: copies the key to `key` and returns the value's address.
fn walk(
    processor: &mut Processor,
    map: u64,
    cursor: &mut Cursor,
    key: u64,
    len: usize,
) -> Option<u64> {
    let map = map_at(&processor.maps, map)?;
    let bytes = &mut processor.scratch[..len];
    let value = map.walk(processor.cpu, cursor, bytes)?;
    processor.objects.fill(&mut processor.memory, key, bytes);
    Some(value)
}
