//! What `filter show` answers: rules in order with what they count, and all else that decides.

use std::collections::BTreeSet;
use std::time::Duration;

use filter::{Reason, Ruleset, Sets, Test, abi};
use functions::stats::Count;
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use super::limits::{self, Limit};
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
    pub limits: Vec<Limit>,
    /// What could not be done as rules say, and what a SYN proxy did.
    pub events: Vec<Event>,
    pub bans: Bans,
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
    /// Of these packets, those that the action took: over the limit, sampled, answered.
    pub taken: u64,
    pub taken_pps: f64,
}

/// Something that is counted while rules are in force, all rules together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    pub name: &'static str,
    pub count: u64,
    pub pps: f64,
}

/// Sources that are banned, and how many can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bans {
    pub number: usize,
    pub most: u32,
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

/// What a filter counts, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// One for each rule, and one for rules that are gone.
    pub rules: Vec<abi::Count>,
    pub counts: Counts,
    pub events: Vec<(abi::Event, u64)>,
}

impl Shown {
    /// `head` is interface, mode, program; the moments are `seconds` apart. Limits and bans are
    /// still to be added.
    pub fn new(
        (interface, mode, program_id): (&str, &'static str, u32),
        given: &Given,
        (before, now): (&Moment, &Moment),
        seconds: f64,
    ) -> Self {
        let rate = |number: usize| {
            let at = |moment: &Moment| {
                let abi::Count { packets, bytes, .. } = moment.rule(number);
                Count { packets, bytes }
            };
            Rate::between(at(before), at(now), seconds)
        };
        let lines = given.rules.rules.iter().zip(&given.texts).enumerate();
        let rules = lines.map(|(number, (rule, text))| Rule {
            number,
            name: rule.name.clone(),
            text: text.clone(),
            left_s: given.left.get(number).copied().flatten().map(|left| left.as_secs_f64()),
            rate: rate(number),
            taken: now.rule(number).taken,
            taken_pps: per_second(before.rule(number).taken, now.rule(number).taken, seconds),
        });
        let because = |reason: Reason| {
            let of = |counts: &Counts| sum(counts, reason.label());
            Rate::between(of(&before.counts), of(&now.counts), seconds)
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
            reasons: Rates::between(&before.counts, &now.counts, seconds).reasons,
            sets: sets(given),
            gone: rate(given.rules.rules.len()),
            limits: Vec::new(),
            events: events(before, now, seconds),
            bans: Bans::default(),
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

    /// Those that ever were, in a line.
    fn happened(&self) -> Option<String> {
        let seen = self.events.iter().filter(|one| one.count > 0);
        let words = seen.map(|Event { name, count, pps }| {
            format!("{name} {} ({})", human(*count as f64, ""), human(*pps, "pps"))
        });
        let words: Vec<_> = words.collect();
        (!words.is_empty()).then(|| format!("events: {}", words.join(", ")))
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

impl Moment {
    fn rule(&self, number: usize) -> abi::Count {
        self.rules.get(number).copied().unwrap_or_default()
    }
}

fn events(before: &Moment, now: &Moment, seconds: f64) -> Vec<Event> {
    let old = |event| before.events.iter().find(|(one, _)| *one == event).map_or(0, |one| one.1);
    let all = now.events.iter().map(|(event, count)| Event {
        name: event.label(),
        count: *count,
        pps: per_second(old(*event), *count, seconds),
    });
    all.collect()
}

fn per_second(before: u64, now: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 }
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

fn set(name: &str, addresses: &filter::Addresses) -> Set {
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
        if !self.limits.is_empty() {
            text.push_str(&format!("\n{}", limits::table(&self.limits)));
        }
        if let Some(events) = self.happened() {
            text.push_str(&format!("\n{events}"));
        }
        if self.bans.number > 0 {
            let Bans { number, most } = self.bans;
            text.push_str(&format!("\n{number} sources are banned, of {most} at most"));
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
