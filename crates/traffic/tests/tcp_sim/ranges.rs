//! `Ranges`: which bytes of a stream were received, as offsets.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent, half-open ranges.
#[derive(Clone, Debug, Default)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `start..end`; returns the range that contains it.
    pub fn add(&mut self, start: u64, end: u64) -> (u64, u64) {
        let (mut start, mut end) = (start, end);
        while let Some((&first, &last)) = self.0.range(..=end).next_back() {
            if last < start {
                break;
            }
            self.0.remove(&first);
            start = start.min(first);
            end = end.max(last);
        }
        self.0.insert(start, end);
        (start, end)
    }

    /// Removes everything below `offset`.
    pub fn cut(&mut self, offset: u64) {
        let below: Vec<_> = self.0.range(..offset).map(|(&start, &end)| (start, end)).collect();
        for (start, end) in below {
            self.0.remove(&start);
            if end > offset {
                self.0.insert(offset, end);
            }
        }
    }

    /// Removes the range that begins at or below `offset` and extends beyond it; returns its end.
    pub fn take_from(&mut self, offset: u64) -> Option<u64> {
        let (&start, &end) = self.0.range(..=offset).next_back()?;
        (end > offset).then(|| {
            self.0.remove(&start);
            end
        })
    }

    /// Whether all of `start..end` is contained.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.holding(start).is_some_and(|(_, last)| last >= end)
    }

    /// Whether any of `start..end` is contained.
    pub fn touches(&self, start: u64, end: u64) -> bool {
        self.0.range(..end).next_back().is_some_and(|(_, &last)| last > start)
    }

    /// The range that contains `offset`.
    pub fn holding(&self, offset: u64) -> Option<(u64, u64)> {
        let (&start, &end) = self.0.range(..=offset).next_back()?;
        (end > offset).then_some((start, end))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }
}

#[test]
fn ranges_join_and_are_cut() {
    let mut ranges = Ranges::default();
    assert_eq!(ranges.add(10, 20), (10, 20));
    assert_eq!(ranges.add(30, 40), (30, 40));
    assert_eq!(ranges.add(20, 25), (10, 25));
    assert!(ranges.holds(12, 25) && !ranges.holds(12, 26) && !ranges.holds(9, 11));
    assert!(ranges.touches(0, 11) && !ranges.touches(0, 10) && !ranges.touches(25, 30));
    assert_eq!(ranges.add(5, 50), (5, 50));
    ranges.cut(45);
    assert_eq!((ranges.holding(45), ranges.bytes()), (Some((45, 50)), 5));
    assert_eq!((ranges.take_from(44), ranges.take_from(47)), (None, Some(50)));
    assert!(ranges.is_empty());
}
