//! Atomic operations on the stack: memory and register afterwards.
//!
//! The 32-bit ones work on the low half of a word of 64 bits, whose other half must not change.

use super::Files;
use super::layout::{Body, pairs};
use super::values::Width;

pub fn cases(files: &mut Files) {
    for width in Width::ALL {
        for operation in ["add", "or", "and", "xor"] {
            for fetch in [false, true] {
                update(files, operation, width, fetch);
            }
        }
        update(files, "xchg", width, true);
        compare(files, width);
    }
}

/// Memory is the first operand, the register the second.
fn update(files: &mut Files, operation: &'static str, width: Width, fetch: bool) {
    let prefix = if fetch && operation != "xchg" { "lock fetch" } else { "lock" };
    let mnemonic = format!("{prefix} {operation}{}", width.suffix());
    let text = format!(
        "ldxdw %r3, [%r8+0]\nstxdw [%r10-8], %r3\nldxdw %r4, [%r9+0]\n{mnemonic} [%r10-8], %r4\n\
         ldxdw %r3, [%r10-8]\nldxdw %r5, [%r6+0]\njne %r3, %r5, wrong\n\
         ldxdw %r5, [%r6+8]\njne %r4, %r5, wrong\n"
    );
    let body = Body { text, row: 16 };
    let expected = |old, register| {
        let memory = within(width, old, combined(operation, old, register));
        let register = if fetch { low(width, old) } else { register };
        [memory.to_le_bytes(), register.to_le_bytes()].concat()
    };
    let title = format!("{mnemonic}: memory, then the register");
    let case = pairs(&title, VALUES, VALUES, &body, expected);
    let name = format!("{}{}", mnemonic.replace(' ', "-").trim_end_matches("32"), width.bits());
    files.insert(format!("everywhere/atomics/{name}.data"), case);
}

/// Memory is the first operand, r0 the second; what is stored is always the same.
fn compare(files: &mut Files, width: Width) {
    let mnemonic = format!("lock cmpxchg{}", width.suffix());
    let text = format!(
        "ldxdw %r3, [%r8+0]\nstxdw [%r10-8], %r3\nldxdw %r0, [%r9+0]\nlddw %r4, {STORED:#x}\n\
         {mnemonic} [%r10-8], %r4\n\
         ldxdw %r3, [%r10-8]\nldxdw %r5, [%r6+0]\njne %r3, %r5, wrong\n\
         ldxdw %r5, [%r6+8]\njne %r0, %r5, wrong\n"
    );
    let body = Body { text, row: 16 };
    let expected = |old, compared| {
        let same = low(width, old) == low(width, compared);
        let memory = if same { within(width, old, STORED) } else { old };
        [memory.to_le_bytes(), low(width, old).to_le_bytes()].concat()
    };
    let title = format!("{mnemonic}: memory, then r0");
    let case = pairs(&title, VALUES, VALUES, &body, expected);
    files.insert(format!("everywhere/atomics/lock-cmpxchg{}.data", width.bits()), case);
}

fn combined(operation: &str, old: u64, register: u64) -> u64 {
    match operation {
        "add" => Width::W64.register(i128::from(old) + i128::from(register)),
        "or" => old | register,
        "and" => old & register,
        "xor" => old ^ register,
        "xchg" => register,
        _ => unreachable!("`{operation}` is in no table"),
    }
}

/// The word in memory when an operation of this width stores `new`.
fn within(width: Width, old: u64, new: u64) -> u64 {
    old - low(width, old) + low(width, new)
}

fn low(width: Width, value: u64) -> u64 {
    width.register(i128::from(value))
}

const STORED: u64 = 0x1122_3344_5566_7788;

/// Some have equal low halves.
const VALUES: &[u64] = &[
    0,
    1,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x0123_4567_ffff_ffff,
    0x8000_0000_0000_0000,
    0xfedc_ba98_7654_3210,
    0xdead_beef_7654_3210,
    0xffff_ffff_ffff_ffff,
];
