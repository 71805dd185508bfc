//! The functions that are active, and where their source lines began.
//!
//! Rule: the engine reports depths only. What they hide is recognized by the instruction before: an
//! exit followed by the same depth is a callback that is called again, a tail call is a program
//! that starts at the same depth.

use std::sync::Arc;

use spec::asm::Helper;
use spec::insn::{EXIT, Insn};
use vm::{Program, Step};

/// A source line: file and number.
pub type SourceLine = (Arc<str>, u32);

/// A function that is active.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Distinguishes calls of the same function for one packet.
    pub activation: u64,
    /// The program that contains the function.
    pub program: Arc<Program>,
    /// Number of active functions, this one included.
    pub depth: usize,
    /// The next instruction; in a caller, the call.
    pub slot: usize,
    /// The source line, if there is line information.
    pub line: Option<SourceLine>,
    /// Step at which the function began.
    pub entered: u64,
    /// r0 to r10 before the instruction of `slot`.
    pub registers: [u64; 11],
    /// r0 to r10 before the first instruction.
    pub registers_at_entry: [u64; 11],
    /// Step of the newest instruction of this function.
    last: u64,
    /// Step at which the function came to the line.
    since: u64,
}

/// Follows the instructions of one packet.
#[derive(Debug, Default)]
pub struct Tracker {
    frames: Vec<Frame>,
    /// Instructions before the one that was reported last.
    at: u64,
    /// Instructions that were reported.
    step: u64,
    activations: u64,
    /// Step at which the innermost function and its line were last changed.
    stretch: u64,
    /// The instruction that ran last.
    last: Option<Insn>,
    /// The program has ended; another may follow for the same packet.
    ended: bool,
    before: Before,
}

/// Where backward motions lead from a position.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    step: Option<u64>,
    next: Option<u64>,
    /// Whether the instruction before has a source line.
    has_line: bool,
}

impl Tracker {
    /// Begins a packet.
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    /// An instruction comes next.
    pub fn advance(&mut self, step: &Step<'_>) {
        let has_line = self.frames.last().is_some_and(|frame| frame.line.is_some());
        let newest = self.frames.last().map(|frame| frame.since);
        let known = self.continues(step);
        if known {
            self.frames.retain(|frame| frame.depth <= step.depth);
        } else {
            let depth = if self.ended { 0 } else { step.depth };
            self.frames.retain(|frame| frame.depth < depth);
        }
        let own = self.frames.last().filter(|_| known).map(|frame| frame.since);
        let step_back = newest.map(|_| self.stretch);
        self.before = Before { step: step_back, next: own.or(newest), has_line };
        self.ended = false;
        let is_new_line = self.enter(step, known);
        if is_new_line || self.frames.last().is_some_and(|frame| frame.last + 1 != self.step) {
            self.stretch = self.step;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.last = self.step;
            frame.registers = *step.registers;
        }
        self.last = step.program.source().insns.get(step.slot).copied();
        self.at = self.step;
        self.step += 1;
    }

    /// Number of instructions that ran for the packet.
    pub fn executed(&self) -> u64 {
        self.at
    }

    /// The program has ended.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// No instruction follows for this packet.
    pub fn finish(&mut self) {
        let has_line = self.frames.last().is_some_and(|frame| frame.line.is_some());
        let newest = self.frames.last().map(|frame| frame.since);
        self.before = Before { step: newest.map(|_| self.stretch), next: newest, has_line };
        self.at = self.step;
        self.frames.clear();
    }

    /// Active functions, outermost first.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The function that runs.
    pub fn frame(&self) -> Option<&Frame> {
        self.frames.last()
    }

    /// Whether a function is active.
    pub fn has(&self, activation: u64) -> bool {
        self.frames.iter().any(|frame| frame.activation == activation)
    }

    /// Whether the function that runs has come to its line with this instruction.
    pub fn begins_line(&self) -> bool {
        self.frame().is_some_and(|frame| frame.since == frame.last)
    }

    /// Whether this is the first instruction of the function.
    pub fn begins_function(&self) -> bool {
        self.frame().is_some_and(|frame| frame.entered == frame.last)
    }

    /// The step to which a backward step leads; `None` if the packet begins here.
    pub fn step_back(&self) -> Option<u64> {
        self.before.step
    }

    /// The step to which a backward step over calls leads; `None` if the packet begins here.
    pub fn next_back(&self) -> Option<u64> {
        self.before.next
    }

    /// Whether the instruction before has a source line.
    pub fn was_in_line(&self) -> bool {
        self.before.has_line
    }

    /// The step of the call that led to the function; `None` if the packet begins there.
    pub fn call(&self) -> Option<u64> {
        let (frame, callers) = self.frames.split_last()?;
        match callers.last() {
            Some(caller) => Some(caller.last),
            None => frame.entered.checked_sub(1),
        }
    }

    /// Whether the instruction belongs to a function that was active before.
    fn continues(&self, step: &Step<'_>) -> bool {
        let Some(newest) = self.frames.last().filter(|_| !self.ended) else { return false };
        if step.depth != newest.depth {
            return step.depth < newest.depth;
        }
        let is_left = self.last.is_some_and(|last| last.code == EXIT);
        let is_replaced = self.last.is_some_and(is_tail_call) && step.slot == 0;
        !is_left && !is_replaced
    }

    /// Sets the place of the function that runs. Returns whether its line is another.
    fn enter(&mut self, step: &Step<'_>, known: bool) -> bool {
        let line = step.program.line_at(step.slot).filter(|line| line.line != 0);
        let line = line.map(|line| (Arc::clone(&line.file), line.line));
        if known && let Some(frame) = self.frames.last_mut() {
            frame.slot = step.slot;
            // The compiler's own instructions belong to the line before.
            let is_new = line.is_some() && frame.line != line;
            if is_new {
                frame.line = line;
                frame.since = self.step;
            }
            return is_new;
        }
        self.activations += 1;
        self.frames.push(Frame {
            activation: self.activations,
            program: Arc::clone(step.program),
            depth: step.depth,
            slot: step.slot,
            line,
            entered: self.step,
            registers: *step.registers,
            registers_at_entry: *step.registers,
            // Makes this instruction the beginning of a stretch.
            last: self.step,
            since: self.step,
        });
        true
    }
}

fn is_tail_call(insn: Insn) -> bool {
    insn.is_call()
        && insn.src == 0
        && Helper(insn.imm.cast_unsigned()).name() == Some("bpf_tail_call")
}
