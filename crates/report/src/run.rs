//! Several benchmarks that were run together, in all their forms: data, page, figures, summary.
//!
//! Rule: all forms are of the same values, and the data has every one of them, so that each form
//! can be made again from it. Not here: files (the binary), measuring (crate `bench`).

use serde::{Deserialize, Serialize};

use crate::bench::{Report, Rounds};
use crate::{Bench, Drawing, Error, Host, Page, Svg};

/// `raw.json` of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Of this format; keys are only ever added.
    pub version: u32,
    /// What was typed.
    pub command: String,
    pub scenarios: Vec<Measured>,
}

/// One benchmark with every value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    #[serde(flatten)]
    pub report: Report,
    /// Every round of every row.
    pub samples: Vec<Rounds>,
}

impl Run {
    pub fn new(command: impl Into<String>) -> Self {
        Self { version: VERSION, command: command.into(), scenarios: Vec::new() }
    }

    /// Adds a benchmark; one of the same name is replaced.
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

    /// For a README.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for Measured { report, .. } in &self.scenarios {
            text.push_str(&format!(
                "## {}\n\n{}\n\n",
                report.scenario,
                report.table().to_markdown()
            ));
            if let Some(ratios) = report.ratio_table() {
                text.push_str(&format!("{}\n\n", ratios.to_markdown()));
            }
            for gone in &report.story.absent {
                text.push_str(&format!("- {} is not here: {}\n", gone.name, gone.reason));
            }
            text.push_str(&format!("\n{}\n\n", report.host.summary()));
        }
        text
    }

    pub fn page(&self) -> Page {
        let mut page = Page::new("Expressway: a run of its benchmarks");
        for Measured { report, .. } in &self.scenarios {
            page.section(&report.scenario);
            for Drawing { title, picture, .. } in report.drawings() {
                page.figure(&picture, &title);
            }
            page.table(&report.table());
            if let Some(ratios) = report.ratio_table() {
                page.table(&ratios);
            }
            for gone in &report.story.absent {
                page.paragraph(&format!("{} is not here: {}", gone.name, gone.reason));
            }
            report.story.method.iter().for_each(|step| _ = page.method(step));
        }
        page.raw("Every value (JSON)", self);
        page
    }
}

/// See [`Run::version`].
pub const VERSION: u32 = 1;
