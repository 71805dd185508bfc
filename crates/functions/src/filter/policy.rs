//! What becomes of packets that are odd: a policy for each oddity, declared by the user.

use super::abi::{Policy, Reason};

/// One policy for each oddity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies([Policy; Policies::COUNT]);

impl Policies {
    /// Oddities: the reasons in front of `Reason::Rule`.
    pub const COUNT: usize = Reason::Rule as usize;

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
