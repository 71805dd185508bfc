//! What becomes of packets that are odd: a policy for each oddity, declared by the user.

use crate::abi::{Policy, Reason};

/// One policy for each oddity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies([Policy; Policies::COUNT]);

impl Policies {
    /// Oddities: the reasons in front of `Reason::Rule`.
    pub const COUNT: usize = Reason::Rule as usize;

    /// Policies of rules written for nft or a router, which inspect malformed packets, too: the
    /// rules judge them. Packets with more extension headers than the program reads are dropped,
    /// because their protocol and ports are known to the receiver but not to the rules.
    pub fn of_imported_rules() -> Self {
        let mut policies = Self::default();
        for malformed in Reason::ALL.into_iter().filter(|it| *it != Reason::TooManyExtensions) {
            policies.set(malformed, Policy::Judge);
        }
        policies
    }

    /// The policy of an oddity; `None` for a reason that is none.
    pub fn policy(&self, oddity: Reason) -> Option<Policy> {
        self.0.get(oddity as usize).copied()
    }

    /// Whether an oddity can have a policy: later fragments alone have a first one to follow.
    pub const fn allows(oddity: Reason, policy: Policy) -> bool {
        (oddity as usize) < Self::COUNT
            && (!matches!(policy, Policy::Track) || matches!(oddity, Reason::LaterFragment))
    }

    /// Sets it; what is not allowed changes nothing.
    pub fn set(&mut self, oddity: Reason, policy: Policy) -> &mut Self {
        if Self::allows(oddity, policy) {
            self.0[oddity as usize] = policy;
        }
        self
    }

    /// All oddities with their policies.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, Policy)> + '_ {
        Reason::ALL.into_iter().zip(self.0)
    }

    /// As the program's global holds them.
    pub fn to_global(&self) -> Vec<u8> {
        self.0.iter().flat_map(|policy| (*policy as u32).to_le_bytes()).collect()
    }
}

impl Default for Policies {
    /// What could hide a banned source, or is refused by every stack, is dropped; what honest
    /// senders do is judged by the rules, and fragments follow their first one.
    fn default() -> Self {
        Self(std::array::from_fn(|place| match Reason::ALL[place] {
            Reason::Options | Reason::UnknownProtocol | Reason::FirstFragment => Policy::Judge,
            Reason::LaterFragment => Policy::Track,
            _ => Policy::Drop,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind more extension headers than are read, nft still finds the ports that a rule drops.
    #[test]
    fn imported_rules_judge_all_but_what_they_cannot_read() {
        let policies = Policies::of_imported_rules();
        let judged = policies.iter().filter(|(_, policy)| *policy == Policy::Judge).count();
        assert_eq!(policies.policy(Reason::TooManyExtensions), Some(Policy::Drop));
        assert_eq!(judged, Policies::COUNT - 1);
    }
}
