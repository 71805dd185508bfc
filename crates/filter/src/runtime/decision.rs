//! `Decision`: what the rules of a running program decide about one packet.

use spec::Verdict;

use crate::abi::{self, Reason};
use crate::compile::plan::NO_RULE;

/// What rules make of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// By number; `None` when the packet never met the rules, or none decided.
    pub rule: Option<u32>,
    pub verdict: Verdict,
    /// `None` for one that a newer program gives.
    pub reason: Option<Reason>,
}

impl From<abi::Opinion> for Decision {
    fn from(opinion: abi::Opinion) -> Self {
        Self {
            rule: (opinion.rule != NO_RULE).then_some(opinion.rule),
            verdict: Verdict::from_code(opinion.verdict),
            reason: Reason::ALL.into_iter().find(|reason| *reason as u32 == opinion.reason),
        }
    }
}
