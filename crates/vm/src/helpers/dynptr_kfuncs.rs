//! Kfuncs on dynptrs: creation from a packet, slices, adjustment, copies, fills, probing reads.

use super::dynptr::{self, Dynptr, Place};
use super::{CHUNK, KfuncRow, int, kfunc_row, probe};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_dynptr_from_xdp", from_xdp),
    kfunc_row("bpf_dynptr_slice", slice),
    kfunc_row("bpf_dynptr_slice_rdwr", slice_writable),
    kfunc_row("bpf_dynptr_adjust", adjust),
    kfunc_row("bpf_dynptr_is_null", is_null),
    kfunc_row("bpf_dynptr_is_rdonly", is_read_only),
    kfunc_row("bpf_dynptr_size", size),
    kfunc_row("bpf_dynptr_clone", clone),
    kfunc_row("bpf_dynptr_copy", copy),
    kfunc_row("bpf_dynptr_memset", fill),
    kfunc_row("bpf_probe_read_kernel_dynptr", probe_kernel),
    kfunc_row("bpf_probe_read_kernel_str_dynptr", probe_kernel_string),
    kfunc_row("bpf_probe_read_user_dynptr", probe_user),
    kfunc_row("bpf_probe_read_user_str_dynptr", probe_user),
];

fn from_xdp(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_from_xdp";
    super::packet::context(NAME, args[0])?;
    if args[1] != 0 {
        dynptr::store(processor, NAME, 3, args[2], Dynptr::NULL)?;
        return Ok(int(Errno::EINVAL));
    }
    let packet = dynptr::of_packet(processor);
    dynptr::store(processor, NAME, 3, args[2], packet)?;
    Ok(0)
}

fn slice(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_slice";
    let dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    slice_of(NAME, processor, &dynptr, args)
}

fn slice_writable(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_slice_rdwr";
    let dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    if dynptr.read_only {
        return Ok(0);
    }
    slice_of(NAME, processor, &dynptr, args)
}

/// Address of the bytes if they are contiguous, else of a copy in the program's buffer.
fn slice_of(
    name: &str,
    processor: &mut Processor,
    dynptr: &Dynptr,
    args: &[u64; 5],
) -> Result<u64, Box<Fault>> {
    let [_, offset, buffer, len, _] = *args;
    let (offset, len) = (offset as u32, len as u32);
    if dynptr.is_null() || dynptr.check(offset, len).is_err() {
        return Ok(0);
    }
    if let Some(address) = dynptr::linear(processor, dynptr, offset, len) {
        return Ok(address);
    }
    if buffer == 0 {
        return Ok(0);
    }
    processor.check_argument(name, 3, (buffer, len as usize, true))?;
    let copied = dynptr::copy_out(processor, dynptr, offset, buffer, len);
    let answer = dynptr::answer(name, 1, copied)?;
    Ok(if answer == 0 { buffer } else { 0 })
}

fn adjust(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_adjust";
    let mut dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    let (start, end) = (args[1] as u32, args[2] as u32);
    if dynptr.is_null() || start > end {
        return Ok(int(Errno::EINVAL));
    }
    if end > dynptr.size {
        return Ok(int(Errno::ERANGE));
    }
    dynptr.offset = dynptr.offset.wrapping_add(start);
    dynptr.size = end - start;
    dynptr::store(processor, NAME, 1, args[0], dynptr)?;
    Ok(0)
}

fn is_null(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(dynptr::load(processor, "bpf_dynptr_is_null", 1, args[0])?.is_null().into())
}

fn is_read_only(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let dynptr = dynptr::load(processor, "bpf_dynptr_is_rdonly", 1, args[0])?;
    Ok((!dynptr.is_null() && dynptr.read_only).into())
}

/// The result has 32 bits, also for an error.
fn size(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let dynptr = dynptr::load(processor, "bpf_dynptr_size", 1, args[0])?;
    let answer = if dynptr.is_null() { int(Errno::EINVAL) as u32 } else { dynptr.size };
    Ok(answer.into())
}

fn clone(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_clone";
    let dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    dynptr::store(processor, NAME, 2, args[1], dynptr)?;
    Ok(if dynptr.is_null() { int(Errno::EINVAL) } else { 0 })
}

fn copy(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_copy";
    let [into, into_offset, from, from_offset, len] = *args;
    let (into_offset, from_offset, len) = (into_offset as u32, from_offset as u32, len as u32);
    let into = dynptr::load(processor, NAME, 1, into)?;
    let from = dynptr::load(processor, NAME, 3, from)?;
    processor.charge(len.into())?;
    let source = dynptr::linear(processor, &from, from_offset, len).filter(|_| !from.is_null());
    let usable = !into.is_null() && !into.read_only;
    let target = dynptr::linear(processor, &into, into_offset, len).filter(|_| usable);
    let in_bounds = into.check(into_offset, len).is_ok() && from.check(from_offset, len).is_ok();
    if source.is_none() && target.is_none() && !in_bounds {
        return Ok(int(Errno::E2BIG));
    }
    if source.is_none() && from.is_null() || target.is_none() && !usable {
        return Ok(if len == 0 && source == target { 0 } else { int(Errno::EINVAL) });
    }
    let result = match (source, target) {
        (Some(source), _) => dynptr::copy_in(processor, &into, into_offset, source, len),
        (None, Some(target)) => dynptr::copy_out(processor, &from, from_offset, target, len),
        (None, None) => {
            return copy_packet(processor, NAME, (&into, into_offset), (&from, from_offset), len);
        }
    };
    Ok(u64::from(dynptr::answer(NAME, 1, result)? as u32))
}

fn fill(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_memset";
    let (offset, len, byte) = (args[1] as u32, args[2] as u32, args[3] as u8);
    let dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    if dynptr.read_only {
        return Ok(int(Errno::EINVAL));
    }
    if let Err(errno) = dynptr.check(offset, len) {
        return Ok(int(errno));
    }
    if dynptr.is_null() {
        return Ok(0);
    }
    if let Some(address) = dynptr::linear(processor, &dynptr, offset, len) {
        processor.fill(NAME, 1, (address, len as usize), byte)?;
        return Ok(0);
    }
    let bytes = [byte; CHUNK];
    for done in (0..len).step_by(CHUNK) {
        let chunk = &bytes[..CHUNK.min((len - done) as usize)];
        let at = u64::from(dynptr.offset) + u64::from(offset + done);
        if processor.frame.copy_in(&mut processor.memory, at, chunk).is_none() {
            return Ok(int(Errno::EINVAL));
        }
    }
    Ok(0)
}

fn probe_kernel(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_probe_read_kernel_dynptr";
    let (offset, len, from) = (args[1] as u32, args[2] as u32, args[3]);
    let dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    processor.charge(len.min(dynptr.size).into())?;
    if let Err(errno) = dynptr.check(offset, len) {
        return Ok(int(errno));
    }
    if dynptr.is_null() || dynptr.read_only {
        return Ok(int(Errno::EINVAL));
    }
    if processor.memory.check(from, len as usize, false).is_err() {
        return Ok(int(probe::unreadable(from)));
    }
    let result = dynptr::copy_in(processor, &dynptr, offset, from, len);
    Ok(u64::from(dynptr::answer(NAME, 1, result)? as u32))
}

fn probe_kernel_string(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_probe_read_kernel_str_dynptr";
    let (offset, len, from) = (args[1] as u32, args[2] as u32, args[3]);
    let dynptr = dynptr::load(processor, NAME, 1, args[0])?;
    processor.charge(len.min(dynptr.size).into())?;
    if let Err(errno) = dynptr.check(offset, len) {
        return Ok(int(errno));
    }
    if dynptr.is_null() || dynptr.read_only || dynptr.place == Place::Packet {
        return Ok(int(Errno::EINVAL));
    }
    let Some(into) = dynptr::linear(processor, &dynptr, offset, len) else {
        return Ok(int(Errno::EINVAL));
    };
    let copied = probe::copy_string(processor, into, from, len as usize);
    Ok(copied.map_or(int(probe::unreadable(from)), |copied| copied as u64))
}

/// There is no user memory.
fn probe_user(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let dynptr = dynptr::load(processor, "bpf_probe_read_user_dynptr", 1, args[0])?;
    let checked = dynptr.check(args[1] as u32, args[2] as u32);
    Ok(int(checked.err().unwrap_or(Errno::EFAULT)))
}

/// Copies between two places of the packet that both span fragments, first byte first.
fn copy_packet(
    processor: &mut Processor,
    name: &str,
    (into, into_offset): (&Dynptr, u32),
    (from, from_offset): (&Dynptr, u32),
    len: u32,
) -> Result<u64, Box<Fault>> {
    let mut chunk = [0; 256];
    for done in (0..len).step_by(256) {
        let chunk = &mut chunk[..256.min((len - done) as usize)];
        let source = u64::from(from.offset) + u64::from(from_offset + done);
        let target = u64::from(into.offset) + u64::from(into_offset + done);
        let copied = processor.frame.copy_out(&processor.memory, source, chunk);
        let copied =
            copied.and_then(|()| processor.frame.copy_in(&mut processor.memory, target, chunk));
        if copied.is_none() {
            return Err(super::bad_argument(name, 1, "not a dynptr of this packet"));
        }
    }
    Ok(0)
}
