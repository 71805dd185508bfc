//! `Pull`: requests the state of a peer part by part, and repeats what was lost.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use functions::balancer::sync::wire::{DONE, End, Item, Message, Want};

#[derive(Debug)]
pub struct Pull {
    pub from: SocketAddr,
    items: VecDeque<Item>,
    id: u32,
    /// Datagrams of the current answer.
    received: u32,
    repeat_at: Instant,
    /// Time for the next answer.
    patience: Duration,
}

impl Pull {
    pub fn new(from: SocketAddr, id: u32, items: impl IntoIterator<Item = Item>) -> Self {
        let items = items.into_iter().collect();
        Self { from, items, id, received: 0, repeat_at: Instant::now(), patience: PATIENCE }
    }

    pub fn is_done(&self) -> bool {
        self.items.is_empty()
    }

    /// When the next request is due.
    pub fn due(&self) -> Instant {
        self.repeat_at
    }

    /// The request that is due.
    pub fn request(&mut self, now: Instant) -> Option<Message> {
        let what = *self.items.front().filter(|_| self.repeat_at <= now)?;
        // Late parts of the last answer do not count for this one.
        self.id = self.id.wrapping_add(1).max(1);
        self.received = 0;
        self.repeat_at = now + self.patience;
        self.patience = (2 * self.patience).min(MOST_PATIENCE);
        Some(Message::Want(Want { id: self.id, what }))
    }

    /// Whether a datagram belongs to the current answer, of which it is counted then.
    pub fn admits(&mut self, from: SocketAddr, id: u32) -> bool {
        let is_own = (from, id) == (self.from, self.id);
        self.received += u32::from(is_own);
        is_own
    }

    /// The answer is complete, or the part is requested again.
    pub fn end(&mut self, from: SocketAddr, end: &End, now: Instant) {
        if (from, end.id) != (self.from, self.id) {
            return;
        }
        self.repeat_at = now + PAUSE;
        self.patience = PATIENCE;
        if self.received != end.datagrams {
            return;
        }
        match (self.items.front_mut(), end.next) {
            (_, DONE) => drop(self.items.pop_front()),
            (Some(Item::Cells { line }), next) if next > *line => *line = next,
            (Some(Item::History { slot, .. }), next) if next > *slot => *slot = next,
            // A peer that does not advance has no end.
            _ => drop(self.items.pop_front()),
        }
    }
}

/// Time for an answer, which doubles while none arrives: a busy peer answers late, and late answers
/// do not count.
const PATIENCE: Duration = Duration::from_millis(300);
const MOST_PATIENCE: Duration = Duration::from_secs(5);
/// Time between an answer and the next request: with the size of an answer, it bounds the rate to
/// 20 megabytes a second.
const PAUSE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_answers_late_gets_more_time() {
        let from = SocketAddr::from(([10, 0, 0, 1], 7946));
        let begin = Instant::now();
        let mut pull = Pull::new(from, 1, [Item::Cells { line: 0 }]);
        let mut asked = Vec::new();
        for ms in 0..3000 {
            if pull.request(begin + PAUSE + Duration::from_millis(ms)).is_some() {
                asked.push(ms);
            }
        }
        assert_eq!(asked, [0, 300, 900, 2100]);
        let id = pull.id;
        pull.end(from, &End { id, next: DONE, datagrams: 0 }, begin);
        assert!(pull.is_done());
    }
}
