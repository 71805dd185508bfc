//! The files of a run, updated during the run.
//!
//! Rule: after each round, `raw.json` has every value so far and is marked as incomplete, so that a
//! run that is killed keeps them; the other files are written again after each scenario.

use anyhow::Result;
use report::bench::Report;
use report::{Bench, Host, Run};

use super::run_dir::RunDir;

pub struct RunWriter {
    run: Run,
    run_dir: RunDir,
    /// Before the run.
    host: Host,
    /// The benchmark that is not at its end.
    open: Option<String>,
    /// All files were written, the last time that it was tried.
    is_saved: bool,
}

impl RunWriter {
    pub fn new(run: Run, run_dir: RunDir, host: Host) -> Self {
        Self { run, run_dir, host, open: None, is_saved: false }
    }

    /// What disturbed the run, and where it is, or how to have it.
    pub fn told(&self) -> Vec<String> {
        if self.run.scenarios.is_empty() {
            return Vec::new();
        }
        let noise =
            self.run.noise().into_iter().map(|noise| format!("this machine was noisy: {noise}"));
        let place = match self.run_dir.folder() {
            Some(folder) if self.is_saved => {
                format!("kept in {}: report.html has it all", folder.path().display())
            }
            Some(folder) => {
                format!(
                    "files in {} are incomplete: they were not written",
                    folder.path().display()
                )
            }
            None => "not kept: --out DIR keeps every value, the figures and a page".to_owned(),
        };
        noise.chain([place]).collect()
    }

    /// What was measured up to this round, in case there is no next one.
    pub fn round_ended(&mut self, so_far: &Bench, round: usize, rounds: usize) {
        if so_far.rounds().is_empty() {
            return;
        }
        let mut bench = so_far.clone();
        bench.cut(format!("cut off after round {round} of {rounds}"));
        self.open = Some(bench.scenario().to_owned());
        // An error is reported at the end, when all files are written again.
        let _ = self.keep(&bench);
    }

    /// A scenario is at its end, or was interrupted. Its files come with [`RunWriter::save`].
    pub fn finish(&mut self, bench: &Bench) -> Result<Report> {
        let measured = self.run.put(bench, self.host.clone())?;
        self.open = None;
        Ok(measured.report.clone())
    }

    /// Every file.
    pub fn save(&mut self) -> Result<()> {
        let saved = self.save_all();
        self.is_saved = saved.is_ok();
        saved
    }

    fn save_all(&self) -> Result<()> {
        let Some(folder) = self.run_dir.folder() else { return Ok(()) };
        self.write()?;
        for (name, figure) in self.run.figures() {
            folder.put(&format!("{name}.svg"), figure.as_str())?;
        }
        folder.put("summary.md", &self.run.summary())?;
        folder.put("report.html", &self.run.page().to_html())?;
        Ok(())
    }

    /// Records that a scenario failed, with the reason; earlier values remain.
    pub fn fail(&mut self, reason: &str) {
        let Some(open) = self.open.take() else { return };
        let mut known = self.run.scenarios.iter_mut();
        if let Some(measured) = known.find(|measured| measured.report.scenario == open) {
            measured.report.notes.cut = Some(reason.to_owned());
        }
        // The scenario's failure is reported already, and earlier files are complete.
        let _ = self.save();
    }

    fn keep(&mut self, bench: &Bench) -> Result<()> {
        self.run.put(bench, self.host.clone())?;
        self.write()
    }

    /// Every value so far.
    fn write(&self) -> Result<()> {
        let Some(folder) = self.run_dir.folder() else { return Ok(()) };
        folder.put(RAW, &serde_json::to_string_pretty(&self.run)?)?;
        Ok(())
    }
}

/// The file that has everything.
pub const RAW: &str = "raw.json";
