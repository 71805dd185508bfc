//! Counts received packets by their numbers.
//!
//! Rule: a packet in order costs one comparison. Gaps are remembered, so that a late packet is
//! distinguished from a duplicate.

use std::collections::VecDeque;
use std::ops::Range;

use super::packet;

/// The numbers that one worker received; [`Tracker::add`] merges those of several.
#[derive(Clone, Debug)]
pub struct Tracker {
    /// Streams by number; the first always exists.
    streams: Vec<Stream>,
    /// Packets without a number of this run.
    pub foreign: u64,
}

/// Packets of all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Distinct numbers that arrived.
    pub received: u64,
    /// Numbers between the first and the last that did not arrive.
    pub missing: u64,
    /// Numbers that arrived more than once.
    pub duplicated: u64,
    /// Packets received after one with a higher number.
    pub reordered: u64,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// The smallest number received, and one more than the largest.
    first: u64,
    next: u64,
    received: u64,
    duplicated: u64,
    reordered: u64,
    /// Numbers not received yet, in order; the oldest are forgotten.
    holes: VecDeque<Range<u64>>,
}

impl Default for Tracker {
    fn default() -> Self {
        Self { streams: vec![Stream::default()], foreign: 0 }
    }
}

impl Tracker {
    /// Counts a packet; returns `false` if it has no number of this run.
    #[inline]
    pub fn note(&mut self, packet: &[u8]) -> bool {
        let is_ours = packet::number(packet).is_some_and(|number| self.number(number));
        self.foreign += u64::from(!is_ours);
        is_ours
    }

    #[inline]
    fn number(&mut self, number: u64) -> bool {
        let (stream, number) = ((number >> STREAM_SHIFT) as usize, number & LOWER);
        let Some(stream) = self.streams.get_mut(stream) else {
            return self.new_stream(stream, number);
        };
        if number == stream.next {
            stream.next += 1;
            stream.received += 1;
            return true;
        }
        stream.out_of_order(number)
    }

    #[cold]
    fn new_stream(&mut self, stream: usize, number: u64) -> bool {
        if number >= LARGEST {
            return false;
        }
        self.streams.resize(stream + 1, Stream::default());
        self.streams[stream].out_of_order(number)
    }

    /// Merges the counts of another worker of the same run; each number was received by one.
    pub fn add(&mut self, other: &Self) {
        self.foreign += other.foreign;
        let streams = self.streams.len().max(other.streams.len());
        self.streams.resize(streams, Stream::default());
        for (own, other) in self.streams.iter_mut().zip(&other.streams) {
            if other.received > 0 {
                own.add(other);
            }
        }
    }

    /// The counts so far.
    pub fn arrived(&self) -> Arrived {
        self.streams.iter().fold(Arrived::default(), |sum, stream| Arrived {
            received: sum.received + stream.received,
            missing: sum.missing + stream.missing(),
            duplicated: sum.duplicated + stream.duplicated,
            reordered: sum.reordered + stream.reordered,
        })
    }
}

impl Stream {
    #[cold]
    fn out_of_order(&mut self, number: u64) -> bool {
        if number >= LARGEST {
            return false;
        }
        if self.received == 0 {
            // The receiver may start after the sender.
            (self.first, self.next, self.received) = (number, number + 1, 1);
        } else if number > self.next {
            self.hole(self.next..number);
            self.next = number + 1;
            self.received += 1;
        } else if number < self.first {
            self.hole(number + 1..self.first);
            self.first = number;
            self.late();
        } else if self.fill(number) {
            self.late();
        } else {
            self.duplicated += 1;
        }
        true
    }

    fn late(&mut self) {
        self.received += 1;
        self.reordered += 1;
    }

    fn hole(&mut self, hole: Range<u64>) {
        if hole.is_empty() {
            return;
        }
        if self.holes.len() == HOLES {
            self.holes.pop_front();
        }
        let place = self.holes.partition_point(|other| other.start < hole.start);
        self.holes.insert(place, hole);
    }

    /// Removes a number from its gap; returns `false` if it is in none.
    fn fill(&mut self, number: u64) -> bool {
        let place = self.holes.partition_point(|hole| hole.end <= number);
        let Some(hole) = self.holes.get(place).filter(|hole| hole.contains(&number)).cloned()
        else {
            return false;
        };
        self.holes.remove(place);
        self.hole(hole.start..number);
        self.hole(number + 1..hole.end);
        true
    }

    fn missing(&self) -> u64 {
        (self.next - self.first).saturating_sub(self.received)
    }

    fn add(&mut self, other: &Self) {
        if self.received == 0 {
            self.clone_from(other);
            return;
        }
        self.first = self.first.min(other.first);
        self.next = self.next.max(other.next);
        self.received += other.received;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
    }
}

/// The 64-bit number of a packet: stream and sequence number.
pub fn number(stream: usize, number: u64) -> u64 {
    (stream as u64) << STREAM_SHIFT | number
}

/// Maximum number of streams (sending queues) of one run.
pub const STREAMS: usize = 256;
const STREAM_SHIFT: u32 = 56;
const LOWER: u64 = (1 << STREAM_SHIFT) - 1;
/// A larger value is not a number of this run; reached after 21 hours at 14 million packets/s.
const LARGEST: u64 = 1 << 40;
const HOLES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(numbers: &[u64]) -> [u64; 4] {
        let mut tracker = Tracker::default();
        numbers.iter().for_each(|number| assert!(tracker.number(*number), "{number}"));
        let Arrived { received, missing, duplicated, reordered } = tracker.arrived();
        [received, missing, duplicated, reordered]
    }

    #[test]
    fn gaps_doubles_and_late_ones_are_distinguished() {
        for (numbers, expected) in [
            (&[][..], [0, 0, 0, 0]),
            (&[0, 1, 2], [3, 0, 0, 0]),
            (&[7, 8], [2, 0, 0, 0]),
            (&[0, 3], [2, 2, 0, 0]),
            (&[0, 3, 1], [3, 1, 0, 1]),
            (&[0, 3, 1, 2, 4], [5, 0, 0, 2]),
            (&[0, 3, 1, 1, 3], [3, 1, 2, 1]),
            (&[5, 4, 2, 3, 2], [4, 0, 1, 3]),
            (&[0, 9, 5, 5, 4, 6], [5, 5, 1, 3]),
            (&[0, number(1, 0), number(1, 2), 1], [4, 1, 0, 0]),
        ] {
            assert_eq!(arrived(numbers), expected, "{numbers:?}");
        }
    }

    #[test]
    fn payloads_of_others_are_not_numbers() {
        let mut tracker = Tracker::default();
        assert!(!tracker.number(LARGEST));
        assert!(!tracker.note(&[0; 60]));
        assert_eq!((tracker.arrived(), tracker.foreign), (Arrived::default(), 1));
    }

    #[test]
    fn workers_share_a_stream() {
        let (mut one, mut other) = (Tracker::default(), Tracker::default());
        for number in 0..100 {
            if number != 50 {
                if number % 3 == 0 { &mut one } else { &mut other }.number(number);
            }
        }
        one.add(&other);
        let expected = Arrived { received: 99, missing: 1, ..Arrived::default() };
        assert_eq!(one.arrived(), expected);
    }

    #[test]
    fn forgotten_holes_stay_missing() {
        let mut tracker = Tracker::default();
        (0..2 * HOLES as u64 + 2).for_each(|number| {
            tracker.number(number * 2);
        });
        tracker.number(1);
        let missing = 2 * HOLES as u64 + 1;
        let Arrived { received, missing: found, duplicated, .. } = tracker.arrived();
        assert_eq!((received, found, duplicated), (missing + 1, missing, 1));
    }
}
