//! A trace: every instruction as it runs.
//!
//! Rule: lines are passed on immediately and not kept; once their receiver breaks, the run ends
//! after the packet.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::Source;
use packet::dissect::dissect;
use vm::{CallEvent, Fault, Hook, Step};

use crate::arm::Vm;
use crate::error::Result;
use crate::explain::{Words, file_name};
use crate::input::Capture;
use crate::results::Traced;
use crate::setup::Setup;

/// The receiver of the lines.
pub type Receiver = Box<dyn FnMut(&Traced) -> ControlFlow<()> + Send>;

/// Returns the number of packets whose program was stopped by a fault.
pub fn run(setup: &Setup<'_>, mut capture: Capture<'_>, receiver: Receiver) -> Result<u64> {
    let mut vm = Vm::observable(setup)?;
    let words = Words::new(&setup.spec, vm.maps().to_vec());
    let tracer = Arc::new(Mutex::new(Tracer::new(receiver, words)));
    vm.worker().set_hook(Some(Box::new(Arc::clone(&tracer))));
    let mut faults = 0;
    while let Some(packet) = capture.next()? {
        let summary = dissect(&packet.input.packet).summary;
        let bytes = packet.input.packet.len();
        with(&tracer, |tracer| tracer.begin(packet.number, summary, bytes));
        let run = vm.run(&packet)?;
        if run.is_interrupted() {
            break;
        }
        faults += u64::from(run.fault.is_some());
        let (verdict, bytes) = (run.verdict.name(), run.packet.len());
        let fault = run.fault.as_ref().map(ToString::to_string);
        with(&tracer, |tracer| {
            let fault = fault.filter(|_| !tracer.faulted);
            tracer.pass(&Traced::Verdict { packet: packet.number, verdict, bytes, fault });
        });
        if with(&tracer, |tracer| tracer.flow.is_break()) {
            break;
        }
    }
    vm.worker().set_hook(None);
    Ok(faults)
}

fn with<T>(tracer: &Mutex<Tracer>, act: impl FnOnce(&mut Tracer) -> T) -> T {
    act(&mut tracer.lock().unwrap_or_else(PoisonError::into_inner))
}

struct Tracer {
    receiver: Receiver,
    words: Words,
    /// Whether the receiver takes more lines.
    flow: ControlFlow<()>,
    packet: u64,
    /// The instruction that runs, with the registers and depth before it.
    current: Option<(Traced, [u64; 11], usize)>,
    /// File and line shown last.
    line: Option<(String, u32)>,
    /// Whether a fault of the packet's program was reported.
    faulted: bool,
}

impl Tracer {
    fn new(receiver: Receiver, words: Words) -> Self {
        Self {
            receiver,
            words,
            flow: ControlFlow::Continue(()),
            packet: 0,
            current: None,
            line: None,
            faulted: false,
        }
    }

    fn begin(&mut self, packet: u64, summary: String, bytes: usize) {
        self.packet = packet;
        self.line = None;
        self.faulted = false;
        self.pass(&Traced::Packet { packet, summary, bytes });
    }

    fn pass(&mut self, line: &Traced) {
        if self.flow.is_continue() {
            self.flow = (self.receiver)(line);
        }
    }

    /// Passes on the instruction that has run.
    fn settle(&mut self, step: Option<&Step<'_>>) {
        let Some((mut line, before, depth)) = self.current.take() else { return };
        if let (Traced::Insn { set, .. }, Some(step)) = (&mut line, step) {
            *set = self.changed(&before, step, depth);
        }
        self.pass(&line);
    }

    /// Registers that changed. Entering or leaving a function exchanges most of them, of which only
    /// its result is reported.
    fn changed(
        &mut self,
        before: &[u64; 11],
        step: &Step<'_>,
        depth: usize,
    ) -> BTreeMap<String, String> {
        let told = if step.depth == depth { 10 } else { 1 };
        let pairs = before.iter().zip(step.registers).take(told).enumerate();
        let set = pairs.filter(|(_, (old, new))| old != new && !Step::is_unset(**new));
        set.map(|(register, (_, new))| (format!("r{register}"), self.words.any(step, *new)))
            .collect()
    }

    /// The source line of a step, where another begins.
    fn source(&mut self, step: &Step<'_>) -> Option<Source> {
        let source = step.program.line_at(step.slot).filter(|source| source.line != 0)?;
        let now = (file_name(&source.file).to_owned(), source.line);
        if self.line.as_ref() == Some(&now) {
            return None;
        }
        self.line = Some(now.clone());
        Some(Source { file: now.0, line: now.1, text: source.text.trim().to_owned() })
    }
}

impl Hook for Tracer {
    fn step(&mut self, step: &Step<'_>) {
        self.settle(Some(step));
        let line = Traced::Insn {
            packet: self.packet,
            program: step.program.name().to_owned(),
            function: step.program.function_name(step.slot).to_owned(),
            depth: step.depth,
            slot: step.slot,
            text: self.words.insn(step),
            set: BTreeMap::new(),
            source: self.source(step),
        };
        self.current = Some((line, *step.registers, step.depth));
    }

    fn call(&mut self, _: &Step<'_>, call: &CallEvent<'_>) {
        self.words.called(call.name);
    }

    fn end(&mut self, result: std::result::Result<u64, &Fault>) {
        self.settle(None);
        self.faulted |= result.is_err();
        let (returned, fault) = match result {
            Ok(returned) => (Some(returned), None),
            Err(fault) => (None, Some(fault.to_string())),
        };
        self.pass(&Traced::End { packet: self.packet, returned, fault });
    }
}
