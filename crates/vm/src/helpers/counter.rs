//! Helpers that read performance counters; there are none, as on a machine without them.

use spec::asm::Helper;

use super::map::{map_at, no_map};
use super::{HelperRow, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::PERF_EVENT_READ, read),
    helper_row(Helper::PERF_EVENT_READ_VALUE, read_value),
];

fn read(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(missing("bpf_perf_event_read", processor, args[0], args[1])?.in_r0())
}

fn read_value(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_perf_event_read_value";
    let [map, flags, into, len, _] = *args;
    let len = len as u32 as usize;
    processor.fill(NAME, 3, (into, len), 0)?;
    if len != VALUE_BYTES {
        return Ok(Errno::EINVAL.in_r0());
    }
    Ok(missing(NAME, processor, map, flags)?.in_r0())
}

/// The error for an element of an array without a counter.
fn missing(name: &str, processor: &Processor, map: u64, flags: u64) -> Result<Errno, Box<Fault>> {
    let map = map_at(&processor.maps, map).ok_or_else(|| no_map(name))?;
    let index = if flags == CURRENT_CPU { u64::from(processor.cpu) } else { flags };
    Ok(match index {
        index if index > INDEX => Errno::EINVAL,
        index if index >= map.attributes().max_entries.into() => Errno::E2BIG,
        _ => Errno::ENOENT,
    })
}

/// `BPF_F_INDEX_MASK`, and the index of the current processor.
const INDEX: u64 = 0xffff_ffff;
const CURRENT_CPU: u64 = INDEX;
/// Size of `struct bpf_perf_event_value`.
const VALUE_BYTES: usize = 24;
