//! A run in Markdown, for a README: the figures are linked by the names of their files.
//!
//! Rule: the same values as on the page, without what only one who checks them needs.

use super::{Measured, Run};
use crate::escape::markdown;
use crate::{Drawing, text};

impl Run {
    /// The run as Markdown, for a README.
    pub fn summary(&self) -> String {
        let mut summary = format!("# xway bench: {}\n\n", markdown(&self.names()));
        if let Some(host) = self.host() {
            let command = text::line(&self.command).replace('`', "'");
            summary.push_str(&format!("`{command}`  \n{}\n\n", markdown(&host.summary())));
        }
        for noise in self.noise() {
            summary.push_str(&format!("> **This machine was noisy:** {}.\n\n", markdown(&noise)));
        }
        self.scenarios.iter().for_each(|measured| summary.push_str(&measured.summary()));
        summary.trim_end().to_owned() + "\n"
    }
}

impl Measured {
    fn summary(&self) -> String {
        let (report, notes) = (&self.report, &self.report.notes);
        let mut parts = vec![format!("## {}", markdown(&report.scenario))];
        parts.extend(notes.about.as_deref().map(markdown));
        parts.extend(notes.cut.as_ref().map(|why| format!("> **Cut off:** {}.", markdown(why))));
        for (Drawing { name, title, .. }, finding) in self.drawings() {
            parts.push(format!("![{}]({}.svg)", markdown(&title), target(&name)));
            parts.extend(finding.as_deref().map(markdown));
        }
        let is_told = |name: &str| report.is_main(name) && !report.is_of_curve(name);
        parts.extend(report.curve_tables().iter().map(|table| table.to_markdown()));
        if report.rows.iter().any(|row| is_told(&row.name)) {
            parts.push(report.table_of(is_told).to_markdown());
        }
        parts.extend(report.ratio_table().map(|table| table.to_markdown()));
        let absent = notes.absent.iter().map(|gone| {
            format!("- {} is not here: {}", markdown(&gone.name), markdown(&gone.reason))
        });
        let marks = notes.marks.iter();
        let marks =
            marks.map(|mark| format!("- {}: {}", markdown(&mark.row), markdown(&mark.text)));
        let notes = notes.notes.iter().map(|note| format!("- {}", markdown(note)));
        let list: Vec<_> = absent.chain(marks).chain(notes).collect();
        parts.push(list.join("\n"));
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n\n"
    }
}

/// The name of a figure's file as the target of a link: it can neither end the link nor leave the
/// folder.
fn target(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}
