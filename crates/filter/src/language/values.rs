//! `Values`: sets of numbers as ranges, which are the values for which a test holds.
//!
//! Rule: ranges are sorted, inclusive, disjoint and not adjacent, so equal sets are equal values.

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Values(Vec<(u128, u128)>);

impl Values {
    /// The union of ranges in any order, which may overlap; both ends belong to a range.
    pub fn new(ranges: impl IntoIterator<Item = (u128, u128)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().filter(|(first, last)| first <= last).collect();
        ranges.sort_unstable();
        let mut merged: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(open) if open.1 == u128::MAX || first <= open.1 + 1 => {
                    open.1 = open.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    /// The set of one number.
    pub fn one(value: impl Into<u128>) -> Self {
        let value = value.into();
        Self(vec![(value, value)])
    }

    /// The set of the numbers from `first` to `last`, both included.
    pub fn range(first: impl Into<u128>, last: impl Into<u128>) -> Self {
        Self::new([(first.into(), last.into())])
    }

    /// All numbers up to `highest` that equal `value` under `mask`; for fields of at most 16 bits.
    pub fn masked(mask: u16, value: u16, highest: u16) -> Self {
        let fits = |one: &u16| one & mask == value & mask;
        Self::new((0..=highest).filter(fits).map(|one| (one.into(), one.into())))
    }

    /// The ranges, in order.
    pub fn ranges(&self) -> &[(u128, u128)] {
        &self.0
    }

    /// Whether the set has no number.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number is in the set.
    pub fn contains(&self, value: u128) -> bool {
        let behind = self.0.partition_point(|(first, _)| *first <= value);
        behind.checked_sub(1).is_some_and(|place| value <= self.0[place].1)
    }

    /// All numbers from 0 to `highest` that are not in the set.
    #[must_use]
    pub fn complement(&self, highest: u128) -> Self {
        let mut free = Some(0);
        let mut gaps = Vec::with_capacity(self.0.len() + 1);
        for (first, last) in &self.0 {
            if let Some(from) = free.filter(|from| from < first) {
                gaps.push((from, (first - 1).min(highest)));
            }
            free = last.checked_add(1);
        }
        gaps.extend(free.map(|from| (from, highest)));
        Self::new(gaps)
    }

    /// All numbers that are in one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(&other.0).copied())
    }

    /// All numbers that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = Vec::new();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            common.push((a.0.max(b.0), a.1.min(b.1)));
            if a.1 < b.1 {
                left.next()
            } else {
                right.next()
            };
        }
        Self::new(common)
    }

    /// The fewest prefixes that together are the set, in order, for numbers of `bits` bits: the
    /// lowest number of each, and its length.
    pub fn prefixes(&self, bits: u32) -> impl Iterator<Item = (u128, u32)> + '_ {
        self.0.iter().flat_map(move |(first, last)| {
            let mut next = Some(*first);
            std::iter::from_fn(move || {
                let first = next?;
                // The size less one, so that 2^128 fits.
                let free = last - first;
                let widest = if free == u128::MAX { 128 } else { (free + 1).ilog2() };
                let width = widest.min(first.trailing_zeros()).min(bits);
                let end = first | u128::MAX.checked_shr(128 - width).unwrap_or(0);
                next = (end < *last).then(|| end + 1);
                Some((first, bits - width))
            })
        })
    }

    /// Whether every number of `other` is in this set.
    pub fn covers(&self, other: &Self) -> bool {
        // Ranges are not adjacent, so a range of `other` is within one range of this set or is not
        // covered.
        other.0.iter().all(|(first, last)| {
            let behind = self.0.partition_point(|(start, _)| start <= first);
            behind.checked_sub(1).is_some_and(|place| *last <= self.0[place].1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(ranges: &[(u128, u128)]) -> Values {
        Values::new(ranges.iter().copied())
    }

    #[test]
    fn equal_sets_are_equal() {
        assert_eq!(values(&[(5, 9), (1, 4), (20, 30), (25, 40)]), values(&[(1, 9), (20, 40)]));
        assert_eq!(values(&[(3, 2)]), Values::default());
        assert_eq!(values(&[(0, u128::MAX), (7, 8)]), values(&[(0, u128::MAX)]));
    }

    #[test]
    fn membership_and_complement() {
        let set = values(&[(0, 3), (10, 10), (250, 255)]);
        for value in 0..=255_u128 {
            let inside = value <= 3 || value == 10 || value >= 250;
            assert_eq!(set.contains(value), inside, "{value}");
            assert_eq!(set.complement(255).contains(value), !inside, "{value}");
        }
        assert_eq!(set.complement(255).complement(255), set);
        assert_eq!(Values::default().complement(7), values(&[(0, 7)]));
        assert_eq!(values(&[(0, u128::MAX)]).complement(u128::MAX), Values::default());
        assert_eq!(values(&[(2, 300)]).complement(9), values(&[(0, 1)]));
    }

    #[test]
    fn union_and_intersection_agree_with_membership() {
        let a = values(&[(0, 10), (20, 30), (40, 40)]);
        let b = values(&[(5, 25), (39, 60)]);
        for value in 0..70 {
            let [in_a, in_b] = [&a, &b].map(|set| set.contains(value));
            assert_eq!(a.union(&b).contains(value), in_a || in_b);
            assert_eq!(a.intersection(&b).contains(value), in_a && in_b);
        }
        assert!(a.covers(&values(&[(21, 22), (40, 40)])));
        assert!(!a.covers(&b));
    }

    #[test]
    fn blocks_of_ranges() {
        for (ranges, bits, want) in [
            (&[(0, 255)][..], 8, vec![(0, 0)]),
            (&[(0, u128::MAX)], 128, vec![(0, 0)]),
            (&[(1, u128::MAX)], 128, vec![(1, 128), (2, 127), (4, 126)]),
            (&[(5, 9), (16, 31)], 8, vec![(5, 8), (6, 7), (8, 7), (16, 4)]),
            (&[(7, 7), (254, 255)], 8, vec![(7, 8), (254, 7)]),
        ] {
            let found: Vec<_> = values(ranges).prefixes(bits).take(want.len()).collect();
            assert_eq!(found, want, "{ranges:?}");
        }
        let last = values(&[(1, u128::MAX)]).prefixes(128).last();
        assert_eq!(
            (last, values(&[(1, u128::MAX)]).prefixes(128).count()),
            (Some((1 << 127, 1)), 128)
        );
    }

    #[test]
    fn masked_values() {
        let syn = Values::masked(0x12, 0x02, 0xff);
        assert!(syn.contains(0x02) && syn.contains(0xc2));
        assert!(!syn.contains(0x12) && !syn.contains(0x10));
    }
}
