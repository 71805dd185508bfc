//! `Residual`: short lists of remaining rules, whose fields are compared directly.
//!
//! A step from field to field takes dependent loads, even if few rules are left. All fields of one
//! rule can be compared with independent loads, at the cost of about one step. Rule: a list is in
//! the order of its rules, and the first one that holds decides. Fields that earlier steps have
//! tested are compared again, which does not change the result. Not here: which states become lists
//! (`states`).

use std::collections::HashMap;

use super::classes::Classes;
use super::group::{Count, Group};
use super::{FINAL, NO_RULE, State};
use crate::{Field, PacketFields};

/// The lists of remaining rules of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residual {
    /// The fields that are compared; at most [`Residual::FIELDS`].
    pub fields: Vec<Field>,
    /// The rules of all lists, list by list.
    pub rules: Vec<ResidualRule>,
}

/// The ranges of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualRule {
    /// The number of the rule.
    pub rule: u32,
    /// Whether it is the last one of its list.
    pub is_last: bool,
    /// First and last value, by field; in fields wider than 64 bits, those of a prefix. `None` if
    /// the rule does not test the field.
    pub ranges: Vec<Option<(u128, u128)>>,
}

impl Residual {
    /// The most rules in a list. For more rules, a further step is faster.
    pub const LONGEST: usize = 4;
    /// The most fields that are compared.
    pub const FIELDS: usize = 6;
    /// The bits that mark a final state as a list; the lower bits are its beginning.
    pub const LIST: State = FINAL | 1 << 30;

    /// The result of a final state for a packet.
    pub fn resolve(&self, state: State, packet: &PacketFields) -> State {
        if state == NO_RULE || state & Self::LIST != Self::LIST {
            return state;
        }
        let list = &self.rules[(state & !Self::LIST) as usize..];
        for rule in list {
            if rule.holds(&self.fields, packet) {
                return FINAL | rule.rule;
            }
            if rule.is_last {
                break;
            }
        }
        NO_RULE
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        self.rules.len() * self.stride()
    }

    /// Bytes of one rule: its number, the fields that it needs, and the range of each field.
    pub fn stride(&self) -> usize {
        8 + self.fields.iter().map(|field| Self::width(*field)).sum::<usize>()
    }

    /// Bytes of the range of a field: two numbers, or mask and value of both halves.
    pub fn width(field: Field) -> usize {
        match field.bits() {
            ..=32 => 8,
            33..=64 => 16,
            _ => 32,
        }
    }
}

impl ResidualRule {
    fn holds(&self, fields: &[Field], packet: &PacketFields) -> bool {
        fields.iter().zip(&self.ranges).all(|(field, range)| {
            range.is_none_or(|(first, last)| {
                packet.field(*field).is_some_and(|value| first <= value && value <= last)
            })
        })
    }
}

/// Lists of residual rules that are being built.
pub(super) struct ResidualLists {
    made: Residual,
    /// The rules of the group.
    rules: Vec<ResidualRule>,
    /// By rule: the step after which all its remaining tests can be compared.
    from: Vec<usize>,
    known: HashMap<Box<[u32]>, State>,
    /// Rules that may still be added.
    most: usize,
}

impl ResidualLists {
    /// The lists for a group, in the memory of this number of entries of rows.
    pub fn new(group: Group<'_>, entries: usize) -> Self {
        let fields = match group.count {
            Count::First => fields(group),
            Count::All => Vec::new(),
        };
        let made = Residual { fields, rules: Vec::new() };
        let (mut rules, mut from) = (Vec::new(), Vec::new());
        for (number, rule) in (0..).zip(group.rules) {
            let (mut ranges, mut behind) = (vec![None; made.fields.len()], 0);
            for (step, classes) in group.order.iter().enumerate() {
                let Some(asked) = classes.ranges(number, group.sets) else { continue };
                let place = made.fields.iter().position(|field| *field == classes.field);
                match (place, asked) {
                    (Some(place), [one]) if is_comparable(classes.field, *one) => {
                        ranges[place] = Some(*one);
                    }
                    _ => behind = step,
                }
            }
            rules.push(ResidualRule { rule: rule.number, is_last: false, ranges });
            from.push(behind);
        }
        let most = entries / (made.stride() / 8);
        Self { made, rules, from, known: HashMap::new(), most }
    }

    /// The state of a list of rules after a step, if they are few and can be compared.
    pub fn state(&mut self, step: usize, list: &[u32]) -> Option<State> {
        let fits = |rule: &u32| self.from[*rule as usize] <= step;
        if self.made.fields.is_empty() || list.len() > Residual::LONGEST || !list.iter().all(fits) {
            return None;
        }
        if let Some(state) = self.known.get(list) {
            return Some(*state);
        }
        self.most = self.most.checked_sub(list.len())?;
        let start = u32::try_from(self.made.rules.len()).expect("less than 2^30 rules");
        let residual = list.iter().map(|rule| self.rules[*rule as usize].clone());
        self.made.rules.extend(residual);
        if let Some(last) = self.made.rules.last_mut() {
            last.is_last = true;
        }
        self.known.insert(list.into(), Residual::LIST | start);
        Some(Residual::LIST | start)
    }

    /// The finished lists.
    pub fn finish(self) -> Residual {
        if self.made.is_empty() { Residual::default() } else { self.made }
    }
}

/// The fields of the steps after the first one; if they are many, those that most rules test.
fn fields(group: Group<'_>) -> Vec<Field> {
    let mut asked: Vec<&Classes> = group.order.iter().skip(1).collect();
    let ask = |classes: &&Classes| classes.sets.iter().filter(|set| **set != Classes::ANY).count();
    asked.sort_by_cached_key(|classes| std::cmp::Reverse(ask(classes)));
    asked.truncate(Residual::FIELDS);
    asked.iter().map(|classes| classes.field).collect()
}

/// Whether a range can be compared: in wide fields, which are compared under a mask, only a prefix.
fn is_comparable(field: Field, (first, last): (u128, u128)) -> bool {
    let host = first ^ last;
    field.bits() <= 64 || host & host.wrapping_add(1) == 0 && first & host == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_holds_decides_and_lists_end() {
        let residual_rule = |rule, is_last, ranges: [Option<(u128, u128)>; 2]| ResidualRule {
            rule,
            is_last,
            ranges: ranges.to_vec(),
        };
        let residual = Residual {
            fields: vec![Field::DestPort, Field::Ttl],
            rules: vec![
                residual_rule(3, false, [Some((10, 20)), None]),
                residual_rule(4, true, [Some((15, 30)), Some((0, 5))]),
                residual_rule(5, true, [None, None]),
            ],
        };
        let packet = |port: Option<u8>, ttl: u8| {
            let mut packet = PacketFields::default();
            packet.set(Field::Ttl, ttl);
            if let Some(port) = port {
                packet.set(Field::DestPort, port);
            }
            packet
        };
        for (list, packet, rule) in [
            (0, packet(Some(10), 9), FINAL | 3),
            (0, packet(Some(20), 5), FINAL | 3),
            (0, packet(Some(21), 5), FINAL | 4),
            (0, packet(Some(21), 6), NO_RULE),
            (0, packet(Some(9), 0), NO_RULE),
            (0, packet(None, 0), NO_RULE),
            (2, packet(None, 0), FINAL | 5),
        ] {
            assert_eq!(residual.resolve(Residual::LIST | list, &packet), rule, "{list} {packet:?}");
        }
        let any = packet(None, 0);
        assert_eq!(residual.resolve(NO_RULE, &any), NO_RULE);
        assert_eq!(residual.resolve(FINAL | 7, &any), FINAL | 7);
    }

    #[test]
    fn wide_fields_are_compared_where_they_are_prefixes() {
        for (field, range, is) in [
            (Field::Source4, (3, 77), true),
            (Field::SourceMac, (3, 77), true),
            (Field::Source6, (3, 77), false),
            (Field::Source6, (77, 77), true),
            (Field::Source6, (64, 127), true),
            (Field::Source6, (64, 126), false),
            (Field::Source6, (32, 95), false),
            (Field::Source6, (0, u128::MAX), true),
        ] {
            assert_eq!(is_comparable(field, range), is, "{field:?} {range:?}");
        }
    }
}
