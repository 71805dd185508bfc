//! Policies: the treatment of malformed and unusual packets, by anomaly.

use crate::abi::{Policy, Reason};

/// One policy per anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies([Policy; Policies::COUNT]);

impl Policies {
    /// The number of anomalies: the reasons that precede `Reason::Rule`.
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

    /// The policy for an anomaly; `None` for a reason that is not an anomaly.
    pub fn policy(&self, anomaly: Reason) -> Option<Policy> {
        self.0.get(anomaly as usize).copied()
    }

    /// Whether an anomaly can have this policy: `Track` is for later fragments only.
    pub const fn allows(anomaly: Reason, policy: Policy) -> bool {
        (anomaly as usize) < Self::COUNT
            && (!matches!(policy, Policy::Track) || matches!(anomaly, Reason::LaterFragment))
    }

    /// Sets a policy; one that is not allowed is ignored.
    pub fn set(&mut self, anomaly: Reason, policy: Policy) -> &mut Self {
        if Self::allows(anomaly, policy) {
            self.0[anomaly as usize] = policy;
        }
        self
    }

    /// All anomalies with their policies.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, Policy)> + '_ {
        Reason::ALL.into_iter().zip(self.0)
    }

    /// The value of the program's global variable.
    pub fn to_global(&self) -> Vec<u8> {
        self.0.iter().flat_map(|policy| (*policy as u32).to_le_bytes()).collect()
    }
}

impl Default for Policies {
    /// Packets that could hide a banned source, or that every network stack refuses, are dropped.
    /// Packets that legitimate senders use are judged by the rules. Later fragments are treated as
    /// their first fragment.
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

    /// nft reads the ports of a packet with more extension headers than the filter reads.
    #[test]
    fn imported_rules_judge_all_packets_that_can_be_read() {
        let policies = Policies::of_imported_rules();
        let judged = policies.iter().filter(|(_, policy)| *policy == Policy::Judge).count();
        assert_eq!(policies.policy(Reason::TooManyExtensions), Some(Policy::Drop));
        assert_eq!(judged, Policies::COUNT - 1);
    }
}
