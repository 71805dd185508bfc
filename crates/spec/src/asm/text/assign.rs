//! What begins with a register in the kernel's notation: `r1 += 2`, `w1 = (s8)w2`,
//! `r2 = *(u32 *)(r1 +4)`.

use super::codes::ARITHMETIC;
use super::cursor::{Cursor, Result};
use super::memory;
use super::operand::{Register, as_register};
use super::output::Output;
use super::token::Kind;
use super::wide;
use crate::insn::{
    CLASS_ALU, CLASS_ALU64, CLASS_LD, CLASS_LDX, FROM_REG, Insn, LD_IMM64, MODE_ABS, MODE_IND,
    MODE_MEM, MODE_MEMSX, MOV, NEG, SIZE_DW,
};

/// `code` is the opcode before the instruction, if there is one.
pub(super) fn statement<'a>(
    cursor: &mut Cursor<'a>,
    code: Option<u8>,
    output: &mut Output<'a>,
) -> Result<()> {
    let dst = cursor.any_register()?;
    if cursor.eat("=") {
        return assignment(cursor, dst, code, output);
    }
    let expected = "`=` or an operator such as `+=`";
    let operator = cursor.take(Kind::Symbol, expected)?;
    let operation = ARITHMETIC.iter().find(|row| row.operator == operator.text);
    let operation = operation.ok_or_else(|| cursor.wrong_at(operator, expected))?;
    let (bit, src, imm) = cursor.operand(dst.wide)?.parts();
    let code = class(dst) | operation.code | bit;
    output.push(Insn::new(code, dst.number, src, operation.off, imm));
    Ok(())
}

fn assignment<'a>(
    cursor: &mut Cursor<'a>,
    dst: Register,
    code: Option<u8>,
    output: &mut Output<'a>,
) -> Result<()> {
    if cursor.at_register() {
        // `r1 = w2`: a move of half registers clears the other half of the whole one.
        let src = if dst.wide { cursor.any_register()? } else { half(cursor)? };
        output.push(Insn::new(class(src) | MOV | FROM_REG, dst.number, src.number, 0, 0));
        return Ok(());
    }
    let negated = cursor.ahead(1).and_then(as_register).is_some();
    match cursor.word() {
        "-" if negated => output.push(negation(cursor, dst)?),
        "(" => output.push(extension(cursor, dst)?),
        "*" => output.push(load(cursor, dst)?),
        "&" => output.push(per_cpu(cursor, dst)?),
        _ if is_number(cursor) => number(cursor, dst, code, output)?,
        _ => return word(cursor, dst, output),
    }
    Ok(())
}

fn half(cursor: &mut Cursor<'_>) -> Result<Register> {
    Ok(Register { number: cursor.part(false)?, wide: false })
}

fn is_number(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.word(), "+" | "-")
        || cursor.peek().is_some_and(|token| token.kind == Kind::Number)
}

/// Wide or short, according to the opcode before it, `ll` after it, or else its size.
fn number<'a>(
    cursor: &mut Cursor<'a>,
    dst: Register,
    code: Option<u8>,
    output: &mut Output<'a>,
) -> Result<()> {
    let mut ahead = cursor.clone();
    let is_short = ahead.imm32().is_ok() && ahead.word() != "ll";
    if dst.wide && (code == Some(LD_IMM64) || code.is_none() && !is_short) {
        return wide::load(cursor, dst.number, output);
    }
    output.push(Insn::new(class(dst) | MOV, dst.number, 0, 0, cursor.imm32()?));
    Ok(())
}

/// What starts with a word of its own.
fn word<'a>(cursor: &mut Cursor<'a>, dst: Register, output: &mut Output<'a>) -> Result<()> {
    if let Some(insn) = memory::exchange(cursor, dst.number)? {
        output.push(insn);
        return Ok(());
    }
    if dst.wide
        && (wide::named(cursor, dst.number, output)? || wide::symbol(cursor, dst.number, output)?)
    {
        return Ok(());
    }
    if cursor.eat("load_acquire") {
        output.push(memory::load_acquire(cursor, dst.number)?);
    } else if dst.wide && cursor.eat("addr_space_cast") {
        output.push(address_space(cursor, dst.number)?);
    } else {
        output.push(order(cursor, dst)?);
    }
    Ok(())
}

/// `-r1`, of the same register.
fn negation(cursor: &mut Cursor<'_>, dst: Register) -> Result<Insn> {
    cursor.skip(1);
    same(cursor, dst)?;
    Ok(Insn::new(class(dst) | NEG, dst.number, 0, 0, 0))
}

/// `(s8)r2`
fn extension(cursor: &mut Cursor<'_>, dst: Register) -> Result<Insn> {
    cursor.skip(1);
    let bits = match cursor.word() {
        "s8" => 8,
        "s16" => 16,
        "s32" => 32,
        _ => return Err(cursor.wrong("s8, s16 or s32")),
    };
    cursor.skip(1);
    cursor.expect(")")?;
    let src = cursor.part(dst.wide)?;
    Ok(Insn::new(class(dst) | MOV | FROM_REG, dst.number, src, bits, 0))
}

/// `*(s16 *)(r1 +4)`, `*(u32 *)skb[12]` or `*(u32 *)skb[r1 + 2]`.
fn load(cursor: &mut Cursor<'_>, dst: Register) -> Result<Insn> {
    cursor.skip(1);
    let before = cursor.clone();
    let (size, signed) = cursor.cast()?;
    if !dst.wide && (signed || size == SIZE_DW) {
        return Err(before.wrong("a cast to u8, u16 or u32 for a half register"));
    }
    if cursor.eat("skb") {
        return frame(cursor, size);
    }
    let mode = if signed { MODE_MEMSX } else { MODE_MEM };
    let at = cursor.enclosed("(", ")")?;
    Ok(Insn::new(CLASS_LDX | mode | size, dst.number, at.base, at.off, 0))
}

/// The old loads from a frame, from after `skb` on.
fn frame(cursor: &mut Cursor<'_>, size: u8) -> Result<Insn> {
    cursor.expect("[")?;
    let insn = if cursor.at_register() {
        let src = cursor.register()?;
        cursor.expect("+")?;
        Insn::new(CLASS_LD | MODE_IND | size, 0, src, 0, cursor.imm32()?)
    } else {
        Insn::new(CLASS_LD | MODE_ABS | size, 0, 0, 0, cursor.imm32()?)
    };
    cursor.expect("]")?;
    Ok(insn)
}

/// `&(void __percpu *)(r1)`
fn per_cpu(cursor: &mut Cursor<'_>, dst: Register) -> Result<Insn> {
    for part in ["&", "(", "void", "__percpu", "*", ")", "("] {
        cursor.expect(part)?;
    }
    let src = cursor.register()?;
    cursor.expect(")")?;
    Ok(Insn::new(class(dst) | MOV | FROM_REG, dst.number, src, PER_CPU, 0))
}

/// `addr_space_cast(r2, 0, 1)`, from after the word on.
fn address_space(cursor: &mut Cursor<'_>, dst: u8) -> Result<Insn> {
    cursor.expect("(")?;
    let src = cursor.register()?;
    cursor.comma()?;
    let to = cursor.unsigned(0xffff)?;
    cursor.comma()?;
    let from = cursor.unsigned(0xffff)?;
    cursor.expect(")")?;
    let spaces = (to << 16 | from).cast_signed();
    Ok(Insn::new(CLASS_ALU64 | MOV | FROM_REG, dst, src, ADDRESS_SPACE, spaces))
}

/// `be16 r1`, of the same register.
fn order(cursor: &mut Cursor<'_>, dst: Register) -> Result<Insn> {
    let insn = super::classic::order(cursor.word()).filter(|_| dst.wide);
    let insn = insn.ok_or_else(|| cursor.wrong("a register, a number or another value"))?;
    cursor.skip(1);
    same(cursor, dst)?;
    Ok(Insn { dst: dst.number, ..insn })
}

fn same(cursor: &mut Cursor<'_>, dst: Register) -> Result<()> {
    let found = cursor.peek().and_then(as_register) == Some(dst);
    let letter = if dst.wide { 'r' } else { 'w' };
    if !found {
        return Err(cursor.wrong(format!("`{letter}{}` again", dst.number)));
    }
    cursor.skip(1);
    Ok(())
}

const fn class(dst: Register) -> u8 {
    if dst.wide { CLASS_ALU64 } else { CLASS_ALU }
}

/// `off` of a register move that turns a pointer of one address space into another's.
const ADDRESS_SPACE: i16 = 1;
/// `off` of a register move that makes a per-CPU offset an address of this CPU.
const PER_CPU: i16 = -1;
