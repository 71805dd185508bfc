//! `Order`: a keyed permutation of the numbers from 0 to any last one.
//!
//! A Feistel network permutes the numbers with the same number of bits. An output beyond the last
//! number is permuted again until it is in range (cycle walking), so that each index has a number
//! of its own and each number an index. More than half of the outputs are in range, therefore an
//! index needs fewer than two steps on average.
//!
//! Rule: an order is a function of its key and size alone. Its numbers are computed, never stored.

use super::Key;

/// A permutation of `0..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The largest number.
    last: u128,
    /// Bits of the right half; the left one has the same number, or one fewer.
    right_bits: u32,
    left_bits: u32,
    keys: [u64; ROUNDS],
}

impl Order {
    /// The order of one pass over the numbers up to `last`.
    pub fn new(last: u128, key: Key, pass: u64) -> Self {
        let bits = (u128::BITS - last.leading_zeros()).max(2);
        let mut keys = [0; ROUNDS];
        for (round, word) in keys.iter_mut().enumerate() {
            *word = key.derive("order", pass * ROUNDS as u64 + round as u64);
        }
        Self { last, right_bits: bits.div_ceil(2), left_bits: bits / 2, keys }
    }

    /// The largest number.
    pub const fn last(&self) -> u128 {
        self.last
    }

    /// Bits of the left and of the right half.
    pub const fn halves(&self) -> [u32; 2] {
        [self.left_bits, self.right_bits]
    }

    /// Keys of the rounds.
    pub const fn keys(&self) -> [u64; ROUNDS] {
        self.keys
    }

    /// The number at an index.
    ///
    /// # Panics
    /// The index is larger than the largest number.
    pub fn at(&self, index: u128) -> u128 {
        self.walk(index, Self::encrypt)
    }

    /// The index of a number.
    ///
    /// # Panics
    /// The number is larger than the largest one.
    pub fn index_of(&self, number: u128) -> u128 {
        self.walk(number, Self::decrypt)
    }

    fn walk(&self, from: u128, step: impl Fn(&Self, u128) -> u128) -> u128 {
        assert!(from <= self.last, "the number is in range");
        let mut number = step(self, from);
        while number > self.last {
            number = step(self, number);
        }
        number
    }

    fn encrypt(&self, number: u128) -> u128 {
        let (mut left, mut right) = self.split(number);
        for pair in self.keys.as_chunks::<2>().0 {
            left ^= mix(right, pair[0]) >> (64 - self.left_bits);
            right ^= mix(left, pair[1]) >> (64 - self.right_bits);
        }
        self.join(left, right)
    }

    fn decrypt(&self, number: u128) -> u128 {
        let (mut left, mut right) = self.split(number);
        for pair in self.keys.as_chunks::<2>().0.iter().rev() {
            right ^= mix(left, pair[1]) >> (64 - self.right_bits);
            left ^= mix(right, pair[0]) >> (64 - self.left_bits);
        }
        self.join(left, right)
    }

    fn split(&self, number: u128) -> (u64, u64) {
        let right = number as u64 & (u64::MAX >> (64 - self.right_bits));
        ((number >> self.right_bits) as u64, right)
    }

    fn join(&self, left: u64, right: u64) -> u128 {
        u128::from(left) << self.right_bits | u128::from(right)
    }
}

/// Rounds of the network, an even number.
pub const ROUNDS: usize = 4;

/// A function of half a number and the key of a round; its upper bits depend on all of them.
fn mix(half: u64, key: u64) -> u64 {
    let mixed = (half ^ key).wrapping_mul(FIRST);
    (mixed ^ (mixed >> 32)).wrapping_mul(SECOND)
}

/// Multipliers without a factor of 2, whose bits look random: the fractional parts of the golden
/// ratio and of the square root of 3.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xbb67_ae85_84ca_a73b;

#[cfg(test)]
mod tests {
    use super::*;

    fn order(last: u128, seed: u64) -> Order {
        Order::new(last, Key::from_seed(seed), 0)
    }

    #[test]
    fn every_number_has_one_index() {
        for last in (0..130).chain([255, 256, 257, 1000, 65_535, 65_536, 100_003]) {
            let order = order(last, 3);
            let mut seen = vec![false; last as usize + 1];
            for index in 0..=last {
                let number = order.at(index);
                assert!(!std::mem::replace(&mut seen[number as usize], true), "{last}: {number}");
                assert_eq!(order.index_of(number), index);
            }
            assert!(seen.iter().all(|seen| *seen), "{last}");
        }
    }

    #[test]
    fn sizes_up_to_all_bits() {
        for bits in 1..=128 {
            for last in [u128::MAX >> (128 - bits), (1 << (bits - 1)) + 1] {
                let order = order(last, 5);
                for index in [0, 1, last / 3, last - 1, last] {
                    let number = order.at(index);
                    assert!(number <= last);
                    assert_eq!(order.index_of(number), index, "{last:#x}");
                }
            }
        }
    }

    #[test]
    fn keys_and_passes_have_other_orders() {
        let last = (1 << 32) - 1;
        let first = |order: Order| (0..64).map(|index| order.at(index)).collect::<Vec<_>>();
        let same = |a: &[u128], b: &[u128]| a.iter().zip(b).filter(|(a, b)| a == b).count();
        let (one, other) = (first(order(last, 1)), first(order(last, 2)));
        assert_eq!(same(&one, &other), 0);
        let second_pass = first(Order::new(last, Key::from_seed(1), 1));
        assert_eq!(same(&one, &second_pass), 0);
    }

    /// Chi-square over 256 networks, for the first numbers of many orders: 255 is expected, and 400
    /// is exceeded by chance in less than one of a million orders.
    #[test]
    fn the_first_numbers_are_spread_over_networks() {
        for (last, shift) in [((1 << 32) - 1, 24), ((1 << 24) - 1, 16), (3_700_000_000, 24)] {
            let networks = (last >> shift) + 1;
            for seed in 0..20 {
                let order = order(last, seed);
                let mut counts = vec![0_u32; networks as usize];
                let count = networks as u32 * 64;
                for index in 0..count {
                    counts[(order.at(index.into()) >> shift) as usize] += 1;
                }
                // The last network may be a part.
                counts.pop();
                let chi: f64 =
                    counts.iter().map(|seen| (f64::from(*seen) - 64.0).powi(2) / 64.0).sum();
                assert!(chi < 400.0, "{last} seed {seed}: {chi}");
            }
        }
    }
}
