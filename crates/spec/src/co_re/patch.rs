//! Writing a relocation's answer into its instruction.
//!
//! Rule: the instruction must hold what the compiler's types say it holds; if not, types and
//! code do not belong together and nothing is changed.

use super::answer::{Patch, Width};
use crate::insn::{CALL, CLASS_ALU, CLASS_ALU64, CLASS_LDX, CLASS_ST, CLASS_STX, Insn, LD_IMM64};

/// The helper number that marks an unresolved relocation: 0xbad2310, "bad relo", as libbpf
/// writes it and verifier logs show it.
pub(crate) const POISON: i32 = 0x0bad_2310;

/// Patches one instruction; `Some` says why the access can not be moved at all.
pub(super) fn insn(
    insns: &mut [Insn],
    slot: usize,
    patch: &Patch,
) -> Result<Option<String>, String> {
    let (first, rest) =
        insns.get_mut(slot..).and_then(<[Insn]>::split_first_mut).ok_or("no code")?;
    match first.class() {
        CLASS_ALU | CLASS_ALU64 => immediate(first, patch).map(|()| None),
        CLASS_LDX | CLASS_ST | CLASS_STX => access(first, patch),
        _ if first.code == LD_IMM64 => {
            let second = rest.first_mut().ok_or("a 64-bit load is cut short")?;
            wide(first, second, patch).map(|()| None)
        }
        _ => Err(format!("instruction `{first:?}` takes none")),
    }
}

/// Makes the slot a call that no verifier accepts.
pub(super) fn poison(insns: &mut [Insn], slot: usize) {
    let bad = Insn::new(CALL, 0, 0, 0, POISON);
    let wide = insns.get(slot).is_some_and(|insn| insn.is_wide());
    for insn in insns.iter_mut().skip(slot).take(if wide { 2 } else { 1 }) {
        *insn = bad;
    }
}

fn immediate(insn: &mut Insn, patch: &Patch) -> Result<(), String> {
    if insn.code & 0x08 != 0 {
        return Err(format!("instruction `{insn:?}` has no immediate"));
    }
    expect(patch, u64::from(insn.imm.cast_unsigned()), 0xffff_ffff)?;
    insn.imm = (patch.new as u32).cast_signed();
    Ok(())
}

fn access(insn: &mut Insn, patch: &Patch) -> Result<Option<String>, String> {
    expect(patch, insn.off as u64, u64::MAX)?;
    let Ok(off) = i16::try_from(patch.new) else {
        return Ok(Some(format!("offset {} does not fit an instruction", patch.new)));
    };
    let mut changed = Insn { off, ..*insn };
    if let Some(width) = patch.width.filter(|width| width.old != width.new) {
        if !width.adjustable {
            return Ok(Some(format!("{} bytes here, {} there", width.old, width.new)));
        }
        changed.code = resized(*insn, width)?;
    }
    *insn = changed;
    Ok(None)
}

fn wide(first: &mut Insn, second: &mut Insn, patch: &Patch) -> Result<(), String> {
    let high = u64::from(second.imm.cast_unsigned()) << 32;
    expect(patch, high | u64::from(first.imm.cast_unsigned()), u64::MAX)?;
    first.imm = (patch.new as u32).cast_signed();
    second.imm = ((patch.new >> 32) as u32).cast_signed();
    Ok(())
}

fn expect(patch: &Patch, found: u64, mask: u64) -> Result<(), String> {
    match patch.old {
        Some(old) if old & mask != found & mask => {
            Err(format!("code holds {found}, its types say {old}"))
        }
        _ => Ok(()),
    }
}

/// The code of the same access in another width.
fn resized(insn: Insn, width: Width) -> Result<u8, String> {
    let held = SIZES.iter().find(|(bits, _)| *bits == insn.code & SIZE_MASK);
    if held.is_none_or(|(_, size)| *size != width.old) {
        return Err(format!("access is not the {} bytes of its field", width.old));
    }
    let new = SIZES.iter().find(|(_, size)| *size == width.new);
    let new = new.ok_or_else(|| format!("no access takes {} bytes", width.new))?;
    Ok(insn.code & !SIZE_MASK | new.0)
}

const SIZE_MASK: u8 = 0x18;
const SIZES: [(u8, u64); 4] = [(0x10, 1), (0x08, 2), (0x00, 4), (0x18, 8)];
