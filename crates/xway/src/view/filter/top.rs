//! What `filter top` shows: a picture on a terminal, a line elsewhere.

use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use serde::Serialize;

use super::show::{Rule, Shown};
use crate::view::live::Drawing;
use crate::view::{Paint, View};

/// A filter at work.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Top(pub Shown);

impl Top {
    /// Numbers of rules, the busiest first; those that were never met are left out.
    fn busiest(&self) -> Vec<usize> {
        let met = self.0.rules.iter().filter(|rule| rule.rate.packets > 0);
        let mut rules: Vec<&Rule> = met.collect();
        rules.sort_by(|a, b| b.rate.pps.total_cmp(&a.rate.pps).then(a.number.cmp(&b.number)));
        rules.into_iter().map(|rule| rule.number).collect()
    }

    fn head(&self) -> String {
        let Shown { interface, mode, rules, reasons, .. } = &self.0;
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

impl View for Top {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Top {
    fn line(&self) -> String {
        let first = self.busiest().into_iter().take(LINE).map(|number| {
            let rule = &self.0.rules[number];
            format!("{} {}", rule.name, human(rule.rate.pps, "pps"))
        });
        let first: Vec<_> = first.collect();
        let rules =
            if first.is_empty() { String::new() } else { format!("; {}", first.join(", ")) };
        format!("{}{rules}", self.head())
    }

    /// Reasons keep their place below; rules take what is left.
    fn draw(&self, frame: &mut Frame<'_>) {
        let why = self.0.why().to_string();
        let around = why.lines().count() + AROUND;
        let room = usize::from(frame.area().height).saturating_sub(around).max(1);
        let rules = self.0.decisions(self.busiest().into_iter().take(room));
        let text = format!("{}\n\n{rules}\n{why}\nCtrl-C ends", self.head());
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}

/// Rules that a line names.
const LINE: usize = 3;
/// Lines that are neither rules nor reasons: head, headings, default, foot, and between them.
const AROUND: usize = 8;
