//! `Members`: names, reasons and rules of the programs of a capture, and `Comments`: decisions in
//! words.

use std::collections::HashMap;
use std::sync::Arc;

use functions::capture::abi::Decision;
use functions::capture::{CapturedPacket, Selected};
use serde::Serialize;
use spec::Verdict;

use crate::error::{Error, Result};
use crate::filter::active::{ActiveFilter, NAME as FILTER};
use crate::target::Target;

/// The programs of an interface while they are captured.
#[derive(Debug, Default)]
pub struct Members(Vec<CapturedMember>);

#[derive(Debug)]
struct CapturedMember {
    name: String,
    /// Names of its reasons by number; empty if it stores no decisions.
    reasons: Vec<String>,
    /// Its rules by number.
    rules: Vec<RuleLine>,
}

/// A rule that decided about a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleLine {
    /// Number of the rule in its file, from 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Action and tests.
    pub text: String,
}

impl Members {
    /// Reads the rules of the members with these names and reasons.
    pub(super) fn new(
        target: &Target,
        names: Vec<String>,
        reasons: Vec<Vec<String>>,
    ) -> Result<Self> {
        let members = names.into_iter().zip(reasons).map(|(name, reasons)| {
            let rules = if name == FILTER { rules(target)? } else { Vec::new() };
            Ok(CapturedMember { name, reasons, rules })
        });
        Ok(Self(members.collect::<Result<_>>()?))
    }

    /// Name of the member that decided about a packet; `None` if no program runs.
    pub fn decider(&self, packet: &CapturedPacket<'_>) -> Option<&str> {
        self.0.get(packet.member).map(|member| member.name.as_str())
    }

    /// Name of the reason for a decision; `None` if the member stores none.
    pub fn reason(&self, packet: &CapturedPacket<'_>) -> Option<&str> {
        let reasons = &self.0.get(packet.member)?.reasons;
        reasons.get(packet.decision.reason as usize).map(String::as_str)
    }

    /// The rule that decided, if one did.
    pub fn rule(&self, packet: &CapturedPacket<'_>) -> Option<&RuleLine> {
        let member = self.0.get(packet.member).filter(|member| !member.reasons.is_empty())?;
        member.rules.get(packet.rule()?)
    }

    /// A decision in words; `None` if no program runs.
    pub fn words(&self, packet: &CapturedPacket<'_>) -> Option<String> {
        let by = format!("{} by {}", verb(packet.verdict()), self.decider(packet)?);
        Some(match (self.rule(packet), self.reason(packet)) {
            (Some(rule), Some("rule")) => format!("{by}, rule {}: {}", rule.number, rule.text),
            (Some(rule), Some(reason)) => {
                let reason = reason.replace('-', " ");
                format!("{by}, rule {}, {reason}: {}", rule.number, rule.text)
            }
            (_, Some(reason)) => format!("{by}: {}", reason.replace('-', " ")),
            (_, None) => by,
        })
    }

    /// The decisions that a text selects, with the number of their member: the name of a reason,
    /// or the number or name of a rule.
    pub(super) fn select(&self, text: &str) -> Vec<(usize, Selected)> {
        let select = |member: &CapturedMember| {
            let reason = member.reasons.iter().position(|reason| reason == text);
            let is_meant =
                |rule: &RuleLine| rule.name == text || Ok(rule.number) == text.parse::<usize>();
            let rule = || member.rules.iter().position(is_meant);
            let reason = reason.map(Selected::Reason);
            reason.or_else(|| rule().map(|number| Selected::Rule(number as u32)))
        };
        let selected = self.0.iter().enumerate();
        selected.filter_map(|(number, member)| Some((number, select(member)?))).collect()
    }

    /// Fails if a text selects nothing on any interface.
    pub(super) fn require(all: &[&Self], text: &str) -> Result<()> {
        if all.is_empty() || all.iter().any(|members| !members.select(text).is_empty()) {
            return Ok(());
        }
        let members = all.iter().flat_map(|members| &members.0);
        let reasons = members.flat_map(|member| &member.reasons);
        let mut known: Vec<_> = reasons.filter(|reason| !reason.is_empty()).cloned().collect();
        known.sort();
        known.dedup();
        Err(Error::NoReason { text: text.to_owned(), known })
    }
}

/// The loaded rules of the filter.
fn rules(target: &Target) -> Result<Vec<RuleLine>> {
    let Some(active) = ActiveFilter::find(&target.slot, target.ifindex)? else {
        return Ok(Vec::new());
    };
    let rules = active.rules()?.rules.into_iter().zip(1..);
    let line = |(rule, number): (filter::Rule, usize)| {
        let text = rule.body();
        RuleLine { number, name: rule.name, text }
    };
    Ok(rules.map(line).collect())
}

fn verb(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Aborted) => "aborted",
        Some(Verdict::Drop) => "dropped",
        Some(Verdict::Pass) => "passed",
        Some(Verdict::Tx) => "sent back",
        Some(Verdict::Redirect) => "redirected",
        None => "invalid verdict",
    }
}

/// The number of a member, and what it decided.
type Decided = (usize, Decision);
/// `None` if no program runs.
type Words = Option<Arc<str>>;

/// Decisions in words, of which each is made once.
#[derive(Debug, Default)]
pub struct Comments {
    members: Arc<Members>,
    known: HashMap<Decided, Words>,
    /// The last one: packets of a flow follow one another.
    last: Option<(Decided, Words)>,
}

impl Comments {
    /// The decision about a packet that these members saw.
    pub fn of(&mut self, packet: &CapturedPacket<'_>, members: &Arc<Members>) -> Option<&str> {
        if !Arc::ptr_eq(&self.members, members) {
            *self = Self { members: Arc::clone(members), ..Self::default() };
        }
        let key = (packet.member, packet.decision);
        if self.last.as_ref().is_none_or(|(last, _)| *last != key) {
            if self.known.len() >= MOST_COMMENTS {
                self.known.clear();
            }
            let words = self.known.entry(key);
            let words = words.or_insert_with(|| members.words(packet).map(Into::into));
            self.last = Some((key, words.clone()));
        }
        self.last.as_ref().and_then(|(_, words)| words.as_deref())
    }
}

/// Comments that are kept.
const MOST_COMMENTS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Arc<Members> {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (name, text) = ("flood".to_owned(), "drop udp dport 7".to_owned());
        let filter = CapturedMember {
            name: FILTER.to_owned(),
            reasons: names(&["bad-header", "rule", "later-fragment", "default"]),
            rules: vec![RuleLine { number: 1, name, text }],
        };
        let object =
            CapturedMember { name: "seen".to_owned(), reasons: Vec::new(), rules: Vec::new() };
        Arc::new(Members(vec![filter, object]))
    }

    fn packet(member: usize, [rule, verdict, reason]: [u32; 3]) -> CapturedPacket<'static> {
        let decision = Decision { rule, verdict, reason };
        CapturedPacket { member, decision, ..CapturedPacket::default() }
    }

    #[test]
    fn decisions_are_said_in_words() {
        let (members, none) = (members(), u32::MAX);
        let mut comments = Comments::default();
        for (member, decision, words) in [
            (0, [0, 1, 1], Some("dropped by filter, rule 1: drop udp dport 7")),
            (0, [0, 1, 2], Some("dropped by filter, rule 1, later fragment: drop udp dport 7")),
            (0, [none, 2, 3], Some("passed by filter: default")),
            (0, [none, 1, 0], Some("dropped by filter: bad header")),
            // It stores nothing, so what is stored is another member's.
            (1, [0, 3, 1], Some("sent back by seen")),
            (1, [0, 9, 1], Some("invalid verdict by seen")),
            (2, [none, 2, 0], None),
        ] {
            let packet = packet(member, decision);
            assert_eq!(comments.of(&packet, &members), words);
            assert_eq!(members.words(&packet).as_deref(), words);
        }
    }

    #[test]
    fn reasons_and_rules_are_selected_by_name_or_number() {
        let members = members();
        for (text, selected) in [
            ("default", Selected::Reason(3)),
            ("flood", Selected::Rule(0)),
            ("1", Selected::Rule(0)),
        ] {
            assert_eq!(members.select(text), [(0, selected)], "{text}");
        }
        let error =
            Members::require(&[&Members::default(), &members], "2").unwrap_err().to_string();
        assert!(error.contains("`2`") && error.contains("bad-header, default"), "{error}");
    }
}
