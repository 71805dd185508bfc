//! Random numbers: the n-th number of a sequence is a function of only its key and n, so that only
//! the count of frames is stored, and all runs with the same seed draw the same numbers.
//!
//! The function is SplitMix64's: steps of 2^64 / golden ratio, mixed by Stafford's variant 13.

use spec::asm::{Assembler, Reg};

use super::job::Job;

/// The random number of a key at a place.
pub(super) fn number(key: u64, place: u64) -> u64 {
    let z = place.wrapping_mul(GOLDEN).wrapping_add(key);
    let z = (z ^ (z >> 30)).wrapping_mul(FIRST);
    let z = (z ^ (z >> 27)).wrapping_mul(SECOND);
    z ^ (z >> 31)
}

/// The key of a draw of a stream.
pub(super) fn key(job: &Job, stream: usize, draw: usize) -> u64 {
    let parts = [u64::from(job.thread), stream as u64, draw as u64];
    parts.into_iter().fold(number(job.seed, 1), |key, part| number(key, part.wrapping_add(2)))
}

/// Converts `n`, a place, to the random number of this key. Overwrites `scratch`.
pub(super) fn mix(a: &mut Assembler, n: Reg, scratch: Reg, key: u64) {
    a.load_imm64(scratch, GOLDEN).mul(n, scratch).load_imm64(scratch, key).add(n, scratch);
    for (shift, factor) in [(30, FIRST), (27, SECOND)] {
        a.mov(scratch, n).rsh(scratch, shift).xor(n, scratch);
        a.load_imm64(scratch, factor).mul(n, scratch);
    }
    a.mov(scratch, n).rsh(scratch, 31).xor(n, scratch);
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;
