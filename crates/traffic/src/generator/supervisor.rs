//! `Supervisor`: the thread that ends a run and changes its pace.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::pacing::Accuracy;
use super::report::Report;
use super::run::Run;
use super::worker::Worker;
use crate::error::Result;
use crate::histogram::Histogram;
use crate::limits::{FIRST_FRAME, INTERRUPT_EVERY, LOOK_EVERY, REST, STEP_EVERY};
use crate::rate::{Pace, Pacer, Profile};

/// Commands of the generator's owner.
pub(super) enum Command {
    Profile(Profile, Sender<Result<()>>),
    Stop,
}

pub(super) struct Supervisor {
    run: Arc<Run>,
    workers: Vec<Worker>,
    started: Instant,
}

/// The present pace, and how it changes.
struct Course {
    pacer: Pacer,
    /// Start of the ramp: the time of the first frame, or when the profile was set.
    since: Option<Instant>,
    pace: Pace,
    accuracy: Accuracy,
    /// The pace no longer changes.
    settled: bool,
}

impl Supervisor {
    pub fn new(run: Arc<Run>, workers: Vec<Worker>) -> Self {
        Self { run, workers, started: Instant::now() }
    }

    /// Supervises the run until it ends.
    pub fn supervise(mut self, commands: &Receiver<Command>) -> Result<Report> {
        let mut course = Course::new(&self.run, self.run.plan.config.profile.clone())?;
        let mut stopped = false;
        while !self.is_over() {
            self.follow(&mut course)?;
            match commands.recv_timeout(self.pause(&course)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Command::Profile(profile, answer)) => {
                    // The caller may no longer wait for the result.
                    let _ = answer.send(self.change(&mut course, profile));
                }
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    stopped = !self.is_over();
                    break;
                }
            }
        }
        self.end()?;
        self.report(course, stopped)
    }

    /// Whether all frames are sent, the duration has elapsed, or a thread has failed.
    fn is_over(&self) -> bool {
        let sent = || self.run.lanes.iter().all(|lane| lane.left() == 0);
        self.left().is_zero() || self.workers.iter().any(Worker::has_failed) || sent()
    }

    /// Remaining duration.
    fn left(&self) -> Duration {
        let Some(duration) = self.run.plan.config.duration else { return Duration::MAX };
        match self.run.first() {
            Some(first) => {
                let now = sys::thread::monotonic_ns();
                duration.saturating_sub(Duration::from_nanos(now.saturating_sub(first)))
            }
            None if self.run.lanes.iter().any(|lane| lane.is_held()) => Duration::MAX,
            // No frame is sent at all; the run must end nevertheless.
            None => (duration + FIRST_FRAME).saturating_sub(self.started.elapsed()),
        }
    }

    /// How long no action is needed.
    fn pause(&self, course: &Course) -> Duration {
        let ends = self.run.lanes.iter().any(|lane| lane.limit < u64::MAX);
        let counts = ends && course.pace.gaps.is_some();
        let most = match course.settled {
            false => STEP_EVERY,
            true if counts => LOOK_EVERY,
            true => REST,
        };
        self.left().min(most)
    }

    /// Takes the next step of a ramp.
    fn follow(&self, course: &mut Course) -> Result<()> {
        if course.since.is_none() {
            course.since = self.run.first().map(|_| Instant::now());
        }
        let Some(elapsed) = course.elapsed().filter(|_| !course.settled) else { return Ok(()) };
        course.settled = !course.pacer.is_ramp(elapsed);
        let pace = course.pacer.at(elapsed);
        self.set(course, pace, course.pacer.is_even())
    }

    fn change(&self, course: &mut Course, profile: Profile) -> Result<()> {
        let pacer = self.run.plan.pacer(&profile)?;
        let pace = pacer.at(Duration::ZERO);
        self.set(course, pace, pacer.is_even())?;
        course.pacer = pacer;
        (course.since, course.settled) = (Some(Instant::now()), false);
        Ok(())
    }

    fn set(&self, course: &mut Course, pace: Pace, even: bool) -> Result<()> {
        if pace == course.pace && even == course.pacer.is_even() {
            return Ok(());
        }
        let other = (pace.group, pace.gaps) != (course.pace.group, course.pace.gaps);
        if other {
            self.run.rebuild(&pace)?;
        }
        self.run.lanes.iter().for_each(|lane| lane.set_pace(&pace));
        if other {
            self.switch_programs();
        }
        if course.accuracy.differs(&pace, even) {
            course.accuracy.turn(&self.late()?, pace, even);
        }
        course.pace = pace;
        Ok(())
    }

    /// Waits until all threads run their new programs.
    fn switch_programs(&self) {
        let waits = |worker: &&Worker| {
            worker.lane().is_waiting() && worker.lane().left() > 0 && !worker.is_finished()
        };
        while self.workers.iter().any(|worker| waits(&worker)) {
            self.workers.iter().filter(waits).for_each(Worker::interrupt);
            thread::sleep(INTERRUPT_EVERY);
        }
    }

    /// Ends all threads; afterwards only stamps of the end are sent.
    fn end(&mut self) -> Result<()> {
        self.run.lanes.iter().for_each(|lane| lane.set_go(false));
        self.run.lanes.iter().for_each(super::lane::Lane::end);
        thread::sleep(INTERRUPT_EVERY);
        let mut outcome = Ok(());
        for worker in &mut self.workers {
            outcome = outcome.and(worker.end());
        }
        self.run.check_outcome();
        outcome
    }

    fn report(&self, course: Course, stopped: bool) -> Result<Report> {
        let totals = self.run.snapshot()?;
        let rest = if course.pace.gaps.is_some() { course.pace.interval_ns() / 1e9 } else { 0.0 };
        let seconds = totals.elapsed.as_secs_f64() + rest / self.run.lanes.len() as f64;
        let seconds = if totals.sent + totals.not_sent > 0 { seconds } else { 0.0 };
        let pps = if seconds > 0.0 { totals.sent as f64 / seconds } else { 0.0 };
        let slipped = self.run.lanes.iter().map(|lane| lane.slipped()).sum();
        let pacing = course.accuracy.finish(&self.late()?, slipped);
        Ok(Report { totals, seconds, pps, pacing, stopped })
    }

    /// Delays of groups of all threads.
    fn late(&self) -> Result<Histogram> {
        let mut sum = Histogram::default();
        for lane in &self.run.lanes {
            sum.add(&lane.late()?);
        }
        Ok(sum)
    }
}

impl Course {
    fn new(run: &Run, profile: Profile) -> Result<Self> {
        let pacer = run.plan.pacer(&profile)?;
        let pace = pacer.at(Duration::ZERO);
        let accuracy = Accuracy::new(pace, pacer.is_even());
        Ok(Self { pacer, since: None, pace, accuracy, settled: false })
    }

    /// Time since the start of the ramp; `None` before the first frame.
    fn elapsed(&self) -> Option<Duration> {
        self.since.map(|since| since.elapsed())
    }
}
