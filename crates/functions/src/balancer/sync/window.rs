//! `Window`: admits each sequence number once.

/// Numbers before the highest one that are still admitted.
const SIZE: u64 = 128;

/// The sequence numbers of a session that were received.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    first: u64,
    highest: u64,
    /// Bit n is that of `highest - n`.
    seen: u128,
    admitted: u64,
}

impl Window {
    /// A session is joined with this number: those before it are refused.
    pub const fn starting(first: u64) -> Self {
        Self { first, highest: first, seen: 1, admitted: 1 }
    }

    /// Whether the number is fresh; it is not any more then.
    pub const fn admit(&mut self, number: u64) -> bool {
        if number < self.first {
            return false;
        }
        if number > self.highest {
            let step = number - self.highest;
            self.seen = if step < SIZE { self.seen << step } else { 0 };
            self.highest = number;
        }
        let back = self.highest - number;
        if back >= SIZE || self.seen >> back & 1 == 1 {
            return false;
        }
        self.seen |= 1 << back;
        self.admitted += 1;
        true
    }

    /// Numbers up to the highest one that did not arrive.
    pub const fn missing(&self) -> u64 {
        self.highest - self.first + 1 - self.admitted
    }
}
