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

    /// Sets it; a reason that is no oddity changes nothing.
    pub fn set(&mut self, oddity: Reason, policy: Policy) -> &mut Self {
        if let Some(place) = self.0.get_mut(oddity as usize) {
            *place = policy;
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
    /// senders do is judged by the rules.
    fn default() -> Self {
        Self(std::array::from_fn(|place| match Reason::ALL[place] {
            Reason::Options | Reason::UnknownProtocol | Reason::Tunnel => Policy::Judge,
            _ => Policy::Drop,
        }))
    }
}
