//! `ProgramDecision`: corrects a judgement of the model by the decision of the program, which has
//! the state of limits, bans, connections and fragments.
//!
//! Rule: the decision of the program is the result. The misses and effects of the model are kept as
//! far as they explain it, and otherwise removed.

use spec::Verdict;

use super::{Judged, Judgement};
use crate::Reason;

/// The decision of the program about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramDecision {
    pub verdict: Verdict,
    /// `None` for a reason that only a newer program has.
    pub reason: Option<Reason>,
    /// Number of the rule that decided.
    pub rule: Option<usize>,
}

impl Judgement {
    /// The judgement with the decision of the program.
    #[must_use]
    pub fn with_decision(mut self, seen: ProgramDecision) -> Self {
        let own = (self.verdict, Some(self.reason), self.rule);
        if own == (seen.verdict, seen.reason, seen.rule) {
            return self;
        }
        self.verdict = seen.verdict;
        self.reason = seen.reason.unwrap_or(self.reason);
        self.rule = seen.rule;
        let by_rule = matches!(self.reason, Reason::Rule | Reason::Limited | Reason::SynProxy);
        let rule = seen.rule.filter(|_| by_rule);
        self.decided = rule.and_then(|rule| self.layers.iter().position(|one| one.meets(rule)));
        match (rule, self.decided) {
            (Some(rule), Some(layer)) => {
                self.layers.truncate(layer + 1);
                self.layers[layer].end_at(rule);
            }
            _ => self.layers.iter_mut().for_each(Judged::forget),
        }
        self
    }
}

impl Judged {
    fn meets(&self, rule: usize) -> bool {
        self.rule == Some(rule) || self.effects.contains(&rule)
    }

    /// Truncates the judgement to a search that ended at this rule.
    fn end_at(&mut self, rule: usize) {
        self.rule = Some(rule);
        self.effects.retain(|one| *one < rule);
        self.misses.retain(|miss| miss.rule < rule);
    }

    /// Removes the result of the rules, which were not evaluated.
    fn forget(&mut self) {
        self.rule = None;
        self.effects.clear();
        self.misses.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::{Frame, Rule, Ruleset, Scope};

    fn rules() -> Ruleset {
        let rules = ["a: drop tcp", "b: count", "c: limit 1pps udp", "d: drop sctp", "e: pass udp"];
        let rules = rules.map(|text| Rule::parse(text, &Scope::default()).unwrap());
        Ruleset { rules: rules.into(), ..Ruleset::default() }
    }

    fn udp() -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14..18].copy_from_slice(&[0x45, 0, 0, 28]);
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[39] = 8;
        frame
    }

    fn seen(verdict: Verdict, reason: Reason, rule: Option<usize>) -> Judgement {
        let rules = rules();
        let bytes = udp();
        let judgement =
            Model::new(&rules, |_| None).judge(&Frame { bytes: &bytes, ..Frame::default() }, 0);
        assert_eq!((judgement.verdict, judgement.rule), (Verdict::Pass, Some(4)));
        judgement.with_decision(ProgramDecision { verdict, reason: Some(reason), rule })
    }

    fn asked(judgement: &Judgement) -> (Vec<usize>, Vec<usize>, Option<usize>) {
        let layer = &judgement.layers[0];
        let misses = layer.misses.iter().map(|miss| miss.rule).collect();
        (misses, layer.effects.clone(), layer.rule)
    }

    #[test]
    fn what_agrees_stays() {
        let judgement = seen(Verdict::Pass, Reason::Rule, Some(4));
        assert_eq!(asked(&judgement), (vec![0, 3], vec![1, 2], Some(4)));
        assert_eq!(judgement.decided, Some(0));
    }

    #[test]
    fn a_limit_ends_the_search() {
        let judgement = seen(Verdict::Drop, Reason::Limited, Some(2));
        assert_eq!((judgement.verdict, judgement.reason), (Verdict::Drop, Reason::Limited));
        assert_eq!((judgement.rule, judgement.decided), (Some(2), Some(0)));
        assert_eq!(asked(&judgement), (vec![0], vec![1], Some(2)));
    }

    #[test]
    fn a_banned_source_met_no_rule() {
        let judgement = seen(Verdict::Drop, Reason::Banned, None);
        assert_eq!((judgement.verdict, judgement.reason), (Verdict::Drop, Reason::Banned));
        assert_eq!((judgement.rule, judgement.decided), (None, None));
        assert_eq!(asked(&judgement), (vec![], vec![], None));
        assert!(!judgement.layers[0].layer.words().is_empty());
    }

    #[test]
    fn a_fragment_names_the_rule_of_its_first() {
        let judgement = seen(Verdict::Drop, Reason::LaterFragment, Some(0));
        assert_eq!((judgement.rule, judgement.decided), (Some(0), None));
        assert_eq!(asked(&judgement), (vec![], vec![], None));
    }

    #[test]
    fn a_rule_that_the_model_does_not_meet() {
        let judgement = seen(Verdict::Drop, Reason::Rule, Some(3));
        assert_eq!((judgement.rule, judgement.decided), (Some(3), None));
        assert_eq!(asked(&judgement), (vec![], vec![], None));
    }
}
