//! The notation of conformance suites: `add32 %r0, 7`, `ldxw %r1, [%r2+4]`, `lock fetch add …`.

use super::codes::{self, ARITHMETIC, CONDITIONS, UPDATES};
use super::cursor::{Cursor, Result};
use super::operand::Operand;
use super::output::{Output, Target};
use super::token::{Kind, Token};
use crate::asm::Form;
use crate::insn::{
    CALL, CLASS_ALU, CLASS_ALU64, CLASS_JMP, CLASS_JMP32, CLASS_LDX, CLASS_ST, CLASS_STX, CMPXCHG,
    END, FETCH, FROM_REG, Insn, JA, MODE_ATOMIC, MODE_MEM, MODE_MEMSX, MOV, NEG, PSEUDO_CALL,
    PSEUDO_KFUNC_CALL, SIZE_DW, SIZE_W, XCHG,
};

/// An instruction that starts with a mnemonic, which is taken already.
pub(super) fn statement<'a>(
    cursor: &mut Cursor<'a>,
    mnemonic: Token<'a>,
    output: &mut Output<'a>,
) -> Result<()> {
    let word = mnemonic.text;
    if let Some(insn) = order(word) {
        output.push(Insn { dst: cursor.register()?, ..insn });
    } else if let Some(insn) = extension(word) {
        let dst = cursor.register()?;
        cursor.comma()?;
        output.push(Insn { dst, src: cursor.register()?, ..insn });
    } else if let Some((operation, wide)) = codes::sized(ARITHMETIC, word) {
        let (dst, operand) = pair(cursor)?;
        let (bit, src, imm) = operand.parts();
        let code = class(wide) | operation.code | bit;
        output.push(Insn::new(code, dst, src, operation.off, imm));
    } else if let Some((operation, wide)) = codes::sized(CONDITIONS, word) {
        let (dst, operand) = pair(cursor)?;
        cursor.comma()?;
        let (bit, src, imm) = operand.parts();
        let class = if wide { CLASS_JMP } else { CLASS_JMP32 };
        output.aim(cursor.target()?, Form::Near);
        output.push(Insn::new(class | operation.code | bit, dst, src, 0, imm));
    } else {
        return other(cursor, mnemonic, output);
    }
    Ok(())
}

fn other<'a>(cursor: &mut Cursor<'a>, mnemonic: Token<'a>, output: &mut Output<'a>) -> Result<()> {
    match mnemonic.text {
        "neg" | "neg64" => output.push(negation(cursor, true)?),
        "neg32" => output.push(negation(cursor, false)?),
        "ja" => jump(cursor, CLASS_JMP, Form::Near, output)?,
        "ja32" => jump(cursor, CLASS_JMP32, Form::Far, output)?,
        "lddw" => {
            let dst = cursor.register()?;
            cursor.comma()?;
            super::wide::load(cursor, dst, output)?;
        }
        _ => output.push(access(cursor, mnemonic)?),
    }
    Ok(())
}

/// `lock add …`, `lock fetch add32 …`, `lock xchg …`; `lock` is taken already.
pub(super) fn lock(cursor: &mut Cursor<'_>) -> Result<Insn> {
    let fetch = cursor.eat("fetch");
    let expected = "add, and, or, xor, xchg or cmpxchg, optionally followed by 32";
    let word = cursor.take(Kind::Word, expected)?;
    let (operation, wide) = match word.text {
        "xchg" => (XCHG, true),
        "xchg32" => (XCHG, false),
        "cmpxchg" => (CMPXCHG, true),
        "cmpxchg32" => (CMPXCHG, false),
        other => {
            let (operation, wide) =
                codes::sized(UPDATES, other).ok_or_else(|| cursor.wrong_at(word, expected))?;
            (i32::from(operation.code) | if fetch { FETCH } else { 0 }, wide)
        }
    };
    let place = cursor.enclosed("[", "]")?;
    cursor.comma()?;
    let src = cursor.register()?;
    let code = CLASS_STX | MODE_ATOMIC | if wide { SIZE_DW } else { SIZE_W };
    Ok(Insn::new(code, place.base, src, place.off, operation))
}

/// `call 1`, `call helper 1`, `call local f`, `call runtime 7`, `call %r2`; without `call`.
/// `None`, with nothing taken, if it is none of these.
pub(super) fn call<'a>(cursor: &mut Cursor<'a>) -> Result<Option<(Insn, Option<Target<'a>>)>> {
    let plain = |src, imm| Ok(Some((Insn::new(CALL, 0, src, 0, imm), None)));
    match cursor.word() {
        "local" => {
            cursor.skip(1);
            let target = cursor.target()?;
            return Ok(Some((Insn::new(CALL, 0, PSEUDO_CALL, 0, 0), Some(target))));
        }
        "runtime" => {
            cursor.skip(1);
            return plain(PSEUDO_KFUNC_CALL, cursor.imm32()?);
        }
        "helper" => cursor.skip(1),
        _ => {}
    }
    if cursor.at_register() {
        return Ok(Some((Insn::new(CALL | FROM_REG, cursor.register()?, 0, 0, 0), None)));
    }
    let number = cursor.peek().is_some_and(|token| token.kind == Kind::Number);
    if number { plain(0, cursor.imm32()?) } else { Ok(None) }
}

/// Loads and stores.
fn access<'a>(cursor: &mut Cursor<'a>, mnemonic: Token<'a>) -> Result<Insn> {
    let word = mnemonic.text;
    let sized = |prefix: &str| word.strip_prefix(prefix).and_then(codes::size);
    if let Some(size) = sized("ldx") {
        return load(cursor, MODE_MEM | size);
    }
    if let Some(size) = sized("ldxs").filter(|size| *size != SIZE_DW) {
        return load(cursor, MODE_MEMSX | size);
    }
    if let Some(size) = sized("stx") {
        let place = cursor.enclosed("[", "]")?;
        cursor.comma()?;
        let src = cursor.register()?;
        return Ok(Insn::new(CLASS_STX | MODE_MEM | size, place.base, src, place.off, 0));
    }
    if let Some(size) = sized("st") {
        let place = cursor.enclosed("[", "]")?;
        cursor.comma()?;
        let imm = cursor.imm32()?;
        return Ok(Insn::new(CLASS_ST | MODE_MEM | size, place.base, 0, place.off, imm));
    }
    Err(cursor.wrong_at(mnemonic, "an instruction or a label with its colon"))
}

fn load(cursor: &mut Cursor<'_>, bits: u8) -> Result<Insn> {
    let dst = cursor.register()?;
    cursor.comma()?;
    let place = cursor.enclosed("[", "]")?;
    Ok(Insn::new(CLASS_LDX | bits, dst, place.base, place.off, 0))
}

fn pair(cursor: &mut Cursor<'_>) -> Result<(u8, Operand)> {
    let dst = cursor.register()?;
    cursor.comma()?;
    Ok((dst, cursor.operand(true)?))
}

fn negation(cursor: &mut Cursor<'_>, wide: bool) -> Result<Insn> {
    Ok(Insn::new(class(wide) | NEG, cursor.register()?, 0, 0, 0))
}

fn jump<'a>(cursor: &mut Cursor<'a>, class: u8, form: Form, output: &mut Output<'a>) -> Result<()> {
    output.aim(cursor.target()?, form);
    output.push(Insn::new(class | JA, 0, 0, 0, 0));
    Ok(())
}

const fn class(wide: bool) -> u8 {
    if wide { CLASS_ALU64 } else { CLASS_ALU }
}

/// `be16`, `le64`, `swap32`, `bswap32`.
pub(super) fn order(word: &str) -> Option<Insn> {
    let (name, bits) = word.split_at_checked(word.len().checked_sub(2)?)?;
    let code = match name {
        "le" => CLASS_ALU | END,
        "be" => CLASS_ALU | END | FROM_REG,
        "swap" | "bswap" => CLASS_ALU64 | END,
        _ => return None,
    };
    let imm = bits.parse().ok().filter(|bits| matches!(bits, 16 | 32 | 64))?;
    Some(Insn::new(code, 0, 0, 0, imm))
}

/// `movsx1632` and similar ones: the numbers of source and destination bits.
fn extension(word: &str) -> Option<Insn> {
    let (from, class) = match word.strip_prefix("movsx")? {
        "832" => (8, CLASS_ALU),
        "1632" => (16, CLASS_ALU),
        "864" => (8, CLASS_ALU64),
        "1664" => (16, CLASS_ALU64),
        "3264" => (32, CLASS_ALU64),
        _ => return None,
    };
    Some(Insn::new(class | MOV | FROM_REG, 0, 0, from, 0))
}
