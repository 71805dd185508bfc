//! Transmit times of packets that requested them.

use std::collections::VecDeque;

/// The transmit time of a packet that was sent with
/// [`Offload::Timestamp`](super::Offload::Timestamp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmitted {
    /// The number of the request.
    pub number: u64,
    /// With zero copy a time of the device's clock; in copy mode of `CLOCK_TAI`, when the kernel
    /// released the packet. `None` if the driver wrote no time.
    pub timestamp_ns: Option<u64>,
}

/// Times that were not read yet. The capacity is fixed: the newest replaces the oldest.
#[derive(Debug, Default)]
pub(crate) struct Transmissions {
    queue: VecDeque<Transmitted>,
    most: usize,
    /// Number of requests with the kernel.
    pub awaited: u32,
    pub lost: u64,
}

impl Transmissions {
    pub fn new(most: usize) -> Self {
        Self { queue: VecDeque::with_capacity(most), most, awaited: 0, lost: 0 }
    }

    pub fn put(&mut self, transmitted: Transmitted) {
        if self.queue.len() >= self.most {
            self.queue.pop_front();
            self.lost += 1;
        }
        self.queue.push_back(transmitted);
    }

    pub fn take(&mut self) -> Option<Transmitted> {
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_replaces_the_oldest() {
        let mut queue = Transmissions::new(2);
        for number in 0..3 {
            queue.put(Transmitted { number, timestamp_ns: None });
        }
        let numbers: Vec<_> = std::iter::from_fn(|| queue.take()).map(|it| it.number).collect();
        assert_eq!((numbers, queue.lost), (vec![1, 2], 1));
    }
}
