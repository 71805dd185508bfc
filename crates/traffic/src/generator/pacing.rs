//! `Accuracy`: computes the deviation of frames from their schedule from the delays of groups.

use super::report::Pacing;
use crate::histogram::Histogram;
use crate::rate::Pace;

/// Accumulates deviations over a run whose pace may change.
#[derive(Debug)]
pub(super) struct Accuracy {
    /// The pace since `seen`.
    pace: Pace,
    /// Each frame of a group has a scheduled time of its own.
    even: bool,
    seen: Histogram,
    error_ns: Histogram,
}

impl Accuracy {
    pub fn new(pace: Pace, even: bool) -> Self {
        Self { pace, even, seen: Histogram::default(), error_ns: Histogram::default() }
    }

    /// Whether the frames of this pace must be counted separately, because it differs noticeably.
    pub fn differs(&self, pace: &Pace, even: bool) -> bool {
        let (old, new) = (self.pace.interval_ns(), pace.interval_ns());
        (self.pace.group, self.even) != (pace.group, even)
            || self.pace.gaps != pace.gaps
            || (old - new).abs() > old * COARSE
    }

    /// Changes the pace; `late` has all counts so far.
    pub fn turn(&mut self, late: &Histogram, pace: Pace, even: bool) {
        self.count(late);
        (self.pace, self.even) = (pace, even);
    }

    /// Returns the result; `None` when no frame was paced.
    pub fn finish(mut self, late: &Histogram, slipped: u64) -> Option<Pacing> {
        self.count(late);
        let counted = !self.error_ns.is_empty();
        let (error_ns, group) = (self.error_ns, self.pace.group);
        counted.then_some(Pacing { error_ns, group, slipped })
    }

    fn count(&mut self, late: &Histogram) {
        let fresh = late.since(&self.seen);
        self.seen = late.clone();
        let group = f64::from(self.pace.group);
        let gap = if self.even { self.pace.interval_ns() / group } else { 0.0 };
        for (range, groups) in fresh.buckets() {
            let late = (f64::from(*range.start()) + f64::from(*range.end())) / 2.0;
            for place in 0..self.pace.group {
                // A group is scheduled in the middle of the times of its frames.
                let own = (f64::from(place) - (group - 1.0) / 2.0) * gap;
                self.error_ns.record_many((late - own).abs() as u32, groups);
            }
        }
    }
}

/// Relative difference up to which intervals are treated as equal.
const COARSE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Gaps;

    fn pace(group: u32, interval_ns: u64) -> Pace {
        Pace { group, gaps: Some(Gaps::Even), interval: interval_ns << 20 }
    }

    fn late(values: &[u32]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn frames_of_a_group_leave_in_the_middle_of_their_times() {
        let accuracy = Accuracy::new(pace(4, 40), true);
        // Scheduled at -15, -5, 5 and 15 from the middle, and 20 late.
        let pacing = accuracy.finish(&late(&[20]), 3).unwrap();
        let errors: Vec<u32> = pacing.error_ns.buckets().map(|(range, _)| *range.start()).collect();
        assert_eq!(errors, [5, 15, 25, 35]);
        assert_eq!((pacing.group, pacing.slipped), (4, 3));
    }

    #[test]
    fn bursts_are_meant_to_leave_together() {
        let pacing = Accuracy::new(pace(4, 40), false).finish(&late(&[20]), 0).unwrap();
        assert_eq!(pacing.error_ns.buckets().collect::<Vec<_>>(), [(20..=20, 4)]);
    }

    #[test]
    fn paces_are_counted_apart() {
        let mut accuracy = Accuracy::new(pace(1, 100), true);
        assert!(!accuracy.differs(&pace(1, 95), true) && accuracy.differs(&pace(1, 80), true));
        assert!(accuracy.differs(&pace(2, 100), true) && accuracy.differs(&pace(1, 100), false));
        accuracy.turn(&late(&[7]), pace(2, 20), true);
        let pacing = accuracy.finish(&late(&[7, 10]), 0).unwrap();
        let counts: Vec<_> =
            pacing.error_ns.buckets().map(|(range, n)| (*range.start(), n)).collect();
        assert_eq!(counts, [(5, 1), (7, 1), (15, 1)]);
    }

    #[test]
    fn nothing_paced_is_no_pacing() {
        let unpaced = Pace { group: 256, gaps: None, interval: 0 };
        assert_eq!(Accuracy::new(unpaced, true).finish(&Histogram::default(), 0), None);
    }
}
