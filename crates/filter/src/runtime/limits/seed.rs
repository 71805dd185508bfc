//! The random numbers of the hash that finds a sender's line.
//!
//! Rule: nobody outside can know them, or he could choose addresses that share a line.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use crate::abi::Seed;

impl Seed {
    /// From the system's random numbers, as hash tables get theirs.
    pub fn random() -> Self {
        let state = RandomState::new();
        Self { words: std::array::from_fn(|place| state.hash_one(place)) }
    }

    /// The same for the same number; for tests (splitmix64).
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
