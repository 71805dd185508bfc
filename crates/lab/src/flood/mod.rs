//! `Flood`: frames at a chosen rate, out of one interface, from one processor.
//!
//! The kernel runs a small generated program (`program`) on live frames in a loop; each run either
//! redirects the frame into the interface or recycles it because the next one is not due yet. So
//! the rate is kept to the nanosecond by the processor that sends, and `sent` counts exactly what
//! was redirected. One call lasts as long as the flood: calls are ended by a signal to the thread
//! that makes them.
//!
//! Rule: every flood ends: at its packet limit, its duration, [`Flood::stop`] or drop.

mod plan;
mod program;
mod worker;

use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kernel::{LoadOptions, Map, Object};

pub use plan::{FloodConfig, Sequence};

use crate::error::{Error, Result};
use crate::host::Host;
use plan::Plan;

/// A running flood.
#[derive(Debug)]
pub struct Flood {
    state: Map,
    stop: Sender<()>,
    supervisor: Option<JoinHandle<Result<FloodReport>>>,
}

/// What a flood did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloodReport {
    /// Frames handed to the interface. A full receiver may have lost some of them.
    pub sent: u64,
    /// Paced: from the first to the last frame. Unpaced: with the call's beginning and end, some
    /// ten milliseconds.
    pub seconds: f64,
    /// `sent` over `seconds`.
    pub pps: f64,
}

impl Flood {
    /// Starts to send out of `interface`, which the lab must have made. Needs Linux 5.18.
    pub fn start(host: &Host, interface: &str, config: FloodConfig) -> Result<Self> {
        host.check_ours(interface)?;
        let plan = Plan::new(config, host.ifindex(interface)?)?;
        let spec = program::object(&plan).map_err(|error| Error::Flood(error.to_string()))?;
        let object = Object::load(&spec, &LoadOptions::default())?;
        let state = object.map(program::STATE)?.duplicate()?;
        let (stop, stopped) = mpsc::channel();
        let worker = worker::Worker::start(host, &plan, object)?;
        let supervisor = thread::Builder::new()
            .name("flood-supervisor".into())
            .spawn(move || worker.supervise(&plan, &stopped))
            .map_err(|source| Error::Thread { host: host.name().to_owned(), source })?;
        Ok(Self { state, stop, supervisor: Some(supervisor) })
    }

    /// Frames handed to the interface so far.
    pub fn sent(&self) -> Result<u64> {
        program::sent(&self.state)
    }

    /// Whether it has ended by itself.
    pub fn is_done(&self) -> bool {
        self.supervisor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the limit or the duration, whichever comes first.
    pub fn wait(mut self) -> Result<FloodReport> {
        self.join()
    }

    /// Ends it now.
    pub fn stop(mut self) -> Result<FloodReport> {
        // Nobody listens when it has ended already.
        let _ = self.stop.send(());
        self.join()
    }

    fn join(&mut self) -> Result<FloodReport> {
        let supervisor = self.supervisor.take().expect("a flood is joined once, by value");
        supervisor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            let _ = self.stop.send(());
            // A destructor cannot report what the flood came to.
            let _ = supervisor.join();
        }
    }
}

impl FloodReport {
    fn new(sent: u64, time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        let pps = if seconds > 0.0 { sent as f64 / seconds } else { 0.0 };
        Self { sent, seconds, pps }
    }
}
