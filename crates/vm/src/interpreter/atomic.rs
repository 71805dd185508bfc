//! Atomic read-modify-write, acquire and release.
//!
//! The word must be aligned, as the kernel's verifier requires. Operations that fetch the old value
//! are sequentially consistent, as in the kernel; plain additions are relaxed.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{Ordering, fence};

use spec::insn;

use super::Registers;
use crate::code::Op;
use crate::memory::{Memory, Refused};
use crate::processor::Processor;

#[inline(always)]
pub(super) fn add32(processor: &mut Processor, op: Op, r: &Registers) -> Result<(), Refused> {
    let value = r[op.src.index()];
    processor.memory.atomic32(super::address(r, op.dst, op))?.fetch_add(value as u32, Relaxed);
    Ok(())
}

#[inline(always)]
pub(super) fn add64(processor: &mut Processor, op: Op, r: &Registers) -> Result<(), Refused> {
    let value = r[op.src.index()];
    processor.memory.atomic64(super::address(r, op.dst, op))?.fetch_add(value, Relaxed);
    Ok(())
}

/// A read-modify-write of 4 bytes; a fetched value is zero-extended in its register.
pub(super) fn word32(processor: &mut Processor, op: Op, r: &mut Registers) -> Result<(), Refused> {
    let word = processor.memory.atomic32(super::address(r, op.dst, op))?;
    let value = r[op.src.index()] as u32;
    let old = match op.imm as i32 {
        insn::XCHG => word.swap(value, SeqCst),
        insn::CMPXCHG => {
            let expected = r[0] as u32;
            let old = word.compare_exchange(expected, value, SeqCst, SeqCst);
            r[0] = u64::from(old.unwrap_or_else(|other| other));
            return Ok(());
        }
        imm => match (imm & !insn::FETCH) as u8 {
            insn::ADD => word.fetch_add(value, SeqCst),
            insn::OR => word.fetch_or(value, SeqCst),
            insn::AND => word.fetch_and(value, SeqCst),
            _ => word.fetch_xor(value, SeqCst),
        },
    };
    if op.imm as i32 & insn::FETCH != 0 {
        r[op.src.index()] = u64::from(old);
    }
    Ok(())
}

/// A read-modify-write of 8 bytes.
pub(super) fn word64(processor: &mut Processor, op: Op, r: &mut Registers) -> Result<(), Refused> {
    let word = processor.memory.atomic64(super::address(r, op.dst, op))?;
    let value = r[op.src.index()];
    let old = match op.imm as i32 {
        insn::XCHG => word.swap(value, SeqCst),
        insn::CMPXCHG => {
            let old = word.compare_exchange(r[0], value, SeqCst, SeqCst);
            r[0] = old.unwrap_or_else(|other| other);
            return Ok(());
        }
        imm => match (imm & !insn::FETCH) as u8 {
            insn::ADD => word.fetch_add(value, SeqCst),
            insn::OR => word.fetch_or(value, SeqCst),
            insn::AND => word.fetch_and(value, SeqCst),
            _ => word.fetch_xor(value, SeqCst),
        },
    };
    if op.imm as i32 & insn::FETCH != 0 {
        r[op.src.index()] = old;
    }
    Ok(())
}

/// A load with acquire order.
pub(super) fn load_acquire(memory: &Memory, address: u64, len: u64) -> Result<u64, Refused> {
    aligned(address, len)?;
    let value = match len {
        1 => memory.load8(address),
        2 => memory.load16(address),
        4 => memory.load32(address),
        _ => memory.load64(address),
    };
    fence(Ordering::Acquire);
    value
}

/// A store with release order.
pub(super) fn store_release(
    memory: &mut Memory,
    address: u64,
    len: u64,
    value: u64,
) -> Result<(), Refused> {
    aligned(address, len)?;
    fence(Ordering::Release);
    match len {
        1 => memory.store8(address, value as u8),
        2 => memory.store16(address, value as u16),
        4 => memory.store32(address, value as u32),
        _ => memory.store64(address, value),
    }
}

fn aligned(address: u64, len: u64) -> Result<(), Refused> {
    if address.is_multiple_of(len) { Ok(()) } else { Err(Refused) }
}
