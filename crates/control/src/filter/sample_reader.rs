//! `SampleReader`: packets that rules with the action `sample` choose.
//!
//! Rule: one reader at a time, because a ring buffer passes each packet once; samples that were
//! lost because it was full are counted.

use std::time::{Duration, Instant};

use filter::maps::{EVENTS, SAMPLES};
use filter::runtime::actions;
use filter::runtime::samples::Sample;
use filter::{Action, Ruleset, abi};
use kernel::RingBuffer;
use sys::signal::Stop;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use crate::Control;
use crate::error::{Context as _, Error, Result};

/// Reads the samples of an active filter, without those taken before it was opened.
#[derive(Debug)]
pub struct SampleReader {
    active: ActiveFilter,
    rules: Ruleset,
    ring: RingBuffer,
    /// On the monotonic clock, as the samples' own time.
    begin_ns: u64,
    lost_before: u64,
}

/// Limits of [`SampleReader::watch`].
#[derive(Clone, Copy, Debug)]
pub struct SampleLimits {
    /// Number of samples; `None` for any number.
    pub count: Option<u64>,
    /// Duration; `None` until a signal arrives.
    pub time: Option<Duration>,
}

impl SampleReader {
    /// Opens the samples of an interface's filter, and discards older ones.
    ///
    /// # Errors
    /// No filter runs on the interface, or none of its rules samples.
    pub fn open(control: &Control, interface: &str) -> Result<Self> {
        let active = ActiveFilter::open(control, interface)?;
        let rules = active.rules()?;
        if !rules.rules.iter().any(|rule| matches!(rule.action, Action::Sample { .. })) {
            return Err(Error::NoSampleRule { interface: interface.to_owned() });
        }
        let map = active.map(SAMPLES).context("the filter's samples cannot be read")?;
        let mut ring = RingBuffer::new(&map)?;
        let begin_ns = monotonic_ns();
        ring.drain(|_older| {});
        let lost_before = lost(&active)?;
        Ok(Self { active, rules, ring, begin_ns, lost_before })
    }

    /// The rules of the filter when it was opened.
    pub fn rules(&self) -> &Ruleset {
        &self.rules
    }

    /// Samples since the previous call.
    pub fn read(&mut self) -> Vec<Sample> {
        let (mut samples, begin_ns) = (Vec::new(), self.begin_ns);
        self.ring.drain(|record| samples.extend(Sample::parse(record)));
        samples.retain(|sample| sample.time_ns >= begin_ns);
        samples
    }

    /// Passes each sample to `each` until there are enough, the time is over, or a signal arrives.
    pub fn watch<E: From<Error>>(
        &mut self,
        limits: &SampleLimits,
        stop: &Stop,
        mut each: impl FnMut(Sample) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = Instant::now();
        let most = limits.count.unwrap_or(u64::MAX);
        let mut seen = 0;
        loop {
            for sample in self.read() {
                if seen < most {
                    each(sample)?;
                    seen += 1;
                }
            }
            let left = |time: Duration| time.saturating_sub(begin.elapsed());
            let pause = limits.time.map_or(POLL_INTERVAL, left);
            let is_over = seen >= most || pause.is_zero();
            if is_over || stop.wait(pause.min(POLL_INTERVAL)).map_err(Error::from)?.is_some() {
                return Ok(());
            }
        }
    }

    /// Number of samples that were lost since it was opened.
    pub fn lost(&self) -> Result<u64> {
        Ok(lost(&self.active)?.saturating_sub(self.lost_before))
    }
}

fn lost(active: &ActiveFilter) -> Result<u64> {
    let events = actions::events(&active.map(EVENTS)?)?;
    let lost = events.iter().find(|(event, _)| *event == abi::Event::SampleLost);
    Ok(lost.map_or(0, |(_, count)| *count))
}

/// Time between two readings of the ring buffer.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
