//! What `filter show` answers: rules in order with what they count, and all else that decides.

use std::collections::BTreeSet;
use std::time::Duration;

use functions::filter::{Reason, Ruleset, Sets, Test, abi};
use functions::stats::Count;
use report::table::{Column, Table};
use serde::Serialize;

use crate::counters::Counts;
use crate::view::status::{self, Rate, Rates};
use crate::view::{Paint, View};

/// Rules as they were given.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub rules: Ruleset,
    /// That they may refer to.
    pub sets: Sets,
    /// Each rule as a line.
    pub texts: Vec<String>,
    /// How long each still holds, of those that have a time.
    pub left: Vec<Option<Duration>>,
}

/// A filter, and its rates over a time.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    pub interface: String,
    pub mode: &'static str,
    pub program_id: u32,
    /// Time over which rates were measured.
    pub interval_s: f64,
    pub rules: Vec<Rule>,
    /// What no rule decided.
    pub default: ByDefault,
    pub oddities: Vec<Oddity>,
    /// All packets, by verdict and reason.
    pub reasons: Vec<status::Reason>,
    pub sets: Vec<Set>,
    /// What rules counted that are in force no more.
    pub gone: Rate,
}

/// A rule with the packets that it matched, since it was first in force.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// Counted from 0, in the order of deciding.
    pub number: usize,
    pub name: String,
    pub text: String,
    /// Seconds that it still holds; only of rules that have a time. 0: it decides no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
    #[serde(flatten)]
    pub rate: Rate,
}

#[derive(Clone, Debug, Serialize)]
pub struct ByDefault {
    pub verdict: &'static str,
    #[serde(flatten)]
    pub rate: Rate,
}

/// What can be odd about a packet, what is done with it then, and how often it was done because
/// of that; packets that the rules judged are counted with these.
#[derive(Clone, Debug, Serialize)]
pub struct Oddity {
    pub name: &'static str,
    pub policy: &'static str,
    #[serde(flatten)]
    pub rate: Rate,
}

/// A named set of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Set {
    pub name: String,
    /// Stretches of addresses without a gap.
    pub v4_ranges: usize,
    pub v6_ranges: usize,
}

/// The file of rules in force.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    pub interface: String,
    pub file: String,
}

/// Rules' counts and reasons' counts at one moment.
pub type Moment = (Vec<abi::Count>, Counts);

impl Shown {
    /// `head` is interface, mode, program; the moments are `seconds` apart.
    pub fn new(
        (interface, mode, program_id): (&str, &'static str, u32),
        given: &Given,
        (before, now): (Moment, Moment),
        seconds: f64,
    ) -> Self {
        let rate = |number: usize| {
            let at = |counts: &[abi::Count]| {
                let abi::Count { packets, bytes, .. } =
                    counts.get(number).copied().unwrap_or_default();
                Count { packets, bytes }
            };
            Rate::between(at(&before.0), at(&now.0), seconds)
        };
        let lines = given.rules.rules.iter().zip(&given.texts).enumerate();
        let rules = lines.map(|(number, (rule, text))| Rule {
            number,
            name: rule.name.clone(),
            text: text.clone(),
            left_s: given.left.get(number).copied().flatten().map(|left| left.as_secs_f64()),
            rate: rate(number),
        });
        let because = |reason: Reason| {
            let of = |counts: &Counts| sum(counts, reason.label());
            Rate::between(of(&before.1), of(&now.1), seconds)
        };
        let oddities = given.rules.policies.iter().map(|(reason, policy)| Oddity {
            name: reason.label(),
            policy: policy.label(),
            rate: because(reason),
        });
        Self {
            interface: interface.to_owned(),
            mode,
            program_id,
            interval_s: seconds,
            rules: rules.collect(),
            default: ByDefault {
                verdict: given.rules.default.verdict().name(),
                rate: because(Reason::Default),
            },
            oddities: oddities.collect(),
            reasons: Rates::between(&before.1, &now.1, seconds).reasons,
            sets: sets(given),
            gone: rate(given.rules.rules.len()),
        }
    }

    /// Rules and the default.
    pub fn decisions(&self, rows: impl Iterator<Item = usize>) -> Table {
        let texts = ["", "rule", "what"].map(Column::text);
        let numbers = ["packets", "rate", "bits"].map(Column::number);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        for rule in rows.filter_map(|row| self.rules.get(row)) {
            let [packets, pps, bps] = rule.rate.text();
            table.row([rule.number.to_string(), rule.name.clone(), rule.what(), packets, pps, bps]);
        }
        let [packets, pps, bps] = self.default.rate.text();
        let verdict = self.default.verdict.to_owned();
        table.row([String::new(), "(default)".to_owned(), verdict, packets, pps, bps]);
        table
    }

    /// Why packets met their verdicts.
    pub fn why(&self) -> Table {
        let texts = ["reason", "verdict"].map(Column::text);
        let numbers = ["packets", "rate", "bits"].map(Column::number);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        for one in &self.reasons {
            let [packets, pps, bps] = one.rate.text();
            table.row([one.reason.clone(), one.verdict.to_owned(), packets, pps, bps]);
        }
        table
    }

    fn policies(&self) -> String {
        let words = self.oddities.iter().map(|one| format!("{} {}", one.name, one.policy));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl Rule {
    /// Its text, and how long it still holds.
    fn what(&self) -> String {
        match self.left_s {
            None => self.text.clone(),
            Some(0.0) => format!("{} (over)", self.text),
            Some(left) => format!("{} ({left:.0} s left)", self.text),
        }
    }
}

fn sum(counts: &Counts, label: &str) -> Count {
    let all = counts.reasons.iter().filter(|((_, reason), _)| reason == label);
    all.fold(Count::default(), |sum, (_, count)| sum + *count)
}

/// Those that some rule asks for, by name.
fn sets(given: &Given) -> Vec<Set> {
    let tests = given.rules.rules.iter().flat_map(|rule| &rule.tests);
    let addresses = tests.filter_map(|test| match test {
        Test::Address { addresses, .. } => Some(addresses),
        _ => None,
    });
    let names: BTreeSet<_> = addresses.flat_map(|addresses| addresses.sets()).collect();
    names.into_iter().filter_map(|name| Some(set(name, &given.sets.set(name)?.addresses))).collect()
}

fn set(name: &str, addresses: &functions::filter::Addresses) -> Set {
    Set {
        name: name.to_owned(),
        v4_ranges: addresses.v4.ranges().len(),
        v6_ranges: addresses.v6.ranges().len(),
    }
}

impl View for Shown {
    fn text(&self, paint: Paint) -> String {
        let Self { interface, mode, program_id, .. } = self;
        let mut text =
            paint.bold(&format!("{interface}: filter in {mode} mode, program {program_id}"));
        text.push('\n');
        text.push_str(&self.decisions(0..self.rules.len()).to_string());
        if self.gone.packets > 0 {
            let [packets, ..] = self.gone.text();
            text.push_str(&format!("{packets} packets were counted by rules that are gone\n"));
        }
        if !self.reasons.is_empty() {
            text.push_str(&format!("\n{}", self.why()));
        }
        for Set { name, v4_ranges, v6_ranges } in &self.sets {
            text.push_str(&format!(
                "\nset {name}: {v4_ranges} ranges of IPv4, {v6_ranges} of IPv6"
            ));
        }
        let policies = crate::view::wrapped(&format!("odd packets: {}", self.policies()), WIDTH);
        text.push_str(&format!("\n{policies}"));
        text
    }
}

impl View for File {
    fn text(&self, _paint: Paint) -> String {
        self.file.clone()
    }
}

const WIDTH: usize = 100;
