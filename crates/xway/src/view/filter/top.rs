//! The view of `filter top`: a picture on a terminal, a line elsewhere.

use control::filter::report::{FilterReport, RuleReport};
use control::filter::top::TopSenders;
use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use serde::Serialize;

use super::{show, top_senders};
use crate::view::live::Drawing;
use crate::view::{Paint, View};

/// The state of a filter with its busiest senders, which `top` composes of two readings.
#[derive(Clone, Debug, Serialize)]
pub struct Top {
    #[serde(flatten)]
    pub shown: FilterReport,
    /// Busiest senders and ports; `null` where no samples are taken: with `--rules-only`, and while
    /// another process samples packets or tries rules.
    pub talkers: Option<TopSenders>,
    /// That process, else `null`.
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

    fn head(&self) -> String {
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

/// The reason why no senders and ports are shown.
pub fn without(holder: &str) -> String {
    format!("senders and ports are not shown while {holder} samples packets or tries rules")
}

impl View for Top {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Top {
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
        format!("{}{rules}{talkers}", self.head())
    }

    /// Senders and reasons have fixed places at the bottom; rules fill the remaining rows.
    fn draw(&self, frame: &mut Frame<'_>) {
        let why = show::why(&self.shown).to_string();
        let talkers = match (&self.talkers_held_by, &self.talkers) {
            (Some(holder), _) => format!("\n{}\n", without(holder)),
            (None, Some(talkers)) => {
                format!(
                    "\n{}{}\n",
                    top_senders::table(talkers, TALKERS),
                    top_senders::foot(talkers)
                )
            }
            (None, None) => String::new(),
        };
        let around = why.lines().count() + talkers.lines().count() + AROUND;
        let room = usize::from(frame.area().height).saturating_sub(around).max(1);
        let rules = show::decisions(&self.shown, self.busiest().into_iter().take(room));
        let text = format!("{}\n\n{rules}{talkers}\n{why}\nCtrl-C ends", self.head());
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}

/// Rows of senders and ports.
const TALKERS: usize = 5;
/// Rules that are named in a line.
const LINE: usize = 3;
/// Lines that are neither rules nor reasons: head, headings, default, foot, and between them.
const AROUND: usize = 8;
