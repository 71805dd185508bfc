//! Hooks: observers of runs, and the events that they receive.
//!
//! Rule: a hook only observes. Without one, the interpreter that runs was compiled without calls
//! of hooks, so unobserved runs pay nothing.

use std::sync::{Arc, Mutex, PoisonError};

use super::Step;
use crate::fault::Fault;

/// An observer of runs. Every method has a default that ignores the event.
///
/// `Arc<Mutex<H>>` is a hook if `H` is: pass one clone to the worker and keep another to read the
/// results.
pub trait Hook {
    /// An instruction is about to run.
    fn step(&mut self, step: &Step<'_>) {
        let _ = step;
    }

    /// A conditional jump was executed; `taken` is whether it jumped.
    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        let _ = (step, taken);
    }

    /// A helper or kernel function has returned.
    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        let _ = (step, call);
    }

    /// An instruction has written memory.
    fn write(&mut self, step: &Step<'_>, write: &WriteEvent) {
        let _ = (step, write);
    }

    /// The run has ended with r0 or a fault. Callbacks are parts of a run.
    fn end(&mut self, result: Result<u64, &Fault>) {
        let _ = result;
    }
}

/// A call that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEvent<'a> {
    /// Name of the helper or kernel function.
    pub name: &'a str,
    /// r1 to r5 before the call.
    pub args: [u64; 5],
    /// r0 after the call.
    pub result: u64,
}

/// Bytes that an instruction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEvent {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes: 1, 2, 4 or 8.
    pub len: usize,
    /// The value in memory now, zero-extended.
    pub value: u64,
}

impl<H: Hook> Hook for Arc<Mutex<H>> {
    fn step(&mut self, step: &Step<'_>) {
        locked(self, |hook| hook.step(step));
    }

    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        locked(self, |hook| hook.branch(step, taken));
    }

    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        locked(self, |hook| hook.call(step, call));
    }

    fn write(&mut self, step: &Step<'_>, write: &WriteEvent) {
        locked(self, |hook| hook.write(step, write));
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        locked(self, |hook| hook.end(result));
    }
}

/// Two hooks that observe the same runs; the first receives each event first.
impl<A: Hook, B: Hook> Hook for (A, B) {
    fn step(&mut self, step: &Step<'_>) {
        self.0.step(step);
        self.1.step(step);
    }

    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        self.0.branch(step, taken);
        self.1.branch(step, taken);
    }

    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        self.0.call(step, call);
        self.1.call(step, call);
    }

    fn write(&mut self, step: &Step<'_>, write: &WriteEvent) {
        self.0.write(step, write);
        self.1.write(step, write);
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        self.0.end(result);
        self.1.end(result);
    }
}

/// Acts on a locked hook; one that panicked elsewhere keeps what it recorded before.
fn locked<H>(hook: &Mutex<H>, act: impl FnOnce(&mut H)) {
    act(&mut hook.lock().unwrap_or_else(PoisonError::into_inner));
}

/// The hook of a processor.
#[derive(Default)]
pub(crate) struct Slot(pub Option<Box<dyn Hook + Send>>);

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "a hook" } else { "no hook" })
    }
}
