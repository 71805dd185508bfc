//! The view of `filter top`: a live view on a terminal, otherwise a line per interval.

use control::filter::report::{FilterReport, RuleReport};
use control::filter::top::TopSenders;
use control::rates::Rate;
use report::number::human;
use serde::Serialize;

use super::{show, top_senders};
use crate::view::browser::{Browsable, Cell, Heading, Sheet};
use crate::view::{Paint, View};

/// The state of a filter with its busiest senders, which `top` computes from two readings.
#[derive(Clone, Debug, Serialize)]
pub struct Top {
    #[serde(flatten)]
    pub shown: FilterReport,
    /// Busiest senders and ports; `null` when no samples are taken: with `--rules-only`, and while
    /// another process samples packets or tries rules.
    pub talkers: Option<TopSenders>,
    /// The process that samples packets or tries rules, if it is another one; otherwise `null`.
    pub talkers_held_by: Option<String>,
}

impl Top {
    /// Numbers of rules that matched packets, the busiest first.
    fn busiest(&self) -> Vec<usize> {
        let matched = self.shown.rules.iter().filter(|rule| rule.rate.packets > 0);
        let mut rules: Vec<&RuleReport> = matched.collect();
        rules.sort_by(|a, b| b.rate.pps.total_cmp(&a.rate.pps).then(a.number.cmp(&b.number)));
        rules.into_iter().map(|rule| rule.number).collect()
    }

    fn summary(&self) -> String {
        let FilterReport { interface, mode, rules, reasons, .. } = &self.shown;
        let sum = |verdict: &str| -> f64 {
            let all = reasons.iter().filter(|one| verdict.is_empty() || one.verdict == verdict);
            all.map(|one| one.rate.pps).sum()
        };
        format!(
            "{interface}, {mode}, {} rules: {} in, {} dropped, {} passed",
            rules.len(),
            human(sum(""), "pps"),
            human(sum("drop"), "pps"),
            human(sum("pass"), "pps")
        )
    }
}

impl Top {
    /// The rules that matched packets, the busiest first, the others, and the default.
    fn rules(&self) -> Sheet {
        let texts = ["#", "rule", "what"];
        let texts = [Heading::number(texts[0]), Heading::text(texts[1]), Heading::text(texts[2])];
        let mut sheet = Sheet::new("rules", texts.into_iter().chain(RATES));
        let busiest = self.busiest();
        let idle = (0..self.shown.rules.len()).filter(|number| !busiest.contains(number));
        for rule in busiest.iter().copied().chain(idle).map(|number| &self.shown.rules[number]) {
            let texts = [rule.name.clone(), show::what(rule)].map(Cell::text);
            let cells = [Cell::count(rule.number + 1)].into_iter().chain(texts);
            sheet.row(cells.chain(rate_cells(&rule.rate)));
        }
        let default = &self.shown.default;
        let texts = ["", "(default)", default.verdict].map(Cell::text);
        sheet.row(texts.into_iter().chain(rate_cells(&default.rate)));
        sheet
    }

    fn reasons(&self) -> Sheet {
        let texts = ["reason", "verdict"].map(Heading::text);
        let mut sheet = Sheet::new("reasons", texts.into_iter().chain(RATES));
        for one in &self.shown.reasons {
            let texts = [one.reason.clone(), one.verdict.to_owned()].map(Cell::text);
            sheet.row(texts.into_iter().chain(rate_cells(&one.rate)));
        }
        sheet.empty = "no packet has been counted".to_owned();
        sheet
    }
}

/// The reason why no senders and ports are shown.
pub fn without(holder: &str) -> String {
    format!("senders and ports are not shown while {holder} samples packets or tries rules")
}

impl View for Top {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Browsable for Top {
    fn line(&self) -> String {
        let first = self.busiest().into_iter().take(LINE).map(|number| {
            let rule = &self.shown.rules[number];
            format!("{} {}", rule.name, human(rule.rate.pps, "pps"))
        });
        let first: Vec<_> = first.collect();
        let rules =
            if first.is_empty() { String::new() } else { format!("; {}", first.join(", ")) };
        let talkers = match &self.talkers_held_by {
            Some(holder) => Some(without(holder)),
            None => self.talkers.as_ref().and_then(top_senders::line),
        };
        let talkers = talkers.map_or_else(String::new, |line| format!("; {line}"));
        format!("{}{rules}{talkers}", self.summary())
    }

    fn head(&self) -> String {
        let samples = self.talkers.as_ref().map(|top| format!("\n{}", top_senders::foot(top)));
        self.summary() + &samples.unwrap_or_default()
    }

    fn sheets(&self) -> Vec<Sheet> {
        let [from, to] = ["senders", "ports"].map(|name| {
            let mut sheet = top_senders::sheet(name);
            sheet.empty = match &self.talkers_held_by {
                Some(holder) => without(holder),
                None => "no packets were sampled".to_owned(),
            };
            sheet
        });
        let mut senders = [from, to];
        if let Some(talkers) = &self.talkers {
            top_senders::fill(&mut senders[0], &talkers.sources);
            top_senders::fill(&mut senders[1], &talkers.ports);
        }
        [self.rules(), self.reasons()].into_iter().chain(senders).collect()
    }
}

/// Packets, packets per second, bits per second.
fn rate_cells(rate: &Rate) -> [Cell; 3] {
    let Rate { packets, pps, bps, .. } = rate;
    [Cell::number(*packets as f64, ""), Cell::number(*pps, "pps"), Cell::number(*bps, "bit/s")]
}

const RATES: [Heading; 3] =
    [Heading::number("packets"), Heading::number("rate"), Heading::number("bits")];
/// Maximum number of rules that are named in a line.
const LINE: usize = 3;
