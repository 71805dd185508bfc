//! Watching a run: what a hook is told, and when.
//!
//! Rule: a hook only looks. With none set the interpreter is the one that was compiled without,
//! so watching costs nothing when nobody does.

use std::sync::{Arc, Mutex, PoisonError};

use crate::code::Program;
use crate::fault::Fault;
use crate::memory::Memory;
use crate::worker::Worker;

/// Somebody who watches programs run. Every method may be left out.
///
/// `Arc<Mutex<H>>` is a hook where `H` is: set one half, keep the other to look at the results.
pub trait Hook {
    /// An instruction is about to run.
    fn step(&mut self, step: &Step<'_>) {
        let _ = step;
    }

    /// A conditional jump was taken, or was not.
    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        let _ = (step, taken);
    }

    /// A helper or kernel function has returned.
    fn call(&mut self, step: &Step<'_>, call: &Called<'_>) {
        let _ = (step, call);
    }

    /// An instruction has written memory.
    fn write(&mut self, step: &Step<'_>, write: &Written) {
        let _ = (step, write);
    }

    /// The run is over: r0, or what stopped it. Callbacks are parts of a run.
    fn end(&mut self, result: Result<u64, &Fault>) {
        let _ = result;
    }
}

/// Where a program is. In [`Hook::step`] before the instruction, else behind it.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub program: &'a Arc<Program>,
    /// The instruction that this is about.
    pub slot: usize,
    /// Active functions: 1 in the entry function.
    pub depth: usize,
    /// r0 to r10.
    pub registers: &'a [u64; 11],
    pub(crate) memory: &'a Memory,
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` instruction {}, depth {}", self.program.name(), self.slot, self.depth)
    }
}

/// A call that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called<'a> {
    pub name: &'a str,
    /// r1 to r5 as they were.
    pub args: [u64; 5],
    pub result: u64,
}

/// Bytes that an instruction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub address: u64,
    pub len: usize,
    /// What is there now, zero-extended.
    pub value: u64,
}

impl Step<'_> {
    /// A value in words if it is an address: `packet, byte 12`; else as a number.
    pub fn describe(&self, value: u64) -> String {
        self.memory.describe(value)
    }

    /// Whether a value is a register that nobody has set, or that a call has used up.
    pub fn is_unset(value: u64) -> bool {
        value == crate::memory::POISON
    }
}

impl<H: Hook> Hook for Arc<Mutex<H>> {
    fn step(&mut self, step: &Step<'_>) {
        locked(self, |hook| hook.step(step));
    }

    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        locked(self, |hook| hook.branch(step, taken));
    }

    fn call(&mut self, step: &Step<'_>, call: &Called<'_>) {
        locked(self, |hook| hook.call(step, call));
    }

    fn write(&mut self, step: &Step<'_>, write: &Written) {
        locked(self, |hook| hook.write(step, write));
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        locked(self, |hook| hook.end(result));
    }
}

/// Two hooks that watch the same run, the first one first.
impl<A: Hook, B: Hook> Hook for (A, B) {
    fn step(&mut self, step: &Step<'_>) {
        self.0.step(step);
        self.1.step(step);
    }

    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        self.0.branch(step, taken);
        self.1.branch(step, taken);
    }

    fn call(&mut self, step: &Step<'_>, call: &Called<'_>) {
        self.0.call(step, call);
        self.1.call(step, call);
    }

    fn write(&mut self, step: &Step<'_>, write: &Written) {
        self.0.write(step, write);
        self.1.write(step, write);
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        self.0.end(result);
        self.1.end(result);
    }
}

/// A hook that panicked elsewhere still has what it saw before.
fn locked<H>(hook: &Mutex<H>, act: impl FnOnce(&mut H)) {
    act(&mut hook.lock().unwrap_or_else(PoisonError::into_inner));
}

impl Worker {
    /// From now on `hook` watches what this worker runs; `None` ends that. Returns the one that
    /// did so far.
    pub fn set_hook(&mut self, hook: Option<Box<dyn Hook + Send>>) -> Option<Box<dyn Hook + Send>> {
        std::mem::replace(&mut self.frames.hook.0, hook)
    }
}

/// The hook of a worker.
#[derive(Default)]
pub(super) struct Slot(pub Option<Box<dyn Hook + Send>>);

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "a hook" } else { "no hook" })
    }
}
