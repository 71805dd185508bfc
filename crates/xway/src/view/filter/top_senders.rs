//! Text of the busiest senders and ports: a part of `filter top`.

use control::filter::top::{Sender, TopSenders};
use report::number::human;

use crate::view::browser::{Cell, Heading, Sheet};

/// A table of senders or ports, without rows.
pub fn sheet(name: &'static str) -> Sheet {
    let numbers = ["rate", "±"].map(Heading::number);
    let texts = ["verdict", "reason"].map(Heading::text);
    Sheet::new(name, [Heading::text("name")].into_iter().chain(numbers).chain(texts))
}

pub fn fill(sheet: &mut Sheet, senders: &[Sender]) {
    for Sender { name, pps, error_pps, verdict, reason, .. } in senders {
        let texts = [name.as_str(), verdict, reason.unwrap_or_default()].map(Cell::text);
        let [name, verdict, reason] = texts;
        let rates = [*pps, *error_pps].map(|pps| Cell::number(pps, "pps"));
        let [rate, error] = rates;
        sheet.row([name, rate, error, verdict, reason]);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, pps: f64, error_pps: f64) -> Sender {
        let name = name.to_owned();
        Sender { name, pps, error_pps, samples: 1, verdict: "drop", reason: Some("rule") }
    }

    #[test]
    fn both_lists_in_a_line() {
        let top = TopSenders {
            sources: vec![row("10.0.0.1", 2000.0, 10.0), row("10.0.0.2", 1000.0, 10.0)],
            ports: vec![row("udp/53", 3000.0, 0.0)],
            samples: 300,
            packets: 6000,
            window_s: 2.0,
            lost: 7,
            one_in: 20,
        };
        assert_eq!(foot(&top), "300 of 6.00 k packets of 2.0 s were sampled, 7 were lost");
        let text = line(&top).unwrap();
        assert!(text.starts_with("from 10.0.0.1 2.00 kpps ±10 pps, to udp/53"), "{text}");
        assert_eq!(line(&TopSenders::default()), None);
    }
}
