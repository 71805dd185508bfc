//! Text of `filter try`: how the active and the new rules judged the same packets.

use control::filter::comparison::{ChangedSample, PairReport, TrialHead, TrialReport};
use control::filter::trial::Ended;
use report::number::human;
use report::table::{Column, Table};

use crate::view::{Paint, View};

fn table(report: &TrialReport, paint: Paint) -> String {
    let texts = ["current", "by", "proposed", "by"].map(Column::text);
    let mut table = Table::new(texts.into_iter().chain([Column::number("packets")]));
    for PairReport { old, new, count, .. } in report.pairs.iter().filter(|pair| pair.changed) {
        let packets = human(count.packets as f64, "");
        table.row([old.verdict.to_owned(), old.by(), new.verdict.to_owned(), new.by(), packets]);
    }
    let same = report.pairs.iter().filter(|pair| !pair.changed && pair.old.by() != pair.new.by());
    for PairReport { old, new, count, .. } in same {
        let packets = human(count.packets as f64, "");
        table.row([old.verdict.to_owned(), old.by(), String::new(), new.by(), packets]);
    }
    let text = table.to_string();
    if text.lines().count() > 2 { text } else { paint.dim("nothing would change\n") }
}

impl View for TrialReport {
    fn text(&self, paint: Paint) -> String {
        let TrialHead { interface, seconds, ended } = &self.head;
        let [all, changed] =
            [self.all.packets, self.changed.packets].map(|packets| human(packets as f64, ""));
        let head = format!(
            "{interface}: {all} packets in {seconds:.1} s, {changed} would get another verdict"
        );
        let mut text = format!("{}\n{}", paint.bold(&head), table(self, paint));
        if *ended == Ended::RulesChanged {
            text.push_str("other rules were loaded meanwhile, so the trial ended early\n");
        }
        for ChangedSample { packet, old, new, .. } in &self.samples {
            let (from, to) = (old.by(), new.by());
            text.push_str(&format!(
                "{packet}\n    current: {} by {from}; proposed: {} by {to}\n",
                old.verdict, new.verdict
            ));
        }
        text
    }
}
