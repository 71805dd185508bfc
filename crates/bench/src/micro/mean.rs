//! What a program alone takes for a packet: the kernel runs it on one frame again and again.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kernel::{Program, TestRun};
use spec::{Input, Verdict};

/// A frame, how often one call runs the program on it, and which verdicts are right.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The frame that the program runs on.
    pub frame: &'a [u8],
    /// The clock is read twice for all of them.
    pub repeat: u32,
    /// Verdicts that are correct.
    pub verdicts: &'a [Verdict],
}

/// Mean nanoseconds a packet over the window, and over one call at least.
pub fn mean_ns(program: &Program, runs: Runs<'_>, window: Duration) -> Result<f64> {
    let input = Input { packet: runs.frame.to_vec(), ..Input::default() };
    let run = TestRun { input, repeat: runs.repeat, ..TestRun::default() };
    let (mut total_ns, mut calls, start) = (0.0, 0.0, Instant::now());
    while start.elapsed() < window || calls == 0.0 {
        let outcome = program.run(&run)?;
        let verdict = outcome.verdict();
        ensure!(runs.verdicts.contains(&verdict), "{verdict} is wrong here");
        total_ns += f64::from(outcome.duration_ns);
        calls += 1.0;
    }
    Ok(total_ns / calls)
}
