//! `Generator`: runs programs on live frames, on given processors, at a rate.
//!
//! ```text
//! Config ─▶ Plan ─▶ Builder ─▶ Engine (a loaded program) ┐ one for each thread
//!                              Lane (its shared memory)  ┘
//! thread:      live run after live run, each cut by a signal      (`worker`)
//! supervisor:  count, time, ramps, commands, and the report       (`supervisor`)
//! ```
//! Rule: the program of a thread limits the frames that it sends exactly; all other code only reads
//! counters, and changes pace and program. Every run ends: at its count, its duration,
//! [`Generator::stop`] or drop. Requires Linux 5.18.

mod builder;
mod config;
pub(crate) mod interface;
mod lane;
mod pacing;
mod plan;
mod report;
mod run;
mod summary;
mod supervisor;
mod user_program;
mod worker;

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use kernel::Map;

pub use config::{Action, Completion, Config, Load, Rewrite};
pub use report::{Fault, Pacing, Report, Snapshot, ThreadReport};
pub use summary::{Interval, StreamFrames, Summary};

use crate::error::{Error, Result};
use crate::maps;
use crate::rate::Profile;
use plan::Plan;
use run::Run;
use supervisor::{Command, Supervisor};
use worker::Worker;

/// A run in progress.
#[derive(Debug)]
pub struct Generator {
    run: Arc<Run>,
    commands: Sender<Command>,
    supervisor: Option<JoinHandle<Result<Report>>>,
}

impl Generator {
    /// Starts a run in the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that contradict each other; [`Error::Interface`] when the
    /// interface does not support it, with the setting to change; [`Error::Kernel`] when a program
    /// cannot be loaded.
    pub fn start(config: Config) -> Result<Self> {
        let run = Arc::new(Run::new(Plan::new(config)?)?);
        let mut workers = Vec::new();
        for place in 0..run.lanes.len() {
            workers.push(Worker::start(&run, place)?);
        }
        let (commands, received) = mpsc::channel();
        let supervisor = Supervisor::new(Arc::clone(&run), workers);
        let supervisor = thread::Builder::new()
            .name("generator".into())
            .spawn(move || supervisor.supervise(&received))
            .map_err(|error| sys::Error::from_io("clone", "thread", &error))?;
        Ok(Self { run, commands, supervisor: Some(supervisor) })
    }

    /// The counters so far. During the run, counters of one snapshot may differ by a batch.
    ///
    /// # Errors
    /// [`Error::Kernel`] when a map cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.run.snapshot()
    }

    /// Frames passed to the interface so far. Reading this counter needs no system call.
    pub fn given(&self) -> u64 {
        self.run.given()
    }

    /// Changes the pace; a ramp begins now.
    ///
    /// # Errors
    /// As for [`start`](Self::start), and the old pace remains; [`Error::Ended`] after the end of
    /// the run.
    pub fn set_profile(&self, profile: Profile) -> Result<()> {
        let (answer, answered) = mpsc::channel();
        let ended = |_| Error::Ended("the run has ended");
        self.commands.send(Command::Profile(profile, answer)).map_err(|_| ended(()))?;
        answered.recv().map_err(|_| ended(()))?
    }

    /// Stops sending until [`go`](Self::go); the duration continues to elapse.
    pub fn hold(&self) {
        self.run.lanes.iter().for_each(|lane| lane.set_go(false));
    }

    /// Resumes sending after [`hold`](Self::hold) or a start with [`Config::held`].
    pub fn go(&self) {
        for lane in &self.run.lanes {
            lane.set_limit(lane.limit);
            lane.set_go(true);
        }
    }

    /// Sends this number of further frames, shared by the threads, then holds. The run does not end
    /// with them, except by its own count.
    pub fn go_for(&self, frames: u64) {
        let (threads, given) = (self.run.lanes.len() as u64, self.run.lanes.iter().enumerate());
        for (place, lane) in given {
            let share = frames / threads + u64::from((place as u64) < frames % threads);
            lane.set_limit(lane.sent().saturating_add(share).min(lane.limit));
            lane.set_go(true);
        }
    }

    /// A map of the program that receives the frames ([`Action::Program`]), to be filled while
    /// held. Device maps refer to devices in the namespace of the thread that updates them.
    ///
    /// # Errors
    /// [`ConfigError::UnknownMap`] with the names of existing maps.
    pub fn map(&self, name: &str) -> Result<&Map> {
        maps::find(self.run.user_maps(), name)
    }

    /// Whether the run has ended.
    pub fn is_done(&self) -> bool {
        self.supervisor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the count or the duration is reached.
    ///
    /// # Errors
    /// The error of a thread that failed.
    pub fn wait(mut self) -> Result<Report> {
        self.join()
    }

    /// Ends the run now.
    ///
    /// # Errors
    /// The error of a thread that failed.
    pub fn stop(mut self) -> Result<Report> {
        // The channel is closed when the run has ended already.
        let _ = self.commands.send(Command::Stop);
        self.join()
    }

    fn join(&mut self) -> Result<Report> {
        let supervisor = self.supervisor.take().expect("a generator is joined once, by value");
        supervisor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            let _ = self.commands.send(Command::Stop);
            // A destructor cannot report the result of the run.
            let _ = supervisor.join();
        }
    }
}
