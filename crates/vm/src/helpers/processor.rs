//! Helpers on the processor that runs the program: its number, its random numbers.

use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::fault::Fault;
use crate::worker::Worker;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::GET_PRANDOM_U32, random),
    helper_row(Helper::GET_SMP_PROCESSOR_ID, number),
    helper_row(Helper::GET_NUMA_NODE_ID, node),
];

/// Each worker draws its own numbers, so that a run repeats however many run at once.
fn random(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.local.random = worker.local.random.wrapping_add(GAMMA);
    Ok(mix(worker.local.random) >> 32)
}

fn number(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(worker.cpu.into())
}

/// The machine has one memory node.
fn node(_: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(0)
}

/// Where a worker's random numbers start.
pub(super) fn seed(seed: u64, cpu: u32) -> u64 {
    mix(seed ^ u64::from(cpu).wrapping_mul(GAMMA))
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// SplitMix64's step: the golden ratio in 64 bits.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_draw_different_numbers_from_one_seed() {
        assert_ne!(seed(1, 0), seed(1, 1));
        assert_ne!(seed(1, 0), seed(2, 0));
        assert_eq!(seed(7, 3), seed(7, 3));
    }
}
