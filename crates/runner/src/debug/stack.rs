//! Frames of the stack: functions that are active, with those that the compiler inlined in them.
//!
//! Rule: a compiled function that calls another has its registers and its slot at the call. The
//! call preserves r6 to r10; arguments have in the caller the values that were passed.

use spec::dwarf::{Inlined, Locals, Machine};
use spec::insn::Insn;
use vm::Step;

use super::tracker::Frame;

/// A function of the source that is active.
#[derive(Clone, Copy)]
pub struct StackFrame<'a> {
    /// The compiled function that contains its instructions.
    pub frame: &'a Frame,
    /// The inlined function that it is; `None` for the compiled one.
    pub inlined: Option<&'a Inlined>,
    /// The inlined function that it called.
    pub called: Option<&'a Inlined>,
    /// Whether the compiled function runs, and has not called another compiled one.
    pub runs: bool,
}

/// The frames of a compiled function, innermost first.
pub fn frames<'a>(frame: &'a Frame, locals: &'a Locals, runs: bool) -> Vec<StackFrame<'a>> {
    let (name, slot, _) = function(frame);
    let mut frames = Vec::new();
    let mut called = None;
    for inlined in locals.inlined_at(name, slot) {
        frames.push(StackFrame { frame, inlined: Some(inlined), called, runs });
        called = Some(inlined);
    }
    frames.push(StackFrame { frame, inlined: None, called, runs });
    frames
}

/// Name of a compiled function, the slot from its first, and its instructions.
pub fn function(frame: &Frame) -> (&str, usize, &[Insn]) {
    let source = frame.program.source();
    let after = source.functions.partition_point(|function| function.slot <= frame.slot);
    let start = source.functions[..after].last().map_or(0, |function| function.slot);
    let end = source.functions.get(after).map_or(source.insns.len(), |next| next.slot);
    let insns = source.insns.get(start..end).unwrap_or_default();
    (frame.program.function_name(frame.slot), frame.slot - start, insns)
}

impl<'a> StackFrame<'a> {
    /// Name of the function.
    pub fn function(&self) -> &'a str {
        let compiled = self.frame.program.function_name(self.frame.slot);
        self.inlined.map_or(compiled, |inlined| &inlined.name)
    }

    /// Distinguishes calls of functions; the inlined function by its number.
    pub fn identity(&self) -> (u64, Option<usize>) {
        (self.frame.activation, self.inlined.map(|inlined| inlined.number))
    }

    /// A register; `None` if it is not set, or was not preserved by a call.
    pub fn register(&self, number: usize) -> Option<u64> {
        let value = self.frame.registers.get(number).filter(|_| self.runs || number >= PRESERVED);
        value.copied().filter(|value| !Step::is_unset(*value))
    }
}

/// What expressions of the function's variables read.
pub struct FrameMachine<'a> {
    pub step: &'a Step<'a>,
    pub frame: &'a Frame,
    /// The lowest byte of the stack that the function uses.
    pub stack: u64,
}

impl Machine for FrameMachine<'_> {
    fn register(&self, number: u8) -> Option<u64> {
        let value = self.frame.registers.get(usize::from(number))?;
        Some(*value).filter(|value| !Step::is_unset(*value))
    }

    fn register_at_entry(&self, number: u8) -> Option<u64> {
        let value = self.frame.registers_at_entry.get(usize::from(number))?;
        Some(*value).filter(|value| !Step::is_unset(*value))
    }

    fn stack(&self) -> u64 {
        self.stack
    }

    fn read(&self, address: u64, size: usize) -> Option<Vec<u8>> {
        self.step.read(address, size)
    }
}

/// The first register that a call preserves.
pub const PRESERVED: usize = 6;
