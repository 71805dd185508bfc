//! Policy rules: the routing table for a packet.

use packet::AddressPrefix;
use serde::{Deserialize, Serialize};

use super::TableId;

/// Conditions that must all hold, and the table that is then searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Priority; the lowest is tried first.
    pub priority: u32,
    pub table: TableId,
    /// Address family of the rule.
    #[serde(default)]
    pub family: RuleFamily,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AddressPrefix>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AddressPrefix>,
    /// Name of the ingress interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iif: Option<String>,
    /// Name of the requested egress interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oif: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// A firewall mark, compared under `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    pub value: u32,
    #[serde(default = "all_bits")]
    pub mask: u32,
}

/// Address family of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleFamily {
    Ipv4,
    Ipv6,
    /// The family of `from` and `to`, or both without addresses.
    #[default]
    Any,
}

impl Rule {
    /// A rule for all packets.
    pub fn new(priority: u32, table: TableId) -> Self {
        let family = RuleFamily::Any;
        Self { priority, table, family, from: None, to: None, iif: None, oif: None, mark: None }
    }

    /// Whether the rule applies to packets of that family.
    pub fn is_for(&self, ipv4: bool) -> bool {
        let family = match self.family {
            RuleFamily::Ipv4 => ipv4,
            RuleFamily::Ipv6 => !ipv4,
            RuleFamily::Any => true,
        };
        family && [self.from, self.to].into_iter().flatten().all(|p| p.is_ipv4() == ipv4)
    }
}

const fn all_bits() -> u32 {
    u32::MAX
}
