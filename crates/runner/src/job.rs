//! `Job`: a capture and a program that are ready, and what can be done with them.

use std::ops::ControlFlow;

use vm::World;

use crate::arm::{Arm, Vm};
use crate::callbacks::Callbacks;
use crate::cover::Cover;
use crate::error::Result;
use crate::input::Capture;
use crate::options::Options;
use crate::outputs::Outputs;
use crate::results::{Explanation, Report, Traced};
use crate::setup::Setup;
use crate::tally::Tally;
use crate::{compare, explain, measure, trace};

/// A run whose object and capture were opened. Nothing is loaded yet.
#[derive(Debug)]
pub struct Job<'a> {
    setup: Setup<'a>,
    capture: Capture<'a>,
}

impl<'a> Job<'a> {
    /// Opens the capture and the object, and applies the options to it.
    ///
    /// # Errors
    /// A file cannot be read, the options do not determine an XDP program, or a value in them does
    /// not fit the object.
    pub fn open(options: &'a Options, callbacks: Callbacks) -> Result<Self> {
        let mut capture = Capture::open(options, &callbacks)?;
        let setup = Setup::prepare(options, callbacks, capture.time_ns())?;
        capture.for_program(&setup.program);
        Ok(Self { setup, capture })
    }

    /// The environment of the run.
    pub fn world(&self) -> &World {
        &self.setup.world
    }

    /// Runs the program on each packet, in the runtime of the options.
    ///
    /// Verdicts, maps, events and written captures are those of one pass over the capture; further
    /// rounds only measure.
    ///
    /// # Errors
    /// The runtime refuses the object, contents of a map or a packet, a file cannot be written, or
    /// coverage of a program in the kernel is requested.
    pub fn run(self) -> Result<Report> {
        let Self { setup, mut capture } = self;
        let mut arm = match setup.options.cover {
            true => Arm::Vm(Box::new(Vm::observable(&setup)?)),
            false => Arm::load(&setup)?,
        };
        let cover = match &mut arm {
            Arm::Vm(vm) if setup.options.cover => Some(Cover::start(vm)),
            _ => None,
        };
        let mut outputs = Outputs::open(setup.options.out.as_deref(), &setup.world)?;
        let mut tally = Tally::default();
        let mut events = arm.events()?;
        while let Some(packet) = capture.next()? {
            let run = arm.run(&packet)?;
            if run.is_interrupted() {
                break;
            }
            events.take(packet.number);
            outputs.write(&packet, &run)?;
            tally.count(&packet, &run);
        }
        let files = outputs.finish()?;
        let coverage = match (&mut arm, cover) {
            (Arm::Vm(vm), Some(cover)) => Some(cover.finish(vm)),
            _ => None,
        };
        // Before the measurement, which runs the packets again.
        let (maps, log) = (arm.maps(&setup), arm.log());
        let rates = measure::rates(&mut arm, &setup, capture.kept())?;
        Ok(Report {
            object: setup.name.clone(),
            program: setup.program.name.clone(),
            runtime: arm.name(),
            interrupted: capture.interrupted(),
            unfit: capture.unfit(),
            framed: capture.framed(),
            tally: tally.finish(&setup.world),
            rates,
            maps,
            events: events.finish(),
            log,
            files,
            coverage,
            first_difference: None,
            not_compared: None,
        })
    }

    /// Runs the program in kernel and engine side by side, to the first difference.
    ///
    /// # Errors
    /// A runtime refuses the object, contents of a map or a packet.
    pub fn compare(self) -> Result<Report> {
        compare::run(&self.setup, self.capture)
    }

    /// Runs the packets up to number `packet` in the engine, and explains what that one did.
    ///
    /// # Errors
    /// The capture has no such packet, the engine refuses the object, contents of a map or a
    /// packet, or the kernel is to run the program.
    pub fn explain(self, packet: u64) -> Result<Explanation> {
        explain::run(&self.setup, self.capture, packet)
    }

    /// Runs the program in the engine and passes each instruction to a function as it runs, until
    /// the function breaks. Returns the number of packets whose program was stopped by a fault.
    ///
    /// # Errors
    /// The engine refuses the object, contents of a map or a packet, or the kernel is to run the
    /// program.
    pub fn trace(
        self,
        take: impl FnMut(&Traced) -> ControlFlow<()> + Send + 'static,
    ) -> Result<u64> {
        trace::run(&self.setup, self.capture, Box::new(take))
    }
}
