//! `Generator`: programs on live frames, on the processors that they were given, at a rate.
//!
//! ```text
//! Config ─▶ Plan ─▶ Builder ─▶ Engine (a loaded program) ┐ one for each thread
//!                              Lane (its shared memory)  ┘
//! thread:      live run after live run, each cut by a signal      (`worker`)
//! supervisor:  count, time, ramps, commands, and the report       (`supervisor`)
//! ```
//! Rule: what a thread sends is limited by its program, to the frame; the rest of the house only
//! reads counters, and changes pace and program. Every run ends: at its count, its duration,
//! [`Generator::stop`] or drop. Needs Linux 5.18.

mod behind;
mod builder;
mod config;
pub(crate) mod interface;
mod lane;
mod pacing;
mod plan;
mod report;
mod run;
mod supervisor;
mod worker;

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use kernel::Map;

pub use config::{Action, Config, Load, Rewrite};
pub use report::{Fault, Pacing, Report, Snapshot, ThreadReport};

use crate::error::{ConfigError, Error, Result};
use crate::rate::Profile;
use plan::Plan;
use run::Run;
use supervisor::{Command, Supervisor};
use worker::Worker;

/// A run under way.
#[derive(Debug)]
pub struct Generator {
    run: Arc<Run>,
    commands: Sender<Command>,
    supervisor: Option<JoinHandle<Result<Report>>>,
}

impl Generator {
    /// Sends from the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Config`] when numbers do not fit together; [`Error::Interface`] when the interface
    /// cannot do it, with what to change; [`Error::Kernel`] when the kernel refuses.
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

    /// What it did so far. While it runs, numbers of one snapshot may be a batch apart.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.run.snapshot()
    }

    /// Frames given to the interface so far: of the counters the one that is read for nothing.
    pub fn given(&self) -> u64 {
        self.run.given()
    }

    /// Changes the pace from now on; a ramp begins now.
    ///
    /// # Errors
    /// As for [`start`](Self::start); the old pace stays. Nothing changes once it has ended.
    pub fn set_profile(&self, profile: Profile) -> Result<()> {
        let (answer, answered) = mpsc::channel();
        let ended = |_| Error::Ended("the run has ended");
        self.commands.send(Command::Profile(profile, answer)).map_err(|_| ended(()))?;
        answered.recv().map_err(|_| ended(()))?
    }

    /// Stops sending until [`go`](Self::go); time runs on.
    pub fn hold(&self) {
        self.run.lanes.iter().for_each(|lane| lane.set_go(false));
    }

    /// Sends, after [`hold`](Self::hold) or a start with [`Config::held`].
    pub fn go(&self) {
        for lane in &self.run.lanes {
            lane.set_limit(lane.limit);
            lane.set_go(true);
        }
    }

    /// Sends so many more frames, shared by the threads, then nothing until told again; the run
    /// does not end with them. A count of the run still ends it.
    pub fn go_for(&self, frames: u64) {
        let (threads, given) = (self.run.lanes.len() as u64, self.run.lanes.iter().enumerate());
        for (place, lane) in given {
            let share = frames / threads + u64::from((place as u64) < frames % threads);
            lane.set_limit(lane.sent().saturating_add(share).min(lane.limit));
            lane.set_go(true);
        }
    }

    /// A map of the program that frames meet ([`Action::Program`]), to be filled while held.
    /// (Devices are those of the namespace of the thread that puts them in.)
    ///
    /// # Errors
    /// [`Error::Config`] names the maps that there are.
    pub fn map(&self, name: &str) -> Result<&Map> {
        let maps = self.run.user_maps();
        maps.iter().find(|map| map.name() == name).ok_or_else(|| {
            let known: Vec<&str> = maps.iter().map(Map::name).collect();
            let (name, known) = (name.to_owned(), known.join(", "));
            ConfigError::UnknownMap { name, known }.into()
        })
    }

    /// Whether it has ended by itself.
    pub fn is_done(&self) -> bool {
        self.supervisor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the count or the duration, whichever comes first.
    pub fn wait(mut self) -> Result<Report> {
        self.join()
    }

    /// Ends it now.
    pub fn stop(mut self) -> Result<Report> {
        // Nobody listens when it has ended already.
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
            // A destructor cannot report what the run came to.
            let _ = supervisor.join();
        }
    }
}
