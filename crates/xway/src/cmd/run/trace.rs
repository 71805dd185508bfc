//! `run --trace`: prints every instruction as it runs.
//!
//! Rule: the run ends silently if standard output is closed.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use runner::{Job, Traced};

use crate::cmd::{Context, Exit};
use crate::view::{Form, rendered};

pub fn run(job: Job<'_>, context: &Context) -> Result<Exit> {
    let printer = Arc::new(Mutex::new(Printer::new(context)));
    let shared = Arc::clone(&printer);
    let faults = job.trace(move |line| locked(&shared).print(line))?;
    locked(&printer).finish().context("cannot write to standard output")?;
    Ok(if faults > 0 { Exit::No } else { Exit::Done })
}

fn locked(printer: &Mutex<Printer>) -> MutexGuard<'_, Printer> {
    printer.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Printer {
    context: Context,
    out: BufWriter<Stdout>,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
}

impl Printer {
    fn new(context: &Context) -> Self {
        Self { context: context.clone(), out: BufWriter::new(io::stdout()), failed: None }
    }

    fn print(&mut self, line: &Traced) -> ControlFlow<()> {
        let form = if self.context.json { Form::JsonLine } else { Form::Text };
        let written = rendered(line, form, self.context.style).map_err(io::Error::from);
        match written.and_then(|text| writeln!(self.out, "{text}")) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
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
