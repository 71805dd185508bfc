//! `Conjunction`: the tests of a rule for packets of one family, as numbers of sets of values.
//!
//! Rule: equal sets of a field have one number, so that later steps process equal sets once.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::{Family, Field, Values};

/// A rule, which matches if all its fields are in their sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conjunction {
    /// The number of the rule in its ruleset.
    pub number: u32,
    /// Fields, with the number of their set. Each field occurs at most once; sets that hold for all
    /// packets are left out.
    pub tests: Vec<(Field, u32)>,
}

/// Sets of values, by field and number.
#[derive(Debug)]
pub struct Sets<'a> {
    sets: [Vec<Cow<'a, Values>>; Field::COUNT],
    by_content: HashMap<(Field, Cow<'a, Values>), u32>,
    /// Borrowed sets by address, which is compared before the content.
    by_place: HashMap<(Field, usize), u32>,
}

impl<'a> Sets<'a> {
    /// No sets.
    pub fn new() -> Self {
        Self {
            sets: [const { Vec::new() }; Field::COUNT],
            by_content: HashMap::new(),
            by_place: HashMap::new(),
        }
    }

    /// The set with this number.
    pub fn set(&self, field: Field, number: u32) -> &Values {
        &self.sets[field as usize][number as usize]
    }

    /// The conjunction of a rule.
    pub fn conjunction(
        &mut self,
        number: u32,
        family: Family,
        fields: Vec<(Field, Cow<'a, Values>)>,
    ) -> Conjunction {
        let tests = fields
            .into_iter()
            .filter(|(field, values)| !holds_always(*field, family, values))
            .map(|(field, values)| (field, self.number(field, values)))
            .collect();
        Conjunction { number, tests }
    }

    fn number(&mut self, field: Field, values: Cow<'a, Values>) -> u32 {
        let place = match &values {
            Cow::Borrowed(borrowed) => Some((field, std::ptr::from_ref(*borrowed).addr())),
            Cow::Owned(_) => None,
        };
        if let Some(number) = place.and_then(|place| self.by_place.get(&place)) {
            return *number;
        }
        let sets = &mut self.sets[field as usize];
        let number = *self.by_content.entry((field, values)).or_insert_with_key(|(_, values)| {
            sets.push(values.clone());
            u32::try_from(sets.len() - 1).expect("less than 2^32 sets")
        });
        self.by_place.extend(place.map(|place| (place, number)));
        number
    }
}

/// Whether the set has all values of a field that every packet of the family has.
fn holds_always(field: Field, family: Family, values: &Values) -> bool {
    let always_there = match field {
        Field::Source4 | Field::Dest4 => family == Family::Ipv4,
        Field::Source6 | Field::Dest6 => family == Family::Ipv6,
        _ => field.place().known == 0,
    };
    let all = [(0, u128::MAX), (0, field.highest())];
    always_there && values.ranges().first().is_some_and(|range| all.contains(range))
}
