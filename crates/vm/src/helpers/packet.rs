//! Helpers that move a packet's ends or copy its bytes, including fragments.
//!
//! The checks and error numbers are those of `net/core/filter.c`, Linux 6.18.

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, bad_argument, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::frame::Frame;
use crate::memory::{Memory, RegionId};
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::XDP_ADJUST_HEAD, adjust_head),
    helper_row(Helper::XDP_ADJUST_META, adjust_meta),
    helper_row(Helper::XDP_ADJUST_TAIL, adjust_tail),
    helper_row(Helper::XDP_GET_BUFF_LEN, buff_len),
    helper_row(Helper::XDP_LOAD_BYTES, load_bytes),
    helper_row(Helper::XDP_STORE_BYTES, store_bytes),
];

pub(super) const KFUNCS: &[KfuncRow] = &[KfuncRow { name: "bpf_xdp_pull_data", call: pull }];

fn adjust_head(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context("bpf_xdp_adjust_head", args[0])?;
    Ok(adjust(processor, |frame, memory| frame.adjust_head(memory, args[1] as i32)))
}

fn adjust_meta(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context("bpf_xdp_adjust_meta", args[0])?;
    Ok(adjust(processor, |frame, _| frame.adjust_meta(args[1] as i32)))
}

fn adjust_tail(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context("bpf_xdp_adjust_tail", args[0])?;
    Ok(adjust(processor, |frame, memory| frame.adjust_tail(memory, args[1] as i32)))
}

fn pull(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context("bpf_xdp_pull_data", args[0])?;
    let answer = adjust(processor, |frame, memory| frame.pull(memory, args[1] as u32));
    // A kfunc that returns an int clears the upper half of r0.
    Ok(u64::from(answer as u32))
}

fn adjust(
    processor: &mut Processor,
    act: impl FnOnce(&mut Frame, &mut Memory) -> Result<(), Errno>,
) -> u64 {
    let Processor { frame, memory, .. } = processor;
    let result = act(frame, memory);
    frame.moved(memory);
    result.map_or_else(Errno::in_r0, |()| 0)
}

fn buff_len(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context("bpf_xdp_get_buff_len", args[0])?;
    Ok(processor.frame.len())
}

fn load_bytes(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_xdp_load_bytes";
    context(NAME, args[0])?;
    let (offset, to, len) = (args[1] as u32, args[2], size(NAME, args[3])?);
    processor.check_argument(NAME, 3, (to, len, true))?;
    processor.charge(len as u64)?;
    if let Err(errno) = range(&processor.frame, offset, len) {
        return Ok(errno.in_r0());
    }
    let mut offset = u64::from(offset);
    for at in (0..len).step_by(CHUNK) {
        let mut chunk = [0; CHUNK];
        let chunk = &mut chunk[..CHUNK.min(len - at)];
        processor.frame.copy_out(&processor.memory, offset, chunk).expect(IN_PACKET);
        let to = to + at as u64;
        processor.memory.write(to, chunk).expect(CHECKED);
        offset += chunk.len() as u64;
    }
    Ok(0)
}

fn store_bytes(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_xdp_store_bytes";
    context(NAME, args[0])?;
    let (offset, from, len) = (args[1] as u32, args[2], size(NAME, args[3])?);
    processor.check_argument(NAME, 3, (from, len, false))?;
    processor.charge(len as u64)?;
    if let Err(errno) = range(&processor.frame, offset, len) {
        return Ok(errno.in_r0());
    }
    let mut offset = u64::from(offset);
    for at in (0..len).step_by(CHUNK) {
        let mut chunk = [0; CHUNK];
        let chunk = &mut chunk[..CHUNK.min(len - at)];
        let from = from + at as u64;
        processor.memory.read(from, chunk).expect(CHECKED);
        processor.frame.copy_in(&mut processor.memory, offset, chunk).expect(IN_PACKET);
        offset += chunk.len() as u64;
    }
    Ok(0)
}

const CHECKED: &str = "the argument was checked as a whole";
const IN_PACKET: &str = "the range was checked to be in the packet";

/// Bytes that are copied in one step.
const CHUNK: usize = 256;

/// Checks a range, with the errors of the kernel's `bpf_xdp_pointer`.
fn range(frame: &Frame, offset: u32, len: usize) -> Result<(), Errno> {
    const LONGEST: u64 = 0xffff;
    let (offset, len) = (u64::from(offset), len as u64);
    if offset > LONGEST || len > LONGEST {
        Err(Errno::EFAULT)
    } else if offset + len > frame.len() {
        Err(Errno::EINVAL)
    } else {
        Ok(())
    }
}

/// Checks a size argument: 32 bits, not 0.
fn size(function: &'static str, argument: u64) -> Result<usize, Box<Fault>> {
    match argument as u32 {
        0 => Err(bad_argument(function, 4, "a size of 0")),
        size => Ok(size as usize),
    }
}

/// The first argument must be the context.
pub(super) fn context(function: &'static str, argument: u64) -> Result<(), Box<Fault>> {
    if argument == RegionId::CONTEXT.at(0) {
        Ok(())
    } else {
        Err(bad_argument(function, 1, "not the context"))
    }
}
