//! What works on one register: negation, sign extension, byte order.

use super::Files;
use super::layout::{Block, Body, singles};
use super::values::{HALF, WIDE, Width, extend};

/// Mnemonic, and what it makes of a register.
type Row = (&'static str, fn(u64) -> u64);

/// `le` and `be` as a little-endian machine has them.
const TABLE: &[Row] = &[
    ("neg", |x| Width::W64.register(-i128::from(x))),
    ("neg32", |x| Width::W32.register(-i128::from(x))),
    ("movsx832", |x| Width::W32.register(extend(x, 8))),
    ("movsx1632", |x| Width::W32.register(extend(x, 16))),
    ("movsx864", |x| Width::W64.register(extend(x, 8))),
    ("movsx1664", |x| Width::W64.register(extend(x, 16))),
    ("movsx3264", |x| Width::W64.register(extend(x, 32))),
    ("le16", |x| low(x, 2)),
    ("le32", |x| low(x, 4)),
    ("le64", |x| low(x, 8)),
    ("be16", |x| swapped(x, 2)),
    ("be32", |x| swapped(x, 4)),
    ("be64", |x| swapped(x, 8)),
    ("bswap16", |x| swapped(x, 2)),
    ("bswap32", |x| swapped(x, 4)),
    ("bswap64", |x| swapped(x, 8)),
];

pub fn cases(files: &mut Files) {
    let values = WIDE.iter().chain(HALF).chain(&[BYTES]).flat_map(|list| list.iter().copied());
    let values: Vec<u64> = values.collect();
    for (mnemonic, result) in TABLE {
        let body = if mnemonic.starts_with("movsx") {
            // From another register, and onto itself.
            let text = format!("{mnemonic} %r4, %r3\nmov %r3, %r4\n{mnemonic} %r3, %r4");
            Body::value(&text)
        } else {
            Body::value(&format!("{mnemonic} %r3"))
        };
        let block: Block = (body, Box::new(|x| result(x).to_le_bytes().to_vec()));
        let text = singles(mnemonic, &values, &[block]);
        files.insert(format!("everywhere/arithmetic/{mnemonic}.data"), text);
    }
}

fn low(value: u64, bytes: usize) -> u64 {
    let mut kept = [0; 8];
    kept[..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    u64::from_le_bytes(kept)
}

fn swapped(value: u64, bytes: usize) -> u64 {
    let mut kept = low(value, bytes).to_le_bytes();
    kept[..bytes].reverse();
    u64::from_le_bytes(kept)
}

/// Where the sign of a byte or half word changes.
const BYTES: &[u64] =
    &[0x7f, 0x80, 0xff, 0x7f80, 0x807f, 0x7fff, 0x8000, 0xffff, 0x0102_0304_0506_0708];
