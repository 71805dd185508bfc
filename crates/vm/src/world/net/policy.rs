//! Policy rules in the order in which they are tried.

use packet::AddressPrefix;

use super::flow::Flow;
use super::{Devices, bits};
use crate::world::{Mark, Rule, TableId};

/// A rule with the numbers of its interfaces.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub table: TableId,
    priority: u32,
    from: Option<AddressPrefix>,
    to: Option<AddressPrefix>,
    /// Number of the ingress interface; 0 for any.
    iif: u32,
    oif: u32,
    mark: Mark,
}

impl Policy {
    /// The rules of one family, including the default rules.
    pub fn all(rules: &[Rule], devices: &Devices, ipv4: bool) -> Vec<Self> {
        let fixed = if ipv4 { &FIXED[..] } else { &FIXED[..2] };
        let fixed = fixed.iter().map(|(priority, table)| Rule::new(*priority, *table));
        let own = rules.iter().filter(|rule| rule.is_for(ipv4)).cloned();
        let mut all: Vec<_> = fixed.chain(own).map(|rule| Self::new(&rule, devices)).collect();
        all.sort_by_key(|policy| policy.priority);
        all
    }

    fn new(rule: &Rule, devices: &Devices) -> Self {
        let number = |name: Option<&String>| name.map_or(0, |name| devices.index_of(name));
        Self {
            table: rule.table,
            priority: rule.priority,
            from: rule.from,
            to: rule.to,
            iif: number(rule.iif.as_ref()),
            oif: number(rule.oif.as_ref()),
            mark: rule.mark.unwrap_or(Mark { value: 0, mask: 0 }),
        }
    }

    /// Whether the rule applies to the flow.
    pub fn matches(&self, flow: &Flow) -> bool {
        let within = |prefix: Option<AddressPrefix>, address: u128| {
            prefix.is_none_or(|prefix| {
                bits::cut(address ^ bits::of(prefix.address()), prefix.length()) == 0
            })
        };
        let source = match self.from {
            // A source that is not yet selected is in no network.
            Some(from) if from.length() > 0 => flow.has_source && within(self.from, flow.source),
            _ => true,
        };
        source
            && within(self.to, flow.destination)
            && (self.iif == 0 || self.iif == flow.iif)
            && (self.oif == 0 || self.oif == flow.oif)
            && (self.mark.value ^ flow.mark) & self.mark.mask == 0
    }
}

/// Default rules of Linux; IPv6 has the first two.
const FIXED: [(u32, TableId); 3] =
    [(0, TableId::LOCAL), (32766, TableId::MAIN), (32767, TableId::DEFAULT)];
