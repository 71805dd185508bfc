//! Writes the value of a relocation into its instruction.
//!
//! Rule: the instruction must contain the value that the object's own types imply. Otherwise types
//! and code do not belong together, and nothing is changed.

use super::answer::{Patch, Width};
use crate::error::{Missing, RelocationError};
use crate::insn::{CALL, CLASS_ALU, CLASS_ALU64, CLASS_LDX, CLASS_ST, CLASS_STX, Insn, LD_IMM64};

/// The helper number that marks an unresolved relocation: 0xbad2310, "bad relo", as libbpf
/// writes it and verifier logs show it.
pub(crate) const POISON: i32 = 0x0bad_2310;

/// Patches one instruction; `Some` is the reason why the target cannot serve the access.
pub(super) fn insn(
    insns: &mut [Insn],
    slot: usize,
    patch: &Patch,
) -> Result<Option<Missing>, RelocationError> {
    let (first, rest) = insns
        .get_mut(slot..)
        .and_then(<[Insn]>::split_first_mut)
        .ok_or(RelocationError::NoInstruction)?;
    match first.class() {
        CLASS_ALU | CLASS_ALU64 => immediate(first, patch).map(|()| None),
        CLASS_LDX | CLASS_ST | CLASS_STX => access(first, patch),
        _ if first.code == LD_IMM64 => {
            let second = rest.first_mut().ok_or(RelocationError::TruncatedLoad)?;
            wide(first, second, patch).map(|()| None)
        }
        _ => Err(RelocationError::WrongInstruction { insn: format!("{first:?}") }),
    }
}

/// Replaces the instruction by a call that every verifier rejects.
pub(super) fn poison(insns: &mut [Insn], slot: usize) {
    let bad = Insn::new(CALL, 0, 0, 0, POISON);
    let wide = insns.get(slot).is_some_and(|insn| insn.is_wide());
    for insn in insns.iter_mut().skip(slot).take(if wide { 2 } else { 1 }) {
        *insn = bad;
    }
}

fn immediate(insn: &mut Insn, patch: &Patch) -> Result<(), RelocationError> {
    if insn.code & 0x08 != 0 {
        return Err(RelocationError::NoImmediate { insn: format!("{insn:?}") });
    }
    expect(patch, u64::from(insn.imm.cast_unsigned()), 0xffff_ffff)?;
    insn.imm = (patch.new as u32).cast_signed();
    Ok(())
}

fn access(insn: &mut Insn, patch: &Patch) -> Result<Option<Missing>, RelocationError> {
    expect(patch, insn.off as u64, u64::MAX)?;
    let Ok(off) = i16::try_from(patch.new) else {
        return Ok(Some(Missing::Offset(patch.new)));
    };
    let mut changed = Insn { off, ..*insn };
    if let Some(width) = patch.width.filter(|width| width.old != width.new) {
        if !width.adjustable {
            return Ok(Some(Missing::Width { local: width.old, target: width.new }));
        }
        changed.code = resized(*insn, width)?;
    }
    *insn = changed;
    Ok(None)
}

fn wide(first: &mut Insn, second: &mut Insn, patch: &Patch) -> Result<(), RelocationError> {
    let high = u64::from(second.imm.cast_unsigned()) << 32;
    expect(patch, high | u64::from(first.imm.cast_unsigned()), u64::MAX)?;
    first.imm = (patch.new as u32).cast_signed();
    second.imm = ((patch.new >> 32) as u32).cast_signed();
    Ok(())
}

fn expect(patch: &Patch, found: u64, mask: u64) -> Result<(), RelocationError> {
    match patch.old {
        Some(old) if old & mask != found & mask => {
            Err(RelocationError::ValueMismatch { found, expected: old })
        }
        _ => Ok(()),
    }
}

/// The code of the same access in another width.
fn resized(insn: Insn, width: Width) -> Result<u8, RelocationError> {
    let held = SIZES.iter().find(|(bits, _)| *bits == insn.code & SIZE_MASK);
    if held.is_none_or(|(_, size)| *size != width.old) {
        return Err(RelocationError::AccessMismatch { size: width.old });
    }
    let new = SIZES.iter().find(|(_, size)| *size == width.new);
    let new = new.ok_or(RelocationError::NoAccess { size: width.new })?;
    Ok(insn.code & !SIZE_MASK | new.0)
}

const SIZE_MASK: u8 = 0x18;
const SIZES: [(u8, u64); 4] = [(0x10, 1), (0x08, 2), (0x00, 4), (0x18, 8)];
