//! `Log`: the segments that one flow's sender sent and received, in order, for assertions.

use super::{MS, Time};

/// A logged event. Positions count from the sender's SYN, which is 0; the first byte of data is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: Time,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A segment was sent; `again` if any of it had been sent before.
    Sent { start: u64, length: u64, flags: u8, again: bool },
    /// An acknowledgement reached the sender.
    Told { ack: u64, window: u64, blocks: Vec<(u64, u64)>, flags: u8 },
}

/// A segment with data, SYN or FIN that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Time,
    pub start: u64,
    pub length: u64,
    pub again: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Log(pub Vec<Line>);

impl Log {
    pub fn add(&mut self, at: Time, event: Event) {
        self.0.push(Line { at, event });
    }

    /// Everything that takes sequence space.
    pub fn sent(&self) -> impl Iterator<Item = Sent> {
        self.0.iter().filter_map(|line| match line.event {
            Event::Sent { start, length, again, .. } if length > 0 => {
                Some(Sent { at: line.at, start, length, again })
            }
            _ => None,
        })
    }

    pub fn again(&self) -> Vec<Sent> {
        self.sent().filter(|sent| sent.again).collect()
    }

    /// Unacknowledged bytes after each sent segment, with its time.
    pub fn flights(&self) -> Vec<(Time, u64)> {
        let (mut una, mut next, mut flights) = (0, 0, Vec::new());
        for line in &self.0 {
            match line.event {
                Event::Sent { start, length, .. } if start + length > next => {
                    next = start + length;
                    flights.push((line.at, next - una));
                }
                Event::Told { ack, .. } => una = una.max(ack),
                Event::Sent { .. } => {}
            }
        }
        flights
    }

    /// The largest flight in each interval of `length`, starting at `from`.
    pub fn peaks(&self, from: Time, length: Time) -> Vec<u64> {
        let mut peaks = Vec::new();
        for (at, bytes) in self.flights().into_iter().filter(|(at, _)| *at >= from) {
            let index = ((at - from) / length) as usize;
            peaks.resize(peaks.len().max(index + 1), 0);
            peaks[index] = bytes.max(peaks[index]);
        }
        peaks
    }

    /// When a position was first acknowledged.
    pub fn acked_at(&self, position: u64) -> Option<Time> {
        let is_it = |line: &&Line| matches!(line.event, Event::Told { ack, .. } if ack >= position);
        self.0.iter().find(is_it).map(|line| line.at)
    }

    /// The last lines, for the message of a failure.
    pub fn tail(&self, lines: usize) -> String {
        let from = self.0.len().saturating_sub(lines);
        let text =
            |line: &Line| format!("{:>10.3} ms {:?}\n", line.at as f64 / MS as f64, line.event);
        self.0[from..].iter().map(text).collect()
    }
}
