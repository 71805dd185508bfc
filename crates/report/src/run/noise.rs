//! Whether a run was disturbed: judged by the spread of its rounds, and by other processes.
//!
//! Rule: a pure function of the run, with every bound named here. Only what arms are measured
//! for is judged: losses and maxima vary on quiet machines too. Not here: what to do about it.

use super::{Measured, Run};
use crate::{Rounds, Samples};

/// One row with too large a spread, relative to its median; for a share in percent, relative to the
/// whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Name of the row.
    pub row: String,
    /// Spread of the middle half of the rounds.
    pub quartiles: f64,
    /// Spread from the smallest to the largest round.
    pub extremes: f64,
}

impl Run {
    /// What disturbed this run, in one sentence per cause; empty on an idle machine.
    pub fn noise(&self) -> Vec<String> {
        let load = self.host().and_then(|host| {
            let ([load, ..], cores) = (host.load?, host.cores?);
            let is_loaded = load > LOAD_PER_CORE * cores as f64;
            is_loaded.then(|| {
                format!("before it started, {load:.1} tasks wanted to run on {cores} cores")
            })
        });
        let rows = self.scenarios.iter().filter_map(|measured| {
            let noise = measured.noise()?;
            Some(format!("{}: {noise}", measured.report.scenario))
        });
        load.into_iter().chain(rows).collect()
    }
}

impl Measured {
    /// Which rows were disturbed, and how much.
    pub fn noise(&self) -> Option<String> {
        let spreads = self.spreads();
        let is_one = spreads.len() == 1;
        let (first, rest) = spreads.split_at(spreads.len().min(NAMED));
        let named = first.iter().map(|Spread { row, quartiles, extremes }| {
            let [quartiles, extremes] = [quartiles, extremes].map(|part| part * 100.0);
            format!("{row} (the middle half by {quartiles:.0} %, all by {extremes:.0} %)")
        });
        let named: Vec<_> = named.collect();
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let whose = if is_one { "the rounds of one row" } else { "the rounds of some rows" };
        (!spreads.is_empty()).then(|| format!("{whose} differ much: {}{more}", named.join(", ")))
    }

    /// The rows beyond a bound, worst first.
    pub fn spreads(&self) -> Vec<Spread> {
        let main: Vec<&str> = self.report.main_rows().map(|row| row.name.as_str()).collect();
        let main = self.samples.iter().filter(|rounds| main.contains(&rounds.name.as_str()));
        let mut spreads: Vec<_> = main.filter_map(spread).filter(Spread::is_wide).collect();
        spreads.sort_by(|a, b| b.excess().total_cmp(&a.excess()));
        spreads
    }
}

impl Spread {
    fn is_wide(&self) -> bool {
        self.excess() > 1.0
    }

    /// In parts of what is allowed.
    fn excess(&self) -> f64 {
        (self.quartiles / QUARTILES).max(self.extremes / EXTREMES)
    }
}

fn spread(rounds: &Rounds) -> Option<Spread> {
    let samples = Samples::new(rounds.values.clone()).ok()?;
    let (stats, middle) = (samples.stats(), samples.middle_half());
    let whole = if rounds.unit == "%" { 100.0 } else { stats.median.abs() };
    (whole > 0.0).then(|| Spread {
        row: rounds.name.clone(),
        quartiles: (middle.high - middle.low) / whole,
        extremes: (stats.max - stats.min) / whole,
    })
}

/// How far the middle half of a row's rounds may be apart.
const QUARTILES: f64 = 0.15;
/// How far any two of them may be apart.
const EXTREMES: f64 = 0.5;
/// How many tasks may have wanted to run for each core in the minute before the start.
const LOAD_PER_CORE: f64 = 1.0;
/// How many rows are named.
const NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, Host};

    fn run(rows: &[(&str, &str, [f64; 5])]) -> Run {
        let mut bench = Bench::new("drop");
        for (name, unit, values) in rows {
            values.iter().for_each(|value| _ = bench.round(name, unit, *value));
        }
        let mut run = Run::new("xway bench run drop");
        run.put(&bench, Host::default()).unwrap();
        run
    }

    #[test]
    fn rows_are_judged_by_what_they_are_measured_for() {
        let quiet = [100.0, 101.0, 99.0, 103.0, 98.0];
        let one_off = [100.0, 101.0, 99.0, 60.0, 100.0];
        let table: [(&str, &str, [f64; 5], Option<&str>); 7] = [
            ("native", "pps", quiet, None),
            ("native", "pps", one_off, None),
            ("native", "pps", [100.0, 101.0, 99.0, 30.0, 100.0], Some("all by 71 %")),
            ("native", "pps", [80.0, 120.0, 100.0, 81.0, 118.0], Some("middle half by 37 %")),
            ("idle@1000", "%", [1.0, 2.0, 4.0, 1.0, 3.0], None),
            ("idle@1000", "%", [20.0, 50.0, 20.0, 50.0, 35.0], Some("by 30 %")),
            ("zero", "pps", [0.0; 5], None),
        ];
        for (name, unit, values, want) in table {
            let noise = run(&[(name, unit, values)]).scenarios[0].noise();
            let said = noise.as_deref().unwrap_or_default();
            assert_eq!(noise.is_some(), want.is_some(), "{values:?}: {said}");
            assert!(said.contains(want.unwrap_or_default()), "{values:?}: {said}");
        }
        let detail = run(&[("a", "pps", quiet), ("lost/a", "%", [0.0, 90.0, 0.0, 90.0, 40.0])]);
        assert_eq!(detail.noise(), Vec::<String>::new());
    }

    #[test]
    fn a_machine_that_was_busy_before_is_reported() {
        let mut run = run(&[("native", "pps", [1.0; 5])]);
        for (load, is_noisy) in [(0.4, false), (2.0, false), (2.5, true)] {
            let host = Host { load: Some([load, 0.0, 0.0]), cores: Some(2), ..Host::default() };
            run.scenarios[0].report.host = host;
            assert_eq!(!run.noise().is_empty(), is_noisy, "{load}");
        }
    }
}
