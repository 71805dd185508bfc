//! Rules as values: what a packet must be, and what becomes of it then.
//!
//! Rule: what is in here can be compiled; text that cannot be is refused before (`text`, `file`).
//! Not here: how people write rules, and what a packet is found to be (`PacketFields`).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::classic::Program;
use crate::{Family, Field, Policies, Values};
use functions::PassOrDrop;

/// Rules in order, and what happens when none decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    /// When no rule decides.
    pub default: PassOrDrop,
    pub policies: Policies,
    /// The first that matches and decides ends the search.
    pub rules: Vec<Rule>,
}

impl Ruleset {
    /// Whether it matters to the rules that a packet's VLAN tag may be beside the frame. In the
    /// driver (`is_native`) a tag there is lost when the packet does not go to the stack.
    pub fn depends_on_tags(&self, is_native: bool) -> bool {
        let tests = |test: &Test| matches!(test, Test::Is(Field::Vlan | Field::InnerVlan, _));
        let leaves = |action: &Action| matches!(action, Action::SynProxy(_) | Action::Redirect(_));
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.tests.iter().any(tests) || is_native && leaves(&rule.action))
    }
}

/// A packet matches if all tests hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Unique in a ruleset; shown in counters, dumps and traces.
    pub name: String,
    pub tests: Vec<Test>,
    pub action: Action,
}

/// Something that holds for a packet or not. What a packet does not have makes it fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    Is(Field, Values),
    /// The packet's address on one side belongs to these, or (negated) does not.
    Address {
        side: Side,
        addresses: Arc<Addresses>,
        negated: bool,
    },
    /// Came in by one of these interfaces, by name, or (negated) by another one.
    Interface {
        names: Vec<String>,
        negated: bool,
    },
    Payload(Payload),
    Expression(Expression),
}

/// Which end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Source,
    Dest,
}

/// Addresses of both families; a named set may have millions, and rules share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Of a set that has a name.
    pub name: Option<String>,
    /// Of a list that holds sets: `@name` of each in order, then what else it holds, as
    /// [`Addresses::items`] has it. Empty where `v4` and `v6` say all.
    pub parts: Vec<String>,
    pub v4: Values,
    pub v6: Values,
}

/// Bytes of the packet under a mask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payload {
    pub from: Base,
    /// Bytes behind `from`.
    pub offset: u16,
    /// At most [`Payload::LONGEST`]; both of the same length.
    pub mask: Vec<u8>,
    pub value: Vec<u8>,
    /// They are there, and others.
    pub negated: bool,
}

/// Where offsets count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    Frame,
    Network,
    Transport,
}

/// A tcpdump expression, with libpcap's program for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub text: String,
    pub program: Program,
}

/// What becomes of a packet that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Pass,
    Drop,
    /// Drops from when it is put in force until this time is over; then it goes on to the next
    /// rule, as if it were not there.
    DropFor(Duration),
    /// Drops, and all that this source sends from now on for a time.
    Ban(Duration),
    Redirect(Redirect),
    /// Counts and goes on to the next rule.
    Count,
    /// Drops what is over the limit; all else goes on to the next rule.
    Limit(Limit),
    /// Copies one packet in so many to user space, and goes on.
    Sample {
        one_in: u32,
    },
    /// Leaves a number in front of the packet for programs behind this one, and goes on.
    Mark(u32),
    /// Answers connection requests with cookies; what has proved its address goes on.
    SynProxy(SynProxy),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Redirect {
    /// Out of another interface, by name.
    Interface(String),
    /// To the stack on another processor.
    Cpu(u32),
    /// To the AF_XDP socket of the packet's queue.
    Socket,
}

/// A token bucket for each of something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Tokens a second: packets, or bits of whole frames.
    pub rate: u64,
    pub unit: Unit,
    /// Tokens that may be spent at once.
    pub burst: u64,
    pub per: Per,
    /// What all of them have together, if that is limited, too.
    pub total: Option<Total>,
}

/// One bucket for all packets that meet a limit, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Total {
    pub rate: u64,
    pub burst: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Packets,
    Bits,
}

/// What has a bucket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Per {
    /// One bucket for the rule.
    Rule,
    /// Prefixes of these lengths in IPv4 and IPv6; whole addresses are 32 and 128.
    Source {
        v4: u8,
        v6: u8,
    },
    Dest {
        v4: u8,
        v6: u8,
    },
    DestPort,
    /// Both addresses, protocol and both ports.
    Flow,
}

/// When to answer with cookies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SynProxy {
    /// Connection requests a second to one destination from which on it is done; 0: always.
    pub above: u64,
}

impl Rule {
    /// Ranges of values that it does not share with a set.
    pub fn own_ranges(&self) -> usize {
        self.tests.iter().map(Test::own_ranges).sum()
    }

    /// The tests of one family as fields; `None` when no packet of it can match. Interfaces are
    /// given by `ifindex`; payloads and expressions are not fields and are left out. A set that is
    /// one test alone is borrowed, so rules that share it are seen to.
    pub fn fields(
        &self,
        family: Family,
        ifindex: impl Fn(&str) -> Option<u32>,
    ) -> Option<Vec<(Field, Cow<'_, Values>)>> {
        let mut fields: Vec<(Field, Cow<'_, Values>)> = Vec::new();
        for test in &self.tests {
            let Some((field, values)) = test.field(family, &ifindex) else { continue };
            let known = fields.iter_mut().find(|(known, _)| *known == field);
            let none = if let Some((_, known)) = known {
                *known = Cow::Owned(known.intersection(&values));
                known.is_empty()
            } else {
                let none = values.is_empty();
                fields.push((field, values));
                none
            };
            if none || !field.is_in(family) {
                return None;
            }
        }
        Some(fields)
    }
}

impl Test {
    /// Ranges of values that it does not share with a set.
    pub(crate) fn own_ranges(&self) -> usize {
        match self {
            Self::Is(_, values) => values.ranges().len(),
            Self::Address { addresses, .. } if addresses.name.is_none() => {
                addresses.v4.ranges().len() + addresses.v6.ranges().len()
            }
            _ => 0,
        }
    }

    pub(crate) fn field(
        &self,
        family: Family,
        ifindex: impl Fn(&str) -> Option<u32>,
    ) -> Option<(Field, Cow<'_, Values>)> {
        match self {
            Self::Is(field, values) => Some((*field, Cow::Borrowed(values))),
            Self::Address { side, addresses, negated } => {
                let field = side.field(family);
                let values = if family == Family::Ipv6 { &addresses.v6 } else { &addresses.v4 };
                let values = if *negated {
                    Cow::Owned(values.complement(field.highest()))
                } else {
                    Cow::Borrowed(values)
                };
                Some((field, values))
            }
            Self::Interface { names, negated } => {
                let indices = names.iter().filter_map(|name| ifindex(name)).map(u128::from);
                let values = Values::new(indices.map(|index| (index, index)));
                let others = || values.complement(Field::Interface.highest());
                let values = if *negated { others() } else { values };
                Some((Field::Interface, Cow::Owned(values)))
            }
            Self::Payload(_) | Self::Expression(_) => None,
        }
    }

    /// Whether it is a test of fields alone, which tables can make.
    pub const fn is_of_fields(&self) -> bool {
        !matches!(self, Self::Payload(_) | Self::Expression(_))
    }
}

impl Side {
    /// The address field of a family; packets without addresses have none, so any will do.
    pub const fn field(self, family: Family) -> Field {
        match (self, family) {
            (Self::Source, Family::Ipv6) => Field::Source6,
            (Self::Dest, Family::Ipv6) => Field::Dest6,
            (Self::Source, _) => Field::Source4,
            (Self::Dest, _) => Field::Dest4,
        }
    }
}

impl Payload {
    pub const LONGEST: usize = 16;
}

impl Action {
    /// Of a ban or of a rule with a time: with less, the step in which the program ends times
    /// would be most of it.
    pub const LEAST: Duration = Duration::from_millis(100);
    /// That a rule may hold.
    pub const LONGEST: Duration = Duration::from_secs(365 * 86_400);
    /// That a ban may last, 68 years: as many seconds as the program can count.
    pub const LONGEST_BAN: Duration = Duration::from_secs((1 << 31) - 1);

    /// Whether the search ends with it.
    pub const fn decides(&self) -> bool {
        matches!(self, Self::Pass | Self::Drop | Self::Ban(_) | Self::Redirect(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tests: Vec<Test>) -> Rule {
        Rule { name: "r".to_owned(), tests, action: Action::Drop }
    }

    fn from(v4: Values, v6: Values, negated: bool) -> Test {
        let addresses = Arc::new(Addresses { v4, v6, ..Addresses::default() });
        Test::Address { side: Side::Source, addresses, negated }
    }

    #[test]
    fn tests_of_one_field_are_all_to_hold() {
        let ports = |first: u16, last: u16| Test::Is(Field::DestPort, Values::range(first, last));
        let both = rule(vec![ports(10, 20), ports(15, 30)]);
        let fields = both.fields(Family::Ipv4, |_| None).unwrap();
        assert_eq!(fields, [(Field::DestPort, Cow::Owned(Values::range(15_u16, 20_u16)))]);
        let none = rule(vec![ports(10, 20), ports(25, 30)]);
        assert_eq!(none.fields(Family::Ipv4, |_| None), None);
    }

    #[test]
    fn addresses_belong_to_families() {
        let only4 = rule(vec![from(Values::one(7_u32), Values::default(), false)]);
        assert!(only4.fields(Family::Ipv4, |_| None).is_some());
        assert_eq!(only4.fields(Family::Ipv6, |_| None), None);
        assert_eq!(only4.fields(Family::Other, |_| None), None);
        let others = rule(vec![from(Values::one(7_u32), Values::default(), true)]);
        let fields = others.fields(Family::Ipv6, |_| None).unwrap();
        assert_eq!(fields, [(Field::Source6, Cow::Owned(Values::range(0_u8, u128::MAX)))]);
        assert_eq!(others.fields(Family::Other, |_| None), None);
    }

    #[test]
    fn interfaces_by_name() {
        let names = vec!["eth7".to_owned(), "gone".to_owned()];
        let eth7 = |name: &str| (name == "eth7").then_some(7);
        let one = rule(vec![Test::Interface { names: names.clone(), negated: false }]);
        let fields = one.fields(Family::Other, eth7).unwrap();
        assert_eq!(fields, [(Field::Interface, Cow::Owned(Values::one(7_u8)))]);
        assert_eq!(one.fields(Family::Other, |_| None), None);

        let others = rule(vec![Test::Interface { names, negated: true }]);
        let fields = others.fields(Family::Other, eth7).unwrap();
        let all_but_7 = Values::new([(0, 6), (8, u32::MAX.into())]);
        assert_eq!(fields, [(Field::Interface, Cow::Owned(all_but_7))]);
        assert!(others.fields(Family::Other, |_| None).is_some(), "what is not there is another");
    }
}
