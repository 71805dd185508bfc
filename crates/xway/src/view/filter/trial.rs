//! What `filter try` answers: which packets the rules in force and the new ones judge alike, and
//! which not.

use control::filter::trial::Ended;
use filter::Ruleset;
use filter::runtime::{decision, trial};
use functions::stats::Count;
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use crate::view::{Paint, View};

/// A trial that is over.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    #[serde(flatten)]
    pub head: Head,
    /// Packets that met a verdict, and those of them that would have met another.
    pub all: Count,
    pub changed: Count,
    /// The most frequent first.
    pub pairs: Vec<Pair>,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Head {
    pub interface: String,
    pub seconds: f64,
    pub ended: Ended,
}

/// Packets that one rule decides now and one would decide then.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    pub old: Opinion,
    pub new: Opinion,
    /// The verdicts differ.
    pub changed: bool,
    #[serde(flatten)]
    pub count: Count,
}

/// Who decides, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opinion {
    pub verdict: &'static str,
    /// `null` when no rule decides.
    pub rule: Option<String>,
    pub reason: Option<&'static str>,
}

/// One of the packets that would get another verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Seconds since the trial began, when it was read.
    pub t: f64,
    pub packet: String,
    pub length: u32,
    pub old: Opinion,
    pub new: Opinion,
}

impl Tried {
    pub fn new(
        head: Head,
        pairs: &[trial::DecisionPair],
        [old, new]: [&Ruleset; 2],
        samples: Vec<Sample>,
    ) -> Self {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|pair| Pair {
                old: Opinion::of(&pair.old, old),
                new: Opinion::of(&pair.new, new),
                changed: pair.old.verdict != pair.new.verdict,
                count: Count { packets: pair.packets, bytes: pair.bytes },
            })
            .collect();
        let sum = |wanted: fn(&Pair) -> bool| {
            let counts = pairs.iter().filter(|pair| wanted(pair)).map(|pair| pair.count);
            counts.fold(Count::default(), |sum, count| sum + count)
        };
        let (all, changed) = (sum(|_| true), sum(|pair| pair.changed));
        Self { head, all, changed, pairs, samples }
    }

    fn table(&self, paint: Paint) -> String {
        let texts = ["now", "by", "then", "by"].map(Column::text);
        let mut table = Table::new(texts.into_iter().chain([Column::number("packets")]));
        for Pair { old, new, count, .. } in self.pairs.iter().filter(|pair| pair.changed) {
            let packets = human(count.packets as f64, "");
            table.row([
                old.verdict.to_owned(),
                old.by(),
                new.verdict.to_owned(),
                new.by(),
                packets,
            ]);
        }
        let same = self.pairs.iter().filter(|pair| !pair.changed && pair.old.by() != pair.new.by());
        for Pair { old, new, count, .. } in same {
            let packets = human(count.packets as f64, "");
            table.row([old.verdict.to_owned(), old.by(), String::new(), new.by(), packets]);
        }
        let text = table.to_string();
        if text.lines().count() > 2 { text } else { paint.dim("nothing would change\n") }
    }
}

impl Opinion {
    pub fn of(opinion: &decision::Decision, rules: &Ruleset) -> Self {
        let rule = opinion.rule.and_then(|number| rules.rules.get(number as usize));
        Self {
            verdict: opinion.verdict.name(),
            rule: rule.map(|rule| rule.name.clone()),
            reason: opinion.reason.map(|reason| reason.label()),
        }
    }

    /// The rule, else the reason.
    fn by(&self) -> String {
        match (&self.rule, self.reason) {
            (Some(rule), _) => rule.clone(),
            (None, Some(reason)) => format!("({reason})"),
            (None, None) => "(unknown)".to_owned(),
        }
    }
}

impl View for Tried {
    fn text(&self, paint: Paint) -> String {
        let Head { interface, seconds, ended } = &self.head;
        let [all, changed] =
            [self.all.packets, self.changed.packets].map(|packets| human(packets as f64, ""));
        let head = format!(
            "{interface}: {all} packets in {seconds:.1} s, {changed} would get another verdict"
        );
        let mut text = format!("{}\n{}", paint.bold(&head), self.table(paint));
        if *ended == Ended::RulesChanged {
            text.push_str("other rules were loaded meanwhile, so the trial ended early\n");
        }
        for Sample { packet, old, new, .. } in &self.samples {
            let (from, to) = (old.by(), new.by());
            text.push_str(&format!(
                "{packet}\n    now {} by {from}, then {} by {to}\n",
                old.verdict, new.verdict
            ));
        }
        text
    }
}
