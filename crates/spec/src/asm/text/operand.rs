//! What instructions work on, as written: registers, numbers, places, sizes.
//!
//! Decimal numbers must fit their field with their sign; hexadecimal ones may also be the field's
//! bits, so `0xffffffff` is an immediate of -1.

use super::cursor::{Cursor, Result};
use super::token::{Kind, Token};
use crate::insn::{FROM_REG, SIZE_B, SIZE_DW, SIZE_H, SIZE_W};

/// A register, and which part of it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::asm) struct Register {
    /// Number of the register.
    pub number: u8,
    /// `r3` or `%r3`, not `w3`.
    pub wide: bool,
}

/// The second operand of arithmetic, jumps and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::asm) enum Operand {
    Reg(u8),
    Imm(i32),
}

impl Operand {
    /// The code's bit, `src` and `imm`.
    pub fn parts(self) -> (u8, u8, i32) {
        match self {
            Self::Reg(number) => (FROM_REG, number, 0),
            Self::Imm(imm) => (0, 0, imm),
        }
    }
}

/// Base register and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::asm) struct Place {
    /// Number of the register that holds the address.
    pub base: u8,
    /// Offset in bytes.
    pub off: i16,
}

/// `r0` to `r15` as the field holds them: the kernel's own rewriting uses more than programs may.
pub(super) fn as_register(token: Token<'_>) -> Option<Register> {
    let text = token.text.strip_prefix('%').unwrap_or(token.text);
    let wide = text.starts_with('r');
    let digits = text.strip_prefix(['r', 'w'])?;
    let number: u8 = digits.parse().ok().filter(|number| *number < 16)?;
    let plain = digits == number.to_string() && token.kind == Kind::Word;
    plain.then_some(Register { number, wide })
}

impl<'a> Cursor<'a> {
    /// Whether the next token is a register.
    pub fn at_register(&self) -> bool {
        self.peek().is_some_and(|token| as_register(token).is_some())
    }

    /// Consumes a register of either width.
    pub fn any_register(&mut self) -> Result<Register> {
        let found = self.peek().and_then(as_register).ok_or_else(|| self.wrong("a register"))?;
        self.skip(1);
        Ok(found)
    }

    /// A whole register: `r3` or `%r3`.
    pub fn register(&mut self) -> Result<u8> {
        self.part(true)
    }

    /// A register of the same width as others in the instruction.
    pub fn part(&mut self, wide: bool) -> Result<u8> {
        let right = self.peek().and_then(as_register).filter(|found| found.wide == wide);
        let letter = if wide { 'r' } else { 'w' };
        let expected = || self.wrong(format!("a register such as `{letter}1`"));
        let number = right.ok_or_else(expected)?.number;
        self.skip(1);
        Ok(number)
    }

    /// Consumes a register or an immediate.
    pub fn operand(&mut self, wide: bool) -> Result<Operand> {
        if self.at_register() {
            return self.part(wide).map(Operand::Reg);
        }
        let number = matches!(self.word(), "-" | "+")
            || self.peek().is_some_and(|token| token.kind == Kind::Number);
        if number {
            self.imm32().map(Operand::Imm)
        } else {
            Err(self.wrong("a register or number"))
        }
    }

    /// Consumes `,` and the operand after it.
    pub fn comma(&mut self) -> Result<()> {
        self.expect(",")
    }

    /// Consumes a 32-bit immediate.
    pub fn imm32(&mut self) -> Result<i32> {
        let expected = "a number from -2147483648 to 2147483647, or up to 0xffffffff in hex";
        let number = self.number(expected)?;
        number.signed(32).map(|value| value as i32).ok_or_else(|| self.out_of(number, expected))
    }

    /// Consumes a 64-bit immediate.
    pub fn imm64(&mut self) -> Result<u64> {
        let expected = "a number of 64 bits";
        let number = self.number(expected)?;
        let value = number.unsigned().or_else(|| number.signed(64).map(i64::cast_unsigned));
        value.ok_or_else(|| self.out_of(number, expected))
    }

    /// A number without a sign.
    pub fn unsigned(&mut self, end: u32) -> Result<u32> {
        let expected = format!("a number up to {end}");
        let number = self.number(&expected)?;
        let value = number.unsigned().and_then(|value| u32::try_from(value).ok());
        value.filter(|value| *value <= end).ok_or_else(|| self.out_of(number, &expected))
    }

    /// A jump's distance, which must have a sign.
    pub fn distance(&mut self) -> Result<i64> {
        let expected = "a distance such as +3";
        if !matches!(self.word(), "+" | "-") {
            return Err(self.wrong(expected));
        }
        let number = self.number(expected)?;
        number.signed(64).ok_or_else(|| self.out_of(number, expected))
    }

    /// `r2 + 4`, `r2 +4`, `%r2-0x8` or the register alone.
    pub fn place(&mut self) -> Result<Place> {
        let base = self.register()?;
        if !matches!(self.word(), "+" | "-") {
            return Ok(Place { base, off: 0 });
        }
        let expected = "an offset from -32768 to 32767, or up to 0xffff in hex";
        let number = self.number(expected)?;
        let off = number.signed(16).ok_or_else(|| self.out_of(number, expected))?;
        Ok(Place { base, off: off as i16 })
    }

    /// `(r2 + 4)` or `[%r2+4]`.
    pub fn enclosed(&mut self, open: &str, close: &str) -> Result<Place> {
        self.expect(open)?;
        let place = self.place()?;
        self.expect(close)?;
        Ok(place)
    }

    /// `(u32 *)`: the type's name.
    pub fn cast(&mut self) -> Result<(u8, bool)> {
        self.expect("(")?;
        let token = self.take(Kind::Word, "u8, u16, u32, u64, s8, s16 or s32")?;
        let Some(size) = size(token.text) else {
            return Err(self.wrong_at(token, "u8, u16, u32, u64, s8, s16 or s32"));
        };
        self.expect("*")?;
        self.expect(")")?;
        Ok(size)
    }

    /// `(u32 *)` of an unsigned type: its size in the code's bits.
    pub fn unsigned_cast(&mut self) -> Result<u8> {
        let before = self.clone();
        match self.cast()? {
            (size, false) => Ok(size),
            (_, true) => Err(before.wrong("a cast to u8, u16, u32 or u64")),
        }
    }

    fn number(&mut self, expected: &str) -> Result<Number<'a>> {
        let negative = self.eat("-");
        if !negative {
            self.eat("+");
        }
        let token = self.take(Kind::Number, expected)?;
        let (digits, radix) = match token.text.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (token.text, 10),
        };
        let magnitude = u64::from_str_radix(digits, radix);
        let magnitude = magnitude.map_err(|_| self.wrong_at(token, expected))?;
        Ok(Number { negative, hex: radix == 16, magnitude, token })
    }

    fn out_of(&self, number: Number<'a>, expected: &str) -> super::Error {
        self.wrong_at(number.token, expected)
    }
}

/// A number before it has found its field.
#[derive(Clone, Copy)]
struct Number<'a> {
    negative: bool,
    hex: bool,
    magnitude: u64,
    /// Its digits.
    token: Token<'a>,
}

impl Number<'_> {
    /// The value as a signed field of `bits` bits stores it.
    fn signed(self, bits: u32) -> Option<i64> {
        let value = i128::from(self.magnitude) * if self.negative { -1 } else { 1 };
        let half = 1_i128 << (bits - 1);
        let bit_pattern = self.hex && !self.negative && value >= half && value < 2 * half;
        let value = if bit_pattern { value - 2 * half } else { value };
        (-half..half).contains(&value).then_some(value as i64)
    }

    fn unsigned(self) -> Option<u64> {
        (!self.negative || self.magnitude == 0).then_some(self.magnitude)
    }
}

fn size(name: &str) -> Option<(u8, bool)> {
    Some(match name {
        "u8" => (SIZE_B, false),
        "u16" => (SIZE_H, false),
        "u32" => (SIZE_W, false),
        "u64" => (SIZE_DW, false),
        "s8" => (SIZE_B, true),
        "s16" => (SIZE_H, true),
        "s32" => (SIZE_W, true),
        _ => return None,
    })
}
