//! The rounds of one measurement, and their statistics.
//!
//! Rule: a [`Samples`] is never empty and every value is finite, so its statistics always exist.
//! Comparisons are made round by round, because a machine drifts between rounds. Not here: units
//! and names (`bench`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::number::human;

/// One or more finite values, in the order in which they were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    values: Vec<f64>,
}

/// The three numbers that every result is given as. `rounds` is how many values they stand for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Smallest value.
    pub min: f64,
    /// Median of the values.
    pub median: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub rounds: usize,
}

/// Where the true median probably lies, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Samples {
    /// # Errors
    /// [`Error::Empty`] without values, [`Error::NotFinite`] for NaN or an infinity.
    pub fn new(values: impl Into<Vec<f64>>) -> Result<Samples, Error> {
        let values = values.into();
        if values.is_empty() {
            return Err(Error::Empty);
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(index) => Err(Error::NotFinite { index, value: values[index] }),
            None => Ok(Samples { values }),
        }
    }

    /// In the order of measurement.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Minimum, median, maximum and number of rounds.
    pub fn stats(&self) -> Stats {
        let sorted = sorted(&self.values);
        Stats {
            min: sorted[0],
            median: middle(&sorted),
            max: sorted[sorted.len() - 1],
            rounds: sorted.len(),
        }
    }

    /// This over `base`, round by round.
    ///
    /// # Errors
    /// [`Error::Unpaired`] when the numbers of rounds differ, [`Error::ZeroBase`] for a zero in
    /// `base`, [`Error::NotFinite`] when a quotient is too big for a number.
    pub fn ratios(&self, base: &Samples) -> Result<Samples, Error> {
        let (a, b) = (self.values.len(), base.values.len());
        if a != b {
            return Err(Error::Unpaired { a, b });
        }
        if let Some(index) = base.values.iter().position(|value| *value == 0.0) {
            return Err(Error::ZeroBase { index });
        }
        let quotients = self.values.iter().zip(&base.values).map(|(a, b)| a / b);
        Samples::new(quotients.collect::<Vec<_>>())
    }

    /// The percentile bootstrap of the median: [`RESAMPLES`] sets are drawn with replacement, and
    /// the middle `confidence` (0 to 1) of their medians is kept. The same seed gives the same
    /// interval. With fewer than about ten rounds it is too narrow; give min and max then.
    pub fn median_interval(&self, confidence: f64, seed: u64) -> Interval {
        let mut draw = Random(seed);
        let mut set = vec![0.0; self.values.len()];
        let medians = (0..RESAMPLES).map(|_| self.resampled_median(&mut set, &mut draw));
        middle_part(medians.collect(), confidence)
    }

    /// The interval that every result reports: at 95 %, and the same rounds give the same interval.
    pub fn confident(&self) -> Interval {
        self.median_interval(CONFIDENCE, SEED)
    }

    /// Where the median of this over the median of `base` probably lies: as
    /// [`Samples::median_interval`], but of sets whose rounds are not pairs. `None` when a median
    /// of `base` may be zero.
    pub fn quotient_interval(
        &self,
        base: &Samples,
        confidence: f64,
        seed: u64,
    ) -> Option<Interval> {
        let mut draw = Random(seed);
        let (mut set, mut base_set) = (self.values.clone(), base.values.clone());
        let quotients = (0..RESAMPLES).map(|_| {
            let top = self.resampled_median(&mut set, &mut draw);
            top / base.resampled_median(&mut base_set, &mut draw)
        });
        Some(middle_part(Samples::new(quotients.collect::<Vec<_>>()).ok()?.values, confidence))
    }

    /// Where the middle half of the values lies.
    pub fn middle_half(&self) -> Interval {
        let sorted = sorted(&self.values);
        let at = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let (below, share) = (place.floor() as usize, place.fract());
            let above = (below + 1).min(sorted.len() - 1);
            sorted[below] * (1.0 - share) + sorted[above] * share
        };
        Interval { low: at(0.25), high: at(0.75) }
    }

    fn resampled_median(&self, set: &mut [f64], draw: &mut Random) -> f64 {
        for slot in set.iter_mut() {
            *slot = self.values[draw.below(self.values.len())];
        }
        set.sort_by(f64::total_cmp);
        middle(set)
    }
}

impl Interval {
    /// Whether a value is in the interval.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Displays the interval of a ratio.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", human(self.low, "x"), human(self.high, "x"))
    }
}

impl Stats {
    /// A published value of which only one number is known.
    pub fn single(value: f64) -> Stats {
        Stats { min: value, median: value, max: value, rounds: 1 }
    }
}

/// Confidence of reported intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Seed of their resampling.
pub(crate) const SEED: u64 = 1;
/// How many sets the bootstrap draws; the ends of a 95 % interval then rest on 25 sets each.
pub const RESAMPLES: usize = 1000;

/// The middle `confidence` (0 to 1) of these.
fn middle_part(mut values: Vec<f64>, confidence: f64) -> Interval {
    values.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let last = (values.len() - 1) as f64;
    let low = (tail * last).floor() as usize;
    let high = ((1.0 - tail) * last).ceil() as usize;
    Interval { low: values[low], high: values[high] }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of sorted values; halved before adding, so that it cannot overflow.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { sorted[half - 1] / 2.0 + sorted[half] / 2.0 }
}

/// Repeatable random numbers: a Weyl sequence, mixed by multiply and shift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(values: &[f64]) -> Samples {
        Samples::new(values).unwrap()
    }

    #[test]
    fn statistics_of_known_sets() {
        let table: [(&[f64], [f64; 3]); 5] = [
            (&[7.0], [7.0, 7.0, 7.0]),
            (&[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]),
            (&[4.0, 1.0, 3.0, 2.0], [1.0, 2.5, 4.0]),
            (&[-1.0, 0.0, -5.0], [-5.0, -1.0, 0.0]),
            (&[f64::MAX, f64::MAX], [f64::MAX, f64::MAX, f64::MAX]),
        ];
        for (values, [min, median, max]) in table {
            let want = Stats { min, median, max, rounds: values.len() };
            assert_eq!(samples(values).stats(), want);
        }
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        assert_eq!(Samples::new([]), Err(Error::Empty));
        let infinite = Error::NotFinite { index: 1, value: f64::INFINITY };
        assert_eq!(Samples::new([1.0, f64::INFINITY]), Err(infinite));
        assert!(matches!(Samples::new([f64::NAN]), Err(Error::NotFinite { index: 0, .. })));
    }

    #[test]
    fn ratios_follow_the_rounds_not_the_medians() {
        // The machine slowed threefold in the second round: both arms felt it, the ratio did not.
        let (a, b) = (samples(&[30.0, 10.0, 30.0]), samples(&[15.0, 5.0, 10.0]));
        assert_eq!(a.ratios(&b).unwrap().values(), [2.0, 2.0, 3.0]);
        assert_eq!(a.ratios(&samples(&[1.0])), Err(Error::Unpaired { a: 3, b: 1 }));
        assert_eq!(a.ratios(&samples(&[1.0, 0.0, 1.0])), Err(Error::ZeroBase { index: 1 }));
        let tiny = samples(&[1.0, 1.0, f64::MIN_POSITIVE]);
        let huge = samples(&[1.0, 1.0, f64::MAX]);
        assert!(matches!(huge.ratios(&tiny), Err(Error::NotFinite { index: 2, .. })));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let set = samples(&[1.0, 5.0, 2.0, 8.0, 3.0, 9.0, 4.0]);
        assert_eq!(set.median_interval(0.95, 1), set.median_interval(0.95, 1));
        assert_eq!(samples(&[4.0; 9]).median_interval(0.95, 1), Interval { low: 4.0, high: 4.0 });
    }

    #[test]
    fn quotients_of_unpaired_sets_have_an_interval_too() {
        let (a, b) = (samples(&[10.0, 11.0, 9.0, 10.0, 10.0]), samples(&[5.0, 5.0, 6.0, 5.0]));
        let twice = a.quotient_interval(&b, 0.95, 1).unwrap();
        assert!(twice.holds(2.0) && !twice.holds(1.0) && !twice.holds(2.5), "{twice:?}");
        assert!(a.quotient_interval(&a, 0.95, 1).unwrap().holds(1.0));
        assert_eq!(a.quotient_interval(&samples(&[0.0, 1.0]), 0.95, 1), None);
    }

    #[test]
    fn the_middle_half_is_between_the_quartiles() {
        let table: [(&[f64], f64, f64); 3] =
            [(&[5.0, 1.0, 3.0, 2.0, 4.0], 2.0, 4.0), (&[7.0], 7.0, 7.0), (&[0.0, 1.0], 0.25, 0.75)];
        for (values, low, high) in table {
            assert_eq!(samples(values).middle_half(), Interval { low, high });
        }
    }

    /// How often the interval holds the true median, over 200 sets of 25 values.
    fn coverage(truth: f64, mut value: impl FnMut(&mut Random) -> f64) -> f64 {
        let mut draw = Random(41);
        let sets = 200;
        let held = (0..sets).filter(|seed| {
            let set = samples(&(0..25).map(|_| value(&mut draw)).collect::<Vec<_>>());
            let interval = set.median_interval(0.95, *seed);
            interval.low <= truth && truth <= interval.high
        });
        held.count() as f64 / sets as f64
    }

    fn uniform(draw: &mut Random) -> f64 {
        (draw.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn intervals_hold_the_median_of_known_distributions() {
        let normal = |draw: &mut Random| (0..12).map(|_| uniform(draw)).sum::<f64>() - 6.0;
        let exponential = |draw: &mut Random| -(1.0 - uniform(draw)).ln();
        let table = [
            ("uniform", coverage(0.5, uniform)),
            ("normal", coverage(0.0, normal)),
            ("exponential", coverage(std::f64::consts::LN_2, exponential)),
        ];
        for (name, held) in table {
            assert!((0.90..=0.99).contains(&held), "{name}: held {held} of the time, wanted 0.95");
        }
    }

    #[test]
    fn more_rounds_and_less_confidence_are_narrower() {
        let mut draw = Random(3);
        let mut width = |rounds: usize, confidence: f64| {
            let set = samples(&(0..rounds).map(|_| uniform(&mut draw)).collect::<Vec<_>>());
            let interval = set.median_interval(confidence, 7);
            interval.high - interval.low
        };
        assert!(width(400, 0.95) < width(20, 0.95) / 2.0);
        assert!(width(101, 0.5) < width(101, 0.99) / 2.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn statistics_are_in_order(values in prop::collection::vec(-1e300f64..1e300, 1..50)) {
            let set = samples(&values);
            let stats = set.stats();
            prop_assert!(stats.min <= stats.median && stats.median <= stats.max);
            let interval = set.median_interval(0.9, 5);
            prop_assert!(stats.min <= interval.low && interval.low <= interval.high);
            prop_assert!(interval.high <= stats.max);
        }
    }
}
