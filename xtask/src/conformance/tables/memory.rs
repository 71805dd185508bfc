//! Loads and stores of every size at every alignment.

use std::fmt::Write;

use super::Files;
use super::layout::plain;
use super::values::extend;

/// Suffix of the mnemonic, and bytes.
const SIZES: &[(&str, usize)] = &[("b", 1), ("h", 2), ("w", 4), ("dw", 8)];

/// Signs change from byte to byte.
const CONTENTS: [u8; 16] = [
    0x81, 0x7e, 0x03, 0xfc, 0x80, 0x00, 0xff, 0x01, 0x92, 0x6d, 0xa4, 0x5b, 0xb6, 0x49, 0xc8, 0x37,
];

pub fn cases(files: &mut Files) {
    for (suffix, size) in SIZES {
        files.insert(
            format!("everywhere/memory/ldx{suffix}.data"),
            loads(&format!("ldx{suffix}"), *size, false),
        );
        if *size < 8 {
            let mnemonic = format!("ldxs{suffix}");
            files.insert(
                format!("everywhere/memory/{mnemonic}.data"),
                loads(&mnemonic, *size, true),
            );
        }
        files.insert(
            format!("everywhere/memory/stx{suffix}.data"),
            stores(&format!("stx{suffix}"), *size, None),
        );
        for (name, imm) in [("", 0x1234_5678), ("-negative", -0x0765_4321)] {
            let mnemonic = format!("st{suffix}");
            let text = stores(&mnemonic, *size, Some(imm));
            files.insert(format!("everywhere/memory/{mnemonic}{name}.data"), text);
        }
    }
}

/// From every offset that holds the whole value, counted from the start and from the end.
fn loads(mnemonic: &str, size: usize, signed: bool) -> String {
    let mut asm = "mov %r7, 0\nmov %r6, %r1\nadd %r6, 16\n".to_owned();
    for offset in 0..=16 - size {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&CONTENTS[offset..offset + size]);
        let value = u64::from_le_bytes(bytes);
        let value = if signed { extend(value, 8 * size as u32) as u64 } else { value };
        for place in [format!("%r1+{offset}"), format!("%r6-{}", 16 - offset)] {
            let _ = write!(
                asm,
                "add %r7, 1\nlddw %r3, -1\n{mnemonic} %r3, [{place}]\nlddw %r4, {value:#x}\n\
                 jne %r3, %r4, wrong\n"
            );
        }
    }
    let title = format!("{mnemonic} from every offset; result: the first wrong one, or 0.");
    plain(&title, &asm, &CONTENTS)
}

/// To every offset; the bytes around it must not change. `None` stores a register.
fn stores(mnemonic: &str, size: usize, imm: Option<i32>) -> String {
    let value = imm.map_or(REGISTER, |imm| i64::from(imm).cast_unsigned());
    let operand = imm.map_or("%r5".to_owned(), |imm| imm.to_string());
    let [low, high] = [0, 8].map(|at| {
        let half: [u8; 8] = std::array::from_fn(|i| CONTENTS[at + i]);
        u64::from_le_bytes(half)
    });
    let mut asm = format!("mov %r7, 0\nlddw %r5, {REGISTER:#x}\n");
    for offset in 0..=16 - size {
        let mut after = CONTENTS;
        after[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        let _ = write!(
            asm,
            "add %r7, 1\nlddw %r3, {low:#x}\nstxdw [%r1+0], %r3\nlddw %r3, {high:#x}\n\
             stxdw [%r1+8], %r3\n{mnemonic} [%r1+{offset}], {operand}\n"
        );
        for at in [0, 8] {
            let half: [u8; 8] = std::array::from_fn(|i| after[at + i]);
            let half = u64::from_le_bytes(half);
            let _ =
                write!(asm, "ldxdw %r3, [%r1+{at}]\nlddw %r4, {half:#x}\njne %r3, %r4, wrong\n");
        }
    }
    let title = format!("{mnemonic} to every offset; result: the first wrong one, or 0.");
    plain(&title, &asm, &[0; 16])
}

/// What a register stores.
const REGISTER: u64 = 0xf1e2_d3c4_b5a6_9788;
