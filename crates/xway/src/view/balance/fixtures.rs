//! Text of `balance fixtures`: how many cases are alike, and why the others differ.

use report::table::{Column, Table};
use runner::fixtures::{FixtureReport, FixtureResult, Seen};

use crate::view::{Paint, View};

impl View for FixtureReport {
    fn text(&self, _paint: Paint) -> String {
        let Self { cases, alike, different, unexplained, reasons, results } = self;
        let mut table = Table::new([Column::text("result"), Column::number("cases")]);
        table.row(["alike".to_owned(), alike.to_string()]);
        for one in reasons {
            table.row([one.reason.name().to_owned(), one.cases.to_string()]);
        }
        let mut lines = vec![
            format!("{cases} cases: {alike} alike, {different} different"),
            table.to_string().trim_end().to_owned(),
        ];
        if *unexplained > 0 {
            lines.push(format!("{unexplained} differ without a reason:"));
        }
        lines.extend(results.iter().filter(|one| !one.alike && one.reason.is_none()).map(line));
        lines.join("\n")
    }
}

fn line(result: &FixtureResult) -> String {
    let FixtureResult { header, number, description, differs, katran, xway, .. } = result;
    let xway = xway.as_ref().map_or_else(|| "not run".to_owned(), seen);
    let (differs, katran) = (differs.join(", "), seen(katran));
    format!("  {header} {number}, {description}: {differs}; katran {katran}, here {xway}")
}

fn seen(seen: &Seen) -> String {
    match seen.to {
        Some(to) => format!("{} to {to}", seen.verdict),
        None => seen.verdict.clone(),
    }
}
