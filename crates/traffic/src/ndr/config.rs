//! `Config`: what is measured, how precisely, and for how long.

use std::time::Duration;

use super::search::Options;
use super::size::FrameSize;
use crate::error::{ConfigError, Error, Result};
use crate::generator;
use crate::limits::{DURATION, STREAMS};
use crate::stream;
use crate::template::Template;

/// The settings of one measurement. [`Config::new`] sets defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// Interface and processors of the generator. Its load, profile, count and duration are set by
    /// the measurement.
    pub generator: generator::Config,
    /// The loads, each a row of the result table.
    pub loads: Vec<Load>,
    /// The search for the rate, in packets a second.
    pub rate: Options,
    /// Duration of one trial of the search. RFC 2544 requires 60 s for the last one.
    pub trial: Duration,
    /// Bursts; not measured when `None`.
    pub bursts: Option<Bursts>,
    /// Shares of the found rate at which latency is measured, 0.01 to 1 each.
    pub shares: Vec<f64>,
    /// Duration of one measurement of latency. RFC 2544 requires 120 s.
    pub latency: Duration,
    /// Longest wait for frames in transit, which ends when none has arrived for a tenth of it.
    pub drain: Duration,
}

/// The streams of one row.
#[derive(Clone, Debug)]
pub struct Load {
    /// Size of the frames.
    pub size: FrameSize,
    /// The streams, with stamps.
    pub streams: Vec<Template>,
}

impl Load {
    /// The streams of a file with this size and with stamps, for an interface with this MTU.
    ///
    /// # Errors
    /// When a stream does not fit the size, or the size exceeds the MTU.
    pub fn new(size: FrameSize, file: &stream::File, mtu: usize) -> Result<Self> {
        let mut file = file.clone();
        for stream in &mut file.streams {
            stream.size = Some(size.into());
            stream.stamp = true;
        }
        Ok(Self { size, streams: file.templates(mtu)? })
    }
}

/// Options of the search for the longest burst without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Number of frames of the longest burst to try. RFC 2544 requires those of two seconds.
    pub longest: u64,
    /// Number of bursts of the found length that must pass without loss. RFC 2544 requires 50.
    pub repeats: u32,
}

impl Config {
    /// Trials of one second, latency at half and nine tenths of the rate, no bursts: a table in
    /// minutes. The durations of the RFC are longer.
    pub fn new(generator: generator::Config, loads: Vec<Load>) -> Self {
        Self {
            generator,
            loads,
            rate: Options::default(),
            trial: Duration::from_secs(1),
            bursts: None,
            shares: vec![0.5, 0.9],
            latency: Duration::from_secs(1),
            drain: Duration::from_secs(2),
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        let fail = |wrong| Err(Error::Config(wrong));
        let streams = || self.loads.iter().flat_map(|load| &load.streams);
        if self.loads.is_empty() || self.loads.iter().any(|load| load.streams.is_empty()) {
            return fail(ConfigError::NoLoad);
        }
        if streams().count() > STREAMS {
            return fail(ConfigError::TooManyStreams { count: streams().count() });
        }
        if let Some(bare) = streams().find(|stream| stream.stamp.is_none()) {
            return fail(ConfigError::NoStamp { name: bare.name.clone() });
        }
        if !self.shares.iter().all(|share| (0.01..=1.0).contains(share)) {
            return fail(ConfigError::LatencyShare);
        }
        let times = [self.trial, self.latency, self.drain];
        if times.iter().any(|time| time.is_zero() || *time > DURATION) {
            return fail(ConfigError::TrialDuration);
        }
        if self.bursts.is_some_and(|bursts| bursts.longest == 0) {
            return fail(ConfigError::EmptyBurst);
        }
        Ok(())
    }
}
