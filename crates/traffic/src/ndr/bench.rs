//! `Bench`: one generator in front of the device under test, one sink behind it, and trials.
//!
//! Rule: frames are counted only when nothing moves any more: the generator holds, and none has
//! come for a while.

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

/// Who is told what happens; `Break` ends the measurement.
pub(super) type Tell<'a> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a;

/// Why a measurement does not go on.
pub(super) enum Halt {
    Failed(Box<Error>),
    /// The caller wanted so.
    Stopped,
}

/// Generator and sink for one load.
pub(super) struct Bench<'a> {
    config: &'a Config,
    generator: Generator,
    sink: &'a Sink,
    /// Of this load's streams.
    ids: RangeInclusive<u16>,
}

/// What both ends counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub sent: u64,
    pub not_sent: u64,
    pub received: u64,
    pub latency_ns: Histogram,
    pub jitter_ns: Histogram,
}

impl<'a> Bench<'a> {
    /// Starts a generator that holds. `first` is the number of the load's first stream: each load
    /// has numbers of its own, since the sink goes on counting.
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

    /// Sends at a rate for a time.
    pub fn rate(
        &self,
        purpose: Purpose,
        pps: f64,
        time: Duration,
        tell: &mut Tell<'_>,
    ) -> Result<(Trial, Counts), Halt> {
        self.generator.set_profile(Profile::from(Rate::PacketsPerSecond(pps)))?;
        let before = self.count()?;
        let start = Instant::now();
        self.generator.go();
        let waited = wait(purpose, tell, || Ok(start.elapsed() >= time));
        self.generator.hold();
        let seconds = start.elapsed().as_secs_f64();
        waited?;
        let counts = self.drain(purpose, &before, tell)?;
        let mut trial = self.trial(purpose, seconds, &counts);
        trial.asked_pps = Some(pps);
        // A part of a frame is no shortfall.
        if (pps * seconds - counts.sent as f64).abs() < 1.5 {
            trial.offered_pps = pps;
        }
        Ok((trial, counts))
    }

    /// Sends so many frames as fast as it can.
    pub fn burst(&self, frames: u64, tell: &mut Tell<'_>) -> Result<Trial, Halt> {
        let purpose = Purpose::Burst;
        self.generator.set_profile(Profile::from(Rate::Max))?;
        let before = self.count()?;
        let start = Instant::now();
        self.generator.go_for(frames);
        let waited = wait(purpose, tell, || {
            let counts = self.count()?.since(&before);
            Ok(counts.sent + counts.not_sent >= frames || start.elapsed() >= BURST)
        });
        self.generator.hold();
        let seconds = start.elapsed().as_secs_f64();
        waited?;
        let counts = self.drain(purpose, &before, tell)?;
        Ok(Trial { asked_frames: Some(frames), ..self.trial(purpose, seconds, &counts) })
    }

    /// Of a frame, over all that were sent.
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

    /// What came since `before`, when nothing comes any more.
    fn drain(
        &self,
        purpose: Purpose,
        before: &Counts,
        tell: &mut Tell<'_>,
    ) -> Result<Counts, Halt> {
        let quiet = self.config.drain / QUIET;
        let start = Instant::now();
        let (mut last, mut changed) = (self.count()?.since(before), start);
        wait(purpose, tell, || {
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

/// Looks again and again until it is over.
fn wait(
    purpose: Purpose,
    tell: &mut Tell<'_>,
    mut is_over: impl FnMut() -> Result<bool, Halt>,
) -> Result<(), Halt> {
    let mut told = Instant::now();
    while !is_over()? {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            if tell(Progress::Wait(purpose)).is_break() {
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

/// Within this part of the drain time a frame must come, or none is waited for any longer.
const QUIET: u32 = 10;
/// Until a generator that was told to hold does, and its counters are at rest.
const SETTLE: Duration = Duration::from_millis(2);
/// The longest burst takes no longer than this; what is not sent then counts as not offered.
const BURST: Duration = Duration::from_secs(60);
const TELL_EVERY: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(1);
