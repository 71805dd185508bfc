//! Stores and atomic operations of the kernel's notation and of LLVM's.

use super::codes::UPDATES;
use super::cursor::{Cursor, Result};
use super::operand::{Operand, Place};
use super::token::{Kind, Token};
use crate::insn::{
    CLASS_ST, CLASS_STX, CMPXCHG, FETCH, Insn, LOAD_ACQUIRE, MODE_ATOMIC, MODE_MEM, SIZE_DW,
    SIZE_W, STORE_RELEASE, XCHG,
};

/// `*(u32 *)(r1 +4) = r2`, or a number.
pub(super) fn store(cursor: &mut Cursor<'_>) -> Result<Insn> {
    let (size, at) = pointed(cursor)?;
    cursor.expect("=")?;
    Ok(match value(cursor, size)? {
        Operand::Reg(src) => Insn::new(CLASS_STX | MODE_MEM | size, at.base, src, at.off, 0),
        Operand::Imm(imm) => Insn::new(CLASS_ST | MODE_MEM | size, at.base, 0, at.off, imm),
    })
}

/// `lock *(u64 *)(r1 +0) += r2`; `lock` is taken already.
pub(super) fn lock(cursor: &mut Cursor<'_>) -> Result<Insn> {
    let (size, at) = atomic_place(cursor)?;
    let operator = cursor.take(Kind::Symbol, "`+=`, `|=`, `&=` or `^=`")?;
    let update = UPDATES.iter().find(|row| row.operator == operator.text);
    let update = update.ok_or_else(|| cursor.wrong_at(operator, "`+=`, `|=`, `&=` or `^=`"))?;
    let src = source(cursor, size)?;
    Ok(atomic(size, at, src, update.code.into()))
}

/// `store_release((u64 *)(r1 +0), r2)`; the word is taken already.
pub(super) fn store_release(cursor: &mut Cursor<'_>) -> Result<Insn> {
    cursor.expect("(")?;
    let size = cursor.unsigned_cast()?;
    let at = cursor.enclosed("(", ")")?;
    cursor.comma()?;
    let src = source(cursor, size)?;
    cursor.expect(")")?;
    Ok(atomic(size, at, src, STORE_RELEASE))
}

/// `dst = load_acquire((u8 *)(r2 +0))`, from after the word on.
pub(super) fn load_acquire(cursor: &mut Cursor<'_>, dst: u8) -> Result<Insn> {
    cursor.expect("(")?;
    let size = cursor.unsigned_cast()?;
    let at = cursor.enclosed("(", ")")?;
    cursor.expect(")")?;
    Ok(Insn::new(CLASS_STX | MODE_ATOMIC | size, dst, at.base, at.off, LOAD_ACQUIRE))
}

/// An operation that leaves the old value in `dst`, from after the `=` on: the kernel's
/// `atomic64_fetch_add((u64 *)(r1 +0), r2)`, LLVM's `xchg_64(r1 + 0, r2)` and so on.
/// `None`, with nothing consumed, if it is a different one.
pub(super) fn exchange(cursor: &mut Cursor<'_>, dst: u8) -> Result<Option<Insn>> {
    let Some(call) = cursor.peek().and_then(operation) else { return Ok(None) };
    let compares = call.operation == CMPXCHG;
    if compares && dst != 0 {
        return Err(cursor.wrong("something else: r0 alone gets what this finds"));
    }
    cursor.skip(1);
    cursor.expect("(")?;
    let (size, at) = match call.size {
        Some(size) => (size, cursor.place()?),
        None => (atomic_cast(cursor)?, cursor.enclosed("(", ")")?),
    };
    cursor.comma()?;
    if compares {
        only(cursor, 0, size)?;
        cursor.comma()?;
    }
    let src = if compares { source(cursor, size)? } else { only(cursor, dst, size)? };
    cursor.expect(")")?;
    Ok(Some(atomic(size, at, src, call.operation)))
}

/// The register that the operation gives its result, in a place where only that may stand.
fn only(cursor: &mut Cursor<'_>, number: u8, size: u8) -> Result<u8> {
    let before = cursor.clone();
    if source(cursor, size)? != number {
        return Err(before.wrong(format!("register {number}, which gets the old value")));
    }
    Ok(number)
}

struct Call {
    operation: i32,
    /// The size, if the name states it; else a cast does.
    size: Option<u8>,
}

fn operation(token: Token<'_>) -> Option<Call> {
    let llvm = |operation, size| Some(Call { operation, size: Some(size) });
    match token.text {
        "xchg_64" => return llvm(XCHG, SIZE_DW),
        "xchg32_32" => return llvm(XCHG, SIZE_W),
        "cmpxchg_64" => return llvm(CMPXCHG, SIZE_DW),
        "cmpxchg32_32" => return llvm(CMPXCHG, SIZE_W),
        _ => {}
    }
    let name = token.text.strip_prefix("atomic")?;
    let name = name.strip_prefix("64").unwrap_or(name).strip_prefix('_')?;
    let operation = match name {
        "xchg" => XCHG,
        "cmpxchg" => CMPXCHG,
        _ => {
            let name = name.strip_prefix("fetch_")?;
            let update = UPDATES.iter().find(|row| row.mnemonic == name)?;
            i32::from(update.code) | FETCH
        }
    };
    Some(Call { operation, size: None })
}

/// `*(u32 *)(r1 +4)`
pub(super) fn pointed(cursor: &mut Cursor<'_>) -> Result<(u8, Place)> {
    cursor.expect("*")?;
    Ok((cursor.unsigned_cast()?, cursor.enclosed("(", ")")?))
}

fn atomic_place(cursor: &mut Cursor<'_>) -> Result<(u8, Place)> {
    cursor.expect("*")?;
    Ok((atomic_cast(cursor)?, cursor.enclosed("(", ")")?))
}

fn atomic_cast(cursor: &mut Cursor<'_>) -> Result<u8> {
    let before = cursor.clone();
    let size = cursor.unsigned_cast()?;
    let fits = size == SIZE_W || size == SIZE_DW;
    if fits { Ok(size) } else { Err(before.wrong("a cast to u32 or u64")) }
}

fn atomic(size: u8, at: Place, src: u8, operation: i32) -> Insn {
    Insn::new(CLASS_STX | MODE_ATOMIC | size, at.base, src, at.off, operation)
}

/// LLVM names the low half of a register where no more is used.
fn source(cursor: &mut Cursor<'_>, size: u8) -> Result<u8> {
    let before = cursor.clone();
    let register = cursor.any_register()?;
    let fits = register.wide || size != SIZE_DW;
    if fits { Ok(register.number) } else { Err(before.wrong("a whole register such as `r1`")) }
}

fn value(cursor: &mut Cursor<'_>, size: u8) -> Result<Operand> {
    if cursor.at_register() {
        return source(cursor, size).map(Operand::Reg);
    }
    cursor.operand(true)
}
