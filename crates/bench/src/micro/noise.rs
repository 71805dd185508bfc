//! `noise`: the same work as two arms. How far their ratio strays from 1 is the smallest
//! difference that means anything on this machine at this time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use report::Bench;

use crate::harness::{Arm, Harness};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `noise`.
pub const SCENARIO: Scenario = Scenario {
    name: "noise",
    kind: Kind::Part,
    about: "the same work twice: the least difference that this machine can show",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let mut bench = Bench::new("noise");
    let work = |window| Ok(sums_a_second(window));
    let mut arms = [Arm::new("first", "/s", work), Arm::new("second", "/s", work)];
    harness.interleave(&mut bench, &mut arms)?;
    bench.ratio("first", "second");
    Ok(bench)
}

/// Sums over a buffer of [`BYTES`], about one small packet each.
fn sums_a_second(window: Duration) -> f64 {
    let buffer = [1u8; BYTES];
    let start = Instant::now();
    let mut sums = 0u64;
    while start.elapsed() < window {
        for _ in 0..BATCH {
            black_box(black_box(&buffer).iter().map(|byte| u32::from(*byte)).sum::<u32>());
        }
        sums += BATCH;
    }
    sums as f64 / start.elapsed().as_secs_f64()
}

const BYTES: usize = 60;
/// Sums between two readings of the clock, which costs more than one sum.
const BATCH: u64 = 1000;
