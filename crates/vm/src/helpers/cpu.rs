//! Helpers on the processor that runs the program: its number, its random numbers.

use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::GET_PRANDOM_U32, random),
    helper_row(Helper::GET_SMP_PROCESSOR_ID, number),
    helper_row(Helper::GET_NUMA_NODE_ID, node),
];

/// Each processor has a sequence of its own, so that a run repeats however many processors run.
fn random(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(processor.local.random.next() >> 32)
}

fn number(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(processor.cpu.into())
}

/// The machine has one memory node.
fn node(_: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(0)
}
