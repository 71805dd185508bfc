//! `run --trace`: prints every instruction as it runs.
//!
//! Rule: lines are printed immediately and not kept; the run ends silently if standard output is
//! closed.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use kernel::Source;
use vm::{CallEvent, Fault, Hook, Step};

use super::arm::Arm;
use super::explain::{Words, file_name};
use super::input::Capture;
use super::{Context, Exit, Job};
use crate::dissect::dissect;
use crate::view::run::Traced;
use crate::view::{Form, rendered};

pub fn run(job: &Job<'_>, mut capture: Capture<'_>, context: &Context) -> Result<Exit> {
    let Arm::Vm(mut vm) = job.arm(job.args.runtime)? else {
        bail!("only the engine can be watched");
    };
    let tracer = Arc::new(Mutex::new(Tracer::new(
        context.clone(),
        Words::new(&job.spec, vm.maps().to_vec()),
    )));
    vm.worker().set_hook(Some(Box::new(Arc::clone(&tracer))));
    let mut faults = false;
    while let Some(packet) = capture.next()? {
        let summary = dissect(&packet.input.packet).summary;
        let bytes = packet.input.packet.len();
        with(&tracer, |tracer| tracer.begin(packet.number, summary, bytes));
        let run = vm.run(&packet)?;
        if run.is_interrupted() {
            break;
        }
        faults |= run.fault.is_some();
        let (verdict, bytes) = (run.verdict.name(), run.packet.len());
        let fault = run.fault.as_ref().map(ToString::to_string);
        with(&tracer, |tracer| {
            let fault = fault.filter(|_| !tracer.faulted);
            tracer.print(&Traced::Verdict { packet: packet.number, verdict, bytes, fault });
        });
        if with(&tracer, |tracer| tracer.failed.is_some()) {
            break;
        }
    }
    vm.worker().set_hook(None);
    with(&tracer, Tracer::finish).context("cannot write to standard output")?;
    Ok(if faults { Exit::No } else { Exit::Done })
}

fn with<T>(tracer: &Mutex<Tracer>, act: impl FnOnce(&mut Tracer) -> T) -> T {
    act(&mut tracer.lock().unwrap_or_else(PoisonError::into_inner))
}

struct Tracer {
    context: Context,
    words: Words,
    out: BufWriter<Stdout>,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
    packet: u64,
    /// The instruction that runs, with the registers and depth before it.
    current: Option<(Traced, [u64; 11], usize)>,
    /// File and line shown last.
    line: Option<(String, u32)>,
    /// Whether a fault of the packet's program was reported.
    faulted: bool,
}

impl Tracer {
    fn new(context: Context, words: Words) -> Self {
        let out = BufWriter::new(io::stdout());
        Self {
            context,
            words,
            out,
            failed: None,
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
        self.print(&Traced::Packet { packet, summary, bytes });
    }

    fn print(&mut self, line: &Traced) {
        if self.failed.is_some() {
            return;
        }
        let form = if self.context.json { Form::JsonLine } else { Form::Text };
        let written = rendered(line, form, self.context.style).map_err(io::Error::from);
        self.failed = written.and_then(|text| writeln!(self.out, "{text}")).err();
    }

    /// Prints the instruction that has run.
    fn settle(&mut self, step: Option<&Step<'_>>) {
        let Some((mut line, before, depth)) = self.current.take() else { return };
        if let (Traced::Insn { set, .. }, Some(step)) = (&mut line, step) {
            *set = self.changed(&before, step, depth);
        }
        self.print(&line);
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

    /// A closed standard output is not an error.
    fn finish(&mut self) -> io::Result<()> {
        let result = match self.failed.take() {
            Some(failed) => Err(failed),
            None => self.out.flush(),
        };
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
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
        self.words.called(call.name, &call.args, call.result);
    }

    fn end(&mut self, result: std::result::Result<u64, &Fault>) {
        self.settle(None);
        self.faulted |= result.is_err();
        let (returned, fault) = match result {
            Ok(returned) => (Some(returned), None),
            Err(fault) => (None, Some(fault.to_string())),
        };
        self.print(&Traced::End { packet: self.packet, returned, fault });
    }
}
