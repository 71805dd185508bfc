//! One field's value in registers, and comparing it.
//!
//! Rule: R2 holds the value, or its low half; R1 the high half of values of 128 bits. Comparing
//! overwrites R3 and keeps the value.

use spec::asm::Reg::{R1, R2, R3, R6, R10};
use spec::asm::{Assembler, Cond, Label, MemRef, Reg};

use crate::compile::plan::Boundary;
use crate::{Field, Values};

/// `struct filter_packet`, all through the code.
pub const PACKET: Reg = R6;
/// The pointer to the program's context, at the top of the stack.
pub const CONTEXT: MemRef = R10.at(-8);
/// Bytes of the stack above all else.
pub const TOP: i16 = 8;
pub const LOW: Reg = R2;
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

/// Goes to `to` when the value is `from` or more.
pub fn at_least(a: &mut Assembler, field: Field, from: u128, to: Label) {
    order(a, field, from, (Cond::Ge, Cond::Gt, Cond::Lt), to);
}

/// Goes to `to` when the value is less than `end`.
pub fn below(a: &mut Assembler, field: Field, end: u128, to: Label) {
    order(a, field, end, (Cond::Lt, Cond::Lt, Cond::Gt), to);
}

/// Goes to `to` when the value is this one.
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

/// Goes to `to` when the value is another one.
pub fn is_not(a: &mut Assembler, field: Field, value: u128, to: Label) {
    if field.bits() > 64 {
        half(a, HIGH, Cond::Ne, high(value), to);
        half(a, LOW, Cond::Ne, value as u64, to);
    } else {
        narrow(a, field, Cond::Ne, value, to);
    }
}

/// Goes to the label of the value's class. The code behind it begins with `next`; if `last` is
/// not set, nothing may fall through.
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

/// A set as boundaries between class 1, which is inside, and 0.
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

/// `whole`: for values of one register; `sure` and `not`: what decides in the high half.
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
