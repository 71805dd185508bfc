//! A finished benchmark in its forms: tables, the JSON contract, and a folder of files.
//!
//! Rule: all forms are of the same values, and the raw rounds are always among the files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use report::bench::Report;
use report::{Bench, Host, Page};

pub struct Outcome {
    bench: Bench,
    report: Report,
}

impl Outcome {
    pub fn new(bench: Bench, host: Host) -> Result<Outcome> {
        let report = bench.finish(host)?;
        Ok(Outcome { bench, report })
    }

    /// For people.
    pub fn text(&self) -> String {
        let ratios = self.report.ratio_table().map_or(String::new(), |table| format!("\n{table}"));
        format!("{}{ratios}\n{}\n", self.report.table(), self.report.host.summary())
    }

    /// For scripts: one object, on one line.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(&self.report)? + "\n")
    }

    /// `NAME.json` (as `--json`), `NAME-rounds.json` (every value), `NAME.html` and an SVG for
    /// each unit; the folder is made if it is not there, files of the same name are replaced.
    pub fn write_to(&self, folder: &Path) -> Result<()> {
        let name = self.bench.scenario();
        fs::create_dir_all(folder).with_context(|| format!("folder {}", folder.display()))?;
        let write = |file: String, text: &str| {
            let path = folder.join(file);
            fs::write(&path, text).with_context(|| path.display().to_string())
        };
        write(format!("{name}.json"), &serde_json::to_string_pretty(&self.report)?)?;
        let rounds = serde_json::to_string_pretty(self.bench.rounds())?;
        write(format!("{name}-rounds.json"), &rounds)?;
        for (index, bars) in self.report.bars().iter().enumerate() {
            let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
            write(format!("{name}{number}.svg"), bars.to_svg().as_str())?;
        }
        write(format!("{name}.html"), &self.page().to_html())
    }

    fn page(&self) -> Page {
        let mut page = Page::new(format!("Benchmark: {}", self.bench.scenario()));
        for bars in self.report.bars() {
            page.figure(&bars.to_svg(), &self.report.host.summary());
        }
        page.table(&self.report.table());
        if let Some(ratios) = self.report.ratio_table() {
            page.table(&ratios);
        }
        page.method("Each round runs every arm once and begins with another arm.")
            .method("The first round warms up and does not count.")
            .method("Ratios are taken within a round.")
            .raw("Result (JSON)", &self.report)
            .raw("Every round (JSON)", &self.bench.rounds());
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        let mut bench = Bench::new("speed");
        bench.round("a", "pps", 2.0).round("b", "pps", 1.0).round("wait", "ns", 7.0);
        bench.ratio("a", "b");
        Outcome::new(bench, Host::default()).unwrap()
    }

    #[test]
    fn json_is_one_line_and_reads_back() {
        let json = outcome().json().unwrap();
        assert_eq!(json.lines().count(), 1);
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), outcome().report);
    }

    #[test]
    fn the_folder_has_every_form() {
        let folder = std::env::temp_dir().join(format!("xway-outcome-{}", std::process::id()));
        outcome().write_to(&folder).unwrap();
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
        files.sort();
        fs::remove_dir_all(&folder).unwrap();
        let want = ["speed-2.svg", "speed-rounds.json", "speed.html", "speed.json", "speed.svg"];
        assert_eq!(files, want);
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let fault = outcome().write_to(Path::new("/proc/none")).unwrap_err();
        assert!(format!("{fault:#}").starts_with("folder /proc/none: "), "{fault:#}");
    }
}
