//! A record of one run, event by event, for display.

use std::sync::Arc;

use crate::code::{Program, SourceLine};
use crate::fault::Fault;
use crate::processor::{CallEvent, Hook, Step, WriteEvent};

/// A hook that records events, up to a limit.
#[derive(Debug)]
pub struct Trace {
    events: Vec<Event>,
    limit: usize,
    dropped: u64,
    /// Registers before the last recorded instruction.
    before: Option<[u64; 11]>,
}

/// One event of a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// An instruction was executed.
    Insn(Insn),
    /// The conditional jump of the previous instruction was taken or not.
    Branch { taken: bool },
    /// The call of the previous instruction: arguments and result, as numbers and described.
    Call { name: String, args: [String; 5], values: [u64; 5], result: u64, said: String },
    /// The store of the previous instruction.
    Write { address: u64, place: String, len: usize, value: u64 },
    /// The run ended: r0, or the text of the fault.
    End(Result<u64, String>),
}

/// An instruction of a recorded run.
#[derive(Clone, Debug)]
pub struct Insn {
    pub program: Arc<Program>,
    pub slot: usize,
    pub depth: usize,
    /// Registers that it changed: number, value, and description of the value.
    pub changed: Vec<(u8, u64, String)>,
}

impl Insn {
    /// The disassembled instruction.
    pub fn text(&self) -> String {
        self.program.disassemble(self.slot)
    }

    pub fn function(&self) -> &str {
        self.program.function_name(self.slot)
    }

    /// The source line, for objects with line information.
    pub fn line(&self) -> Option<&SourceLine> {
        self.program.line_at(self.slot)
    }
}

impl Trace {
    /// A trace of up to `limit` events; later ones are only counted.
    pub fn new(limit: usize) -> Self {
        Self { events: Vec::new(), limit, dropped: 0, before: None }
    }

    /// The recorded events, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Number of events beyond the limit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Removes all events, for the next packet.
    pub fn clear(&mut self) {
        self.events.clear();
        self.dropped = 0;
        self.before = None;
    }

    fn add(&mut self, event: Event) {
        if self.events.len() < self.limit {
            self.events.push(event);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds the registers that the previous instruction changed to its event.
    fn settle(&mut self, step: &Step<'_>) {
        let Some(before) = self.before.replace(*step.registers) else { return };
        if self.dropped != 0 {
            return;
        }
        let last = self.events.iter_mut().rev().find_map(|event| match event {
            Event::Insn(insn) => Some(insn),
            _ => None,
        });
        let Some(insn) = last else { return };
        for (register, (old, new)) in (0..).zip(before.iter().zip(step.registers)) {
            if old != new && !Step::is_unset(*new) {
                insn.changed.push((register, *new, step.describe(*new)));
            }
        }
    }
}

impl Hook for Trace {
    fn step(&mut self, step: &Step<'_>) {
        self.settle(step);
        self.add(Event::Insn(Insn {
            program: Arc::clone(step.program),
            slot: step.slot,
            depth: step.depth,
            changed: Vec::new(),
        }));
    }

    fn branch(&mut self, _: &Step<'_>, taken: bool) {
        self.add(Event::Branch { taken });
    }

    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        self.add(Event::Call {
            name: call.name.to_owned(),
            args: call.args.map(|value| step.describe(value)),
            values: call.args,
            result: call.result,
            said: step.describe(call.result),
        });
    }

    fn write(&mut self, step: &Step<'_>, write: &WriteEvent) {
        self.add(Event::Write {
            address: write.address,
            place: step.describe(write.address),
            len: write.len,
            value: write.value,
        });
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        self.before = None;
        self.add(Event::End(result.map_err(ToString::to_string)));
    }
}
