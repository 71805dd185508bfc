//! Checksums that vary: the sum of the template and of the values of this frame, folded to 16 bits.

use spec::asm::Cond;
use spec::asm::Reg::{R1, R2, R3};

use super::draft::{Draft, FRAME};
use super::fields::{Fields, store_big_endian};
use super::shape::{Shape, Sum};
use super::sizes::Sizes;
use crate::template::Field;

/// Writes all checksums of a stream. Overwrites R1 to R3.
pub(super) fn write(draft: &mut Draft, shape: &Shape, fields: &Fields, sizes: &Sizes) {
    for (index, sum) in shape.sums.iter().enumerate() {
        draft.a.note(format!("checksum at {}", sum.checksum.at));
        sizes.base(draft, shape, index);
        let mut highest = 0xffff;
        for field in &sum.fields {
            fields.load(draft, R2, *field);
            highest += add(draft, &shape.template.fields[*field], sum.checksum.from);
        }
        for (inner, turned) in &sum.inner {
            let value = draft.scratch(*inner);
            draft.a.load64(R2, value);
            if *turned {
                draft.a.lsh(R2, 8);
            }
            draft.a.add(R1, R2);
            highest += 0xff_ffff;
        }
        fold(draft, highest);
        finish(draft, sum);
        let covered = shape.sums.iter().any(|it| it.inner.iter().any(|inner| inner.0 == index));
        if covered {
            let value = draft.scratch(index);
            draft.a.store64(value, R1);
        }
        store_big_endian(draft, FRAME.at(sum.checksum.at as i16), 2, R1);
    }
}

/// Adds R2, the value of a field, to R1, the sum; returns the largest possible addend. Since 2^16
/// is 1 in this sum, a value is shifted to its place in a word and added as a whole.
fn add(draft: &mut Draft, field: &Field, from: usize) -> u64 {
    let end = field.bit_at + field.bits as usize + (from % 2) * 8;
    let shift = ((16 - end % 16) % 16) as i32;
    let a = &mut draft.a;
    if field.bits + shift as u32 <= WHOLE {
        if shift > 0 {
            a.lsh(R2, shift);
        }
        a.add(R1, R2);
        return ((1 << field.bits) - 1) << shift;
    }
    a.mov(R3, R2).rsh(R3, 32).mov32(R2, R2).add(R2, R3).lsh(R2, shift).add(R1, R2);
    (1 << 33) << shift
}

/// Folds R1, a sum of at most `highest`, to its ones' complement sum of 16 bits. Overwrites R2.
pub(super) fn fold(draft: &mut Draft, mut highest: u64) {
    let a = &mut draft.a;
    if highest > u64::from(u32::MAX) << 4 {
        a.mov(R2, R1).rsh(R2, 32).mov32(R1, R1).add(R1, R2);
        highest = (highest >> 32) + u64::from(u32::MAX);
    }
    while highest > 0xffff {
        a.mov(R2, R1).rsh(R2, 16).and(R1, 0xffff).add(R1, R2);
        let above = highest >> 16;
        highest = (above - 1 + 0xffff).max(above + (highest & 0xffff));
    }
}

/// Converts the folded sum in R1 to the value that is sent.
fn finish(draft: &mut Draft, sum: &Sum) {
    let a = &mut draft.a;
    a.xor(R1, 0xffff);
    if sum.checksum.never_zero {
        let some = a.label();
        a.jump_if(R1, Cond::Ne, 0, some).mov(R1, 0xffff).bind(some);
    }
}

/// Most bits that are added in one step, so that hundreds of addends fit into 64 bits.
const WHOLE: u32 = 48;
