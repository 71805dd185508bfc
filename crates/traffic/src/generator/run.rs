//! `Run`: the shared state of a run, and its counters as a `Snapshot`.

use std::sync::Mutex;
use std::time::Duration;

use kernel::Map;

use super::builder::Builder;
use super::config::{Action, Load};
use super::lane::Lane;
use super::plan::Plan;
use super::report::{Fault, Snapshot, ThreadReport};
use super::user_program;
use crate::error::Result;
use crate::rate::Pace;
use crate::transmit::{Outcome, Transmit, advice};

#[derive(Debug)]
pub(super) struct Run {
    pub plan: Plan,
    pub builder: Builder,
    pub lanes: Vec<Lane>,
    /// The counters at tracepoints; `None` where frames are not transmitted, or tracepoints cannot
    /// be used.
    pub transmit: Option<Transmit>,
    /// Why the counters at tracepoints are not usable.
    blind: Mutex<Option<String>>,
}

impl Run {
    /// Prepares everything except the threads.
    pub fn new(plan: Plan) -> Result<Self> {
        let builder = Builder::new(&plan)?;
        let pace = plan.pacer(&plan.config.profile)?.at(Duration::ZERO);
        let lane = |place: usize| -> Result<Lane> {
            let built = builder.build(&plan, place, &pace, &[])?;
            let lane = Lane::new(plan.cpus[place], plan.limit(place), built, !plan.config.held)?;
            lane.set_pace(&pace);
            Ok(lane)
        };
        let lanes = (0..plan.cpus.len()).map(lane).collect::<Result<_>>()?;
        let (transmit, blind) = match plan.config.action {
            Action::Inject => (None, None),
            Action::Transmit | Action::Program { .. } | Action::Complete(_) => {
                match Transmit::watch(plan.source()) {
                    Ok(transmit) => (Some(transmit), None),
                    Err(error) => (None, Some(format!("the kernel's tracepoints: {error}"))),
                }
            }
        };
        Ok(Self { plan, builder, lanes, transmit, blind: Mutex::new(blind) })
    }

    /// Builds programs for another pace, which the threads take later.
    pub fn rebuild(&self, pace: &Pace) -> Result<()> {
        for (place, lane) in self.lanes.iter().enumerate() {
            lane.replace(self.builder.build(&self.plan, place, pace, &lane.kept()?)?);
        }
        Ok(())
    }

    pub fn user_maps(&self) -> &[Map] {
        self.builder.shared()
    }

    /// Time of the first frame of all threads in ns of the monotonic clock.
    pub fn first(&self) -> Option<u64> {
        self.lanes.iter().filter_map(Lane::first).min()
    }

    pub fn last(&self) -> Option<u64> {
        self.lanes.iter().filter_map(Lane::last).max()
    }

    pub fn given(&self) -> u64 {
        self.lanes.iter().map(Lane::sent).sum()
    }

    pub fn snapshot(&self) -> Result<Snapshot> {
        let outcome = self.outcome();
        let given = self.given();
        let not_sent = outcome.lost();
        // During a batch, the accepted frames are not fully counted yet.
        let sent = match self.plan.config.action.transmits() && self.transmit.is_some() {
            true => outcome.sent,
            false => given.saturating_sub(not_sent),
        };
        let elapsed = self.first().map_or(0, |first| {
            let now = sys::thread::monotonic_ns();
            let end = if self.is_at_rest() { self.last().unwrap_or(now) } else { now };
            end.saturating_sub(first)
        });
        Ok(Snapshot {
            elapsed: Duration::from_nanos(elapsed),
            sent,
            not_sent,
            bytes: self.lanes.iter().map(Lane::bytes).sum(),
            streams: self.streams(),
            threads: self.lanes.iter().map(thread_report).collect(),
            faults: self.faults(&outcome),
            verdicts: user_program::verdicts(self.user_maps())?,
            blind: lock(&self.blind).clone(),
        })
    }

    /// Checks that the tracepoints reported all frames; must be called after all threads have
    /// ended.
    pub fn check_outcome(&self) {
        let outcome = self.outcome();
        let (given, reported) = (self.given(), outcome.sent + outcome.lost());
        if self.transmit.is_some() && self.plan.config.action.transmits() && reported != given {
            let why = format!("the kernel's tracepoints reported {reported} of {given} frames");
            *lock(&self.blind) = Some(why);
        }
    }

    fn is_at_rest(&self) -> bool {
        self.lanes.iter().all(|lane| lane.outcome.get().is_some())
    }

    /// The outcome of all threads so far.
    fn outcome(&self) -> Outcome {
        let mut sum = Outcome::default();
        let Some(transmit) = &self.transmit else { return sum };
        for (place, lane) in self.lanes.iter().enumerate() {
            match lane.outcome.get() {
                Some(outcome) => sum.add(outcome),
                None => sum.add(&transmit.outcome(place)),
            }
        }
        sum
    }

    fn streams(&self) -> Vec<u64> {
        let count = match &self.plan.config.load {
            Load::Streams(templates) => templates.len(),
            Load::Recording(_) => 1,
        };
        let total = |index| self.lanes.iter().map(|lane| lane.stream(index)).sum();
        (0..count).map(total).collect()
    }

    fn faults(&self, outcome: &Outcome) -> Vec<Fault> {
        let interface = &self.plan.interface;
        let fault = |(errno, frames): &(i32, u64)| Fault {
            frames: *frames,
            errno: *errno,
            advice: advice(*errno, &interface.name, &interface.driver),
        };
        outcome.losses.iter().map(fault).collect()
    }
}

fn thread_report(lane: &Lane) -> ThreadReport {
    let (sent, bytes) = (lane.sent(), lane.bytes());
    ThreadReport { cpu: lane.cpu, sent, bytes, cpu_time: lane.cpu_time() }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
