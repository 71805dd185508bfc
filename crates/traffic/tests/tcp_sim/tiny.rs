//! `Tiny`: a simple sender with a fixed window, for testing the network.
//!
//! It sends a window of segments, waits for all acknowledgements or its timer, and continues from
//! there.

use super::options::Options;
use super::segment::{ACK, Endpoint, FIN, SYN, Segment};
use super::simulation::Sender;
use super::{MS, Time};

#[derive(Clone, Debug)]
pub struct Tiny {
    /// Bytes of the stream and of a segment, and segments of a window.
    pub bytes: u64,
    pub size: u64,
    pub segments: u64,
    pub ends: (Endpoint, Endpoint),
    pub first: u32,
    mischief: Mischief,
    state: State,
    una: u64,
    next: u64,
    edge: u64,
    ack: u32,
    sent_at: Time,
    owes: bool,
}

/// A mistake of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    None,
    /// Ignores the window.
    Greed,
    /// Sends data that was acknowledged.
    Repeat,
    /// Omits a byte.
    Gap,
    Checksum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Open,
    Done,
}

impl Tiny {
    pub fn new(bytes: u64) -> Self {
        Self {
            bytes,
            size: 1000,
            segments: 4,
            ends: ends(40_000),
            first: 0xffff_f000,
            mischief: Mischief::None,
            state: State::Closed,
            una: 0,
            next: 0,
            edge: 1,
            ack: 0,
            sent_at: 0,
            owes: false,
        }
    }

    pub fn with(self, mischief: Mischief) -> Self {
        Self { mischief, ..self }
    }

    fn segment(&self, position: u64, flags: u8, length: u64) -> Segment {
        let is_syn = flags & SYN != 0;
        Segment {
            from: self.ends.0,
            to: self.ends.1,
            seq: self.first.wrapping_add(position as u32),
            ack: if is_syn { 0 } else { self.ack },
            flags,
            window: 1000,
            options: Options { mss: is_syn.then_some(1460), ..Options::default() },
            payload: vec![0; length as usize],
        }
    }

    fn next_segment(&mut self) -> Option<Segment> {
        let end = self.bytes + 1;
        let window = self.edge.min(self.una + self.size * self.segments);
        let window = if self.mischief == Mischief::Greed { u64::MAX } else { window };
        let length = self.size.min(end - self.next.min(end)).min(window.saturating_sub(self.next));
        if length > 0 {
            let at = self.next + u64::from(self.mischief == Mischief::Gap);
            self.next += length;
            return Some(self.segment(at, ACK, length));
        }
        if self.next == end && self.edge > end {
            self.next += 1;
            return Some(self.segment(end, ACK | FIN, 0));
        }
        None
    }
}

impl Tiny {
    fn send_one(&mut self, now: Time) -> Option<Vec<u8>> {
        let is_late = now >= self.sent_at + 200 * MS;
        if is_late && matches!(self.state, State::Open | State::SynSent) {
            (self.next, self.sent_at) = (self.una, now);
        }
        let segment = match self.state {
            State::Closed | State::SynSent if self.next == 0 => {
                (self.state, self.next) = (State::SynSent, 1);
                Some(self.segment(0, SYN, 0))
            }
            State::Open if self.mischief == Mischief::Repeat && self.una > 1 => {
                self.mischief = Mischief::None;
                Some(self.segment(1, ACK, 10))
            }
            State::Open => self.next_segment(),
            _ => None,
        };
        let segment = segment.or_else(|| {
            let owes = std::mem::take(&mut self.owes);
            owes.then(|| self.segment(self.next, ACK, 0))
        })?;
        self.owes = false;
        self.sent_at = now;
        let mut frame = segment.frame();
        if self.mischief == Mischief::Checksum {
            frame[50] ^= 1;
        }
        Some(frame)
    }
}

impl Sender for Tiny {
    fn send(&mut self, now: Time) -> Vec<Vec<u8>> {
        (0..self.batch()).map_while(|_| self.send_one(now)).collect()
    }

    fn batch(&self) -> usize {
        8
    }

    fn receive(&mut self, _: Time, frame: &[u8]) -> Option<Vec<u8>> {
        let segment = Segment::parse(frame).unwrap();
        self.ack = segment.seq.wrapping_add(segment.length());
        if self.state == State::SynSent {
            self.state = State::Open;
        }
        self.owes = segment.length() > 0;
        let acked = u64::from(segment.ack.wrapping_sub(self.first));
        let acked = if acked > self.next { self.una } else { acked };
        self.una = self.una.max(acked);
        self.edge = self.edge.max(acked + u64::from(segment.window));
        if self.una == self.bytes + 2 && segment.has(FIN) {
            self.state = State::Done;
            return Some(self.segment(self.next, ACK, 0).frame());
        }
        None
    }

    fn is_done(&self) -> bool {
        self.state == State::Done
    }
}

/// Both ends of a connection from this port.
pub fn ends(port: u16) -> (Endpoint, Endpoint) {
    let end =
        |last: u8, port| Endpoint { mac: [2, 0, 0, 0, 0, last], ip: [10, 0, 0, last].into(), port };
    (end(1, port), end(2, 5001))
}

/// A segment with data.
pub fn example() -> Segment {
    Tiny::new(100).segment(1, ACK, 100)
}
