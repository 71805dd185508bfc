//! `Cover`: finds the earlier rules that decide about every packet of a rule.
//!
//! A rule can cover another one only if it contains the lowest value of each field of the other. So
//! each rule is indexed by its most selective field, under the shortest prefix that contains all
//! its values, and few rules are compared.

use std::collections::BTreeMap;

use super::conjunction::Conjunctions;
use super::pool::{Id, Pool};
use crate::{Family, Field, Values};

/// The rules that decide and can be reached.
#[derive(Debug, Default)]
pub(super) struct Cover {
    rules: Vec<(usize, Conjunctions)>,
    families: [Index; 3],
    /// Comparisons with single rules so far.
    spent: usize,
    /// Comparisons with unions of rules so far.
    joined: usize,
}

/// Indices in `Cover::rules`.
#[derive(Debug, Default)]
struct Index {
    /// By field, the length of a prefix, and the prefix.
    keyed: BTreeMap<(Field, u32, u128), Vec<usize>>,
    /// Lengths that some key of a field has.
    lengths: BTreeMap<Field, Vec<u32>>,
    /// Rules without a test of a field.
    free: Vec<usize>,
}

impl Cover {
    /// Adds a rule, which follows all rules that were added before.
    pub fn add(&mut self, number: usize, rule: Conjunctions, pool: &Pool<'_>) {
        let place = self.rules.len();
        for family in Family::ALL {
            let Some(fields) = rule.family(family) else { continue };
            let keys = fields.iter().map(|(field, id)| key(*field, pool.values(*id)));
            let index = &mut self.families[family as usize];
            match keys.max_by_key(|(_, length, _)| *length) {
                None => index.free.push(place),
                Some(key) => index.insert(key, place),
            }
        }
        self.rules.push((number, rule));
    }

    /// Whether the search stopped at its limit.
    pub const fn is_exhausted(&self) -> bool {
        self.spent >= LONGEST_SEARCH
    }

    /// The rule, or the rules together, that decide about all packets of a family that match
    /// `rule`.
    pub fn search(
        &mut self,
        family: Family,
        rule: &Conjunctions,
        pool: &mut Pool<'_>,
    ) -> Option<Vec<usize>> {
        let fields = rule.family(family)?;
        let mut found: Option<usize> = None;
        for place in self.families[family as usize].candidates(fields, pool) {
            if found.is_some_and(|found| found <= place) {
                continue;
            }
            self.spent += 1;
            if self.is_exhausted() {
                return None;
            }
            if covers(&self.rules[place].1, rule, family, None, pool) {
                found = Some(place);
            }
        }
        match found {
            Some(place) => Some(vec![self.rules[place].0]),
            None => {
                fields.iter().find_map(|(field, id)| self.union(family, rule, (*field, *id), pool))
            }
        }
    }

    /// Rules that each cover all fields except one, and together cover that field.
    fn union(
        &mut self,
        family: Family,
        rule: &Conjunctions,
        (field, id): (Field, Id),
        pool: &mut Pool<'_>,
    ) -> Option<Vec<usize>> {
        if pool.values(id).ranges().len() > WIDEST_UNION {
            return None;
        }
        let wanted = pool.values(id).clone();
        let fields = rule.family(family)?;
        let index = &self.families[family as usize];
        let mut places = index.candidates(fields, pool);
        places.extend(index.within(field, &wanted)?);
        places.sort_unstable();
        places.dedup();
        if places.len() > WIDEST_UNION || places.len() < 2 {
            return None;
        }
        let (mut parts, mut numbers) = (Vec::new(), Vec::new());
        self.joined += places.len();
        if self.joined > LONGEST_JOINING {
            return None;
        }
        for place in places {
            let (number, other) = &self.rules[place];
            let Some(values) = other.field(family, field) else { continue };
            if !covers(other, rule, family, Some(field), pool) {
                continue;
            }
            let values = pool.values(values);
            if values.ranges().len() > WIDEST_UNION {
                return None;
            }
            let common = values.intersection(&wanted);
            if !common.is_empty() {
                parts.extend_from_slice(common.ranges());
                numbers.push(*number);
            }
        }
        Values::new(parts).covers(&wanted).then_some(numbers)
    }
}

impl Index {
    fn insert(&mut self, key: (Field, u32, u128), place: usize) {
        self.keyed.entry(key).or_default().push(place);
        let lengths = self.lengths.entry(key.0).or_default();
        if !lengths.contains(&key.1) {
            lengths.push(key.1);
        }
    }

    /// Rules whose keys contain the lowest value of one of these fields.
    fn candidates(&self, fields: &[(Field, Id)], pool: &Pool<'_>) -> Vec<usize> {
        let mut places = self.free.clone();
        for (field, id) in fields {
            let Some((lowest, _)) = pool.values(*id).ranges().first() else { continue };
            for length in self.lengths.get(field).into_iter().flatten() {
                let key = (*field, *length, prefix(*field, *length, *lowest));
                places.extend(self.keyed.get(&key).into_iter().flatten());
            }
        }
        places
    }

    /// Rules with a key of this field that overlaps the values; `None` if they are too many.
    fn within(&self, field: Field, values: &Values) -> Option<Vec<usize>> {
        let (lowest, highest) = bounds(values)?;
        let mut places = Vec::new();
        for length in self.lengths.get(&field).into_iter().flatten() {
            let first = (field, *length, prefix(field, *length, lowest));
            let last = (field, *length, prefix(field, *length, highest));
            for (_, some) in self.keyed.range(first..=last) {
                places.extend(some);
                if places.len() > WIDEST_UNION {
                    return None;
                }
            }
        }
        Some(places)
    }
}

/// Whether `outer` matches every packet of the family that `inner` matches, without regard to the
/// field `without`.
fn covers(
    outer: &Conjunctions,
    inner: &Conjunctions,
    family: Family,
    without: Option<Field>,
    pool: &mut Pool<'_>,
) -> bool {
    let Some(fields) = outer.family(family) else { return false };
    outer.opaque.iter().all(|one| inner.opaque.contains(one))
        && fields.iter().all(|(field, id)| {
            Some(*field) == without
                || inner.field(family, *field).is_some_and(|inner| pool.covers(*id, inner))
        })
}

/// The key of the index: the longest prefix that contains all values.
fn key(field: Field, values: &Values) -> (Field, u32, u128) {
    let Some((lowest, highest)) = bounds(values) else { return (field, 0, 0) };
    let length = field.bits() - (128 - (lowest ^ highest).leading_zeros());
    (field, length, prefix(field, length, lowest))
}

fn prefix(field: Field, length: u32, value: u128) -> u128 {
    value.checked_shr(field.bits() - length).unwrap_or(0)
}

fn bounds(values: &Values) -> Option<(u128, u128)> {
    Some((values.ranges().first()?.0, values.ranges().last()?.1))
}

/// Comparisons with single rules; with these limits, a lint of 10,000 rules takes about a second.
const LONGEST_SEARCH: usize = 10_000_000;
/// Comparisons with unions of rules.
const LONGEST_JOINING: usize = 2_000_000;
/// Rules in a union, and ranges of each.
const WIDEST_UNION: usize = 256;
