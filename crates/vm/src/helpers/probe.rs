//! Reads that return an error instead of a fault: `bpf_probe_read_*`.
//!
//! A kernel address is an address in the program's memory; there is no user memory. A failed read
//! stores zeros and returns `EFAULT`, as in the kernel.

use spec::asm::Helper;

use super::{CHUNK, HelperRow, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::memory::{Refused, RegionId};
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::PROBE_READ_KERNEL, read_kernel),
    helper_row(Helper::PROBE_READ_KERNEL_STR, read_kernel_string),
    helper_row(Helper::PROBE_READ_USER, read_user),
    helper_row(Helper::PROBE_READ_USER_STR, read_user),
];

fn read_kernel(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_probe_read_kernel";
    let [into, len, from, ..] = *args;
    let len = len as u32 as usize;
    processor.check_argument(NAME, 1, (into, len, true))?;
    processor.charge(len as u64)?;
    if copy(processor, into, from, len).is_ok() {
        return Ok(0);
    }
    processor.fill(NAME, 1, (into, len), 0)?;
    Ok(unreadable(from).in_r0())
}

/// The error for an unreadable address: the kernel first checks whether it is a kernel address.
pub(super) fn unreadable(address: u64) -> Errno {
    if RegionId::of(address) == RegionId::NULL { Errno::ERANGE } else { Errno::EFAULT }
}

fn read_kernel_string(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_probe_read_kernel_str";
    let [into, len, from, ..] = *args;
    let len = len as u32 as usize;
    processor.check_argument(NAME, 1, (into, len, true))?;
    let answer = copy_string(processor, into, from, len);
    processor.charge(answer.unwrap_or(len) as u64)?;
    let Ok(copied) = answer else {
        processor.fill(NAME, 1, (into, len), 0)?;
        return Ok(unreadable(from).in_r0());
    };
    Ok(copied as u64)
}

fn read_user(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let len = args[1] as u32 as usize;
    processor.fill("bpf_probe_read_user", 1, (args[0], len), 0)?;
    Ok(Errno::EFAULT.in_r0())
}

/// Copies `len` bytes like `memmove`, or none.
pub(super) fn copy(
    processor: &mut Processor,
    into: u64,
    from: u64,
    len: usize,
) -> Result<(), Refused> {
    processor.memory.check(from, len, false)?;
    processor.memory.check(into, len, true)?;
    let mut buffer = [0; CHUNK];
    let backwards = into > from;
    let mut done = 0;
    while done < len {
        let chunk = (len - done).min(CHUNK);
        let at = if backwards { len - done - chunk } else { done } as u64;
        processor.memory.read(from + at, &mut buffer[..chunk])?;
        processor.memory.write(into + at, &buffer[..chunk])?;
        done += chunk;
    }
    Ok(())
}

/// Copies bytes up to a zero, or `len - 1` of them and a zero; returns their number, including the
/// zero.
pub(super) fn copy_string(
    processor: &mut Processor,
    into: u64,
    from: u64,
    len: usize,
) -> Result<usize, Refused> {
    for at in 0..len as u64 {
        let byte = processor.memory.load8(from.wrapping_add(at))? as u8;
        let last = at + 1 == len as u64;
        processor.memory.store8(into + at, if last { 0 } else { byte })?;
        if byte == 0 || last {
            return Ok(at as usize + 1);
        }
    }
    Ok(0)
}
