//! `FilterReport`: the rules of a filter in order, with their counters and the other causes of
//! verdicts.

use std::collections::BTreeSet;
use std::time::Duration;

use filter::{Reason, Ruleset, Sets, Test, abi};
use functions::stats::Count;
use serde::Serialize;

use super::limits::Limit;
use crate::counters::Counts;
use crate::rates::{self, Rate, Rates};

/// The rules that a filter was loaded with.
#[derive(Clone, Debug, Default)]
pub struct LoadedRules {
    pub rules: Ruleset,
    /// Sets that the rules may refer to.
    pub sets: Sets,
    /// Each rule as a line.
    pub texts: Vec<String>,
    /// Remaining time of each rule that has one.
    pub left: Vec<Option<Duration>>,
}

/// A filter, its counters, and its rates over an interval.
#[derive(Clone, Debug, Serialize)]
pub struct FilterReport {
    pub interface: String,
    pub mode: &'static str,
    pub program_id: u32,
    /// Time over which rates were measured.
    pub interval_s: f64,
    pub rules: Vec<RuleReport>,
    /// Packets that no rule decided.
    pub default: DefaultReport,
    #[serde(rename = "oddities")]
    pub anomalies: Vec<Anomaly>,
    /// All packets, by verdict and reason.
    pub reasons: Vec<rates::Reason>,
    pub sets: Vec<Set>,
    /// Packets counted by rules that are no longer loaded.
    pub gone: Rate,
    pub limits: Vec<Limit>,
    /// Actions that failed, and actions of a SYN proxy.
    pub events: Vec<Event>,
    pub bans: Bans,
}

/// A rule with the packets that it matched since it was first loaded.
#[derive(Clone, Debug, Serialize)]
pub struct RuleReport {
    /// Position, from 0.
    pub number: usize,
    pub name: String,
    pub text: String,
    /// Seconds until the rule expires, for rules that have a time; 0 if it has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
    #[serde(flatten)]
    pub rate: Rate,
    /// Matched packets to which the action applied: over the limit, sampled, answered.
    pub taken: u64,
    pub taken_pps: f64,
}

/// An event that is counted for all rules together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    pub name: &'static str,
    pub count: u64,
    pub pps: f64,
}

/// Number of banned sources, and the most that can be banned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bans {
    pub number: usize,
    pub most: u32,
}

/// The default verdict, and the packets that got it.
#[derive(Clone, Debug, Serialize)]
pub struct DefaultReport {
    pub verdict: &'static str,
    #[serde(flatten)]
    pub rate: Rate,
}

/// A kind of malformed packet, the policy for it, and the packets that the policy decided. Packets
/// that the policy left to the rules are counted with the rules.
#[derive(Clone, Debug, Serialize)]
pub struct Anomaly {
    pub name: &'static str,
    pub policy: &'static str,
    #[serde(flatten)]
    pub rate: Rate,
}

/// A named set of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Set {
    pub name: String,
    /// Number of ranges of consecutive addresses.
    pub v4_ranges: usize,
    pub v6_ranges: usize,
}

/// A filter's counters, read together.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// One for each rule, and one for rules that are not loaded any more.
    pub rules: Vec<abi::Count>,
    pub counts: Counts,
    pub events: Vec<(abi::Event, u64)>,
}

impl FilterReport {
    /// A report from two readings that are `seconds` apart, without limits and bans. `head` is the
    /// interface, the mode and the program's id.
    pub fn new(
        (interface, mode, program_id): (&str, &'static str, u32),
        given: &LoadedRules,
        (before, now): (&Reading, &Reading),
        seconds: f64,
    ) -> Self {
        let rate = |number: usize| {
            let at = |moment: &Reading| {
                let abi::Count { packets, bytes, .. } = moment.rule(number);
                Count { packets, bytes }
            };
            Rate::between(at(before), at(now), seconds)
        };
        let lines = given.rules.rules.iter().zip(&given.texts).enumerate();
        let rules = lines.map(|(number, (rule, text))| RuleReport {
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
        let anomalies = given.rules.policies.iter().map(|(reason, policy)| Anomaly {
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
            default: DefaultReport {
                verdict: given.rules.default.verdict().name(),
                rate: because(Reason::Default),
            },
            anomalies: anomalies.collect(),
            reasons: Rates::between(&before.counts, &now.counts, seconds).reasons,
            sets: sets(given),
            gone: rate(given.rules.rules.len()),
            limits: Vec::new(),
            events: events(before, now, seconds),
            bans: Bans::default(),
        }
    }
}

impl Reading {
    fn rule(&self, number: usize) -> abi::Count {
        self.rules.get(number).copied().unwrap_or_default()
    }
}

fn events(before: &Reading, now: &Reading, seconds: f64) -> Vec<Event> {
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

/// Sets that a rule refers to, by name.
fn sets(given: &LoadedRules) -> Vec<Set> {
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
