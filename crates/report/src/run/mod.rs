//! Several benchmarks that were run together, in all their forms: data, page, figures, summary.
//!
//! Rule: all forms are of the same values, and the data has every one of them, so that each form
//! can be made again from it. Not here: files (the binary), measuring (crate `bench`).

mod finding;
mod noise;
mod page;
mod summary;

use serde::{Deserialize, Serialize};

pub use noise::Spread;

use crate::bench::Report;
use crate::{Bench, Drawing, Error, Host, Rounds, Svg};

/// `raw.json` of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of this format; keys are only ever added.
    pub version: u32,
    /// What was typed.
    pub command: String,
    /// The scenarios that were measured.
    pub scenarios: Vec<Measured>,
}

/// One benchmark with every value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Statistics and remarks of the scenario.
    #[serde(flatten)]
    pub report: Report,
    /// Every round of every row.
    pub samples: Vec<Rounds>,
}

impl Run {
    /// A run without scenarios, with the command that started it.
    pub fn new(command: impl Into<String>) -> Self {
        Self { version: VERSION, command: command.into(), scenarios: Vec::new() }
    }

    /// Adds a benchmark; one of the same name is replaced. `host` is the machine before the run:
    /// later its load is the run's own.
    ///
    /// # Errors
    /// As [`Bench::finish`].
    pub fn put(&mut self, bench: &Bench, host: Host) -> Result<&Measured, Error> {
        let measured = Measured { report: bench.finish(host)?, samples: bench.rounds().to_vec() };
        let name = measured.report.scenario.as_str();
        let known = self.scenarios.iter().position(|other| other.report.scenario == name);
        let at = known.unwrap_or(self.scenarios.len());
        match known {
            Some(at) => self.scenarios[at] = measured,
            None => self.scenarios.push(measured),
        }
        Ok(&self.scenarios[at])
    }

    /// Every figure with the name of its file, without the ending.
    pub fn figures(&self) -> Vec<(String, Svg)> {
        let drawn = self.scenarios.iter().flat_map(|measured| measured.report.drawings());
        drawn.map(|drawing| (drawing.name, drawing.picture)).collect()
    }

    /// The machine before the first benchmark.
    pub fn host(&self) -> Option<&Host> {
        self.scenarios.first().map(|measured| &measured.report.host)
    }

    /// Names of the scenarios that were measured.
    fn names(&self) -> String {
        let names: Vec<_> = self.scenarios.iter().map(|one| one.report.scenario.as_str()).collect();
        names.join(", ")
    }
}

impl Measured {
    /// The figures, each with what it shows.
    fn drawings(&self) -> Vec<(Drawing, Option<String>)> {
        let figures = &self.report.notes.figures;
        let mut plain = figures.is_empty().then(|| self.plain_finding()).flatten();
        let with = |drawing: Drawing| {
            let figure = figures.iter().find(|figure| figure.name == drawing.name);
            let finding = figure.and_then(|figure| self.finding(figure)).or(plain.take());
            (drawing, finding)
        };
        self.report.drawings().into_iter().map(with).collect()
    }
}

/// See [`Run::version`].
pub const VERSION: u32 = 1;
