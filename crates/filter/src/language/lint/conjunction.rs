//! The tests of a rule for packets of one family: fields and values, with the tests they imply.

use super::pool::{Id, Pool};
use crate::{Family, Field, Rule, Test, Values};

/// The tests of a rule, for each family.
#[derive(Clone, Debug)]
pub(super) struct Conjunctions {
    /// In the order of `Family::ALL`, sorted by field; `None` if no packet of the family can match.
    families: [Option<Vec<(Field, Id)>>; 3],
    /// Tests that are compared as a whole, sorted.
    pub opaque: Vec<usize>,
}

impl Conjunctions {
    /// The conjunctions of a rule.
    pub fn new<'a>(rule: &'a Rule, pool: &mut Pool<'a>) -> Self {
        Self::of_tests(&rule.tests, pool)
    }

    /// The conjunctions of a list of tests.
    pub fn of_tests<'a>(tests: &'a [Test], pool: &mut Pool<'a>) -> Self {
        let mut opaque: Vec<_> =
            tests.iter().filter_map(whole).map(|text| pool.opaque(text)).collect();
        opaque.sort_unstable();
        opaque.dedup();
        Self { families: Family::ALL.map(|family| conjunction(tests, family, pool)), opaque }
    }

    /// The tests for packets of a family; `None` if none can match.
    pub fn family(&self, family: Family) -> Option<&[(Field, Id)]> {
        self.families[family as usize].as_deref()
    }

    /// Whether a packet of some family can match.
    pub fn is_possible(&self) -> bool {
        self.families.iter().any(Option::is_some)
    }

    /// Whether every packet matches.
    pub fn is_everything(&self) -> bool {
        let free = |family: &Option<Vec<_>>| family.as_ref().is_some_and(Vec::is_empty);
        self.opaque.is_empty() && self.families.iter().all(free)
    }

    /// The values of a field in packets that match; `None` if the field is not tested.
    pub fn field(&self, family: Family, field: Field) -> Option<Id> {
        let fields = self.family(family)?;
        fields.iter().find(|(one, _)| *one == field).map(|(_, id)| *id)
    }
}

/// A test as a text that is equal for equal tests; `None` for tests of values. Interfaces are
/// compared by name, because their indices are unknown.
fn whole(test: &Test) -> Option<String> {
    match test {
        Test::Is(..) | Test::Address { .. } => None,
        Test::Interface { names, negated } => {
            let mut names = names.clone();
            names.sort_unstable();
            Some(format!("{negated}{names:?}"))
        }
        Test::Payload(_) | Test::Expression(_) => Some(format!("{test:?}")),
    }
}

fn conjunction<'a>(
    tests: &'a [Test],
    family: Family,
    pool: &mut Pool<'a>,
) -> Option<Vec<(Field, Id)>> {
    let mut fields: Vec<(Field, Id)> = Vec::new();
    for test in tests {
        let Some((field, id)) = of_test(test, family, pool) else { continue };
        narrow(&mut fields, field, id, pool);
        if !field.is_in(family) {
            return None;
        }
    }
    for (field, values) in implied(&fields, family) {
        let id = pool.own(values);
        narrow(&mut fields, field, id, pool);
    }
    if fields.iter().any(|(_, id)| pool.values(*id).is_empty()) {
        return None;
    }
    fields.retain(|(field, id)| !is_free(*field, family, pool.values(*id)));
    fields.sort_unstable_by_key(|(field, _)| *field);
    Some(fields)
}

fn of_test<'a>(test: &'a Test, family: Family, pool: &mut Pool<'a>) -> Option<(Field, Id)> {
    match test {
        Test::Is(field, values) => Some((*field, pool.borrow(values))),
        Test::Address { side, addresses, negated } => {
            let field = side.field(family);
            let values = if family == Family::Ipv6 { &addresses.v6 } else { &addresses.v4 };
            let id = pool.borrow(values);
            Some((field, if *negated { pool.complement(id, field.highest()) } else { id }))
        }
        Test::Interface { .. } | Test::Payload(_) | Test::Expression(_) => None,
    }
}

fn narrow(fields: &mut Vec<(Field, Id)>, field: Field, id: Id, pool: &mut Pool<'_>) {
    match fields.iter_mut().find(|(one, _)| *one == field) {
        Some((_, known)) => *known = pool.intersection(*known, id),
        None => fields.push((field, id)),
    }
}

/// Tests that these fields imply: only some protocols have them, and only the first fragment of a
/// datagram.
fn implied(fields: &[(Field, Id)], family: Family) -> Vec<(Field, Values)> {
    let has = |field: Field| fields.iter().any(|(one, _)| *one == field);
    let mut implied = Vec::new();
    if has(Field::SourcePort) || has(Field::DestPort) {
        let protocols = PORTS.map(|number| (number, number));
        implied.push((Field::Protocol, Values::new(protocols)));
    }
    if has(Field::TcpFlags) {
        implied.push((Field::Protocol, Values::one(TCP)));
    }
    if has(Field::Icmp) {
        let number = if family == Family::Ipv6 { ICMPV6 } else { ICMP };
        implied.push((Field::Protocol, Values::one(number)));
    }
    if !implied.is_empty() {
        implied.push((Field::Fragment, Values::range(0_u8, 1_u8)));
    }
    implied
}

/// Whether every packet of the family has one of these values.
fn is_free(field: Field, family: Family, values: &Values) -> bool {
    let highest = match field {
        Field::Fragment => 2,
        _ => field.highest(),
    };
    let always = match field {
        Field::Interface
        | Field::Queue
        | Field::Length
        | Field::SourceMac
        | Field::DestMac
        | Field::EtherType => true,
        Field::Source4
        | Field::Dest4
        | Field::Source6
        | Field::Dest6
        | Field::Ttl
        | Field::Dscp
        | Field::Fragment => field.is_in(family),
        _ => false,
    };
    always && values.covers(&Values::range(0_u8, highest))
}

/// The IP protocol number of TCP.
pub(super) const TCP: u8 = packet::IpProtocol::TCP.0;
const ICMP: u8 = packet::IpProtocol::ICMP.0;
const ICMPV6: u8 = packet::IpProtocol::ICMPV6.0;
/// TCP, UDP, DCCP, SCTP, UDP-Lite.
const PORTS: [u128; 5] = [6, 17, 33, 132, 136];
