//! When packets were transmitted, for those who asked.

use std::collections::VecDeque;

/// One packet that was sent with [`Offload::Timestamp`](super::Offload::Timestamp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmitted {
    /// As it was asked with.
    pub number: u64,
    /// With zero copy a time of the device's clock; in copy mode of `CLOCK_TAI`, when the kernel
    /// let go of the packet. `None` where the driver wrote none.
    pub timestamp_ns: Option<u64>,
}

/// What was not yet taken. It never grows: the oldest is lost to the newest.
#[derive(Debug, Default)]
pub(crate) struct Transmissions {
    queue: VecDeque<Transmitted>,
    most: usize,
    /// Requests in the kernel's hands.
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
    fn the_oldest_is_lost_to_the_newest() {
        let mut queue = Transmissions::new(2);
        for number in 0..3 {
            queue.put(Transmitted { number, timestamp_ns: None });
        }
        let numbers: Vec<_> = std::iter::from_fn(|| queue.take()).map(|it| it.number).collect();
        assert_eq!((numbers, queue.lost), (vec![1, 2], 1));
    }
}
