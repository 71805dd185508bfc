//! Ring buffer records through dynptrs, whose length need not be a constant.

use spec::asm::Helper;

use super::dynptr::{self, Dynptr, Place};
use super::ringbuf::ring_at;
use super::{HelperRow, bad_argument, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::RINGBUF_RESERVE_DYNPTR, reserve),
    helper_row(Helper::RINGBUF_SUBMIT_DYNPTR, submit),
    helper_row(Helper::RINGBUF_DISCARD_DYNPTR, discard),
];

/// Stores a null dynptr if it fails; submitting or discarding that has no effect.
fn reserve(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_ringbuf_reserve_dynptr";
    let [pointer, size, flags, into, _] = *args;
    let (map, _) = ring_at(processor, NAME, pointer)?;
    let (number, size) = (map.attributes().number, size as u32);
    dynptr::store(processor, NAME, 4, into, Dynptr::NULL)?;
    if flags != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    if size > Dynptr::LONGEST {
        return Ok(Errno::E2BIG.in_r0());
    }
    let Some(record) = processor.reserve_record(number, size.into()) else {
        return Ok(Errno::EINVAL.in_r0());
    };
    dynptr::store(processor, NAME, 4, into, Dynptr::new(record, size, Place::Record))?;
    Ok(0)
}

fn submit(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    finish(processor, "bpf_ringbuf_submit_dynptr", args[0], false)
}

fn discard(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    finish(processor, "bpf_ringbuf_discard_dynptr", args[0], true)
}

fn finish(
    processor: &mut Processor,
    name: &str,
    at: u64,
    discard: bool,
) -> Result<u64, Box<Fault>> {
    let dynptr = dynptr::load(processor, name, 1, at)?;
    if dynptr.is_null() {
        return Ok(0);
    }
    if !processor.finish_record(dynptr.data, discard) {
        return Err(bad_argument(name, 1, "not a dynptr of a reserved record"));
    }
    dynptr::store(processor, name, 1, at, Dynptr::NULL)?;
    Ok(0)
}
