//! How fast: `Rate`, and `Profile`, how it changes over time.
//!
//! Rule: a rate is of all threads together. As text: `parse`; as numbers for a program: `pace`.

mod pace;
mod parse;

use std::time::Duration;

pub(crate) use pace::{Pace, Pacer};
pub use parse::duration;

/// `count` per second of `seconds`; 0 when there was no time.
pub(crate) fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

/// A rate of all threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    PacketsPerSecond(f64),
    /// Of the frames' own bytes, without checksum, preamble and gap.
    BitsPerSecond(f64),
    /// As fast as the processors can.
    Max,
}

/// How the rate goes over time, and how frames are spaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub rate: Rate,
    /// From `rate` to this one, evenly, in that time; then it stays.
    pub ramp: Option<(Rate, Duration)>,
    pub spacing: Spacing,
}

/// How frames follow each other at a given rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    #[default]
    Constant,
    /// So many at once, then nothing until the rate is kept.
    Bursts(u32),
    /// Independent of each other: exponential gaps.
    Poisson,
}

impl From<Rate> for Profile {
    fn from(rate: Rate) -> Self {
        Self { rate, ramp: None, spacing: Spacing::Constant }
    }
}
