//! Converts a profile to numbers for programs: the size of groups of frames, and their distance.

use std::time::Duration;

use super::{Profile, Rate, Spacing};
use crate::error::{ConfigError, Result};
use crate::limits::{BATCH, RATE};
use crate::program::{Gaps, abi};

/// The settings of the program of each thread at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Number of frames that are sent together.
    pub group: u32,
    /// `None` without pacing.
    pub gaps: Option<Gaps>,
    /// Interval from one group of a thread to its next, in units of 2^-20 ns; 0 without pacing.
    pub interval: u64,
}

/// A checked profile for a number of threads.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Packets a second of all threads at the start and at the end; `None` without pacing.
    pps: Option<(f64, f64)>,
    ramp: Duration,
    spacing: Spacing,
    threads: usize,
    batch: Option<u32>,
}

impl Pacer {
    /// Checks a profile. `mean_len` is the mean length of the frames in bytes; `batch` is the
    /// number of frames that are sent together, if the caller sets it.
    pub fn new(
        profile: &Profile,
        threads: usize,
        mean_len: f64,
        batch: Option<u32>,
    ) -> Result<Self> {
        let (to, ramp) = profile.ramp.unwrap_or((profile.rate, Duration::ZERO));
        let pps = match (pps(profile.rate, mean_len)?, pps(to, mean_len)?) {
            (Some(from), Some(to)) => Some((from, to)),
            (None, None) if profile.ramp.is_none() => None,
            _ => return Err(ConfigError::RampToMax.into()),
        };
        if pps.is_none() && profile.spacing != Spacing::Constant {
            return Err(ConfigError::SpacingAtMax.into());
        }
        let size = match profile.spacing {
            Spacing::Bursts(frames) => Some(frames),
            Spacing::Constant | Spacing::Poisson => batch,
        };
        if let Some(size) = size.filter(|size| !(1..=BATCH).contains(size)) {
            let (max, given) = (BATCH.into(), size.into());
            let what = "frames in a batch or a burst";
            return Err(ConfigError::Range { what, min: 1, max, given }.into());
        }
        Ok(Self { pps, ramp, spacing: profile.spacing, threads, batch: size })
    }

    /// The pace this long after the first frame, or after the profile was set.
    pub fn at(&self, elapsed: Duration) -> Pace {
        let Some((from, to)) = self.pps else {
            return Pace { group: self.batch.unwrap_or(BATCH), gaps: None, interval: 0 };
        };
        let part = if self.ramp.is_zero() {
            1.0
        } else {
            (elapsed.as_secs_f64() / self.ramp.as_secs_f64()).min(1.0)
        };
        let pps = (from + (to - from) * part) / self.threads as f64;
        let group = self.batch.unwrap_or_else(|| group(pps));
        let interval = f64::from(group) / pps * 1e9 * UNIT;
        let gaps = if self.spacing == Spacing::Poisson { Gaps::Poisson } else { Gaps::Even };
        Pace { group, gaps: Some(gaps), interval: (interval as u64).max(1) }
    }

    /// Whether the pace still changes.
    pub fn is_ramp(&self, elapsed: Duration) -> bool {
        elapsed < self.ramp
    }

    /// Whether each frame of a group has a scheduled time of its own, in whose middle the group is
    /// sent.
    pub fn is_even(&self) -> bool {
        self.spacing == Spacing::Constant
    }
}

impl Pace {
    /// Interval from one group to the next in nanoseconds.
    pub fn interval_ns(&self) -> f64 {
        self.interval as f64 / UNIT
    }
}

/// Packets a second; `None` for the highest rate.
fn pps(rate: Rate, mean_len: f64) -> Result<Option<f64>> {
    let pps = match rate {
        Rate::Max => return Ok(None),
        Rate::PacketsPerSecond(pps) => pps,
        Rate::BitsPerSecond(bps) => bps / (mean_len * 8.0),
    };
    let (low, high) = (*RATE.start() as f64, *RATE.end() as f64);
    if !(low..=high).contains(&pps) {
        let (rate, min, max) = (rate.to_string(), *RATE.start(), *RATE.end());
        return Err(ConfigError::Rate { rate, pps, min, max }.into());
    }
    Ok(Some(pps))
}

/// Number of frames of a thread that are sent together: those due in [`SPREAD`], in steps of four,
/// so that a ramp changes it rarely.
fn group(pps: f64) -> u32 {
    let due = pps * SPREAD.as_secs_f64();
    GROUPS.into_iter().rev().find(|group| f64::from(*group) <= due).unwrap_or(1)
}

const GROUPS: [u32; 5] = [1, 4, 16, 64, BATCH];

/// Frames are sent at most half of this from their scheduled times. Each group wakes its receiver,
/// which costs more than a frame.
const SPREAD: Duration = Duration::from_micros(16);

const UNIT: f64 = (1u64 << abi::FRACTION) as f64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn pacer(text: &str, threads: usize) -> Result<Pacer> {
        Pacer::new(&text.parse::<Profile>().unwrap(), threads, 125.0, None)
    }

    #[test]
    fn groups_grow_with_the_rate_and_intervals_keep_it() {
        for (text, threads, group, interval_ns) in [
            ("1pps", 1, 1, 1e9),
            ("100kpps", 1, 1, 10_000.0),
            ("1mpps", 1, 16, 16_000.0),
            ("1mpps", 2, 4, 8_000.0),
            ("1gbps", 1, 16, 16_000.0),
            ("10mpps", 1, 64, 6_400.0),
            ("20mpps", 1, 256, 12_800.0),
            ("200mpps", 64, 16, 5_120.0),
        ] {
            let pace = pacer(text, threads).unwrap().at(Duration::ZERO);
            assert_eq!((pace.group, pace.gaps), (group, Some(Gaps::Even)), "{text}");
            assert!((pace.interval_ns() - interval_ns).abs() < 0.01, "{text}: {pace:?}");
        }
        let pace = pacer("max", 1).unwrap().at(Duration::ZERO);
        assert_eq!(pace, Pace { group: 256, gaps: None, interval: 0 });
    }

    #[test]
    fn ramps_go_evenly_and_stay() {
        let pacer = pacer("1kpps..3kpps over 2s", 1).unwrap();
        for (ms, pps) in [(0, 1000.0), (500, 1500.0), (1000, 2000.0), (2000, 3000.0), (9000, 3e3)] {
            let elapsed = Duration::from_millis(ms);
            let interval = pacer.at(elapsed).interval_ns();
            assert!((1e9 / interval - pps).abs() < 0.1, "{ms} ms: {interval}");
            assert_eq!(pacer.is_ramp(elapsed), ms < 2000, "{ms}");
        }
    }

    #[test]
    fn bursts_are_groups_and_batches_are_the_callers() {
        let profile = Profile { spacing: Spacing::Bursts(100), .."1kpps".parse().unwrap() };
        let pacer = Pacer::new(&profile, 1, 60.0, Some(8)).unwrap();
        assert_eq!(pacer.at(Duration::ZERO).group, 100);
        assert!(!pacer.is_even());
        let chosen = Pacer::new(&"1kpps".parse().unwrap(), 1, 60.0, Some(8)).unwrap();
        assert_eq!(chosen.at(Duration::ZERO).group, 8);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        for text in ["0.5pps", "201mpps", "1bps", "300gbps"] {
            assert!(matches!(pacer(text, 1), Err(Error::Config(_))), "{text}");
        }
        let profile = |rate: &str, spacing| Profile { spacing, ..rate.parse().unwrap() };
        for (label, profile, batch) in [
            ("long burst", profile("1kpps", Spacing::Bursts(257)), None),
            ("batch", profile("1kpps", Spacing::Constant), Some(0)),
            ("no rate", profile("max", Spacing::Poisson), None),
        ] {
            assert!(Pacer::new(&profile, 1, 60.0, batch).is_err(), "{label}");
        }
    }
}
