//! Jumps and calls of the kernel's notation: `if r1 > 5 goto L1`, `goto pc+3`, `call name#1`.

use super::Reference;
use super::classic;
use super::codes::CONDITIONS;
use super::cursor::{Cursor, Result};
use super::output::Output;
use super::token::Kind;
use crate::asm::{Form, Helper};
use crate::insn::{
    CALL, CLASS_JMP, CLASS_JMP32, EXIT, FROM_REG, Insn, JA, JCOND, PSEUDO_CALL, PSEUDO_KFUNC_CALL,
};

/// False, with nothing taken, if the line starts with none of these words.
pub(super) fn statement<'a>(cursor: &mut Cursor<'a>, output: &mut Output<'a>) -> Result<bool> {
    let word = cursor.word();
    if !["if", "goto", "gotol", "gotox", "may_goto", "call", "callx", "exit"].contains(&word) {
        return Ok(false);
    }
    cursor.skip(1);
    match word {
        "if" => condition(cursor, output)?,
        "goto" => jump(cursor, CLASS_JMP | JA, Form::Near, output)?,
        "gotol" => jump(cursor, CLASS_JMP32 | JA, Form::Far, output)?,
        "may_goto" => jump(cursor, CLASS_JMP | JCOND, Form::Near, output)?,
        "gotox" => output.push(to_register(CLASS_JMP | JA | FROM_REG, cursor)?),
        "callx" => output.push(to_register(CALL | FROM_REG, cursor)?),
        "call" => call(cursor, output)?,
        _ => output.push(Insn::new(EXIT, 0, 0, 0, 0)),
    }
    Ok(true)
}

fn condition<'a>(cursor: &mut Cursor<'a>, output: &mut Output<'a>) -> Result<()> {
    let left = cursor.any_register()?;
    let word = cursor.take(Kind::Symbol, "a comparison such as `==` or `s<`")?;
    let comparison = CONDITIONS.iter().find(|row| row.operator == word.text);
    let comparison =
        comparison.ok_or_else(|| cursor.wrong_at(word, "a comparison such as `==` or `s<`"))?;
    let (bit, src, imm) = cursor.operand(left.wide)?.parts();
    cursor.expect("goto")?;
    let class = if left.wide { CLASS_JMP } else { CLASS_JMP32 };
    output.aim(cursor.target()?, Form::Near);
    output.push(Insn::new(class | comparison.code | bit, left.number, src, 0, imm));
    Ok(())
}

fn jump<'a>(cursor: &mut Cursor<'a>, code: u8, form: Form, output: &mut Output<'a>) -> Result<()> {
    output.aim(cursor.target()?, form);
    output.push(Insn::new(code, 0, 0, 0, 0));
    Ok(())
}

fn to_register(code: u8, cursor: &mut Cursor<'_>) -> Result<Insn> {
    Ok(Insn::new(code, cursor.register()?, 0, 0, 0))
}

fn call<'a>(cursor: &mut Cursor<'a>, output: &mut Output<'a>) -> Result<()> {
    if let Some((insn, target)) = classic::call(cursor)? {
        if let Some(target) = target {
            output.aim(target, Form::Call);
        }
        output.push(insn);
        return Ok(());
    }
    let name = cursor.word();
    if cursor.ahead(1).is_some_and(|next| next.text == "#") {
        cursor.skip(2);
        return numbered(cursor, name, output);
    }
    match Helper::named(name).filter(|_| name.starts_with("bpf_")) {
        Some(helper) => {
            cursor.skip(1);
            output.push(Insn::new(CALL, 0, 0, 0, helper.0.cast_signed()));
        }
        None => {
            output.aim(cursor.target()?, Form::Call);
            output.push(Insn::new(CALL, 0, PSEUDO_CALL, 0, 0));
        }
    }
    Ok(())
}

/// `name#7`: a helper if that is its number, else a kernel function. `unknown` stands for
/// either; kernel functions are those with a helper's number, which would have a name, and those
/// whose number is not known yet.
fn numbered<'a>(cursor: &mut Cursor<'a>, name: &str, output: &mut Output<'a>) -> Result<()> {
    let imm = cursor.imm32()?;
    let helper = Helper(imm.cast_unsigned()).name();
    let src = match name {
        "unknown" if helper.is_none() && imm > 0 => 0,
        _ if helper == Some(name) => 0,
        _ => PSEUDO_KFUNC_CALL,
    };
    if src != 0 && name != "unknown" {
        output.code.references.push((output.slot(), Reference::Kfunc(name.to_owned())));
    }
    output.push(Insn::new(CALL, 0, src, 0, imm));
    Ok(())
}
