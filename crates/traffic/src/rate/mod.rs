//! `Rate`, and `Profile`: a rate that changes over time.
//!
//! Rule: a rate is the sum over all threads. `parse` reads and prints text; `pace` computes the
//! numbers for a program.

mod pace;
mod parse;

use std::time::Duration;

pub(crate) use pace::{Pace, Pacer};
pub use parse::{RateError, duration};

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

impl From<Rate> for Profile {
    fn from(rate: Rate) -> Self {
        Self { rate, ramp: None, spacing: Spacing::Constant }
    }
}
