//! A conditional jump in words: the values that were compared.

use spec::insn::{
    CLASS_JMP32, FROM_REG, Insn, JCOND, JEQ, JGE, JGT, JLE, JLT, JNE, JSET, JSGE, JSGT, JSLE, JSLT,
};
use vm::{Pointee, Step};

use super::words::Words;

/// `packet+14 > packet+60`, `0x86dd == 8`.
pub fn test(words: &mut Words, step: &Step<'_>) -> String {
    let Some(insn) = step.program.source().insns.get(step.slot) else { return String::new() };
    let operation = insn.code & 0xf0;
    if operation == JCOND {
        return "may continue".to_owned();
    }
    let left = step.registers[usize::from(insn.dst).min(10)];
    let right = match insn.code & FROM_REG {
        0 => insn.imm as i64 as u64,
        _ => step.registers[usize::from(insn.src).min(10)],
    };
    let left = side(words, step, *insn, left);
    let right = side(words, step, *insn, right);
    format!("{left} {} {right}", sign(operation))
}

fn side(words: &mut Words, step: &Step<'_>, insn: Insn, value: u64) -> String {
    let half = insn.class() == CLASS_JMP32;
    let value = if half { u64::from(value as u32) } else { value };
    let signed = matches!(insn.code & 0xf0, JSGT | JSGE | JSLT | JSLE);
    match step.pointee(value) {
        Pointee::Number(_) if signed && half => (value as u32 as i32).to_string(),
        Pointee::Number(_) if signed => (value as i64).to_string(),
        _ => words.any(step, value),
    }
}

fn sign(operation: u8) -> &'static str {
    match operation {
        JEQ => "==",
        JNE => "!=",
        JGT | JSGT => ">",
        JGE | JSGE => ">=",
        JLT | JSLT => "<",
        JLE | JSLE => "<=",
        JSET => "&",
        _ => "?",
    }
}
