//! Code that loads the value of a field into registers and compares it.
//!
//! Rule: R2 has the value, or its low half; R1 has the high half of values of 128 bits. A
//! comparison overwrites R3 and preserves the value.

use spec::asm::Reg::{R1, R2, R3, R6, R10};
use spec::asm::{Assembler, Cond, Label, MemRef, Reg};

use crate::compile::plan::Boundary;
use crate::{Field, Values};

/// The register that points to `struct filter_packet` throughout the code.
pub const PACKET: Reg = R6;
/// The place on the stack of the pointer to the context of the program.
pub const CONTEXT: MemRef = R10.at(-8);
/// Bytes at the top of the stack that are in use.
pub const TOP: i16 = 8;
/// The register of the value, or its low half.
pub const LOW: Reg = R2;
/// The register of the high half of a value of 128 bits.
pub const HIGH: Reg = R1;
const CONSTANT: Reg = R3;

/// Loads a field.
pub fn load(a: &mut Assembler, field: Field) {
    let place = field.place();
    if field.bits() > 64 {
        a.load64(HIGH, PACKET.at(place.offset)).load64(LOW, PACKET.at(place.offset + 8));
    } else {
        a.load(place.size, LOW, PACKET.at(place.offset));
    }
}

/// Jumps to `to` if the value is at least `from`.
pub fn at_least(a: &mut Assembler, field: Field, from: u128, to: Label) {
    order(a, field, from, (Cond::Ge, Cond::Gt, Cond::Lt), to);
}

/// Jumps to `to` if the value is less than `end`.
pub fn below(a: &mut Assembler, field: Field, end: u128, to: Label) {
    order(a, field, end, (Cond::Lt, Cond::Lt, Cond::Gt), to);
}

/// Jumps to `to` if the value is this one.
pub fn is(a: &mut Assembler, field: Field, value: u128, to: Label) {
    if field.bits() > 64 {
        let other = a.label();
        half(a, HIGH, Cond::Ne, high(value), other);
        half(a, LOW, Cond::Eq, value as u64, to);
        a.bind(other);
    } else {
        narrow(a, field, Cond::Eq, value, to);
    }
}

/// Jumps to `to` if the value is another one.
pub fn is_not(a: &mut Assembler, field: Field, value: u128, to: Label) {
    if field.bits() > 64 {
        half(a, HIGH, Cond::Ne, high(value), to);
        half(a, LOW, Cond::Ne, value as u64, to);
    } else {
        narrow(a, field, Cond::Ne, value, to);
    }
}

/// Jumps to the label of the class of the value. The following code begins with the label `next`;
/// if that is `None`, no path may fall through.
pub fn tree(
    a: &mut Assembler,
    field: Field,
    boundaries: &[Boundary],
    label: &dyn Fn(u32) -> Label,
    next: Option<Label>,
) {
    let falls = |class: u32| next == Some(label(class));
    match boundaries {
        [] => {}
        [one] => {
            if !falls(one.class) {
                a.jump(label(one.class));
            }
        }
        [left, right] if falls(left.class) => {
            at_least(a, field, right.first, label(right.class));
        }
        [other, one, end] if other.class == end.class && end.first == one.first + 1 => {
            if falls(one.class) {
                is_not(a, field, one.first, label(other.class));
            } else {
                is(a, field, one.first, label(one.class));
                tree(a, field, &boundaries[..1], label, next);
            }
        }
        _ => halves(a, field, boundaries, label, next),
    }
}

fn halves(
    a: &mut Assembler,
    field: Field,
    boundaries: &[Boundary],
    label: &dyn Fn(u32) -> Label,
    next: Option<Label>,
) {
    let (left, right) = boundaries.split_at(boundaries.len() / 2);
    if let [left] = left {
        below(a, field, right[0].first, label(left.class));
        tree(a, field, right, label, next);
    } else {
        let middle = a.label();
        at_least(a, field, right[0].first, middle);
        tree(a, field, left, label, None);
        a.bind(middle);
        tree(a, field, right, label, next);
    }
}

/// The boundaries of a set: class 1 for its values, class 0 for others.
pub fn boundaries(field: Field, values: &Values) -> Vec<Boundary> {
    let mut boundaries = Vec::with_capacity(2 * values.ranges().len() + 1);
    if values.ranges().first().is_none_or(|(first, _)| *first > 0) {
        boundaries.push(Boundary { first: 0, class: 0 });
    }
    for (first, last) in values.ranges() {
        boundaries.push(Boundary { first: *first, class: 1 });
        if *last < field.highest() {
            boundaries.push(Boundary { first: last + 1, class: 0 });
        }
    }
    boundaries
}

/// Compares with a limit: `whole` for values in one register; `sure` and `not` decide by the high
/// half.
fn order(
    a: &mut Assembler,
    field: Field,
    limit: u128,
    (whole, sure, not): (Cond, Cond, Cond),
    to: Label,
) {
    if field.bits() <= 64 {
        narrow(a, field, whole, limit, to);
    } else if limit as u64 == 0 {
        half(a, HIGH, whole, high(limit), to);
    } else {
        let other = a.label();
        half(a, HIGH, sure, high(limit), to);
        half(a, HIGH, not, high(limit), other);
        half(a, LOW, whole, limit as u64, to);
        a.bind(other);
    }
}

fn narrow(a: &mut Assembler, field: Field, cond: Cond, value: u128, to: Label) {
    if field.bits() <= 32 {
        a.jump32_if(LOW, cond, (value as u32).cast_signed(), to);
    } else {
        half(a, LOW, cond, value as u64, to);
    }
}

fn half(a: &mut Assembler, left: Reg, cond: Cond, right: u64, to: Label) {
    match i32::try_from(right) {
        Ok(right) => a.jump_if(left, cond, right, to),
        Err(_) => a.load_imm64(CONSTANT, right).jump_if(left, cond, CONSTANT, to),
    };
}

const fn high(value: u128) -> u64 {
    (value >> 64) as u64
}
