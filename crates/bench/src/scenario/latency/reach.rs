//! `Reach`: the highest rate that a way carries, of those that are tried.
//!
//! Rule: a rate is carried when the sender kept it and nothing to speak of was lost in one of a few
//! short trials: a machine that stands still for a moment, as virtual ones do, loses a ring full
//! of frames, and that says nothing of the way. A search takes seconds, however busy the machine.

use std::time::{Duration, Instant};

use anyhow::Result;
use report::number::human;

use super::trip::Trip;
use crate::field::Line;
use crate::path::Path;

/// Of one way.
pub struct Reach {
    pub path: &'static Path,
    /// None when not even the lowest is carried.
    pub pps: Option<u64>,
    /// What was in the way of the next higher one, if there is one.
    refused: Option<(u64, String)>,
}

impl Reach {
    /// From the highest rate down.
    ///
    /// # Errors
    /// When the way cannot be set up, or carries nothing at all.
    pub fn find(line: &Line, path: &'static Path) -> Result<Self> {
        let mut trip = Trip::begin(line, path)?;
        let (mut refused, end) = (None, Instant::now() + SEARCH);
        for pps in RATES {
            match carries(&mut trip, pps, end)? {
                None => return Ok(Self { path, pps: Some(pps), refused }),
                Some(why) => refused = Some((pps, why)),
            }
        }
        Ok(Self { path, pps: None, refused })
    }

    /// As if it had been found.
    #[cfg(test)]
    pub fn of(path: &'static Path, pps: Option<u64>) -> Self {
        Self { path, pps, refused: None }
    }

    /// In a sentence.
    pub fn told(&self) -> String {
        let at = match self.pps {
            Some(pps) => format!("carries {}", human(pps as f64, "pps")),
            None => "carries none of the high rates".to_owned(),
        };
        match &self.refused {
            Some((pps, why)) => {
                format!("{} {at}; at {}, {why}.", self.path.name, human(*pps as f64, "pps"))
            }
            None => format!("{} {at}, the highest that is tried.", self.path.name),
        }
    }
}

/// The highest rate that all carry which carry any.
pub fn common(all: &[Reach]) -> Option<u64> {
    all.iter().filter_map(|reach| reach.pps).min()
}

/// Why not, in the last of its trials; behind the end of the search there is but one.
fn carries(trip: &mut Trip, pps: u64, end: Instant) -> Result<Option<String>> {
    let mut why = None;
    for _ in 0..TRIALS {
        match trip.send(pps, TRIAL)?.carried(pps) {
            Ok(()) => return Ok(None),
            Err(fault) => why = Some(fault.to_string()),
        }
        if Instant::now() > end {
            break;
        }
    }
    Ok(why)
}

/// Packets a second.
const RATES: [u64; 6] = [1_000_000, 750_000, 500_000, 250_000, 100_000, 50_000];
/// Of a rate.
const TRIALS: usize = 5;
/// After so long each rate that is left has one trial.
const SEARCH: Duration = Duration::from_secs(6);
/// How long each is: hundreds of wake-ups, and short enough to fall between two disturbances.
const TRIAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{BRIDGE, ROUTE};

    #[test]
    fn the_common_rate_is_that_of_the_slowest_which_carries_any() {
        let reach =
            |path, pps| Reach { path, pps, refused: Some((750_000, "9 % are lost".into())) };
        let (bridge, route) = (reach(&BRIDGE, Some(500_000)), reach(&ROUTE, None));
        assert_eq!(bridge.told(), "bridge carries 500 kpps; at 750 kpps, 9 % are lost.");
        let none = "route carries none of the high rates; at 750 kpps, 9 % are lost.";
        assert_eq!(route.told(), none);
        let best = Reach { path: &ROUTE, pps: Some(1_000_000), refused: None };
        assert_eq!(best.told(), "route carries 1.00 Mpps, the highest that is tried.");
        assert_eq!(common(&[best, bridge, route]), Some(500_000));
        assert_eq!(common(&[]), None);
    }
}
