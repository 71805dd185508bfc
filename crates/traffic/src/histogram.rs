//! `Histogram`: counts of values, in buckets less than 1.6 % wide.
//!
//! Values have 32 bits. Each value below 64 has a bucket of its own; above, each power of two has
//! 64 buckets. XDP programs use the same buckets (`bpf/include/xway/histogram.h`); user space adds
//! the processors and computes quantiles.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

/// Number of buckets of one histogram: an array of 64-bit counts.
pub const BUCKETS: usize = ((32 - SUB_BITS as usize) + 1) << SUB_BITS;

/// Bits of precision of a bucket after the leading one.
pub const SUB_BITS: u32 = 6;

/// Counts by bucket. Serialized as [`Quantiles`].
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(into = "Quantiles")]
pub struct Histogram {
    counts: Vec<u64>,
}

/// A summary of times in nanoseconds. Quantiles are the upper ends of buckets that are less than
/// 1.6 % wide. All fields are `null` when nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The smallest time.
    pub min: Option<u32>,
    /// The mean, computed from the middles of the buckets.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<u32>,
    /// The time that 90 % do not exceed.
    pub p90: Option<u32>,
    /// The time that 99 % do not exceed.
    pub p99: Option<u32>,
    /// The time that 99.9 % do not exceed.
    pub p999: Option<u32>,
    /// The largest time.
    pub max: Option<u32>,
}

impl From<&Histogram> for Quantiles {
    fn from(histogram: &Histogram) -> Self {
        Self {
            min: histogram.min(),
            mean: histogram.mean(),
            p50: histogram.quantile(0.5),
            p90: histogram.quantile(0.9),
            p99: histogram.quantile(0.99),
            p999: histogram.quantile(0.999),
            max: histogram.max(),
        }
    }
}

impl From<Histogram> for Quantiles {
    fn from(histogram: Histogram) -> Self {
        Self::from(&histogram)
    }
}

/// On one line: most of the 1728 buckets are empty.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (range, count) in self.buckets() {
            map.entry(range.start(), &count);
        }
        map.finish()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS] }
    }
}

impl Histogram {
    /// A histogram of the counts of a program; missing counts are zero.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut histogram = Self::default();
        histogram.counts.iter_mut().zip(counts).for_each(|(to, from)| *to = from);
        histogram
    }

    /// Counts a value.
    pub fn record(&mut self, value: u32) {
        self.record_many(value, 1);
    }

    /// Counts a value `times` times.
    pub fn record_many(&mut self, value: u32, times: u64) {
        self.counts[bucket(value)] += times;
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(to, from)| *to += from);
    }

    /// The counts since `earlier`, an older state of the same histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let counts = self.counts.iter().zip(&earlier.counts);
        Self { counts: counts.map(|(now, then)| now.saturating_sub(*then)).collect() }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// The value that a `share` (0 to 1) of all values do not exceed: the upper end of its bucket.
    /// `None` without values.
    pub fn quantile(&self, share: f64) -> Option<u32> {
        let count = self.count();
        let wanted = ((share * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        self.filled().find_map(|(index, times)| {
            seen += times;
            (seen >= wanted).then(|| *range(index).end())
        })
    }

    pub fn quantiles(&self) -> Quantiles {
        Quantiles::from(self)
    }

    pub fn min(&self) -> Option<u32> {
        self.filled().next().map(|(index, _)| *range(index).start())
    }

    /// The largest value: the upper end of its bucket.
    pub fn max(&self) -> Option<u32> {
        self.filled().last().map(|(index, _)| *range(index).end())
    }

    /// The mean value, from the middles of the buckets.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        let middle = |range: RangeInclusive<u32>| {
            (f64::from(*range.start()) + f64::from(*range.end())) / 2.0
        };
        let sum: f64 = self.filled().map(|(index, n)| middle(range(index)) * n as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    /// The buckets that are not empty, ascending, with their counts.
    pub fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u32>, u64)> + '_ {
        self.filled().map(|(index, count)| (range(index), count))
    }

    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

/// The bucket of a value.
pub fn bucket(value: u32) -> usize {
    let octave = (u32::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    ((octave << SUB_BITS) + (value >> octave)) as usize
}

/// The values of a bucket.
pub fn range(bucket: usize) -> RangeInclusive<u32> {
    let octave = (bucket >> SUB_BITS).saturating_sub(1);
    let first = (bucket - (octave << SUB_BITS)) << octave;
    first as u32..=(first + (1 << octave) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_range_of_its_bucket() {
        let mut value = 0u32;
        loop {
            let range = range(bucket(value));
            assert!(range.contains(&value), "{value}: {range:?}");
            let width = range.end() - range.start();
            assert!(width == 0 || f64::from(width) / f64::from(*range.start()) < 0.016);
            let Some(next) = value.checked_add(value / 100 + 1) else { break };
            value = next;
        }
        assert_eq!(bucket(u32::MAX), BUCKETS - 1);
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for index in 1..BUCKETS {
            assert_eq!(range(index - 1).end() + 1, *range(index).start(), "{index}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1000).for_each(|value| histogram.record(value));
        for (share, value) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1000)] {
            let found = histogram.quantile(share).unwrap();
            assert!(found >= value && f64::from(found) <= f64::from(value) * 1.016, "{share}");
        }
        assert_eq!(histogram.min(), Some(1));
        assert!((histogram.mean().unwrap() - 500.5).abs() < 5.0);
    }
}
