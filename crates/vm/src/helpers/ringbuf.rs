//! Helpers on ring buffers: records to user space.
//!
//! Not here: dynptrs onto records (`dynptr`), records from user space (`user_ringbuf`).

use spec::MapKind;
use spec::asm::Helper;

use super::map::{map_at, no_map};
use super::{CHUNK, HelperRow, bad_argument, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::maps::{Map, Place, Ring};
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::RINGBUF_OUTPUT, output),
    helper_row(Helper::RINGBUF_RESERVE, reserve),
    helper_row(Helper::RINGBUF_SUBMIT, submit),
    helper_row(Helper::RINGBUF_DISCARD, discard),
    helper_row(Helper::RINGBUF_QUERY, query),
];

fn output(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_ringbuf_output";
    let [pointer, data, len, flags, _] = *args;
    ring_at(processor, NAME, pointer)?;
    processor.check_argument(NAME, 2, (data, len as usize, false))?;
    if flags & !(NO_WAKEUP | FORCE_WAKEUP) != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let (_, ring) = ring_at(processor, NAME, pointer)?;
    let Some(place) = ring.reserve(len) else { return Ok(Errno::EAGAIN.in_r0()) };
    fill(processor, pointer, data, &place);
    Ok(0)
}

/// Copies the bytes of a record, which are known to be readable, and submits it.
fn fill(processor: &mut Processor, pointer: u64, data: u64, place: &Place) {
    let Processor { maps, memory, local, .. } = processor;
    let Some(ring) = map_at(maps, pointer).and_then(Map::ring) else { return };
    let mut done = 0;
    while done < u64::from(place.len) {
        let chunk = &mut local.buffer[..CHUNK.min((u64::from(place.len) - done) as usize)];
        if memory.read(data + done, chunk).is_ok() {
            ring.slab().write((place.start + done) as usize, chunk);
        }
        done += chunk.len() as u64;
    }
    ring.finish(place, false);
}

fn reserve(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [pointer, len, flags, ..] = *args;
    let (map, _) = ring_at(processor, "bpf_ringbuf_reserve", pointer)?;
    let number = map.attributes().number;
    if flags != 0 {
        return Ok(0);
    }
    Ok(processor.reserve_record(number, len).unwrap_or(0))
}

fn submit(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    finish(processor, "bpf_ringbuf_submit", args[0], false)
}

fn discard(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    finish(processor, "bpf_ringbuf_discard", args[0], true)
}

fn finish(
    processor: &mut Processor,
    name: &str,
    record: u64,
    discard: bool,
) -> Result<u64, Box<Fault>> {
    if processor.finish_record(record, discard) {
        return Ok(0);
    }
    let place = processor.memory.describe(record);
    Err(bad_argument(name, 1, format!("{place} is not the start of a reserved record")))
}

fn query(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let (_, ring) = ring_at(processor, "bpf_ringbuf_query", args[0])?;
    Ok(match args[1] {
        AVAIL_DATA => ring.available(),
        RING_SIZE => ring.size(),
        CONS_POS => ring.consumer_position(),
        PROD_POS => ring.producer_position(),
        _ => 0,
    })
}

/// The ring buffer of an argument.
pub(super) fn ring_at<'a>(
    processor: &'a Processor,
    name: &str,
    pointer: u64,
) -> Result<(&'a Map, &'a Ring), Box<Fault>> {
    let map = map_at(&processor.maps, pointer).ok_or_else(|| no_map(name))?;
    match map.ring() {
        Some(ring) if map.attributes().kind == MapKind::RINGBUF => Ok((map, ring)),
        _ => {
            Err(bad_argument(name, 1, format!("`{}` is not a ring buffer", map.attributes().name)))
        }
    }
}

/// Flags of output, submit and discard that control the wakeup of user space; here they have no
/// effect.
const NO_WAKEUP: u64 = 1;
const FORCE_WAKEUP: u64 = 2;

/// Queries of `bpf_ringbuf_query`.
const AVAIL_DATA: u64 = 0;
const RING_SIZE: u64 = 1;
const CONS_POS: u64 = 2;
const PROD_POS: u64 = 3;
