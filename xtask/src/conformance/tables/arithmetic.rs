//! Arithmetic with two operands, in all four forms.

use super::Files;
use super::layout::{Block, Body, all_pairs, all_singles};
use super::values::{IMMEDIATES, SHIFT_IMMEDIATES, SHIFTS, Width};

const OPERATIONS: &[&str] = &[
    "add", "sub", "mul", "div", "sdiv", "or", "and", "lsh", "rsh", "mod", "smod", "xor", "mov",
    "arsh",
];

pub fn cases(files: &mut Files) {
    for operation in OPERATIONS {
        for width in Width::ALL {
            let (bits, suffix) = (width.bits(), width.suffix());
            let name = format!("{operation}{bits}");
            for (end, text) in register(operation, width) {
                files.insert(format!("everywhere/arithmetic/{name}-reg{end}.data"), text);
            }
            let all = if is_shift(operation) { SHIFT_IMMEDIATES } else { IMMEDIATES };
            let allowed = |imm: &&i32| is_loadable(operation, width, **imm);
            let (within, beyond): (Vec<i32>, Vec<i32>) = all.iter().partition(allowed);
            for (folder, immediates) in [("everywhere/arithmetic", within), ("beyond", beyond)] {
                if !immediates.is_empty() {
                    let title = format!("{operation}{suffix} with immediates");
                    for (end, text) in immediate(&title, operation, width, &immediates) {
                        files.insert(format!("{folder}/{name}-imm{end}.data"), text);
                    }
                }
            }
        }
    }
}

/// The ends of the names of cases, and their texts.
type Cases = Vec<(String, String)>;

fn register(operation: &'static str, width: Width) -> Cases {
    let mnemonic = format!("{operation}{}", width.suffix());
    let second = if is_shift(operation) { SHIFTS } else { width.values() };
    let body = Body::value(&format!("ldxdw %r4, [%r9+0]\n{mnemonic} %r3, %r4"));
    let title = format!("{mnemonic} with registers");
    all_pairs(&title, width.values(), second, &body, |a, b| {
        result(operation, width, a, b).to_le_bytes().to_vec()
    })
}

fn immediate(title: &str, operation: &'static str, width: Width, immediates: &[i32]) -> Cases {
    let block = |imm: &i32| -> Block {
        let imm = *imm;
        let body = Body::value(&format!("{operation}{} %r3, {imm}", width.suffix()));
        let expected = move |a| result(operation, width, a, i64::from(imm).cast_unsigned());
        (body, Box::new(move |a| expected(a).to_le_bytes().to_vec()))
    };
    let blocks: Vec<Block> = immediates.iter().map(block).collect();
    all_singles(title, width.values(), &blocks)
}

fn is_shift(operation: &str) -> bool {
    ["lsh", "rsh", "arsh"].contains(&operation)
}

/// The kernel's verifier refuses immediates that leave nothing to compute.
fn is_loadable(operation: &str, width: Width, imm: i32) -> bool {
    match operation {
        "div" | "sdiv" | "mod" | "smod" => imm != 0,
        _ if is_shift(operation) => (0..width.bits().cast_signed()).contains(&imm),
        _ => true,
    }
}

/// RFC 9669 section 4.1: division by zero gives 0, the rest of it the dividend; a quotient that
/// does not fit wraps; shifts use the low bits of the count.
fn result(operation: &str, width: Width, a: u64, b: u64) -> u64 {
    let (x, y) = (width.unsigned(a), width.unsigned(b));
    let (signed_x, signed_y) = (width.signed(a), width.signed(b));
    let count = y as u32 % width.bits();
    width.register(match operation {
        "add" => x + y,
        "sub" => x - y,
        "mul" => ((x as u128).wrapping_mul(y as u128)) as i128,
        "div" if y == 0 => 0,
        "div" => x / y,
        "sdiv" if y == 0 => 0,
        "sdiv" => signed_x / signed_y,
        "mod" if y == 0 => x,
        "mod" => x % y,
        "smod" if y == 0 => x,
        "smod" => signed_x % signed_y,
        "or" => x | y,
        "and" => x & y,
        "xor" => x ^ y,
        "lsh" => x << count,
        "rsh" => x >> count,
        "arsh" => signed_x >> count,
        "mov" => y,
        _ => unreachable!("`{operation}` is in no table"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where definitions are easily got wrong.
    #[test]
    fn results_at_the_edges() {
        let (min, all) = (1 << 63, u64::MAX);
        for (operation, width, a, b, expected) in [
            ("add", Width::W32, all, 1, 0),
            ("sub", Width::W64, 0, 1, all),
            ("mul", Width::W64, all, all, 1),
            ("mul", Width::W32, 0xffff_ffff, 0xffff_ffff, 1),
            ("div", Width::W64, 7, 0, 0),
            ("div", Width::W32, 7, 0xdead_0000_0000, 0),
            ("mod", Width::W64, min, 0, min),
            ("mod", Width::W32, all, 0, 0xffff_ffff),
            ("sdiv", Width::W64, min, all, min),
            ("sdiv", Width::W32, 0x8000_0000, all, 0x8000_0000),
            ("smod", Width::W64, min, all, 0),
            ("smod", Width::W64, 7_u64.wrapping_neg(), 3, all),
            ("smod", Width::W64, 7, 3_u64.wrapping_neg(), 1),
            ("lsh", Width::W32, 1, 33, 2),
            ("lsh", Width::W64, all, 63, min),
            ("arsh", Width::W32, 0x8000_0000, 31, 0xffff_ffff),
            ("arsh", Width::W64, min, 127, all),
            ("mov", Width::W32, 0, all, 0xffff_ffff),
        ] {
            assert_eq!(result(operation, width, a, b), expected, "{operation} {width:?}");
        }
    }
}
