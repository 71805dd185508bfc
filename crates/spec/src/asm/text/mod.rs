//! Assembly text: both notations that people write BPF in, as instructions.
//!
//! ```
//! let insns = spec::asm::text::parse("
//!     ldxw %r0, [%r1+4]        # the notation of conformance suites
//!     if w0 > 5 goto big       ; that of the kernel, of LLVM and of `disasm`
//!     mov %r0, 1
//! big:
//!     exit
//! ")?;
//! assert_eq!(insns.len(), 4);
//! # Ok::<(), spec::asm::text::Error>(())
//! ```
//!
//! One instruction a line, with labels (`name:`) of its own line or in front. Rule: what
//! [`disasm`](crate::disasm) prints reads back as the same instruction. A slot number and the code
//! before it (`12: (18) r1 = 0x5`) may be present: the code, if given, must be right, and it
//! distinguishes a wide load from a short one; without it, a number is wide if it is marked (`5
//! ll`) or does not fit in 32 bits. Not here: verification; fields that a notation cannot express
//! are 0.

mod assign;
mod classic;
mod codes;
mod control;
pub(in crate::asm) mod cursor;
mod error;
mod memory;
mod operand;
pub(in crate::asm) mod output;
pub(in crate::asm) mod token;
mod wide;

pub use error::Error;

use crate::insn::Insn;
use cursor::{Cursor, Result};
use output::Output;
use token::Kind;

/// The parsed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// The instructions, without resolved references.
    pub insns: Vec<Insn>,
    /// Slots that refer to maps, functions or symbols by name, in order.
    pub references: Vec<(usize, Reference)>,
}

/// What a slot refers to: an object's loader knows the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `map[name]`
    Map(String),
    /// `map[name][0]+8`
    MapValue(String, u32),
    /// `ksym[name]`, a kernel variable or function; the text does not state whether it has a type.
    Symbol(String),
    /// `call name#7`, where `name` is not a helper.
    Kfunc(String),
    /// `name+8 ll`, the address of a symbol in LLVM's notation.
    Address(String, i64),
}

/// Instructions without references by name.
///
/// # Errors
/// The first mistake; or the first name that only an object knows, which [`parse_code`] takes.
pub fn parse(text: &str) -> Result<Vec<Insn>> {
    let mut output = Output::default();
    for mut cursor in lines(text) {
        let start = cursor.clone();
        line(&mut cursor, &mut output)?;
        if !output.code.references.is_empty() {
            return Err(start.wrong("an instruction that refers to no part of an object"));
        }
    }
    output.resolve().map(|code| code.insns)
}

/// Instructions, and what they refer to by name.
///
/// # Errors
/// The first mistake.
pub fn parse_code(text: &str) -> Result<Code> {
    let mut output = Output::default();
    for mut cursor in lines(text) {
        line(&mut cursor, &mut output)?;
    }
    output.resolve()
}

fn lines(text: &str) -> impl Iterator<Item = Cursor<'_>> {
    text.lines().zip(1..).map(|(text, line)| Cursor::new(line, text))
}

/// Labels and a slot number, then an instruction or none.
pub(in crate::asm) fn line<'a>(cursor: &mut Cursor<'a>, output: &mut Output<'a>) -> Result<()> {
    while cursor.ahead(1).is_some_and(|next| next.text == ":" && next.kind == Kind::Symbol) {
        if let Some(name) = cursor.peek().filter(|name| name.kind == Kind::Word) {
            output.label(cursor.line, cursor.spot(name))?;
        } else if cursor.peek().is_none_or(|slot| slot.kind != Kind::Number) {
            return Err(cursor.wrong("a label or slot number before the colon"));
        }
        cursor.skip(2);
    }
    let before = cursor.clone();
    let code = code(cursor)?;
    if cursor.is_at_end() {
        return code.map_or(Ok(()), |_| Err(cursor.wrong("an instruction after its opcode")));
    }
    let slot = output.slot();
    statement(cursor, code, output)?;
    cursor.expect_end()?;
    match (code, output.code.insns.get(slot)) {
        (Some(code), Some(insn)) if code != insn.code => {
            Err(before.wrong(format!("({:02x}), which is this instruction's code", insn.code)))
        }
        _ => Ok(()),
    }
}

/// `(b7)` before an instruction.
fn code(cursor: &mut Cursor<'_>) -> Result<Option<u8>> {
    if !cursor.eat("(") {
        return Ok(None);
    }
    let digits = cursor.word();
    let code = u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2);
    let code = code.ok_or_else(|| cursor.wrong("an instruction's code: two hex digits"))?;
    cursor.skip(1);
    cursor.expect(")")?;
    Ok(Some(code))
}

fn statement<'a>(cursor: &mut Cursor<'a>, code: Option<u8>, output: &mut Output<'a>) -> Result<()> {
    if cursor.at_register() {
        return assign::statement(cursor, code, output);
    }
    if control::statement(cursor, output)? {
        return Ok(());
    }
    let insn = if cursor.word() == "*" {
        memory::store(cursor)?
    } else if cursor.eat("lock") {
        if cursor.word() == "*" { memory::lock(cursor)? } else { classic::lock(cursor)? }
    } else if cursor.eat("store_release") {
        memory::store_release(cursor)?
    } else if cursor.eat("nospec") {
        Insn::new(NOSPEC, 0, 0, 0, 0)
    } else {
        let mnemonic = cursor.take(Kind::Word, "an instruction")?;
        return classic::statement(cursor, mnemonic, output);
    };
    output.push(insn);
    Ok(())
}

/// A speculation barrier, only ever written by the verifier.
const NOSPEC: u8 = 0xc2;

#[cfg(test)]
mod tests;
