//! `Rate`, and `Profile`: a rate that changes over time.
//!
//! Rule: a rate is the sum over all threads. `parse` reads and prints text; `pace` computes the
//! numbers for a program.

mod pace;
mod parse;

use std::time::Duration;

pub(crate) use pace::{Pace, Pacer};
pub use parse::RateError;

/// `count` per second of `seconds`; 0 when there was no time.
pub(crate) fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

/// A rate of all threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Packets a second.
    PacketsPerSecond(f64),
    /// Bits a second of the frames' own bytes, without checksum, preamble and gap.
    BitsPerSecond(f64),
    /// As fast as the processors permit.
    Max,
}

/// A rate over time, and the spacing of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The rate at the beginning.
    pub rate: Rate,
    /// Changes linearly from `rate` to this rate within this time, and remains there.
    pub ramp: Option<(Rate, Duration)>,
    /// How frames are spaced.
    pub spacing: Spacing,
}

/// The distances between frames at a given rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Equal distances.
    #[default]
    Constant,
    /// Bursts of this many frames, as far apart as the rate requires.
    Bursts(u32),
    /// Exponential distances, as of independent events.
    Poisson,
}

impl Profile {
    /// Average number of frames a second over the first `seconds`; `None` without a limit. Frames
    /// have `bits` on average.
    pub fn mean_pps(&self, seconds: f64, bits: f64) -> Option<f64> {
        let pps = |rate: Rate| match rate {
            Rate::PacketsPerSecond(pps) => Some(pps),
            Rate::BitsPerSecond(bps) => (bits > 0.0).then(|| bps / bits),
            Rate::Max => None,
        };
        let begin = pps(self.rate)?;
        let Some((end, time)) = self.ramp else { return Some(begin) };
        let (end, time) = (pps(end)?, time.as_secs_f64());
        let ramped = seconds.min(time);
        // The rate at the end of the part of the ramp that was run.
        let reached = begin + (end - begin) * per_second(ramped, time);
        let frames = (begin + reached) / 2.0 * ramped + end * (seconds - ramped);
        Some(if seconds > 0.0 { frames / seconds } else { begin })
    }
}

impl From<Rate> for Profile {
    fn from(rate: Rate) -> Self {
        Self { rate, ramp: None, spacing: Spacing::Constant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_of_profiles() {
        let (slow, fast) = (Rate::PacketsPerSecond(100.0), Rate::PacketsPerSecond(300.0));
        let ramp = |time| Some((fast, Duration::from_secs(time)));
        let constant = Profile::from(slow);
        for (profile, seconds, mean) in [
            (constant.clone(), 3.0, Some(100.0)),
            (Profile { ramp: ramp(2), ..constant.clone() }, 2.0, Some(200.0)),
            (Profile { ramp: ramp(2), ..constant.clone() }, 1.0, Some(150.0)),
            (Profile { ramp: ramp(2), ..constant.clone() }, 4.0, Some(250.0)),
            (Profile::from(Rate::BitsPerSecond(48_000.0)), 1.0, Some(100.0)),
            (Profile::from(Rate::Max), 1.0, None),
            (Profile { ramp: ramp(2), ..constant }, 0.0, Some(100.0)),
        ] {
            assert_eq!(profile.mean_pps(seconds, 480.0), mean, "{profile:?} {seconds}");
        }
    }
}
