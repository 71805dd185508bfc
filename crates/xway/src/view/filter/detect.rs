//! Text of `filter detect`: floods, the rules that would stop them, and the busiest patterns.

use std::time::Duration;

use control::filter::detection::{Amount, Busiest, BusyRow, DetectionReport, Finding, Observation};
use control::filter::trial::Ended;
use report::number::human;
use report::table::{Column, Table};

use crate::view::{Paint, View};

fn table(report: &DetectionReport) -> Table {
    let texts = ["kind", "busiest"].map(Column::text);
    let numbers = ["rate", "bits", "share"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for Busiest { kind, most } in &report.busiest {
        let shown = most.iter().filter(|row| row.share >= LEAST_SHOWN);
        for (place, BusyRow { what, amount, share }) in shown.enumerate() {
            let kind = if place == 0 { *kind } else { "" };
            let [pps, bps] = amount_text(amount);
            table.row([kind.to_owned(), what.clone(), pps, bps, percent(*share)]);
        }
    }
    table
}

fn amount_text(amount: &Amount) -> [String; 2] {
    [human(amount.pps, "pps"), human(amount.bps, "bit/s")]
}

fn finding_text(finding: &Finding, number: usize, paint: Paint) -> String {
    let [pps, bps] = amount_text(&finding.amount);
    let error = human(finding.amount.error_pps, "pps");
    let Finding { sources, talking, .. } = finding;
    let quiet = match finding.quiet {
        Some(quiet) => format!("{} came in the quietest tenth of the time", percent(quiet)),
        None => "no time was quiet".to_owned(),
    };
    let applied = match &finding.applied {
        Some(name) => format!("   active as {name}\n"),
        None => String::new(),
    };
    let head = format!("{number}  {}: {pps} ± {error}, {bps}", finding.what);
    let [flood, collateral, most, clients] =
        [finding.of_flood, finding.collateral, finding.collateral_most, finding.clients]
            .map(percent);
    format!(
        "{}\n   {}\n   takes {flood} of the flood; collateral {collateral} (at most {most})\n\
         \x20  {clients} are from clients by their connections, {quiet}; \
         {talking} of {sources} sources talk\n{applied}",
        paint.bold(&head),
        finding.rule,
    )
}

impl View for DetectionReport {
    fn text(&self, paint: Paint) -> String {
        let Observation { seconds, ended, looked_at, lost, hold_s } = &self.observation;
        let [pps, bps] = amount_text(&self.all);
        let [dropped, passed] = [self.dropped, self.passed].map(|amount| human(amount.pps, "pps"));
        let looked_at = human(*looked_at as f64, "");
        let head = format!(
            "{}: {pps} ± {} in {seconds:.1} s, {bps}",
            self.interface,
            human(self.all.error_pps, "pps")
        );
        let mut text = format!("{}\n", paint.bold(&head));
        text.push_str(&format!(
            "{dropped} are dropped already, {passed} passed by rules; {looked_at} packets were \
             inspected\n"
        ));
        if *lost > 0 {
            let lost = human(*lost as f64, "");
            text.push_str(&format!("{lost} more were lost: the estimate compensates for them\n"));
        }
        if *ended == Ended::RulesChanged {
            text.push_str("other rules were loaded meanwhile, so the observation ended early\n");
        }
        if self.findings.is_empty() {
            text.push_str("no flood was detected\n");
        }
        for (number, finding) in self.findings.iter().enumerate() {
            text.push_str(&format!("\n{}", finding_text(finding, number + 1, paint)));
        }
        if self.findings.iter().any(|finding| finding.applied.is_some()) {
            let hold = Duration::from_secs_f64(*hold_s).as_secs();
            text.push_str(&format!("\nrules active for {hold} s; Ctrl-C removes them now\n"));
        }
        text.push_str(&format!("\n{}", table(self)));
        text
    }
}

/// Smallest share of the open packets that gets a row.
const LEAST_SHOWN: f64 = 0.01;

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
