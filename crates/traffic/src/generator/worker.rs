//! `Worker`: a thread that executes live runs.
//!
//! A live run lasts until something changes, because each sets up a page pool and waits for a grace
//! period of the kernel, about ten milliseconds in which nothing is sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sys::errno::EINVAL;
use sys::priority::Priority;
use sys::thread::Interruptible;

use super::builder::Engine;
use super::config::{Action, Load};
use super::lane::Lane;
use super::run::Run;
use crate::error::{Error, InterfaceReason, Result};
use crate::limits::{END_FRAMES, END_RUNS, INTERRUPT_EVERY, NICE};

/// A thread that sends until its lane ends it.
#[derive(Debug)]
pub(super) struct Worker {
    run: Arc<Run>,
    place: usize,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Worker {
    /// Starts the thread of one lane; the threads of lower lanes must have been started.
    pub fn start(run: &Arc<Run>, place: usize) -> Result<Self> {
        let (ready, answer) = mpsc::channel();
        let shared = Arc::clone(run);
        let body = move || {
            let prepared = prepare(&shared, place);
            let good = prepared.is_ok();
            // `start` waits for this; if it has ended, nothing is sent.
            if ready.send(prepared).is_err() || !good {
                return Ok(());
            }
            let outcome = send(&shared, place);
            shared.lanes[place].note_cpu_time();
            outcome
        };
        let thread = thread::Builder::new()
            .name(format!("generator-{place}"))
            .spawn(body)
            .map_err(|error| sys::Error::from_io("clone", "thread", &error))?;
        let worker = Self { run: Arc::clone(run), place, thread: Some(thread) };
        let lost = || Error::Ended("the sending thread ended before it began");
        answer.recv().map_err(|_| lost())??;
        Ok(worker)
    }

    pub fn lane(&self) -> &Lane {
        &self.run.lanes[self.place]
    }

    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Whether the thread has ended before it sent its share.
    pub fn has_failed(&self) -> bool {
        self.is_finished() && self.lane().left() > 0
    }

    /// Ends the present live run, if there is one.
    pub fn interrupt(&self) {
        if let Some(thread) = self.lane().thread.get() {
            // Fails only when the thread has ended.
            let _ = thread.interrupt();
        }
    }

    /// Ends the thread, and waits for it.
    pub fn end(&mut self) -> Result<()> {
        self.lane().end();
        // A signal just before a call begins is lost, so it is repeated until the thread has ended.
        while !self.is_finished() {
            if !self.lane().at_rest.load(Ordering::Acquire) {
                self.interrupt();
            }
            thread::sleep(INTERRUPT_EVERY);
        }
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Ok(()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A destructor cannot report errors.
        let _ = self.end();
    }
}

fn prepare(run: &Run, place: usize) -> Result<()> {
    let lane = &run.lanes[place];
    if let Some(cpu) = lane.cpu {
        sys::cpu::set_affinity(&[cpu])?;
        // Fails without CAP_SYS_NICE; then it sends less steadily.
        let _unsteady = Priority::Nice(NICE).give(0);
    }
    if let Some(transmit) = &run.transmit {
        transmit.enroll(place)?;
    }
    let _first = lane.thread.set(Interruptible::current()?);
    Ok(())
}

/// Sends up to the lane's limit, then announces the end.
fn send(run: &Run, place: usize) -> Result<()> {
    let lane = &run.lanes[place];
    let mut engine = lane.take()?.expect("a lane begins with a program");
    let outcome = send_data(run, lane, &mut engine);
    let counted = run.transmit.as_ref().map(|transmit| transmit.outcome(place));
    let _first = lane.outcome.set(counted.unwrap_or_default());
    lane.at_rest.store(true, Ordering::Release);
    outcome?;
    if run.plan.config.announce_end && engine.stamped && lane.sent() > 0 {
        announce_end(run, lane, &mut engine)?;
    }
    Ok(())
}

fn send_data(run: &Run, lane: &Lane, engine: &mut Engine) -> Result<()> {
    while !lane.is_over() && lane.left() > 0 {
        if let Some(next) = lane.take()? {
            *engine = next;
        }
        lane.begin();
        // If each run sends a frame, the call ends after the last one, and one further run records
        // the time.
        let exact = !engine.paced && !lane.is_held();
        let runs = if exact { lane.left().saturating_add(1) } else { u64::MAX };
        engine.run(runs).map_err(|error| explain(error, run))?;
    }
    Ok(())
}

/// Sends stamps of the end several times, since they may be lost, too. Streams take turns.
fn announce_end(run: &Run, lane: &Lane, engine: &mut Engine) -> Result<()> {
    let streams = match &run.plan.config.load {
        Load::Streams(templates) => templates.len(),
        Load::Recording(_) => 0,
    };
    lane.begin_end();
    for _ in 0..END_RUNS {
        lane.begin();
        engine.run((streams * END_FRAMES) as u64)?;
    }
    Ok(())
}

/// Explains the errno of a live run.
fn explain(error: Error, run: &Run) -> Error {
    let refused = matches!(&error, Error::Kernel(error) if error.errno() == Some(EINVAL));
    if !refused {
        return error;
    }
    let name = &run.plan.interface.name;
    let reason = match run.plan.config.action {
        Action::Transmit | Action::Complete(_) => InterfaceReason::LiveFrames,
        Action::Inject | Action::Program { .. } => {
            InterfaceReason::Inject { interface: name.clone() }
        }
    };
    Error::interface(name, reason)
}

/// The time between two signals must suffice for a holding program to record the time of its last
/// frame.
const _: () = assert!(INTERRUPT_EVERY.as_nanos() >= Duration::from_micros(50).as_nanos());
