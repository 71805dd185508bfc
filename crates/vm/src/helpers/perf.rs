//! `bpf_perf_event_output`: a record for user space, followed by the start of the packet.
//!
//! Not here: counters (`counter`).

use std::collections::VecDeque;

use spec::asm::Helper;

use super::map::{in_r0, map_at, no_map};
use super::{CHUNK, HelperRow, bad_argument, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::memory::RegionId;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[helper_row(Helper::PERF_EVENT_OUTPUT, output)];

fn output(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_perf_event_output";
    let [context, pointer, flags, data, len] = *args;
    if context != RegionId::CONTEXT.at(0) {
        return Err(bad_argument(NAME, 1, "not the context"));
    }
    let map = map_at(&processor.maps, pointer).ok_or_else(|| no_map(NAME))?;
    if map.perf_events().is_none() {
        let why = format!("`{}` is not a perf event array", map.attributes().name);
        return Err(bad_argument(NAME, 2, why));
    }
    processor.check_argument(NAME, 4, (data, len as usize, false))?;
    if flags & !(INDEX | PACKET) != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let packet = (flags & PACKET) >> 32;
    if packet > processor.frame.len() {
        return Ok(Errno::EFAULT.in_r0());
    }
    Ok(in_r0(write(processor, pointer, flags & INDEX, (data, len, packet))))
}

/// Writes `len` bytes at `data`, then `packet` bytes of the packet; the caller has checked both.
fn write(
    processor: &mut Processor,
    pointer: u64,
    index: u64,
    (data, len, packet): (u64, u64, u64),
) -> Result<(), Errno> {
    let Processor { maps, memory, local, frame, cpu, .. } = processor;
    let map = map_at(maps, pointer).ok_or(Errno::EINVAL)?;
    let events = map.perf_events().ok_or(Errno::EINVAL)?;
    let index = if index == CURRENT_CPU { *cpu } else { index as u32 };
    if index >= map.attributes().max_entries {
        return Err(Errno::E2BIG);
    }
    events.output(*cpu, index, (len + packet) as usize, |record| {
        let buffer = &mut local.buffer[..];
        copy(record, len, buffer, |at, chunk| _ = memory.read(data + at, chunk));
        copy(record, packet, buffer, |at, chunk| _ = frame.copy_out(memory, at, chunk));
    })
}

/// Appends `len` bytes that `read` yields, chunk by chunk.
fn copy(
    record: &mut VecDeque<u8>,
    len: u64,
    buffer: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]),
) {
    let mut done = 0;
    while done < len {
        let chunk = &mut buffer[..CHUNK.min((len - done) as usize)];
        read(done, chunk);
        record.extend(&*chunk);
        done += chunk.len() as u64;
    }
}

/// `BPF_F_INDEX_MASK`, and the index of the current processor.
const INDEX: u64 = 0xffff_ffff;
const CURRENT_CPU: u64 = INDEX;
/// `BPF_F_CTXLEN_MASK`: number of bytes of the packet to append.
const PACKET: u64 = 0xf_ffff << 32;
