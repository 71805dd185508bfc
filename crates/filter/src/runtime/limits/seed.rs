//! The random numbers of the hash that selects the line of a sender.
//!
//! Rule: they are secret; otherwise a sender could choose addresses that share a line.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use crate::abi::Seed;

impl Seed {
    /// A random seed of the operating system, as for hash tables.
    pub fn random() -> Self {
        let state = RandomState::new();
        Self { words: std::array::from_fn(|place| state.hash_one(place)) }
    }

    /// A seed from a number, for tests (splitmix64).
    pub fn from_number(number: u64) -> Self {
        let word = |place: usize| {
            let mut word = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        };
        Self { words: std::array::from_fn(word) }
    }
}
