//! Dynptrs: a place, its length and permissions, in 16 bytes of the program's stack.
//!
//! ```text
//! 0        8                    12       16
//! | data   | size, kind, flags  | offset |
//! ```
//!
//! Rule: the kernel's verifier keeps programs from reading or forging those bytes; here a forged
//! dynptr permits no more than a plain pointer, because every access is checked again.
//! Not here: the kfuncs (`dynptr_kfuncs`), ring buffers' dynptrs (`ringbuf`).

use spec::asm::Helper;

use super::{CHUNK, HelperRow, helper_row, probe};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::memory::{Refused, RegionId};
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::DYNPTR_FROM_MEM, from_memory),
    helper_row(Helper::DYNPTR_READ, read),
    helper_row(Helper::DYNPTR_WRITE, write),
    helper_row(Helper::DYNPTR_DATA, data),
];

/// Kind of memory of a dynptr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Memory of the program: a map's value or the stack.
    Local = 1,
    /// A record of a ring buffer.
    Record = 2,
    Packet = 4,
}

/// Contents of a dynptr. `data` is 0 in a null dynptr; for a packet it is the context's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dynptr {
    pub data: u64,
    pub size: u32,
    pub place: Place,
    pub read_only: bool,
    pub offset: u32,
}

impl Dynptr {
    /// Maximum number of bytes of a dynptr.
    pub const LONGEST: u32 = (1 << 24) - 1;

    /// A null dynptr.
    pub const NULL: Self = Self::new(0, 0, Place::Local);

    pub const fn new(data: u64, size: u32, place: Place) -> Self {
        Self { data, size, place, read_only: false, offset: 0 }
    }

    pub const fn is_null(&self) -> bool {
        self.data == 0
    }

    /// The bytes in memory; all zero for a null dynptr.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if !self.is_null() {
            let kind = (self.place as u32) << KIND_SHIFT | u32::from(self.read_only) << 31;
            bytes[..8].copy_from_slice(&self.data.to_ne_bytes());
            bytes[8..12].copy_from_slice(&(self.size | kind).to_ne_bytes());
            bytes[12..].copy_from_slice(&self.offset.to_ne_bytes());
        }
        bytes
    }

    fn from_words(data: u64, rest: u64) -> Self {
        let (size, offset) = (rest as u32, (rest >> 32) as u32);
        let place = match size >> KIND_SHIFT & KIND_MASK {
            2 => Place::Record,
            4 => Place::Packet,
            _ => Place::Local,
        };
        Self { data, size: size & Self::LONGEST, place, read_only: size >> 31 != 0, offset }
    }

    /// Checks that `len` bytes at `offset` are inside.
    pub fn check(&self, offset: u32, len: u32) -> Result<(), Errno> {
        let inside = len <= self.size && offset <= self.size - len;
        if inside { Ok(()) } else { Err(Errno::E2BIG) }
    }

    /// Address of a byte of a dynptr that does not refer to a packet.
    fn at(&self, offset: u32) -> u64 {
        self.data.wrapping_add(u64::from(self.offset) + u64::from(offset))
    }

    fn in_packet(&self, offset: u32) -> u64 {
        u64::from(self.offset) + u64::from(offset)
    }
}

fn from_memory(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_from_mem";
    let [data, size, flags, into, _] = *args;
    let size = size as u32;
    let error = match (size > Dynptr::LONGEST, flags) {
        (true, _) => Some(Errno::E2BIG),
        (false, 0) => None,
        (false, _) => Some(Errno::EINVAL),
    };
    if let Some(errno) = error {
        store(processor, NAME, 4, into, Dynptr::NULL)?;
        return Ok(errno.in_r0());
    }
    processor.check_argument(NAME, 1, (data, size as usize, true))?;
    store(processor, NAME, 4, into, Dynptr::new(data, size, Place::Local))?;
    Ok(0)
}

fn read(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_read";
    let [into, len, from, offset, flags] = *args;
    let (len, offset) = (len as u32, offset as u32);
    processor.check_argument(NAME, 1, (into, len as usize, true))?;
    processor.charge(len.into())?;
    let from = load(processor, NAME, 3, from)?;
    if from.is_null() || flags != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let result = copy_out(processor, &from, offset, into, len);
    answer(NAME, 3, result)
}

fn write(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_dynptr_write";
    let [into, offset, from, len, flags] = *args;
    let (len, offset) = (len as u32, offset as u32);
    processor.check_argument(NAME, 3, (from, len as usize, false))?;
    processor.charge(len.into())?;
    let into = load(processor, NAME, 1, into)?;
    if into.is_null() || into.read_only {
        return Ok(Errno::EINVAL.in_r0());
    }
    if let Err(errno) = into.check(offset, len) {
        return Ok(errno.in_r0());
    }
    if flags != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let result = copy_in(processor, &into, offset, from, len);
    answer(NAME, 1, result)
}

fn data(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let dynptr = load(processor, "bpf_dynptr_data", 1, args[0])?;
    let (offset, len) = (args[1] as u32, args[2] as u32);
    let refused = dynptr.is_null() || dynptr.read_only || dynptr.place == Place::Packet;
    if refused || dynptr.check(offset, len).is_err() {
        return Ok(0);
    }
    Ok(dynptr.at(offset))
}

/// Why the bytes of a dynptr could not be accessed.
pub(super) enum AccessError {
    /// An error that the kernel returns.
    Errno(Errno),
    /// The memory does not exist: an error of the program.
    Memory(Refused),
}

impl From<Refused> for AccessError {
    fn from(refused: Refused) -> Self {
        Self::Memory(refused)
    }
}

impl From<Errno> for AccessError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

pub(crate) fn load(
    processor: &Processor,
    function: &str,
    argument: u8,
    address: u64,
) -> Result<Dynptr, Box<Fault>> {
    processor.check_argument(function, argument, (address, 16, false))?;
    let data = processor.load_u64(function, argument, address)?;
    let rest = processor.load_u64(function, argument, address + 8)?;
    Ok(Dynptr::from_words(data, rest))
}

pub(crate) fn store(
    processor: &mut Processor,
    function: &str,
    argument: u8,
    address: u64,
    dynptr: Dynptr,
) -> Result<(), Box<Fault>> {
    let stored = processor.memory.write(address, &dynptr.to_bytes());
    stored.map_err(|refused| processor.bad_memory(function, argument, (address, 16, true))(refused))
}

/// Copies bytes of a dynptr to `into`.
pub(super) fn copy_out(
    processor: &mut Processor,
    from: &Dynptr,
    offset: u32,
    into: u64,
    len: u32,
) -> Result<(), AccessError> {
    from.check(offset, len)?;
    if from.place != Place::Packet {
        return Ok(probe::copy(processor, into, from.at(offset), len as usize)?);
    }
    let mut chunk = [0; CHUNK];
    packet_range(processor, from.in_packet(offset), len)?;
    for done in (0..len).step_by(CHUNK) {
        let chunk = &mut chunk[..CHUNK.min((len - done) as usize)];
        let at = from.in_packet(offset) + u64::from(done);
        processor.frame.copy_out(&processor.memory, at, chunk).ok_or(Errno::EINVAL)?;
        processor.memory.write(into + u64::from(done), chunk)?;
    }
    Ok(())
}

/// Copies bytes from `from` to a writable dynptr.
pub(super) fn copy_in(
    processor: &mut Processor,
    into: &Dynptr,
    offset: u32,
    from: u64,
    len: u32,
) -> Result<(), AccessError> {
    into.check(offset, len)?;
    if into.place != Place::Packet {
        return Ok(probe::copy(processor, into.at(offset), from, len as usize)?);
    }
    let mut chunk = [0; CHUNK];
    packet_range(processor, into.in_packet(offset), len)?;
    for done in (0..len).step_by(CHUNK) {
        let chunk = &mut chunk[..CHUNK.min((len - done) as usize)];
        let at = into.in_packet(offset) + u64::from(done);
        processor.memory.read(from + u64::from(done), chunk)?;
        processor.frame.copy_in(&mut processor.memory, at, chunk).ok_or(Errno::EINVAL)?;
    }
    Ok(())
}

/// Address of contiguous bytes of a dynptr; `None` if they are not contiguous.
pub(super) fn linear(processor: &Processor, dynptr: &Dynptr, offset: u32, len: u32) -> Option<u64> {
    dynptr.check(offset, len).ok()?;
    if dynptr.place == Place::Packet {
        return processor.frame.linear(&processor.memory, dynptr.in_packet(offset), len.into());
    }
    Some(dynptr.at(offset))
}

/// Value of r0 after an operation; missing memory is a fault of that argument.
pub(super) fn answer(
    function: &str,
    argument: u8,
    result: Result<(), AccessError>,
) -> Result<u64, Box<Fault>> {
    match result {
        Ok(()) => Ok(0),
        Err(AccessError::Errno(errno)) => Ok(errno.in_r0()),
        Err(AccessError::Memory(Refused)) => {
            let why = "the memory of the dynptr no longer exists";
            Err(super::bad_argument(function, argument, why))
        }
    }
}

/// Checks a range of the packet, with the kernel's errors.
fn packet_range(processor: &Processor, offset: u64, len: u32) -> Result<(), Errno> {
    if offset > PACKET_LONGEST || u64::from(len) > PACKET_LONGEST {
        return Err(Errno::EFAULT);
    }
    let inside = offset + u64::from(len) <= processor.frame.len();
    if inside { Ok(()) } else { Err(Errno::EINVAL) }
}

/// The dynptr of the whole packet.
pub(super) fn of_packet(processor: &Processor) -> Dynptr {
    let len = processor.frame.len().min(u64::from(Dynptr::LONGEST)) as u32;
    Dynptr::new(RegionId::CONTEXT.at(0), len, Place::Packet)
}

const KIND_SHIFT: u32 = 28;
const KIND_MASK: u32 = 0x7;
/// Maximum number of bytes of a packet that the kernel copies in one call.
const PACKET_LONGEST: u64 = 0xffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_survive_memory() {
        for (place, read_only) in
            [(Place::Local, true), (Place::Record, false), (Place::Packet, true)]
        {
            let dynptr = Dynptr { data: 1 << 41, size: 0xff_ffff, place, read_only, offset: 9 };
            let bytes = dynptr.to_bytes();
            let words = [0, 8].map(|at| {
                u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes are a word"))
            });
            assert_eq!(Dynptr::from_words(words[0], words[1]), dynptr);
        }
        assert_eq!(Dynptr::NULL.to_bytes(), [0; 16]);
    }

    #[test]
    fn ranges_end_at_the_size() {
        let dynptr = Dynptr::new(1, 10, Place::Local);
        let table = [(0, 10, true), (10, 0, true), (4, 6, true), (4, 7, false), (11, 0, false)];
        for (offset, len, inside) in table {
            assert_eq!(dynptr.check(offset, len).is_ok(), inside, "{offset}+{len}");
        }
        assert_eq!(dynptr.check(u32::MAX, 2), Err(Errno::E2BIG));
    }
}
