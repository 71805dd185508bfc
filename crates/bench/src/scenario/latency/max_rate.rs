//! `MaxRate`: the highest rate that a path carries, of those tried.
//!
//! Rule: a rate is carried if the sender kept it and at most 1 % was lost in one of a few short
//! trials. A virtual machine that pauses loses a ring of frames, which is independent of the path.
//! A search takes seconds, however busy the machine is.

use std::time::{Duration, Instant};

use anyhow::Result;
use report::number::human;

use super::run::LatencyRun;
use crate::field::Line;
use crate::path::Path;

/// The result for one path.
pub struct MaxRate {
    /// The path whose highest rate it is.
    pub path: &'static Path,
    /// `None` if not even the lowest rate is carried.
    pub pps: Option<u64>,
    /// The next higher rate and why it was not carried.
    refused: Option<(u64, String)>,
}

impl MaxRate {
    /// Tries rates from the highest down.
    ///
    /// # Errors
    /// When the path cannot be set up, or forwards no frame.
    pub fn find(line: &Line, path: &'static Path) -> Result<Self> {
        let mut run = LatencyRun::begin(line, path)?;
        let (mut refused, end) = (None, Instant::now() + SEARCH);
        for pps in RATES {
            match carries(&mut run, pps, end)? {
                None => return Ok(Self { path, pps: Some(pps), refused }),
                Some(why) => refused = Some((pps, why)),
            }
        }
        Ok(Self { path, pps: None, refused })
    }

    /// A result without a search.
    #[cfg(test)]
    pub fn of(path: &'static Path, pps: Option<u64>) -> Self {
        Self { path, pps, refused: None }
    }

    /// The result as a sentence.
    pub fn sentence(&self) -> String {
        let at = match self.pps {
            Some(pps) => format!("carries {}", human(pps as f64, "pps")),
            None => "carries none of the high rates".to_owned(),
        };
        match &self.refused {
            Some((pps, why)) => {
                format!("{} {at}; at {}, {why}.", self.path.name, human(*pps as f64, "pps"))
            }
            None => format!("{} {at}, the highest rate tried.", self.path.name),
        }
    }
}

/// The highest rate that all paths carry, leaving out those that carry none.
pub fn common(all: &[MaxRate]) -> Option<u64> {
    all.iter().filter_map(|max_rate| max_rate.pps).min()
}

/// Returns why the rate was not carried in its last trial. After `end` there is one trial.
fn carries(run: &mut LatencyRun, pps: u64, end: Instant) -> Result<Option<String>> {
    let mut why = None;
    for _ in 0..TRIALS {
        match run.send(pps, TRIAL)?.carried(pps) {
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
/// Trials of one rate.
const TRIALS: usize = 5;
/// After this time each remaining rate has one trial.
const SEARCH: Duration = Duration::from_secs(6);
/// Duration of a trial: hundreds of wake-ups, but short enough to fall between two disturbances.
const TRIAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{BRIDGE, ROUTE};

    #[test]
    fn the_common_rate_is_that_of_the_slowest_which_carries_any() {
        let max_rate =
            |path, pps| MaxRate { path, pps, refused: Some((750_000, "9 % are lost".into())) };
        let (bridge, route) = (max_rate(&BRIDGE, Some(500_000)), max_rate(&ROUTE, None));
        assert_eq!(bridge.sentence(), "bridge carries 500 kpps; at 750 kpps, 9 % are lost.");
        let none = "route carries none of the high rates; at 750 kpps, 9 % are lost.";
        assert_eq!(route.sentence(), none);
        let best = MaxRate { path: &ROUTE, pps: Some(1_000_000), refused: None };
        assert_eq!(best.sentence(), "route carries 1.00 Mpps, the highest rate tried.");
        assert_eq!(common(&[best, bridge, route]), Some(500_000));
        assert_eq!(common(&[]), None);
    }
}
