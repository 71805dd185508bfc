//! Jumps and calls: `if r1 > r2 goto pc+3`, `call bpf_map_lookup_elem#1`, `may_goto pc+2`.

use super::{Site, prefix};
use crate::asm::Helper;
use crate::insn::{
    CALL, CLASS_JMP, CLASS_JMP32, EXIT, FROM_REG, JA, JCOND, JEQ, JGE, JGT, JLE, JLT, JNE, JSET,
    JSGE, JSGT, JSLE, JSLT, PSEUDO_CALL,
};

const GOTO: u8 = CLASS_JMP | JA;
const GOTOL: u8 = CLASS_JMP32 | JA;
/// An indirect jump, Linux 6.19.
const GOTOX: u8 = CLASS_JMP | JA | FROM_REG;
/// A call of the function whose address is in a register.
const CALLX: u8 = CALL | FROM_REG;
const MAY_GOTO: u8 = CLASS_JMP | JCOND;

/// The text of a jump, call or exit; `None` if it is invalid.
pub fn text(site: &Site<'_>) -> Option<String> {
    let insn = site.insn;
    let near = i64::from(insn.off);
    match insn.code {
        CALL => Some(call(site)),
        EXIT => Some("exit".to_owned()),
        GOTO => Some(format!("goto {}", target(site, near))),
        GOTOL => Some(format!("gotol {}", target(site, insn.imm.into()))),
        CALLX => Some(format!("callx r{}", insn.dst)),
        GOTOX => Some(format!("gotox r{}", insn.dst)),
        MAY_GOTO if insn.src == 0 => Some(format!("may_goto {}", target(site, near))),
        _ => condition(site),
    }
}

fn condition(site: &Site<'_>) -> Option<String> {
    let insn = site.insn;
    let letter = prefix(insn.class() == CLASS_JMP);
    let comparison = comparison(insn.code & 0xf0)?;
    let right = if insn.code & FROM_REG != 0 {
        format!("{letter}{}", insn.src)
    } else {
        format!("{:#x}", insn.imm)
    };
    let target = target(site, insn.off.into());
    Some(format!("if {letter}{} {comparison} {right} goto {target}", insn.dst))
}

fn comparison(operation: u8) -> Option<&'static str> {
    Some(match operation {
        JEQ => "==",
        JGT => ">",
        JGE => ">=",
        JSET => "&",
        JNE => "!=",
        JSGT => "s>",
        JSGE => "s>=",
        JLT => "<",
        JLE => "<=",
        JSLT => "s<",
        JSLE => "s<=",
        _ => return None,
    })
}

/// A label where the caller has one, else the distance from the next slot.
fn target(site: &Site<'_>, distance: i64) -> String {
    usize::try_from(site.slot as i64 + 1 + distance)
        .ok()
        .and_then(|slot| site.names.label(slot))
        .unwrap_or_else(|| format!("pc{distance:+}"))
}

fn call(site: &Site<'_>) -> String {
    let imm = site.insn.imm;
    let name = site.names.call(site.slot, site.insn);
    if site.insn.src == PSEUDO_CALL {
        return name
            .map_or_else(|| format!("call pc{imm:+}"), |name| format!("call pc{imm:+}#{name}"));
    }
    let helper = || match site.insn.src {
        0 => Helper(imm.cast_unsigned()).name().map(str::to_owned),
        _ => None,
    };
    format!("call {}#{imm}", name.or_else(helper).unwrap_or_else(|| "unknown".to_owned()))
}
