//! `TrialReport`: how the active and the new rules judged the same packets.

use filter::Ruleset;
use filter::runtime::trial::{Decision, DecisionPair};
use functions::stats::Count;
use serde::Serialize;

use super::trial::Ended;

/// The result of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialReport {
    #[serde(flatten)]
    pub head: TrialHead,
    /// Packets that both rule sets judged.
    pub all: Count,
    /// Packets of these with another verdict by the new rules.
    pub changed: Count,
    /// Pairs of decisions, the most frequent first.
    pub pairs: Vec<PairReport>,
    /// Some of the packets with another verdict.
    pub samples: Vec<ChangedSample>,
}

/// Place and time of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialHead {
    /// Name of the interface.
    pub interface: String,
    /// Time of the trial, in seconds.
    pub seconds: f64,
    /// Why it ended.
    pub ended: Ended,
}

/// Packets with the same pair of decisions.
#[derive(Clone, Debug, Serialize)]
pub struct PairReport {
    /// Decision of the active rules.
    pub old: DecisionReport,
    /// Decision of the new rules.
    pub new: DecisionReport,
    /// The verdicts differ.
    pub changed: bool,
    #[serde(flatten)]
    pub count: Count,
}

/// A decision, with the rule's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionReport {
    /// The verdict.
    pub verdict: &'static str,
    /// Name of the rule that decided; `null` when none did.
    pub rule: Option<String>,
    /// Reason for the verdict; `null` for one that is unknown here.
    pub reason: Option<&'static str>,
}

/// A packet with another verdict by the new rules.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedSample {
    /// Seconds from the beginning of the trial.
    pub t: f64,
    /// The packet in a line, for people.
    pub packet: String,
    /// Length of the frame, in bytes.
    pub length: u32,
    /// Decision of the active rules.
    pub old: DecisionReport,
    /// Decision of the new rules.
    pub new: DecisionReport,
}

impl TrialReport {
    /// Names the rules of the pairs, and sums their packets.
    pub fn new(
        head: TrialHead,
        pairs: &[DecisionPair],
        [old, new]: [&Ruleset; 2],
        samples: Vec<ChangedSample>,
    ) -> Self {
        let pair = |pair: &DecisionPair| PairReport {
            old: DecisionReport::new(&pair.old, old),
            new: DecisionReport::new(&pair.new, new),
            changed: pair.old.verdict != pair.new.verdict,
            count: Count { packets: pair.packets, bytes: pair.bytes },
        };
        let pairs: Vec<_> = pairs.iter().map(pair).collect();
        let sum = |wanted: fn(&PairReport) -> bool| {
            let counts = pairs.iter().filter(|pair| wanted(pair)).map(|pair| pair.count);
            counts.fold(Count::default(), |sum, count| sum + count)
        };
        let (all, changed) = (sum(|_| true), sum(|pair| pair.changed));
        Self { head, all, changed, pairs, samples }
    }
}

impl DecisionReport {
    /// Names the rule of a decision.
    pub fn new(decision: &Decision, rules: &Ruleset) -> Self {
        let rule = decision.rule.and_then(|number| rules.rules.get(number as usize));
        Self {
            verdict: decision.verdict.name(),
            rule: rule.map(|rule| rule.name.clone()),
            reason: decision.reason.map(|reason| reason.label()),
        }
    }

    /// The rule, else the reason in parentheses.
    pub fn by(&self) -> String {
        rule_or_reason(self.rule.as_deref(), self.reason)
    }
}

/// The name of the rule that decided, else the reason in parentheses.
pub(super) fn rule_or_reason(rule: Option<&str>, reason: Option<&str>) -> String {
    match (rule, reason) {
        (Some(rule), _) => rule.to_owned(),
        (None, Some(reason)) => format!("({reason})"),
        (None, None) => "(unknown)".to_owned(),
    }
}
