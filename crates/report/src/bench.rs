//! The answer of every benchmark to `--json`, and the builder that makes it from rounds.
//!
//! Rule: the shape of [`Report`] is a contract that scripts rely on; keys are only ever added.
//! Ratios are computed round by round, of rounds that were measured side by side. Not here: how
//! the rounds are run (crate `bench`).

use serde::{Deserialize, Serialize};

use crate::plot::Bars;
use crate::samples::Interval;
use crate::{Error, Figure, Host, Rounds, Samples, Stats};

/// Rounds of named rows, as they are measured.
///
/// ```
/// let mut bench = report::Bench::new("drop");
/// for (native, generic) in [(9.1e6, 2.2e6), (9.3e6, 2.3e6)] {
///     bench.round("native", "pps", native).round("generic", "pps", generic);
/// }
/// let report = bench.ratio("native", "generic").finish(report::Host::read())?;
/// assert!(report.ratios[0].min > 4.0);
/// println!("{}", report.table());
/// # Ok::<(), report::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bench {
    scenario: String,
    rows: Vec<Rounds>,
    ratios: Vec<(String, String)>,
    notes: RunNotes,
    fault: Option<Error>,
}

/// What is to be known of a run besides its values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunNotes {
    /// What is measured, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// How it was measured, step by step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    /// Facts of this run: who shares a processor with whom, what was lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What could not be measured here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// What to keep in mind of single rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Figures of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Why there are fewer rounds than requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// Never a zero: it was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Absent {
    /// Name of the arm.
    pub name: String,
    /// Why it was not measured.
    pub reason: String,
}

/// A remark on one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Name of the row.
    pub row: String,
    /// Text of the remark.
    pub text: String,
}

/// What a benchmark prints with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// Statistics of all rows.
    pub rows: Vec<Row>,
    /// Ratios of pairs of rows.
    pub ratios: Vec<Ratio>,
    /// The machine of the run.
    pub host: Host,
    /// Method, remarks and figures.
    #[serde(flatten)]
    pub notes: RunNotes,
}

/// One measured quantity, in `unit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the row.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Minimum, median and maximum of its rounds.
    #[serde(flatten)]
    pub stats: Stats,
}

impl Row {
    fn of(rounds: &Rounds) -> Result<Self, Error> {
        let stats = rounds.samples()?.stats();
        Ok(Self { name: rounds.name.clone(), unit: rounds.unit.clone(), stats })
    }
}

/// Row `a` over row `b`, of each round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Name of the numerator's row.
    pub a: String,
    /// Name of the denominator's row.
    pub b: String,
    /// Smallest quotient of a round.
    pub min: f64,
    /// Median of the quotients.
    pub median: f64,
    /// Largest quotient of a round.
    pub max: f64,
    /// Where the median probably lies, see [`Samples::median_interval`]; both are absent from
    /// reports of before there was one.
    #[serde(default)]
    pub interval: Option<Interval>,
}

impl Bench {
    /// An empty benchmark of a scenario.
    pub fn new(scenario: impl Into<String>) -> Bench {
        let scenario = scenario.into();
        Bench {
            scenario,
            rows: Vec::new(),
            ratios: Vec::new(),
            notes: RunNotes::default(),
            fault: None,
        }
    }

    /// Adds a value to row `name`, of the round after its last one. Rows keep the order in which
    /// they first appear.
    pub fn round(&mut self, name: &str, unit: &str, value: f64) -> &mut Bench {
        self.put(None, name, unit, value)
    }

    /// Adds a value of the round with this number, counted from 1: for rows that miss some.
    pub fn round_at(&mut self, number: usize, name: &str, unit: &str, value: f64) -> &mut Bench {
        self.put(Some(number), name, unit, value)
    }

    fn put(&mut self, number: Option<usize>, name: &str, unit: &str, value: f64) -> &mut Bench {
        let at = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Rounds::new(name, unit));
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        if row.unit == unit {
            row.push(number.unwrap_or(row.next()), value);
        } else if self.fault.is_none() {
            let (first, second) = (row.unit.clone(), unit.into());
            self.fault = Some(Error::Units { row: name.into(), first, second });
        }
        self
    }

    /// Removes a row that has too few rounds for a conclusion.
    pub fn remove(&mut self, name: &str) -> &mut Bench {
        self.rows.retain(|row| row.name != name);
        self
    }

    /// Requests the ratio of row `a` to row `b`, of the rounds that both have. If a row is absent,
    /// there is no ratio.
    pub fn ratio(&mut self, a: &str, b: &str) -> &mut Bench {
        self.ratios.push((a.into(), b.into()));
        self
    }

    /// What is measured, in one line.
    pub fn about(&mut self, text: &str) -> &mut Bench {
        self.notes.about = Some(text.into());
        self
    }

    /// One more step of how it is measured.
    pub fn method(&mut self, step: &str) -> &mut Bench {
        self.notes.method.push(step.into());
        self
    }

    /// A fact of this run.
    pub fn note(&mut self, fact: impl Into<String>) -> &mut Bench {
        self.notes.notes.push(fact.into());
        self
    }

    /// Something that cannot be measured here.
    pub fn absent(&mut self, name: &str, reason: impl Into<String>) -> &mut Bench {
        self.notes.absent.push(Absent { name: name.into(), reason: reason.into() });
        self
    }

    /// What to keep in mind of a row.
    pub fn mark(&mut self, row: &str, text: impl Into<String>) -> &mut Bench {
        self.notes.marks.push(Mark { row: row.into(), text: text.into() });
        self
    }

    /// Adds a figure.
    pub fn figure(&mut self, figure: Figure) -> &mut Bench {
        self.notes.figures.push(figure);
        self
    }

    /// It ended early.
    pub fn cut(&mut self, why: impl Into<String>) -> &mut Bench {
        self.notes.cut = Some(why.into());
        self
    }

    /// Method, remarks and figures so far.
    pub fn notes(&self) -> &RunNotes {
        &self.notes
    }

    /// The median of a row that was measured.
    pub fn median(&self, name: &str) -> Option<f64> {
        Some(self.samples(name).ok()?.stats().median)
    }

    /// The name under which the results are reported.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// The raw values, for other computations.
    pub fn rounds(&self) -> &[Rounds] {
        &self.rows
    }

    /// # Errors
    /// No rows, a row in two units, a value that is not a number, a ratio of unknown or unpaired
    /// rows or by zero: each names the row.
    pub fn finish(&self, host: Host) -> Result<Report, Error> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.rows.is_empty() {
            return Err(Error::NoRows { scenario: self.scenario.clone() });
        }
        let rows = self.rows.iter().map(Row::of).collect::<Result<_, _>>()?;
        let measured = self.ratios.iter().filter(|(a, b)| !self.is_absent(a) && !self.is_absent(b));
        let ratios = measured.map(|(a, b)| self.quotient(a, b));
        let ratios = ratios.collect::<Result<_, _>>()?;
        Ok(Report {
            scenario: self.scenario.clone(),
            rows,
            ratios,
            host,
            notes: self.notes.clone(),
        })
    }

    fn quotient(&self, a: &str, b: &str) -> Result<Ratio, Error> {
        let quotients = self.rounds_of(a)?.ratios(self.rounds_of(b)?);
        let quotients = quotients.map_err(|fault| fault.in_row(format!("{a} / {b}")))?;
        let Stats { min, median, max, .. } = quotients.stats();
        let interval = Some(quotients.confident());
        Ok(Ratio { a: a.into(), b: b.into(), min, median, max, interval })
    }

    /// Whether there is no value of this row, which is known.
    fn is_absent(&self, name: &str) -> bool {
        self.notes.absent.iter().any(|gone| gone.name == name)
            && !self.rows.iter().any(|row| row.name == name)
    }

    fn rounds_of(&self, name: &str) -> Result<&Rounds, Error> {
        let row = self.rows.iter().find(|row| row.name == name);
        row.ok_or_else(|| Error::UnknownRow { row: name.into() })
    }

    fn samples(&self, name: &str) -> Result<Samples, Error> {
        self.rounds_of(name)?.samples()
    }
}

impl Report {
    /// One bar chart for each unit of the main rows, in the order of the rows; references can be
    /// added to them.
    pub fn bars(&self) -> Vec<Bars> {
        let mut charts: Vec<Bars> = Vec::new();
        for Row { name, unit, stats } in self.main_rows() {
            let at = charts.iter().position(|chart| chart.unit() == unit).unwrap_or_else(|| {
                charts.push(Bars::new(&self.scenario, unit));
                charts.len() - 1
            });
            charts[at].bar(name, *stats);
        }
        charts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn two_arms() -> Bench {
        let mut bench = Bench::new("drop");
        for (native, generic) in [(10.0, 5.0), (4.0, 2.0), (9.0, 3.0)] {
            bench.round("native", "pps", native).round("generic", "pps", generic);
        }
        bench
    }

    #[test]
    fn rows_are_compared_where_both_have_rounds() {
        let ratios = |bench: &mut Bench| {
            bench.ratio("native", "generic").finish(Host::default()).unwrap().ratios
        };
        let whole = ratios(&mut two_arms());
        assert_eq!(ratios(two_arms().round("native", "pps", 100.0)), whole);
        let gap =
            two_arms().round_at(5, "native", "pps", 100.0).round("generic", "pps", 1.0).clone();
        assert_eq!(ratios(&mut gap.clone()), whole, "one is of round 5, the other of round 4");
        assert_eq!(ratios(gap.clone().round("generic", "pps", 1.0))[0].max, 100.0);

        let mut bench = two_arms();
        bench.ratio("native", "offload").ratio("native", "generic");
        assert!(bench.finish(Host::default()).is_err(), "nobody knows of it");
        bench.absent("offload", "no such hardware");
        assert_eq!(bench.finish(Host::default()).unwrap().ratios.len(), 1);
        bench.remove("generic");
        assert!(bench.finish(Host::default()).is_err(), "it was taken away and nothing said");
    }

    #[test]
    fn the_contract_for_scripts() {
        let report = two_arms().ratio("native", "generic").finish(Host::default()).unwrap();
        let want = json!({
            "scenario": "drop",
            "rows": [
                {"name": "native", "unit": "pps",
                 "min": 4.0, "median": 9.0, "max": 10.0, "rounds": 3},
                {"name": "generic", "unit": "pps",
                 "min": 2.0, "median": 3.0, "max": 5.0, "rounds": 3},
            ],
            "ratios": [{"a": "native", "b": "generic", "min": 2.0, "median": 2.0, "max": 3.0,
                        "interval": {"low": 2.0, "high": 3.0}}],
            "host": {},
        });
        assert_eq!(serde_json::to_value(&report).unwrap(), want);
        assert_eq!(serde_json::from_value::<Report>(want).unwrap(), report);
    }

    #[test]
    fn a_bad_set_of_rounds_names_its_row() {
        let finish = |bench: &Bench| bench.finish(Host::default()).unwrap_err().to_string();
        let table = [
            (finish(&Bench::new("x")), "benchmark \"x\" has no rows"),
            (finish(two_arms().ratio("native", "tc")), "no row \"tc\" to build a ratio from"),
            (
                finish(two_arms().round("native", "ns", 1.0)),
                "row \"native\" is in pps, but a later round is in ns",
            ),
            (
                finish(two_arms().round_at(9, "late", "pps", 1.0).ratio("native", "late")),
                "\"native / late\": a ratio needs pairs: 3 rounds against 1",
            ),
            (
                finish(two_arms().round("native", "pps", f64::NAN)),
                "\"native\": sample 3 is NaN, which is not a finite number",
            ),
        ];
        for (said, want) in table {
            assert_eq!(said, want);
        }
    }

    #[test]
    fn each_unit_has_its_own_chart() {
        let bench = two_arms().round("latency", "ns", 12.0).clone();
        let units: Vec<_> = bench.finish(Host::default()).unwrap().bars();
        assert_eq!(units.iter().map(Bars::unit).collect::<Vec<_>>(), ["pps", "ns"]);
    }

    #[test]
    fn tables_say_it_for_people() {
        let report = two_arms().ratio("native", "generic").finish(Host::default()).unwrap();
        let text = report.table().to_string();
        assert!(text.contains("native   4 pps   9 pps  10 pps    111 ms       3\n"), "{text}");
        let ratios = report.ratio_table().unwrap().to_string();
        assert!(ratios.contains("native / generic   2x      2x   3x  2x to 3x\n"), "{ratios}");
        assert!(two_arms().finish(Host::default()).unwrap().ratio_table().is_none());
    }
}
