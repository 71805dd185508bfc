//! What `status` answers: interfaces, programs, rates by verdict.

use std::collections::BTreeMap;

use functions::stats::Count;
use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use spec::Verdict;

use super::live::Drawing;
use super::{Paint, View};
use crate::counters::Counts;

#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Time over which rates were measured.
    pub interval_s: f64,
    pub interfaces: Vec<Interface>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    pub name: String,
    pub ifindex: u32,
    pub up: bool,
    pub mtu: u32,
    pub programs: Vec<Running>,
}

/// A program on an interface.
#[derive(Clone, Debug, Serialize)]
pub struct Running {
    pub id: u32,
    /// Whether this process may read the program. If not, only `id` and `mode` are known.
    pub permitted: bool,
    pub name: Option<String>,
    pub tag: Option<String>,
    pub mode: &'static str,
    pub owner: Option<String>,
    pub link_id: Option<u32>,
    /// `null` for a program that does not count or may not be read.
    pub rates: Option<Rates>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Rates {
    /// Every verdict, also those that never were.
    pub verdicts: BTreeMap<&'static str, Rate>,
    /// Return values that are no verdict.
    pub invalid: Rate,
    /// Empty for a program that does not say why.
    pub reasons: Vec<Reason>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    pub verdict: &'static str,
    pub reason: String,
    #[serde(flatten)]
    pub rate: Rate,
}

/// Totals since the program was attached, and rates over the interval. `bps` is bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    pub packets: u64,
    pub bytes: u64,
    pub pps: f64,
    pub bps: f64,
}

impl Rates {
    pub fn between(before: &Counts, now: &Counts, seconds: f64) -> Self {
        let rate = |old, new| Rate::between(old, new, seconds);
        let verdict = |verdict| rate(before.verdict(verdict), now.verdict(verdict));
        let reasons = now.reasons.iter().map(|((verdict, reason), count)| Reason {
            verdict: verdict.name(),
            reason: reason.clone(),
            rate: rate(
                before.reasons.get(&(*verdict, reason.clone())).copied().unwrap_or_default(),
                *count,
            ),
        });
        Self {
            verdicts: Verdict::ALL.into_iter().map(|one| (one.name(), verdict(one))).collect(),
            invalid: rate(before.invalid, now.invalid),
            reasons: reasons.collect(),
        }
    }
}

impl Rate {
    pub fn between(before: Count, now: Count, seconds: f64) -> Self {
        let per_second = |old: u64, new: u64| match seconds {
            none if none <= 0.0 => 0.0,
            seconds => new.saturating_sub(old) as f64 / seconds,
        };
        Self {
            packets: now.packets,
            bytes: now.bytes,
            pps: per_second(before.packets, now.packets),
            bps: 8.0 * per_second(before.bytes, now.bytes),
        }
    }

    /// Packets, packets a second, bits a second.
    pub fn text(&self) -> [String; 3] {
        [human(self.packets as f64, ""), human(self.pps, "pps"), human(self.bps, "bit/s")]
    }
}

impl Status {
    /// One row an interface, one more for each program beyond the first.
    fn overview(&self) -> Table {
        let columns = ["interface", "state", "mode", "program", "owner"];
        let mut table = Table::new(columns.map(Column::text));
        for one in &self.interfaces {
            let state = if one.up { "up" } else { "down" };
            if one.programs.is_empty() {
                table.row([one.name.as_str(), state, "-", "-", ""]);
            }
            for running in &one.programs {
                let program = format!("{} {}", running.id, running.name());
                let owner = running.owner.as_deref().unwrap_or("unknown");
                table.row([one.name.as_str(), state, running.mode, &program, owner]);
            }
        }
        table
    }

    /// What counting programs count, verdict by verdict, reason by reason.
    fn rates(&self) -> Option<Table> {
        let texts = ["interface", "program", "verdict", "reason"].map(Column::text);
        let numbers = ["packets", "rate", "bits"].map(Column::number);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        let mut rows = 0;
        for one in &self.interfaces {
            for running in &one.programs {
                for [verdict, reason, packets, pps, bps] in running.rows() {
                    let (name, program) = (one.name.clone(), running.name().to_owned());
                    table.row([name, program, verdict, reason, packets, pps, bps]);
                    rows += 1;
                }
            }
        }
        (rows > 0).then_some(table)
    }
}

impl Running {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("(not permitted)")
    }

    fn rows(&self) -> Vec<[String; 5]> {
        let Some(rates) = &self.rates else { return Vec::new() };
        let row = |verdict: &str, reason: &str, rate: &Rate| {
            let [packets, pps, bps] = rate.text();
            [verdict.to_owned(), reason.to_owned(), packets, pps, bps]
        };
        if !rates.reasons.is_empty() {
            return rates
                .reasons
                .iter()
                .map(|one| row(one.verdict, &one.reason, &one.rate))
                .collect();
        }
        let seen = rates.verdicts.iter().filter(|(_, rate)| rate.packets > 0);
        let mut rows: Vec<_> = seen.map(|(verdict, rate)| row(verdict, "", rate)).collect();
        if rates.invalid.packets > 0 {
            rows.push(row("no verdict", "", &rates.invalid));
        }
        rows
    }
}

impl View for Status {
    fn text(&self, _paint: Paint) -> String {
        let mut text = self.overview().to_string();
        if let Some(rates) = self.rates() {
            text.push_str(&format!("\n{rates}"));
        }
        if self.interfaces.iter().flat_map(|one| &one.programs).any(|one| !one.permitted) {
            text.push_str(NOT_PERMITTED);
        }
        text
    }
}

/// What to do about programs that may not be read.
const NOT_PERMITTED: &str = "\nnot permitted: the program is not one that xway keeps in this state \
                             directory, and reading others takes CAP_SYS_ADMIN; run as root\n";

impl Drawing for Status {
    fn line(&self) -> String {
        self.text(Paint { colour: false })
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let foot = format!("rates over {:.1} s; Ctrl-C ends", self.interval_s);
        let text = format!("{}\n{foot}", self.line());
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
