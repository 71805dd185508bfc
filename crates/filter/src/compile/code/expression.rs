//! Code for tcpdump expressions: short ones inline, others as functions.
//!
//! Rule: an expression with memory words is a function, so that its 64 bytes of stack are free
//! while `filter_effect()` runs, which needs most of the 512 bytes. A long expression is a function
//! because the verifier then follows its paths once, and not once per path to it. With more than
//! `FUNCTIONS` of them, the others are inline.

use spec::asm::Reg::{R0, R1, R2, R3};
use spec::asm::{Cond, Label};

use super::Code;
use super::value::{CONTEXT, PACKET, TOP};
use crate::language::classic::{Program, Site};
use crate::{Ruleset, Test};

/// The most instructions of classic BPF in an inline expression.
const LONGEST: usize = 32;
/// The most functions of expressions; a program may have 256 functions.
const FUNCTIONS: usize = 32;

/// The function of an expression, which is called and not written yet.
pub struct Called<'a> {
    name: String,
    label: Label,
    program: &'a Program,
}

impl<'a> Code<'a> {
    /// Jumps to `fail` unless the expression matches.
    pub(super) fn expression(&mut self, program: &'a Program, fail: Label) {
        if let Some(label) = self.function_of(program) {
            let a = &mut self.asm;
            a.load64(R1, CONTEXT).mov(R2, PACKET).mov32(R3, 0).call_local(label);
            a.jump32_if(R0, Cond::Eq, 0, fail);
        } else {
            let matched = self.asm.label();
            self.program(program, matched, fail);
            self.asm.bind(matched);
        }
    }

    /// Writes the functions that are called and returns their names. Their type is that of
    /// `filter_effect()`.
    pub(super) fn functions_of_expressions(&mut self) -> Vec<String> {
        let called = std::mem::take(&mut self.expressions);
        for one in &called {
            let [there, matched, unmatched] = std::array::from_fn(|_| self.asm.label());
            let a = &mut self.asm;
            a.function(one.label, one.name.clone()).jump_if(R2, Cond::Ne, 0, there);
            a.mov32(R0, 0).exit().bind(there).mov(PACKET, R2).store64(CONTEXT, R1);
            self.program(one.program, matched, unmatched);
            self.asm.bind(matched).mov32(R0, 1).exit();
            self.asm.bind(unmatched).mov32(R0, 0).exit();
        }
        called.into_iter().map(|one| one.name).collect()
    }

    fn program(&mut self, program: &Program, matched: Label, unmatched: Label) {
        let memory = -TOP - Program::MEMORY;
        let site = Site { packet: PACKET, context: CONTEXT, memory, matched, unmatched };
        program.append(&mut self.asm, site);
    }

    /// The function of an expression, if it has one; equal expressions share it.
    fn function_of(&mut self, program: &'a Program) -> Option<Label> {
        if !is_heavy(program) {
            return None;
        }
        if let Some(known) = self.expressions.iter().find(|known| known.program == program) {
            return Some(known.label);
        }
        if self.expressions.len() == FUNCTIONS {
            return None;
        }
        let (label, name) = (self.asm.label(), format!("filter_expr_{}", self.expressions.len()));
        self.expressions.push(Called { name, label, program });
        Some(label)
    }
}

/// Bytes of stack for the inline expressions of these rules.
pub fn memory(rules: &Ruleset) -> i16 {
    let tests = rules.rules.iter().flat_map(|rule| &rule.tests);
    let programs = tests.filter_map(|test| match test {
        Test::Expression(expression) => Some(&expression.program),
        _ => None,
    });
    let heavy: Vec<_> = programs.filter(|program| is_heavy(program)).collect();
    let uses_stack = heavy.len() > FUNCTIONS && heavy.iter().any(|program| program.has_memory());
    if uses_stack { Program::MEMORY } else { 0 }
}

/// Whether an expression should be a function of its own.
fn is_heavy(program: &Program) -> bool {
    program.has_memory() || program.len() > LONGEST
}
