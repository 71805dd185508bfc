//! Arithmetic and comparisons of both widths.
//!
//! Division by zero yields 0, the remainder the dividend; shift counts wrap at the width; signed
//! overflow of a division wraps (RFC 9669, section 4.1).

/// Operations of both widths; `Self` is the unsigned word.
pub(super) trait Word: Copy {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sdiv(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    fn srem(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn mov(self, other: Self) -> Self;
    fn lsh(self, count: Self) -> Self;
    fn rsh(self, count: Self) -> Self;
    fn arsh(self, count: Self) -> Self;

    fn eq(self, other: Self) -> bool;
    fn ne(self, other: Self) -> bool;
    fn gt(self, other: Self) -> bool;
    fn ge(self, other: Self) -> bool;
    fn lt(self, other: Self) -> bool;
    fn le(self, other: Self) -> bool;
    fn set(self, other: Self) -> bool;
    fn sgt(self, other: Self) -> bool;
    fn sge(self, other: Self) -> bool;
    fn slt(self, other: Self) -> bool;
    fn sle(self, other: Self) -> bool;
}

/// One row per method: its name and result.
macro_rules! word {
    ($word:ty, $signed:ty; $($name:ident($a:ident, $b:ident) -> $out:ty: $body:expr;)*) => {
        impl Word for $word {
            $(#[inline(always)]
            fn $name(self, other: Self) -> $out {
                let ($a, $b) = (self, other);
                $body
            })*
        }
    };
}

macro_rules! words {
    ($($word:ty, $signed:ty;)*) => {$(
        word! { $word, $signed;
            add(a, b) -> Self: a.wrapping_add(b);
            sub(a, b) -> Self: a.wrapping_sub(b);
            mul(a, b) -> Self: a.wrapping_mul(b);
            div(a, b) -> Self: a.checked_div(b).unwrap_or(0);
            sdiv(a, b) -> Self:
                if b == 0 { 0 } else { (a as $signed).wrapping_div(b as $signed) as Self };
            rem(a, b) -> Self: a.checked_rem(b).unwrap_or(a);
            srem(a, b) -> Self:
                if b == 0 { a } else { (a as $signed).wrapping_rem(b as $signed) as Self };
            or(a, b) -> Self: a | b;
            and(a, b) -> Self: a & b;
            xor(a, b) -> Self: a ^ b;
            mov(_a, b) -> Self: b;
            lsh(a, b) -> Self: a.wrapping_shl(b as u32);
            rsh(a, b) -> Self: a.wrapping_shr(b as u32);
            arsh(a, b) -> Self: (a as $signed).wrapping_shr(b as u32) as Self;
            eq(a, b) -> bool: a == b;
            ne(a, b) -> bool: a != b;
            gt(a, b) -> bool: a > b;
            ge(a, b) -> bool: a >= b;
            lt(a, b) -> bool: a < b;
            le(a, b) -> bool: a <= b;
            set(a, b) -> bool: a & b != 0;
            sgt(a, b) -> bool: a as $signed > b as $signed;
            sge(a, b) -> bool: a as $signed >= b as $signed;
            slt(a, b) -> bool: (a as $signed) < b as $signed;
            sle(a, b) -> bool: a as $signed <= b as $signed;
        }
    )*};
}

words! {
    u64, i64;
    u32, i32;
}
