//! Text of the busiest senders and ports: a part of `filter top`.

use control::filter::top::{Sender, TopSenders};
use report::number::human;
use report::table::{Column, Table};

/// The first of both lists, side by side.
pub fn table(top: &TopSenders, rows: usize) -> Table {
    let half = |what| {
        [Column::text(what), Column::number("rate"), Column::number("±"), Column::text("verdict")]
    };
    let mut table = Table::new([half("from"), half("to")].concat());
    for place in 0..rows.min(top.sources.len().max(top.ports.len())) {
        let cells = |rows: &[Sender]| rows.get(place).map_or_else(Default::default, cells);
        table.row([cells(&top.sources), cells(&top.ports)].concat());
    }
    table
}

/// Number of samples that the rates are estimated from.
pub fn foot(top: &TopSenders) -> String {
    let TopSenders { window_s, packets, samples, lost, .. } = top;
    let [packets, samples] = [packets, samples].map(|count| human(*count as f64, ""));
    let lost = match lost {
        0 => String::new(),
        lost => format!(", {} were lost", human(*lost as f64, "")),
    };
    format!("{samples} of {packets} packets of {window_s:.1} s were sampled{lost}")
}

/// The first of both lists, in a line.
pub fn line(top: &TopSenders) -> Option<String> {
    let word = |word: &str, rows: &[Sender]| {
        let Sender { name, pps, error_pps, .. } = rows.first()?;
        Some(format!("{word} {name} {} ±{}", human(*pps, "pps"), human(*error_pps, "pps")))
    };
    let words = [word("from", &top.sources), word("to", &top.ports)];
    let words: Vec<_> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn cells(sender: &Sender) -> [String; 4] {
    let verdict = match sender.reason {
        Some(reason) => format!("{} ({reason})", sender.verdict),
        None => sender.verdict.to_owned(),
    };
    [sender.name.clone(), human(sender.pps, "pps"), human(sender.error_pps, "pps"), verdict]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, pps: f64, error_pps: f64) -> Sender {
        let name = name.to_owned();
        Sender { name, pps, error_pps, samples: 1, verdict: "drop", reason: Some("rule") }
    }

    #[test]
    fn both_stand_side_by_side() {
        let top = TopSenders {
            sources: vec![row("10.0.0.1", 2000.0, 10.0), row("10.0.0.2", 1000.0, 10.0)],
            ports: vec![row("udp/53", 3000.0, 0.0)],
            samples: 300,
            packets: 6000,
            window_s: 2.0,
            lost: 7,
            one_in: 20,
        };
        let text = table(&top, 9).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].contains("from") && lines[0].contains("to"), "{text}");
        let first = text.lines().find(|line| line.contains("10.0.0.1")).unwrap();
        assert!(first.contains("udp/53") && first.contains("drop (rule)"), "{text}");
        assert!(text.contains("10.0.0.2"), "{text}");
        assert!(!table(&top, 1).to_string().contains("10.0.0.2"));
        assert_eq!(foot(&top), "300 of 6.00 k packets of 2.0 s were sampled, 7 were lost");
        let text = line(&top).unwrap();
        assert!(text.starts_with("from 10.0.0.1 2.00 kpps ±10 pps, to udp/53"), "{text}");
        assert_eq!(line(&TopSenders::default()), None);
    }
}
