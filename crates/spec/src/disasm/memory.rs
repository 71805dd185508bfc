//! Loads and stores: `r2 = *(u32 *)(r1 +4)`, `lock *(u64 *)(r1 +0) += r2`, `r1 = map[id:3]`.

use super::Site;
use crate::insn::{
    ADD, AND, CMPXCHG, FETCH, Insn, LD_IMM64, LOAD_ACQUIRE, MODE_ABS, MODE_ATOMIC, MODE_IND,
    MODE_MEM, MODE_MEMSX, OR, PSEUDO_BTF_ID, PSEUDO_FUNC, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, SIZE_B,
    SIZE_DW, SIZE_H, SIZE_W, STORE_RELEASE, XCHG, XOR,
};

// Values of `src` in a wide load that loaders write for `bpf(2)` with an array of descriptors.
const PSEUDO_MAP_INDEX: u8 = 5;
const PSEUDO_MAP_INDEX_VALUE: u8 = 6;
/// A speculation barrier, only ever written by the verifier.
const NOSPEC: u8 = 0xc2;

/// A mode, and the high half of the value in the next slot where it takes two.
pub fn ld(site: &Site<'_>) -> Option<String> {
    let insn = site.insn;
    if insn.code == LD_IMM64 {
        return wide(site);
    }
    let size = size(insn);
    let Insn { src, imm, .. } = insn;
    match mode(insn) {
        MODE_ABS => Some(format!("r0 = *({size} *)skb[{imm}]")),
        MODE_IND => Some(format!("r0 = *({size} *)skb[r{src} + {imm}]")),
        _ => None,
    }
}

/// The text of a load; `None` if it is invalid.
pub fn ldx(insn: Insn) -> Option<String> {
    let Insn { dst, src, off, .. } = insn;
    let size = match mode(insn) {
        MODE_MEM => size(insn),
        MODE_MEMSX => signed_size(insn)?,
        _ => return None,
    };
    Some(format!("r{dst} = *({size} *)(r{src} {off:+})"))
}

/// The text of a store of an immediate; `None` if it is invalid.
pub fn st(insn: Insn) -> Option<String> {
    match mode(insn) {
        MODE_MEM => Some(format!("{} = {}", place(insn), insn.imm)),
        _ if insn.code == NOSPEC => Some("nospec".to_owned()),
        _ => None,
    }
}

/// The text of a store of a register or an atomic operation; `None` if it is invalid.
pub fn stx(insn: Insn) -> Option<String> {
    match mode(insn) {
        MODE_MEM => Some(format!("{} = r{}", place(insn), insn.src)),
        MODE_ATOMIC => atomic(insn),
        _ => None,
    }
}

fn atomic(insn: Insn) -> Option<String> {
    let Insn { dst, src, off, imm, .. } = insn;
    let size = size(insn);
    match imm {
        LOAD_ACQUIRE => return Some(format!("r{dst} = load_acquire(({size} *)(r{src} {off:+}))")),
        STORE_RELEASE => return Some(format!("store_release(({size} *)(r{dst} {off:+}), r{src})")),
        _ => {}
    }
    let bits = match insn.code & SIZE_DW {
        SIZE_DW => "64",
        SIZE_W => "",
        _ => return None,
    };
    let at = format!("({size} *)(r{dst} {off:+})");
    match imm {
        XCHG => Some(format!("r{src} = atomic{bits}_xchg({at}, r{src})")),
        CMPXCHG => Some(format!("r0 = atomic{bits}_cmpxchg({at}, r0, r{src})")),
        _ => {
            let (name, operator) = arithmetic(imm & !FETCH)?;
            Some(if imm & FETCH == 0 {
                format!("lock {} {operator} r{src}", place(insn))
            } else {
                format!("r{src} = atomic{bits}_fetch_{name}({at}, r{src})")
            })
        }
    }
}

fn arithmetic(operation: i32) -> Option<(&'static str, &'static str)> {
    Some(match u8::try_from(operation).ok()? {
        ADD => ("add", "+="),
        OR => ("or", "|="),
        AND => ("and", "&="),
        XOR => ("xor", "^="),
        _ => return None,
    })
}

/// A 64-bit immediate: a number, or the reference that `src` specifies.
fn wide(site: &Site<'_>) -> Option<String> {
    let Insn { dst, src, imm: low, .. } = site.insn;
    let high = site.insns.get(site.slot + 1)?.imm;
    let value = u64::from(high.cast_unsigned()) << 32 | u64::from(low.cast_unsigned());
    let text = site.names.wide(site.slot, site.insn, value).unwrap_or_else(|| match src {
        PSEUDO_MAP_FD => format!("map[fd:{low}]"),
        PSEUDO_MAP_VALUE => format!("map[fd:{low}][0]+{}", high.cast_unsigned()),
        PSEUDO_BTF_ID => format!("btf[id:{low}]"),
        PSEUDO_FUNC => format!("subprog[{low:+}]"),
        PSEUDO_MAP_INDEX => format!("map[idx:{low}]"),
        PSEUDO_MAP_INDEX_VALUE => format!("map[idx:{low}][0]+{}", high.cast_unsigned()),
        _ => format!("{value:#x}"),
    });
    Some(format!("r{dst} = {text}"))
}

fn place(insn: Insn) -> String {
    format!("*({} *)(r{} {:+})", size(insn), insn.dst, insn.off)
}

const fn mode(insn: Insn) -> u8 {
    insn.code & 0xe0
}

const fn size(insn: Insn) -> &'static str {
    match insn.code & SIZE_DW {
        SIZE_W => "u32",
        SIZE_H => "u16",
        SIZE_B => "u8",
        _ => "u64",
    }
}

const fn signed_size(insn: Insn) -> Option<&'static str> {
    match insn.code & SIZE_DW {
        SIZE_W => Some("s32"),
        SIZE_H => Some("s16"),
        SIZE_B => Some("s8"),
        _ => None,
    }
}
