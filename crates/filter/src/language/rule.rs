//! Rules as values: the tests of a packet and the action for packets that match.
//!
//! Rule: every value can be compiled; text that cannot be compiled does not parse (`text`, `file`).
//! Not here: the text of rules, and the fields of a packet (`PacketFields`).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::classic::Program;
use crate::{Family, Field, Policies, Values};
use functions::PassOrDrop;

/// Rules in order, with the verdict if none decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    /// The verdict if no rule decides.
    pub default: PassOrDrop,
    pub policies: Policies,
    /// The first rule that matches and decides ends the search.
    pub rules: Vec<Rule>,
}

impl Ruleset {
    /// Whether the rules depend on VLAN tags that the device has stripped from the frame. In native
    /// mode, such a tag is lost if the packet does not go to the network stack.
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

/// A test of a packet. It fails if the packet lacks the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The field has one of these values.
    Is(Field, Values),
    /// The address of one side is one of these or, if negated, is not.
    Address { side: Side, addresses: Arc<Addresses>, negated: bool },
    /// The receiving interface has one of these names or, if negated, has not.
    Interface { names: Vec<String>, negated: bool },
    /// The packet has these bytes.
    Payload(Payload),
    /// A tcpdump expression matches.
    Expression(Expression),
}

/// The side of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Source,
    Dest,
}

/// Addresses of both families. Rules share those of a named set, which may have millions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// The name of the set; `None` for a list in a rule.
    pub name: Option<String>,
    /// The items of a list that contains sets: `@name` of each, in order, then the other items as
    /// [`Addresses::items`] returns them. Empty if the list contains no sets.
    pub parts: Vec<String>,
    pub v4: Values,
    pub v6: Values,
}

/// Bytes of the packet under a mask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payload {
    pub from: Base,
    /// Offset from the base, in bytes.
    pub offset: u16,
    /// At most [`Payload::LONGEST`] bytes.
    pub mask: Vec<u8>,
    /// The value under the mask, of the same length.
    pub value: Vec<u8>,
    /// The packet must have other bytes there.
    pub negated: bool,
}

/// The base of the offset of payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The beginning of the frame.
    Frame,
    /// The network header.
    Network,
    /// The transport header.
    Transport,
}

/// A tcpdump expression, with its program from libpcap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub text: String,
    pub program: Program,
}

/// The action for a packet that matches a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Accepts the packet.
    Pass,
    /// Drops the packet.
    Drop,
    /// Drops the packet for this time after the rules are loaded; after that, the rule does not
    /// match.
    DropFor(Duration),
    /// Drops the packet, and all packets of its source for a time.
    Ban(Duration),
    /// Sends the packet to another destination.
    Redirect(Redirect),
    /// Counts the packet and continues with the next rule.
    Count,
    /// Drops packets over the limit; others continue with the next rule.
    Limit(Limit),
    /// Copies a random share of packets to user space and continues with the next rule.
    Sample { one_in: u32 },
    /// Stores a number in the metadata of the packet for later programs, and continues.
    Mark(u32),
    /// Answers connection requests with SYN cookies; packets with a valid one continue.
    SynProxy(SynProxy),
}

/// The destination of a redirect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Redirect {
    /// Another interface, by name.
    Interface(String),
    /// The network stack on another processor.
    Cpu(u32),
    /// The AF_XDP socket of the receive queue.
    Socket,
}

/// A rate limit by token buckets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Tokens per second: packets, or bits of whole frames.
    pub rate: u64,
    pub unit: Unit,
    /// Size of a bucket in tokens.
    pub burst: u64,
    pub per: Per,
    /// The limit of all buckets together, if there is one.
    pub total: Option<Total>,
}

/// One bucket for all packets of a limit, in the unit of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Total {
    pub rate: u64,
    pub burst: u64,
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Packets,
    Bits,
}

/// The packets that share a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Per {
    /// All packets of the rule.
    Rule,
    /// Packets from the same prefix, of these lengths in IPv4 and IPv6; 32 and 128 are whole
    /// addresses.
    Source { v4: u8, v6: u8 },
    /// Packets to the same prefix.
    Dest { v4: u8, v6: u8 },
    /// Packets to the same port.
    DestPort,
    /// Packets with the same addresses, protocol and ports.
    Flow,
}

/// When to answer connection requests with SYN cookies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SynProxy {
    /// Connection requests per second to one destination above which they are answered; 0 for
    /// always.
    pub above: u64,
}

impl Rule {
    /// The number of ranges of values, without those of named sets.
    pub fn own_ranges(&self) -> usize {
        self.tests.iter().map(Test::own_ranges).sum()
    }

    /// The tests for packets of one family as fields; `None` if no packet of it can match.
    /// `ifindex` resolves names of interfaces. Tests of payload and expressions are not fields and
    /// are left out. The values of a single test are borrowed, so that shared sets can be
    /// recognized.
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
    /// The number of ranges of values, without those of named sets.
    pub(crate) fn own_ranges(&self) -> usize {
        match self {
            Self::Is(_, values) => values.ranges().len(),
            Self::Address { addresses, .. } if addresses.name.is_none() => {
                addresses.v4.ranges().len() + addresses.v6.ranges().len()
            }
            _ => 0,
        }
    }

    /// The field and its values in packets of a family; `None` for payloads and expressions.
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

    /// Whether it tests fields only, so that a table can implement it.
    pub const fn is_of_fields(&self) -> bool {
        !matches!(self, Self::Payload(_) | Self::Expression(_))
    }
}

impl Side {
    /// The address field in packets of a family; for packets without addresses, any of them.
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
    /// The most bytes of a test.
    pub const LONGEST: usize = 16;
}

impl Action {
    /// The shortest time of a ban or of a rule. The resolution of the program's clock would
    /// dominate a shorter one.
    pub const LEAST: Duration = Duration::from_millis(100);
    /// The longest time of a rule.
    pub const LONGEST: Duration = Duration::from_secs(365 * 86_400);
    /// The longest time of a ban, 68 years: the most seconds that the program can count.
    pub const LONGEST_BAN: Duration = Duration::from_secs((1 << 31) - 1);

    /// Whether the action ends the search.
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
    fn tests_of_one_field_must_all_hold() {
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
        assert!(
            others.fields(Family::Other, |_| None).is_some(),
            "a missing interface is another one"
        );
    }
}
