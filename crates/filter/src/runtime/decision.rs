//! `Decision`: what the rules of a running program decide about one packet.

use spec::Verdict;

use crate::abi::{self, Reason};
use crate::compile::plan::NO_RULE;

/// The decision of rules about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// Number of the rule that decided; `None` if the default or a policy did.
    pub rule: Option<u32>,
    pub verdict: Verdict,
    /// `None` for a reason that only a newer program has.
    pub reason: Option<Reason>,
}

impl From<abi::Decision> for Decision {
    fn from(decision: abi::Decision) -> Self {
        Self {
            rule: (decision.rule != NO_RULE).then_some(decision.rule),
            verdict: Verdict::from_code(decision.verdict),
            reason: Reason::ALL.into_iter().find(|reason| *reason as u32 == decision.reason),
        }
    }
}
