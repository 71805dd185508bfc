//! `Needs`: the headers that rules need. No other headers are read.
//!
//! Rule: the program and the model get the same needs, because headers that are not read have no
//! anomalies. Not here: reading headers (`model::headers`).

use crate::abi::Need;
use crate::{Action, Base, Field, Per, Ruleset, Test};

/// A set of needs. A need implies those of the headers that precede it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Needs(u32);

impl Needs {
    /// No header is needed.
    pub const NONE: Self = Self(0);
    /// All headers are needed.
    pub const ALL: Self = Self::NONE.with(Need::Arrival).with(Need::Macs).with(Need::Transport);
    /// Name of the program's global variable for the needs.
    pub const GLOBAL: &str = "filter_needs";

    /// The needs of a ruleset.
    pub fn of(rules: &Ruleset) -> Self {
        rules.rules.iter().fold(Self::NONE, |needs, rule| {
            let needs = rule.tests.iter().filter_map(of_test).fold(needs, Self::with);
            of_action(&rule.action).map_or(needs, |need| needs.with(need))
        })
    }

    /// Whether a need is in the set.
    pub const fn has(self, need: Need) -> bool {
        self.0 & need as u32 != 0
    }

    /// Adds a need with all that it implies. Network headers imply those of encapsulated packets,
    /// because a banned source could hide there.
    #[must_use]
    pub const fn with(self, need: Need) -> Self {
        let implied = match need {
            Need::Arrival | Need::Macs | Need::Link | Need::Inner => 0,
            Need::Network => Need::Link as u32 | Need::Inner as u32,
            Need::Transport => Need::Link as u32 | Need::Inner as u32 | Need::Network as u32,
        };
        Self(self.0 | need as u32 | implied)
    }

    /// The value of the program's global variable.
    pub const fn to_global(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }
}

impl Field {
    /// The headers that must be read for the field; `None` for a field that needs none.
    pub const fn need(self) -> Option<Need> {
        match self {
            Self::Length => None,
            Self::Interface | Self::Queue => Some(Need::Arrival),
            Self::SourceMac | Self::DestMac => Some(Need::Macs),
            Self::EtherType | Self::Vlan | Self::InnerVlan => Some(Need::Link),
            Self::Source4
            | Self::Dest4
            | Self::Source6
            | Self::Dest6
            | Self::Ttl
            | Self::Dscp
            | Self::Fragment
            | Self::Extensions
            | Self::Protocol => Some(Need::Network),
            Self::SourcePort | Self::DestPort | Self::TcpFlags | Self::Icmp => {
                Some(Need::Transport)
            }
        }
    }
}

fn of_test(test: &Test) -> Option<Need> {
    match test {
        Test::Is(field, _) => field.need(),
        Test::Address { .. } => Some(Need::Network),
        Test::Interface { .. } => Some(Need::Arrival),
        Test::Payload(payload) => match payload.from {
            Base::Frame => None,
            Base::Network => Some(Need::Link),
            Base::Transport => Some(Need::Transport),
        },
        Test::Expression(_) => None,
    }
}

fn of_action(action: &Action) -> Option<Need> {
    match action {
        Action::Ban(_) => Some(Need::Network),
        Action::Limit(limit) => match limit.per {
            Per::Rule => None,
            Per::Source { .. } | Per::Dest { .. } => Some(Need::Network),
            Per::DestPort | Per::Flow => Some(Need::Transport),
        },
        Action::SynProxy(_) => Some(Need::Transport),
        Action::Pass
        | Action::Drop
        | Action::DropFor(_)
        | Action::Redirect(_)
        | Action::Count
        | Action::Sample { .. }
        | Action::Mark(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rule, Values};

    fn needs(tests: Vec<Test>, action: Action) -> Needs {
        let rules = vec![Rule { name: "r".to_owned(), tests, action }];
        Needs::of(&Ruleset { rules, ..Ruleset::default() })
    }

    #[test]
    fn only_what_is_asked_for() {
        let is = |field| vec![Test::Is(field, Values::one(1_u8))];
        assert_eq!(needs(is(Field::Length), Action::Drop), Needs::NONE);
        assert_eq!(needs(is(Field::Queue), Action::Drop), Needs::NONE.with(Need::Arrival));
        assert!(!needs(is(Field::Vlan), Action::Drop).has(Need::Network));
        assert!(!needs(is(Field::Ttl), Action::Drop).has(Need::Transport));
        assert!(needs(is(Field::DestPort), Action::Drop).has(Need::Network));
    }

    #[test]
    fn actions_ask_too() {
        let ban = needs(Vec::new(), Action::Ban(std::time::Duration::from_secs(1)));
        assert!(ban.has(Need::Network) && ban.has(Need::Inner) && !ban.has(Need::Transport));
        assert_eq!(needs(Vec::new(), Action::Count), Needs::NONE);
    }
}
