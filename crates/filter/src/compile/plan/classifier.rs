//! `Classifier`: maps the value of a field to its class, which is the same for values that no rule
//! distinguishes.
//!
//! Rule: every value of the field has exactly one class. The form of a classifier depends on the
//! number of boundaries and the width of the field. Not here: which values have the same class
//! (`classes`), and packets that lack the field (`Transition`).

use super::boundary::{Boundary, class_at};
use super::ranges::Ranges;
use crate::{Field, Values};

/// A map from the values of a field to classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// Few boundaries, which code compares: sorted, with the first one at 0; adjacent classes
    /// differ.
    Branches(Vec<Boundary>),
    /// A class for each value, in fields of at most 16 bits.
    Direct(Vec<u32>),
    /// Boundaries in memory, which are searched: in wide fields, and where a direct table would be
    /// large for the number of boundaries.
    Ranges(Ranges),
}

impl Classifier {
    /// The most boundaries that code compares, in fields that could have a direct table.
    const BRANCHES_NARROW: usize = 4;
    /// The most boundaries that code compares, in wider fields.
    const BRANCHES_WIDE: usize = 8;
    /// Fields up to this width always have a direct table.
    const BYTE_BITS: u32 = 8;
    /// Fields up to this width have a direct table if they have many boundaries.
    const NARROW_BITS: u32 = 16;
    /// The most boundaries of such a field that are searched, which takes a few kilobytes.
    const SEARCHED: usize = 256;

    /// A classifier from sorted boundaries, of which the first is at 0.
    ///
    /// # Panics
    /// There is no boundary at 0, or they are not sorted.
    pub fn new(field: Field, mut boundaries: Vec<Boundary>) -> Self {
        assert_eq!(boundaries.first().map(|one| one.first), Some(0), "every value has a class");
        assert!(boundaries.is_sorted_by_key(|one| one.first), "boundaries in order");
        boundaries.dedup_by(|next, one| next.class == one.class);
        let narrow = field.bits() <= Self::NARROW_BITS;
        let few = if narrow { Self::BRANCHES_NARROW } else { Self::BRANCHES_WIDE };
        if boundaries.len() <= few {
            Self::Branches(boundaries)
        } else if field.bits() <= Self::BYTE_BITS || narrow && boundaries.len() > Self::SEARCHED {
            Self::Direct(direct(field, &boundaries))
        } else {
            Self::Ranges(Ranges::new(&boundaries))
        }
    }

    /// Class 1 for the values of a set, 0 for all others.
    pub fn membership(field: Field, values: &Values) -> Self {
        let mut boundaries = vec![Boundary { first: 0, class: 0 }];
        for (first, last) in values.ranges() {
            if *first == 0 {
                boundaries.clear();
            }
            boundaries.push(Boundary { first: *first, class: 1 });
            if *last < field.highest() {
                boundaries.push(Boundary { first: last + 1, class: 0 });
            }
        }
        Self::new(field, boundaries)
    }

    /// The class of a value.
    pub fn class(&self, value: u128) -> u32 {
        match self {
            Self::Branches(boundaries) => class_at(boundaries, value),
            Self::Direct(classes) => classes[usize::try_from(value).expect("at most 16 bits")],
            Self::Ranges(ranges) => ranges.class(value),
        }
    }

    /// Bytes of memory that it reads, with 4 bytes per class.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Branches(_) => 0,
            Self::Direct(classes) => 4 * classes.len(),
            Self::Ranges(ranges) => ranges.bytes(),
        }
    }
}

fn direct(field: Field, boundaries: &[Boundary]) -> Vec<u32> {
    let size = 1_usize << field.bits();
    let mut classes = Vec::with_capacity(size);
    let ends = boundaries.iter().skip(1).map(|next| next.first).chain([field.highest() + 1]);
    for (one, end) in boundaries.iter().zip(ends) {
        classes.resize(usize::try_from(end).unwrap_or(size).min(size), one.class);
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A classifier of a random set of ranges, and the set; `near` keeps them together.
    fn sample(field: Field, count: usize, near: u128, seed: u64) -> (Classifier, Values) {
        let mut random = super::super::random::Random(seed);
        let base = random.wide() & field.highest();
        let ranges = (0..count).map(|_| {
            let first = (base ^ (random.wide() & near)) & field.highest();
            let length = random.wide() & (near >> random.below(100).min(90)) & 0xff;
            (first, first.saturating_add(length).min(field.highest()))
        });
        let values = Values::new(ranges);
        (Classifier::membership(field, &values), values)
    }

    #[test]
    fn classes_are_those_of_the_set() {
        let nears = [0xff, 0xffff, 0xffff_ffff, u128::from(u64::MAX) << 32, u128::MAX];
        for field in Field::ALL {
            for (seed, near) in nears.into_iter().enumerate() {
                for count in [0, 1, 2, 3, 10, 100, 1_000] {
                    let (classifier, values) = sample(field, count, near, seed as u64 + 1);
                    let ends = values.ranges().iter().flat_map(|(first, last)| {
                        [first.saturating_sub(1), *first, *last, last.saturating_add(1)]
                    });
                    for value in ends.chain([0, field.highest()]) {
                        let value = value.min(field.highest());
                        let class = u32::from(values.contains(value));
                        let place = format!("{field:?} {value:#x} of {count} near {near:#x}");
                        assert_eq!(classifier.class(value), class, "{place}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_form_follows_width_and_boundaries() {
        let every_other = |count: u128| Values::new((0..count).map(|one| (2 * one, 2 * one)));
        for (field, count, form) in [
            (Field::Protocol, 2, "Branches"),
            (Field::Protocol, 3, "Direct"),
            (Field::DestPort, 100, "Ranges"),
            (Field::DestPort, 1_000, "Direct"),
            (Field::Source4, 4, "Branches"),
            (Field::Source4, 5, "Ranges"),
            (Field::Source6, 500, "Ranges"),
        ] {
            let classifier = Classifier::membership(field, &every_other(count));
            assert!(format!("{classifier:?}").starts_with(form), "{field:?} {count}");
        }
        let second = Classifier::membership(Field::Ttl, &Values::range(1_u8, 2_u8));
        assert_eq!([0, 1, 2, 3].map(|value| second.class(value)), [0, 1, 1, 0]);
        let all = Values::range(0_u8, u128::MAX);
        let Classifier::Branches(one) = Classifier::membership(Field::Source6, &all) else {
            panic!("one class needs no memory");
        };
        assert_eq!(one, [Boundary { first: 0, class: 1 }]);
    }
}
