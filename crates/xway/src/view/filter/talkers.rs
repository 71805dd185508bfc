//! Who sends the most, and where to: a part of what `filter top` shows.
//!
//! Field names are promised in `docs/json.md`.

use filter::runtime::talkers::{Talker, Window};
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

/// Estimates from packets that were chosen by chance.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Talking {
    /// Time that is looked back.
    pub window_s: f64,
    pub packets: u64,
    /// Of these, those that were looked at.
    pub samples: u64,
    /// The rate of sampling now.
    pub one_in: u32,
    /// Chosen packets that were not read in time, since the rules in force came.
    pub lost: u64,
    /// The busiest first.
    pub sources: Vec<Row>,
    pub ports: Vec<Row>,
}

/// One sender, or one port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// An address, or such as `udp/53`.
    pub name: String,
    pub pps: f64,
    /// The true rate is at most so much higher or lower in 95 of 100 cases; 0 when every packet
    /// was looked at.
    pub error_pps: f64,
    pub samples: u64,
    /// What became of most of them.
    pub verdict: &'static str,
    pub reason: Option<&'static str>,
}

impl Talking {
    pub fn new(window: &Window, one_in: u32, lost: u64) -> Self {
        Self {
            window_s: window.seconds(),
            packets: window.matched(),
            samples: window.samples(),
            one_in,
            lost,
            sources: window.sources(MOST).into_iter().map(Row::from).collect(),
            ports: window.ports(MOST).into_iter().map(Row::from).collect(),
        }
    }

    /// The first of both, side by side.
    pub fn table(&self, rows: usize) -> Table {
        let half = |what| {
            [Column::text(what), Column::number("rate"), Column::number("±"), Column::text("fate")]
        };
        let mut table = Table::new([half("from"), half("to")].concat());
        for place in 0..rows.min(self.sources.len().max(self.ports.len())) {
            let cells = |rows: &[Row]| rows.get(place).map_or_else(Default::default, Row::cells);
            table.row([cells(&self.sources), cells(&self.ports)].concat());
        }
        table
    }

    /// How the numbers came about.
    pub fn foot(&self) -> String {
        let Self { window_s, packets, samples, lost, .. } = self;
        let [packets, samples] = [packets, samples].map(|count| human(*count as f64, ""));
        let lost = match lost {
            0 => String::new(),
            lost => format!(", {} were lost", human(*lost as f64, "")),
        };
        format!("{samples} of {packets} packets of {window_s:.1} s were looked at{lost}")
    }

    /// The first of both, in a line.
    pub fn line(&self) -> Option<String> {
        let word = |word: &str, rows: &[Row]| {
            let Row { name, pps, error_pps, .. } = rows.first()?;
            Some(format!("{word} {name} {} ±{}", human(*pps, "pps"), human(*error_pps, "pps")))
        };
        let words = [word("from", &self.sources), word("to", &self.ports)];
        let words: Vec<_> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl Row {
    fn cells(&self) -> [String; 4] {
        let fate = match self.reason {
            Some(reason) => format!("{} ({reason})", self.verdict),
            None => self.verdict.to_owned(),
        };
        [self.name.clone(), human(self.pps, "pps"), human(self.error_pps, "pps"), fate]
    }
}

impl<K: ToString> From<Talker<K>> for Row {
    fn from(talker: Talker<K>) -> Self {
        let (verdict, reason) = talker.fate;
        Self {
            name: talker.key.to_string(),
            pps: talker.pps,
            error_pps: talker.error_pps,
            samples: talker.samples,
            verdict: verdict.name(),
            reason: reason.map(|reason| reason.label()),
        }
    }
}

/// Told of each.
const MOST: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, pps: f64, error_pps: f64) -> Row {
        let name = name.to_owned();
        Row { name, pps, error_pps, samples: 1, verdict: "drop", reason: Some("rule") }
    }

    #[test]
    fn both_stand_side_by_side() {
        let talking = Talking {
            sources: vec![row("10.0.0.1", 2000.0, 10.0), row("10.0.0.2", 1000.0, 10.0)],
            ports: vec![row("udp/53", 3000.0, 0.0)],
            samples: 300,
            packets: 6000,
            window_s: 2.0,
            lost: 7,
            one_in: 20,
        };
        let text = talking.table(9).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].contains("from") && lines[0].contains("to"), "{text}");
        let first = text.lines().find(|line| line.contains("10.0.0.1")).unwrap();
        assert!(first.contains("udp/53") && first.contains("drop (rule)"), "{text}");
        assert!(text.contains("10.0.0.2"), "{text}");
        assert!(!talking.table(1).to_string().contains("10.0.0.2"));
        assert_eq!(talking.foot(), "300 of 6.00 k packets of 2.0 s were looked at, 7 were lost");
        let line = talking.line().unwrap();
        assert!(line.starts_with("from 10.0.0.1 2.00 kpps ±10 pps, to udp/53"), "{line}");
        assert_eq!(Talking::default().line(), None);
    }
}
