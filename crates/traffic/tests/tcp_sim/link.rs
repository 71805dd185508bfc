//! `Link`: one direction of the path: a queue, a rate, a delay and faults.

use super::Time;
use super::fate::{Fate, Fault, none};
use super::segment::Segment;

pub struct Link {
    /// Bits per second; unlimited when `None`.
    pub rate_bps: Option<u64>,
    pub delay: Time,
    /// Bytes that the queue can hold; further frames are dropped.
    pub queue: u64,
    pub fault: Fault,
    /// The time when the queue will be empty.
    free_at: Time,
    /// Number of frames so far.
    pub frames: u64,
    /// Frames that were lost to the fault, and dropped by a full queue.
    pub lost: u64,
    pub dropped: u64,
}

impl Link {
    pub fn new(delay: Time) -> Self {
        Self {
            rate_bps: None,
            delay,
            queue: u64::MAX,
            fault: none(),
            free_at: 0,
            frames: 0,
            lost: 0,
            dropped: 0,
        }
    }

    /// `queue` in bytes.
    pub fn with_rate(self, rate_bps: u64, queue: u64) -> Self {
        Self { rate_bps: Some(rate_bps), queue, ..self }
    }

    pub fn with_fault(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// Arrival times of the copies of a frame of `length` bytes.
    pub fn pass(&mut self, now: Time, segment: &Segment, length: usize) -> Vec<Time> {
        self.frames += 1;
        let fate = (self.fault)(self.frames, segment);
        if fate == Fate::Lose {
            self.lost += 1;
            return Vec::new();
        }
        let Some(sent_at) = self.enqueue(now, length as u64) else {
            self.dropped += 1;
            return Vec::new();
        };
        let at = sent_at + self.delay;
        match fate {
            Fate::Twice => vec![at, at],
            Fate::Late(by) => vec![at + by],
            Fate::Pass | Fate::Lose => vec![at],
        }
    }

    /// The time when the last bit is sent.
    fn enqueue(&mut self, now: Time, length: u64) -> Option<Time> {
        let Some(rate) = self.rate_bps else { return Some(now) };
        let begin = self.free_at.max(now);
        let waiting = u128::from(begin - now) * u128::from(rate) / 8_000_000_000;
        if waiting as u64 + length > self.queue {
            return None;
        }
        self.free_at = begin + (length * 8).saturating_mul(1_000_000_000) / rate;
        Some(self.free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MS, US, fate, tiny};
    use super::*;

    #[test]
    fn frames_take_their_time_and_a_full_queue_loses() {
        let segment = tiny::example();
        let mut link = Link::new(5 * MS).with_rate(8_000_000, 3_000);
        // 1000 bytes take a millisecond.
        let arrivals: Vec<_> = (0..4).map(|_| link.pass(0, &segment, 1000)).collect();
        assert_eq!(arrivals, [vec![6 * MS], vec![7 * MS], vec![8 * MS], vec![]]);
        assert_eq!(link.pass(1001 * US, &segment, 1000), [9 * MS]);
        assert_eq!((link.frames, link.lost, link.dropped), (5, 0, 1));
    }

    #[test]
    fn faults_choose_by_number() {
        let segment = tiny::example();
        let fault = fate::any(vec![
            fate::each(3, Fate::Lose),
            fate::frames([4], Fate::Twice),
            fate::data([5], Fate::Late(7)),
        ]);
        let mut link = Link::new(1).with_fault(fault);
        let arrivals: Vec<_> = (0..6).map(|_| link.pass(0, &segment, 60)).collect();
        assert_eq!(arrivals, [vec![1], vec![1], vec![], vec![1, 1], vec![8], vec![]]);
        assert_eq!(link.lost, 2);
    }
}
