//! What is measured, how finely, and for how long.

use std::time::Duration;

use super::search::Options;
use super::size::FrameSize;
use crate::error::{ConfigError, Error, Result};
use crate::generator;
use crate::limits::{DURATION, STREAMS};
use crate::stream;
use crate::template::Template;

/// One measurement. [`Config::new`] gives the rest of the fields a value.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the frames leave, and on which processors. Load, profile, count and duration of it
    /// are not used: they are the measurement's.
    pub generator: generator::Config,
    /// A row of the table each.
    pub loads: Vec<Load>,
    /// The search for the rate, in packets a second.
    pub rate: Options,
    /// How long frames are sent in one trial of the search. RFC 2544 wants 60 s of the last.
    pub trial: Duration,
    /// Bursts; not measured when `None`.
    pub bursts: Option<Bursts>,
    /// Latency is taken at these shares of the rate that was found: 0 to 1 each.
    pub shares: Vec<f64>,
    /// How long frames are sent for one latency. RFC 2544 wants 120 s.
    pub latency: Duration,
    /// How long to wait for frames that are on their way: until none came for a tenth of it.
    pub drain: Duration,
}

/// What is sent for one row.
#[derive(Clone, Debug)]
pub struct Load {
    pub size: FrameSize,
    /// With stamps.
    pub streams: Vec<Template>,
}

impl Load {
    /// These streams, of another size and with stamps. `mtu` is that of the interface to send from.
    ///
    /// # Errors
    /// A stream does not fit the size, or the size does not fit the interface.
    pub fn new(size: FrameSize, file: &stream::File, mtu: usize) -> Result<Self> {
        let mut file = file.clone();
        for stream in &mut file.streams {
            stream.size = Some(size.into());
            stream.stamp = true;
        }
        Ok(Self { size, streams: file.templates(mtu)? })
    }
}

/// How the longest burst without loss is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Frames of the longest burst that is tried. RFC 2544 wants two seconds of them.
    pub longest: u64,
    /// Bursts of the length that was found, all without loss. RFC 2544 wants 50.
    pub repeats: u32,
}

impl Config {
    /// Trials of a second, latency at half and nine tenths, no bursts: a table in minutes. The
    /// RFC's own times are longer.
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
