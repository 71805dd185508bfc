//! `Explanation`: which rule decided a packet, and why those before it did not.

use filter::model::Judged;
use filter::{Judgement, Ruleset};
use serde::Serialize;

/// The decision about one packet.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Number of the packet, from 1.
    pub n: u64,
    /// The verdict.
    pub verdict: &'static str,
    /// Name of the rule that decided, of a later fragment the one that decided the first; `null`
    /// where none did.
    pub rule: Option<String>,
    /// Reason for the verdict: `rule`, `default` or an anomaly; with `--live` also `limited`,
    /// `banned` or `syn-proxy`.
    pub reason: &'static str,
    /// Packets inside each other that were judged, the outermost first.
    pub layers: Vec<LayerExplanation>,
    /// Index of the layer that decided, from 0; `null` where none did.
    pub decided: Option<usize>,
    /// Link type with which the packet was captured, if an Ethernet header was added to it; else
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framed: Option<String>,
}

/// A packet that arrived on an interface, with `--live`.
#[derive(Debug, Serialize)]
pub struct ArrivedPacket {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Seconds from the beginning, with `--live`.
    pub t: f64,
    /// The packet in a line, for people, with `--live`.
    pub summary: String,
    /// Length of the frame in bytes, with `--live`.
    pub length: u32,
    /// Receive queue, with `--live`.
    pub queue: u32,
}

/// One of the packets inside each other.
#[derive(Debug, Serialize)]
pub struct LayerExplanation {
    /// What rules see of it, for people.
    pub packet: String,
    /// Its anomalies.
    pub odd: Vec<&'static str>,
    /// Name of the first rule that matched and decided.
    pub rule: Option<String>,
    /// Names of rules before it that matched without deciding.
    pub matched: Vec<String>,
    /// Rules before it that did not match; empty where the rules were not evaluated.
    pub before: Vec<Miss>,
}

/// A rule that did not match.
#[derive(Debug, Serialize)]
pub struct Miss {
    /// Name of the rule.
    pub rule: String,
    /// The test that failed, for people.
    pub why: String,
}

impl Explanation {
    /// Names the rules of a judgement of packet `n`.
    pub fn new(n: u64, judgement: &Judgement, rules: &Ruleset) -> Self {
        let name = |rule: usize| rules.rules[rule].name.clone();
        let layers = judgement.layers.iter();
        Self {
            n,
            verdict: judgement.verdict.name(),
            rule: judgement.rule.map(name),
            reason: judgement.reason.label(),
            layers: layers.map(|judged| LayerExplanation::new(judged, rules)).collect(),
            decided: judgement.decided,
            framed: None,
        }
    }
}

impl LayerExplanation {
    fn new(judged: &Judged, rules: &Ruleset) -> Self {
        let name = |rule: &usize| rules.rules[*rule].name.clone();
        let misses = judged.misses.iter();
        Self {
            packet: judged.layer.words(),
            odd: judged.layer.anomalies.iter().map(|anomaly| anomaly.label()).collect(),
            rule: judged.rule.as_ref().map(name),
            matched: judged.effects.iter().map(name).collect(),
            before: misses
                .map(|miss| Miss { rule: name(&miss.rule), why: miss.words(rules, judged) })
                .collect(),
        }
    }
}
