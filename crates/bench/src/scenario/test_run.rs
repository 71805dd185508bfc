//! Test runs of programs: batches, and the program without work that they are compared with.

use anyhow::Result;
use spec::asm::{self, Assembler};
use spec::{ProgramKind, Spec, Verdict};

/// Mean of the fastest quarter.
pub fn fastest(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.truncate(times.len().div_ceil(4));
    times.iter().sum::<f64>() / times.len() as f64
}

/// A program without anything to do.
pub fn nothing() -> Result<Spec> {
    let mut program = Assembler::new(NOTHING, ProgramKind::XDP);
    program.verdict(Verdict::Pass);
    let mut object = asm::Object::new(NOTHING, "Dual MIT/GPL");
    object.program(program);
    Ok(object.finish()?)
}

/// Name of the program without anything to do.
pub const NOTHING: &str = "nothing";
/// Runs of one batch: short beside a time slice.
pub const BATCH: u32 = 20_000;
/// Batches of each program in a turn, at least.
pub const FEWEST: usize = 8;
