//! Helpers on queues, stacks and bloom filters: push, pop, peek.

use spec::MapKind;
use spec::asm::Helper;

use super::map::{in_r0, map_at, no_map};
use super::{HelperRow, bad_argument, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::maps::Map;
use crate::memory::Refused;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::MAP_PUSH_ELEM, push),
    helper_row(Helper::MAP_POP_ELEM, pop),
    helper_row(Helper::MAP_PEEK_ELEM, peek),
];

fn push(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_map_push_elem";
    const KINDS: &[MapKind] = &[MapKind::QUEUE, MapKind::STACK, MapKind::BLOOM_FILTER];
    let [pointer, value, flags, ..] = *args;
    let Processor { maps, memory, scratch, .. } = &mut *processor;
    let map = map_of_kind(maps, NAME, pointer, KINDS)?;
    let len = map.attributes().value_size as usize;
    match memory.view(value, len, &mut scratch[..]) {
        Ok(value) => Ok(in_r0(map.push(value, flags))),
        Err(refused) => Err(processor.bad_memory(NAME, 2, (value, len, false))(refused)),
    }
}

fn pop(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_map_pop_elem";
    copy_out(processor, NAME, args, Map::pop)
}

fn peek(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_map_peek_elem";
    let [pointer, value, ..] = *args;
    let Processor { maps, memory, scratch, .. } = &mut *processor;
    if map_of_kind(maps, NAME, pointer, &[MapKind::BLOOM_FILTER]).is_err() {
        return copy_out(processor, NAME, args, Map::peek);
    }
    let map = map_of_kind(maps, NAME, pointer, &[MapKind::BLOOM_FILTER])?;
    let len = map.attributes().value_size as usize;
    match memory.read(value, &mut scratch[..len]) {
        Ok(()) => Ok(in_r0(map.peek(&mut scratch[..len]))),
        Err(refused) => Err(processor.bad_memory(NAME, 2, (value, len, false))(refused)),
    }
}

/// Fills the program's value, with zeros if the map is empty.
fn copy_out(
    processor: &mut Processor,
    name: &str,
    args: &[u64; 5],
    take: impl Fn(&Map, &mut [u8]) -> Result<(), Errno>,
) -> Result<u64, Box<Fault>> {
    let [pointer, value, ..] = *args;
    let Processor { maps, memory, scratch, .. } = &mut *processor;
    let map = map_of_kind(maps, name, pointer, &[MapKind::QUEUE, MapKind::STACK])?;
    let len = map.attributes().value_size as usize;
    if memory.check(value, len, true).is_err() {
        return Err(processor.bad_memory(name, 2, (value, len, true))(Refused));
    }
    let taken = take(map, &mut scratch[..len]);
    let written = memory.write(value, &scratch[..len]);
    written.map_err(|refused| processor.bad_memory(name, 2, (value, len, true))(refused))?;
    Ok(in_r0(taken))
}

/// The map of an argument, if it has one of the types that the helper supports.
fn map_of_kind<'a>(
    maps: &'a [std::sync::Arc<Map>],
    name: &str,
    pointer: u64,
    kinds: &[MapKind],
) -> Result<&'a Map, Box<Fault>> {
    let map = map_at(maps, pointer).ok_or_else(|| no_map(name))?;
    if kinds.contains(&map.attributes().kind) {
        return Ok(map);
    }
    let kind = map.attributes().kind.name().unwrap_or("unknown");
    Err(bad_argument(name, 1, format!("`{}` is a map of type {kind}", map.attributes().name)))
}
