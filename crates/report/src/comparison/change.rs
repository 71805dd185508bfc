//! One row of two runs.
//!
//! Rule: a verdict needs an interval that does not hold 1; where there is no quotient, because a
//! median is zero, it needs rounds that do not overlap.

use std::fmt;

use serde::Serialize;

use crate::bench::Row;
use crate::row;
use crate::run::Measured;
use crate::samples::{CONFIDENCE, Interval, SEED, Samples, Stats};

/// One row in two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Name of the row.
    pub row: String,
    /// Unit of its values.
    pub unit: String,
    /// Statistics of the earlier run.
    pub a: Stats,
    /// Statistics of the later run.
    pub b: Stats,
    /// The later median over the earlier; `None` where that is zero.
    pub ratio: Option<f64>,
    /// Where it probably lies.
    pub interval: Option<Interval>,
    /// Whether the row became faster or slower.
    pub verdict: Verdict,
}

/// How the later run compares with the earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Faster,
    Slower,
    Same,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
        })
    }
}

/// Every row that both have in one unit.
pub(super) fn rows(a: &Measured, b: &Measured) -> Vec<Change> {
    let both = a.report.rows.iter().filter_map(|row| {
        let other = b.report.row(&row.name).filter(|other| other.unit == row.unit)?;
        Some(Change::of((row, samples(a, row)?), (other, samples(b, other)?)))
    });
    both.collect()
}

fn samples(measured: &Measured, row: &Row) -> Option<Samples> {
    measured.samples.iter().find(|rounds| rounds.name == row.name)?.samples().ok()
}

impl Change {
    fn of((a, before): (&Row, Samples), (b, after): (&Row, Samples)) -> Change {
        let interval = after.quotient_interval(&before, CONFIDENCE, SEED);
        let ratio = b.stats.median / a.stats.median;
        let (is_more, is_less) = match interval {
            Some(Interval { low, high }) => (low > 1.0, high < 1.0),
            None => (b.stats.min > a.stats.max, b.stats.max < a.stats.min),
        };
        let verdict = match (is_more, is_less, row::is_more_better(&a.name, &a.unit)) {
            (true, _, true) | (_, true, false) => Verdict::Faster,
            (true, _, false) | (_, true, true) => Verdict::Slower,
            (false, false, _) => Verdict::Same,
        };
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        let (row, unit) = (a.name.clone(), a.unit.clone());
        Change { row, unit, a: a.stats, b: b.stats, ratio, interval, verdict }
    }
}
