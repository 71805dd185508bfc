//! `Bench`: trials with a generator before the device under test and a sink after it.
//!
//! Rule: frames are counted only at rest: the generator holds, and no frame has arrived for some
//! time.

use std::ops::{ControlFlow, RangeInclusive};
use std::thread;
use std::time::{Duration, Instant};

use super::config::{Config, Load};
use super::report::{Progress, Purpose, Trial};
use crate::error::Error;
use crate::generator::{self, Generator};
use crate::histogram::Histogram;
use crate::limits::DURATION;
use crate::rate::{Profile, Rate};
use crate::sink::Sink;

/// The callback for progress; `Break` ends the measurement.
pub(super) type Observer<'a> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a;

/// Why a measurement ends early.
pub(super) enum Halt {
    /// A part of it failed.
    Failed(Box<Error>),
    /// The callback ended it.
    Stopped,
}

/// Generator and sink for one load.
pub(super) struct Bench<'a> {
    config: &'a Config,
    generator: Generator,
    sink: &'a Sink,
    /// Numbers of the streams of this load.
    ids: RangeInclusive<u16>,
}

/// The counters of generator and sink.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub sent: u64,
    pub not_sent: u64,
    pub received: u64,
    pub latency_ns: Histogram,
    pub jitter_ns: Histogram,
}

impl<'a> Bench<'a> {
    /// Starts a holding generator. `first` is the number of the load's first stream: each load has
    /// numbers of its own, since the sink continues to count.
    pub fn new(config: &'a Config, load: &Load, first: u16, sink: &'a Sink) -> Result<Self, Halt> {
        let mut streams = load.streams.clone();
        streams.iter_mut().zip(first..).for_each(|(stream, id)| stream.id = id);
        let last = first + streams.len() as u16 - 1;
        let generator = Generator::start(generator::Config {
            load: generator::Load::Streams(streams),
            profile: Profile::from(Rate::PacketsPerSecond(config.rate.floor)),
            count: None,
            duration: Some(DURATION),
            held: true,
            ..config.generator.clone()
        })?;
        Ok(Self { config, generator, sink, ids: first..=last })
    }

    /// Executes a trial at a rate.
    pub fn rate(
        &self,
        purpose: Purpose,
        pps: f64,
        time: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<(Trial, Counts), Halt> {
        self.generator.set_profile(Profile::from(Rate::PacketsPerSecond(pps)))?;
        let before = self.count()?;
        let start = Instant::now();
        self.generator.go();
        let waited = wait(purpose, observer, || Ok(start.elapsed() >= time));
        self.generator.hold();
        let seconds = start.elapsed().as_secs_f64();
        waited?;
        let counts = self.drain(purpose, &before, observer)?;
        let mut trial = self.trial(purpose, seconds, &counts);
        trial.asked_pps = Some(pps);
        // A difference of a fraction of a frame is not a shortfall.
        if (pps * seconds - counts.sent as f64).abs() < 1.5 {
            trial.offered_pps = pps;
        }
        Ok((trial, counts))
    }

    /// Executes a trial with a burst of this number of frames at the highest rate.
    pub fn burst(&self, frames: u64, observer: &mut Observer<'_>) -> Result<Trial, Halt> {
        let purpose = Purpose::Burst;
        self.generator.set_profile(Profile::from(Rate::Max))?;
        let before = self.count()?;
        let start = Instant::now();
        self.generator.go_for(frames);
        let waited = wait(purpose, observer, || {
            let counts = self.count()?.since(&before);
            Ok(counts.sent + counts.not_sent >= frames || start.elapsed() >= BURST)
        });
        self.generator.hold();
        let seconds = start.elapsed().as_secs_f64();
        waited?;
        let counts = self.drain(purpose, &before, observer)?;
        Ok(Trial { asked_frames: Some(frames), ..self.trial(purpose, seconds, &counts) })
    }

    /// Mean number of bytes of all sent frames.
    pub fn mean_bytes(&self) -> Result<f64, Halt> {
        let snapshot = self.generator.snapshot()?;
        let frames: u64 = snapshot.streams.iter().sum();
        Ok(snapshot.bytes as f64 / frames.max(1) as f64)
    }

    fn trial(&self, purpose: Purpose, seconds: f64, counts: &Counts) -> Trial {
        let lost = counts.sent.saturating_sub(counts.received);
        Trial {
            purpose,
            asked_pps: None,
            asked_frames: None,
            offered_pps: counts.sent as f64 / seconds,
            seconds,
            sent: counts.sent,
            not_sent: counts.not_sent,
            received: counts.received,
            lost,
            loss: if counts.sent == 0 { 0.0 } else { lost as f64 / counts.sent as f64 },
            passed: lost as f64 <= self.config.rate.loss * counts.sent as f64,
        }
    }

    /// The counts since `before`, once no more frames arrive.
    fn drain(
        &self,
        purpose: Purpose,
        before: &Counts,
        observer: &mut Observer<'_>,
    ) -> Result<Counts, Halt> {
        let quiet = self.config.drain / QUIET;
        let start = Instant::now();
        let (mut last, mut changed) = (self.count()?.since(before), start);
        wait(purpose, observer, || {
            let now = self.count()?.since(before);
            if (now.sent, now.received) != (last.sent, last.received) {
                changed = Instant::now();
            }
            last = now;
            let all = last.received >= last.sent && changed.elapsed() >= SETTLE;
            Ok(all || changed.elapsed() >= quiet || start.elapsed() >= self.config.drain)
        })?;
        Ok(last)
    }

    fn count(&self) -> Result<Counts, Halt> {
        let (sent, arrived) = (self.generator.snapshot()?, self.sink.snapshot()?);
        let mut counts = Counts { sent: sent.sent, not_sent: sent.not_sent, ..Counts::default() };
        for stream in arrived.streams.iter().filter(|stream| self.ids.contains(&stream.id)) {
            counts.received += stream.received;
            counts.latency_ns.add(&stream.latency_ns);
            counts.jitter_ns.add(&stream.jitter_ns);
        }
        Ok(counts)
    }
}

impl Counts {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(earlier.sent),
            not_sent: self.not_sent.saturating_sub(earlier.not_sent),
            received: self.received.saturating_sub(earlier.received),
            latency_ns: self.latency_ns.since(&earlier.latency_ns),
            jitter_ns: self.jitter_ns.since(&earlier.jitter_ns),
        }
    }
}

/// Polls until the condition holds, and reports progress.
fn wait(
    purpose: Purpose,
    observer: &mut Observer<'_>,
    mut is_over: impl FnMut() -> Result<bool, Halt>,
) -> Result<(), Halt> {
    let mut reported = Instant::now();
    while !is_over()? {
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            if observer(Progress::Wait(purpose)).is_break() {
                return Err(Halt::Stopped);
            }
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

/// If no frame arrives for this part of the drain time, waiting ends.
const QUIET: u32 = 10;
/// Time until the generator holds, and its counters are at rest.
const SETTLE: Duration = Duration::from_millis(2);
/// Longest time for a burst; frames that are not sent by then do not count as offered.
const BURST: Duration = Duration::from_secs(60);
/// Interval of progress reports.
const REPORT_EVERY: Duration = Duration::from_millis(50);
/// Interval of polling.
const LOOK_EVERY: Duration = Duration::from_millis(1);
