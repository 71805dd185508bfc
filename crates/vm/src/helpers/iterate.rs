//! Open-coded iterators: a range of numbers, the bits that are set.
//!
//! Their state is in the program's stack, where `next` also stores the value to which it returns a
//! pointer; more than one word of bits is kept in an allocated object.

use super::probe;
use super::{KfuncRow, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::limits;
use crate::objects::Size;
use crate::processor::Processor;

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_iter_num_new", num_new),
    kfunc_row("bpf_iter_num_next", num_next),
    kfunc_row("bpf_iter_num_destroy", num_destroy),
    kfunc_row("bpf_iter_bits_new", bits_new),
    kfunc_row("bpf_iter_bits_next", bits_next),
    kfunc_row("bpf_iter_bits_destroy", bits_destroy),
];

/// `cur` and `end` in one word.
const fn range(current: i32, end: i32) -> u64 {
    current as u32 as u64 | (end as u32 as u64) << 32
}

fn num_new(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let (start, end) = (args[1] as i32, args[2] as i32);
    let turns = i64::from(end) - i64::from(start);
    let (state, answer) = match turns {
        ..0 => (0, int(Errno::EINVAL)),
        turns if turns as u64 > limits::LOOPS => (0, int(Errno::E2BIG)),
        _ => (range(start.wrapping_sub(1), end), 0),
    };
    processor.store_u64("bpf_iter_num_new", 1, args[0], state)?;
    Ok(answer)
}

fn num_next(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_iter_num_next";
    let state = processor.load_u64(NAME, 1, args[0])?;
    let (next, end) = ((state as i32).wrapping_add(1), (state >> 32) as i32);
    let more = next < end;
    processor.store_u64(NAME, 1, args[0], if more { range(next, end) } else { 0 })?;
    Ok(if more { args[0] } else { 0 })
}

fn num_destroy(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.store_u64("bpf_iter_num_destroy", 1, args[0], 0)?;
    Ok(0)
}

fn bits_new(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_iter_bits_new";
    let [iterator, from, words, ..] = *args;
    let words = u64::from(words as u32);
    processor.store_u64(NAME, 1, iterator, 0)?;
    processor.store_u64(NAME, 1, iterator.wrapping_add(8), range(0, -1))?;
    if from == 0 || words == 0 {
        return Ok(int(Errno::EINVAL));
    }
    if words > WORDS {
        return Ok(int(Errno::E2BIG));
    }
    if processor.memory.check(from, words as usize * 8, false).is_err() {
        return Ok(int(Errno::EFAULT));
    }
    let first = if words == 1 {
        processor.load_u64(NAME, 2, from)?
    } else {
        let size = Size { bytes: words as u32 * 8, type_id: 0 };
        let Some(copy) = processor.shared.services.heap.allocate(size) else {
            return Ok(int(Errno::ENOMEM));
        };
        processor.objects.own(copy);
        if probe::copy(processor, copy, from, words as usize * 8).is_err() {
            return Ok(int(Errno::EFAULT));
        }
        copy
    };
    processor.store_u64(NAME, 1, iterator, first)?;
    processor.store_u64(NAME, 1, iterator.wrapping_add(8), range(words as i32 * 64, -1))?;
    Ok(0)
}

fn bits_next(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_iter_bits_next";
    let state = processor.load_u64(NAME, 1, args[0].wrapping_add(8))?;
    let (count, bit) = (state as i32, (state >> 32) as i32);
    // `new` never creates such a state; a program that no verifier has checked may have written it.
    if bit >= count || bit < -1 || count > WORDS as i32 * 64 {
        return Ok(0);
    }
    processor.charge(WORDS)?;
    let mut next = bit + 1;
    while next < count {
        let place = if count == 64 {
            args[0]
        } else {
            processor.load_u64(NAME, 1, args[0])?.wrapping_add(next as u64 / 64 * 8)
        };
        let rest = processor.load_u64(NAME, 1, place)? >> (next % 64);
        if rest != 0 {
            next += rest.trailing_zeros() as i32;
            break;
        }
        next = (next / 64 + 1) * 64;
    }
    processor.store_u64(NAME, 1, args[0].wrapping_add(8), range(count, next))?;
    Ok(if next < count { args[0].wrapping_add(12) } else { 0 })
}

fn bits_destroy(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_iter_bits_destroy";
    let count = processor.load_u64(NAME, 1, args[0].wrapping_add(8))? as i32;
    if count > 64 {
        let copy = processor.load_u64(NAME, 1, args[0])?;
        processor.disown(copy)?;
        processor.shared.services.heap.release(copy);
        processor.store_u64(NAME, 1, args[0].wrapping_add(8), 0)?;
    }
    Ok(0)
}

/// The kernel's `BITS_ITER_NR_WORDS_MAX`.
const WORDS: u64 = 511;
