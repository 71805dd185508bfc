//! Frames that the old next hop received, by who forwards.

use std::fmt;

use report::Samples;
use serde_json::{Value, json};

use super::{ARMS, Round};

/// Result of the campaign.
#[derive(Clone, Debug)]
pub struct Report {
    /// For each of [`ARMS`], in the order of time.
    pub rounds: [Vec<Round>; ARMS.len()],
}

/// A figure of a round, and its name in JSON.
type Figure = (&'static str, fn(&Round) -> f64);

const FIGURES: [Figure; 6] = [
    ("sent", |round| round.sent as f64),
    ("pps", |round| round.pps),
    ("old_after_call", |round| round.old_after_call as f64),
    ("old_after_notice", |round| round.old_after_notice as f64),
    ("switched_us", |round| round.switched_us),
    ("lost", |round| round.lost as f64),
];

impl Report {
    pub fn json(&self) -> Value {
        let arm = |rounds: &[Round]| -> Value {
            let figures = FIGURES.iter().map(|(name, of)| {
                let values: Vec<f64> = rounds.iter().map(of).collect();
                let stats = Samples::new(values.clone()).map(|samples| samples.stats()).ok();
                ((*name).to_owned(), json!({ "rounds": values, "stats": stats }))
            });
            figures.collect::<serde_json::Map<_, _>>().into()
        };
        let arms = ARMS.iter().zip(&self.rounds);
        arms.map(|((name, _), rounds)| ((*name).to_owned(), arm(rounds)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<12} {:<18} {:>10} {:>10} {:>10}",
            "router", "figure", "min", "median", "max"
        )?;
        for ((arm, _), rounds) in ARMS.iter().zip(&self.rounds) {
            for (name, of) in FIGURES {
                let values: Vec<f64> = rounds.iter().map(of).collect();
                let Ok(samples) = Samples::new(values) else { continue };
                let stats = samples.stats();
                write!(f, "\n{arm:<12} {name:<18}")?;
                write!(f, " {:>10.0} {:>10.0} {:>10.0}", stats.min, stats.median, stats.max)?;
            }
        }
        Ok(())
    }
}
