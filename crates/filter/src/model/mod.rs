//! `Model`: the decision of the program in plain Rust. For a ruleset and a packet, it returns the
//! verdict, the reason and the rule that decided, and why each earlier rule did not.
//!
//! Rule: it is written from the specification in `filter.abi.h` and has the same result as the
//! program for any bytes. It has no state except first fragments: no limit is exceeded, no source
//! is banned, no connection is proxied, and the time of no rule is over. Not here: reading headers
//! (`headers`).

pub mod cut_off;
mod fragments;
pub mod headers;
pub mod limits;
mod program_decision;
#[cfg(test)]
mod tests;
mod why;

use std::collections::HashMap;

use spec::Verdict;

use super::abi::{Need, Policy};
use super::{Action, Base, Needs, Payload, Reason, Ruleset, Test};
use fragments::{Fragments, Kept};
use headers::{FragmentKey, Layer};
pub use headers::{Frame, Reading, read};
pub use program_decision::ProgramDecision;
pub use why::{Miss, name};

/// A model of the program for a ruleset.
#[derive(Debug)]
pub struct Model<'a> {
    rules: &'a Ruleset,
    needs: Needs,
    /// Indices of the interfaces that rules name and that exist.
    interfaces: HashMap<String, u32>,
    fragments: Fragments,
}

/// The decision about a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: Reason,
    /// Number of the rule that decided.
    pub rule: Option<usize>,
    /// The layers that were judged, from the outermost.
    pub layers: Vec<Judged>,
    /// The layer that decided; `None` if the decision was made before the rules.
    pub decided: Option<usize>,
}

/// One of the nested packets of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub layer: Layer,
    /// Number of the first rule that matches and decides.
    pub rule: Option<usize>,
    /// Numbers of earlier rules that matched and continued.
    pub effects: Vec<usize>,
    /// Earlier rules that did not match, in order.
    pub misses: Vec<Miss>,
}

#[derive(Clone, Copy)]
struct End {
    verdict: Verdict,
    reason: Reason,
    rule: Option<usize>,
}

impl<'a> Model<'a> {
    /// The model of a ruleset, with its needs; `ifindex` resolves names of interfaces.
    pub fn new(rules: &'a Ruleset, ifindex: impl Fn(&str) -> Option<u32>) -> Self {
        let tests = rules.rules.iter().flat_map(|rule| &rule.tests);
        let names = tests.filter_map(|test| match test {
            Test::Interface { names, .. } => Some(names),
            _ => None,
        });
        let known = |name: &String| Some((name.clone(), ifindex(name)?));
        Self {
            rules,
            needs: Needs::of(rules),
            interfaces: names.flatten().filter_map(known).collect(),
            fragments: Fragments::default(),
        }
    }

    /// The model with other needs than those of the ruleset.
    #[must_use]
    pub fn with_needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// Judges the next frame; `now_ns` is the time of any monotonic clock, for fragments.
    pub fn judge(&mut self, frame: &Frame<'_>, now_ns: u64) -> Judgement {
        let Reading { layers, mut beyond } = read(frame, self.needs);
        let mut judgement = Judgement {
            verdict: Verdict::Pass,
            reason: Reason::Default,
            rule: None,
            layers: Vec::new(),
            decided: None,
        };
        let mut first = None;
        for (number, layer) in layers.into_iter().enumerate() {
            if layer.is_first_fragment() {
                first = first.or(layer.fragment_key);
            }
            let (end, is_over) = self.judge_layer(frame, layer, now_ns, &mut judgement);
            // A packet that a policy passes is counted for that policy.
            let is_named = is_over && judgement.verdict == Verdict::Pass;
            if number == 0 || is_named || is_stronger(end.verdict, judgement.verdict) {
                judgement.settle(end, Some(number));
            }
            if is_over || judgement.verdict == Verdict::Drop {
                beyond = None;
                break;
            }
        }
        if let Some(anomaly) = beyond {
            match self.policy(anomaly) {
                Policy::Drop => judgement.settle(End::by_policy(Verdict::Drop, anomaly), None),
                Policy::Pass if judgement.verdict == Verdict::Pass => {
                    judgement.settle(End::by_policy(Verdict::Pass, anomaly), None);
                }
                _ => (),
            }
        }
        if let Some(fragment_key) = first {
            self.keep(fragment_key, &judgement, now_ns);
        }
        judgement
    }

    fn policy(&self, anomaly: Reason) -> Policy {
        self.rules.policies.policy(anomaly).unwrap_or(Policy::Judge)
    }

    /// The decision about a layer, and whether a policy ends the search.
    fn judge_layer(
        &mut self,
        frame: &Frame<'_>,
        layer: Layer,
        now_ns: u64,
        judgement: &mut Judgement,
    ) -> (End, bool) {
        let by_policy = layer.anomalies.iter().find_map(|anomaly| match self.policy(*anomaly) {
            Policy::Judge => None,
            Policy::Pass => Some(End::by_policy(Verdict::Pass, *anomaly)),
            Policy::Drop => Some(End::by_policy(Verdict::Drop, *anomaly)),
            Policy::Track => self.follow(&layer, now_ns),
        });
        let mut judged = Judged { layer, rule: None, effects: Vec::new(), misses: Vec::new() };
        let end = by_policy.unwrap_or_else(|| self.search(frame, &mut judged));
        judgement.layers.push(judged);
        (end, by_policy.is_some())
    }

    /// Finds the first rule that matches and decides.
    fn search(&self, frame: &Frame<'_>, judged: &mut Judged) -> End {
        for (number, rule) in self.rules.rules.iter().enumerate() {
            let failed = rule.tests.iter().position(|test| !self.holds(test, frame, &judged.layer));
            match failed {
                Some(test) => judged.misses.push(Miss { rule: number, test }),
                None if rule.action.decides() || matches!(rule.action, Action::DropFor(_)) => {
                    judged.rule = Some(number);
                    let verdict = match rule.action {
                        Action::Pass => Verdict::Pass,
                        Action::Redirect(_) => Verdict::Redirect,
                        _ => Verdict::Drop,
                    };
                    return End { verdict, reason: Reason::Rule, rule: judged.rule };
                }
                None => judged.effects.push(number),
            }
        }
        End { verdict: self.rules.default.verdict(), reason: Reason::Default, rule: None }
    }

    fn holds(&self, test: &Test, frame: &Frame<'_>, layer: &Layer) -> bool {
        match test {
            Test::Payload(payload) => holds_payload(payload, frame, layer),
            Test::Expression(expression) => {
                expression.program.matches(frame.bytes, frame.bytes.len() as u32)
            }
            _ => test
                .field(layer.fields.family(), |name| self.interfaces.get(name).copied())
                .is_some_and(|(field, values)| {
                    layer.fields.field(field).is_some_and(|value| values.contains(value))
                }),
        }
    }

    /// The decision about the first fragment; `None` if the rules judge the packet.
    fn follow(&mut self, layer: &Layer, now_ns: u64) -> Option<End> {
        if !self.needs.has(Need::Transport) {
            return None;
        }
        let length = layer.fields.field(super::Field::Length).unwrap_or_default() as u32;
        let kept = layer.fragment_key.and_then(|key| self.fragments.follow(&key, length, now_ns));
        match (kept, self.policy(Reason::UnknownFragment)) {
            (Some(kept), _) => {
                Some(End { verdict: kept.verdict, reason: Reason::LaterFragment, rule: kept.rule })
            }
            (None, Policy::Drop) => Some(End::by_policy(Verdict::Drop, Reason::UnknownFragment)),
            (None, Policy::Pass) => Some(End::by_policy(Verdict::Pass, Reason::UnknownFragment)),
            (None, _) => None,
        }
    }

    /// Stores the decision about a first fragment. A drop is stored only if unknown fragments are
    /// not dropped anyway, so that a flood of dropped packets does not displace those that pass.
    fn keep(&mut self, fragment_key: FragmentKey, judgement: &Judgement, now_ns: u64) {
        let tracks =
            self.policy(Reason::LaterFragment) == Policy::Track && self.needs.has(Need::Transport);
        let is_default = judgement.verdict == Verdict::Drop
            && self.policy(Reason::UnknownFragment) == Policy::Drop;
        if tracks && !is_default {
            let kept = Kept { verdict: judgement.verdict, rule: judgement.rule };
            self.fragments.keep(fragment_key, kept, now_ns);
        }
    }
}

impl End {
    const fn by_policy(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict, reason, rule: None }
    }
}

impl Judgement {
    fn settle(&mut self, end: End, layer: Option<usize>) {
        (self.verdict, self.reason, self.rule) = (end.verdict, end.reason, end.rule);
        self.decided = layer;
    }
}

/// Whether a verdict overrides the one of an outer packet: a drop overrides all others, and any
/// other verdict overrides a pass.
fn is_stronger(new: Verdict, old: Verdict) -> bool {
    new == Verdict::Drop && old != Verdict::Drop || new != Verdict::Pass && old == Verdict::Pass
}

fn holds_payload(payload: &Payload, frame: &Frame<'_>, layer: &Layer) -> bool {
    let base = match payload.from {
        Base::Frame => Some(0),
        Base::Network => layer.network,
        Base::Transport => layer.transport,
    };
    let bytes = base.and_then(|base| frame.bytes.get(base + usize::from(payload.offset)..));
    bytes.and_then(|bytes| bytes.get(..payload.mask.len())).is_some_and(|bytes| {
        let mut rows = bytes.iter().zip(&payload.mask).zip(&payload.value);
        rows.all(|((byte, mask), value)| byte & mask == value & mask) != payload.negated
    })
}
