//! `gen-cost`: what a generated program itself takes for a frame, driver and receiver left out.
//!
//! The kernel runs it on one frame repeatedly (test run) and returns the mean time of each call;
//! the least of these counts, since others were interrupted. `raw-limit` only redirects.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kernel::{Ifindex, LoadOptions, Object, TestRun};
use report::Bench;
use spec::{Expect, Input, Map as _, Verdict};
use traffic::Template;
use traffic::generator::Rewrite;
use traffic::program::{self, Clock, Exit, Job, Made, abi};

use crate::harness::{Arm, Harness};
use crate::micro::gen_udp::{self, raw};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `gen-cost`.
pub const SCENARIO: Scenario = Scenario {
    name: "gen-cost",
    kind: Kind::Part,
    about: "nanoseconds a frame of the generated program alone",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let limit = raw::object(LOOPBACK.0)?;
    let mut cases =
        vec![(gen_udp::RAW, Case { object: limit, name: raw::RAW, frame: vec![0; 60] })];
    for (name, stream, rewrite) in gen_udp::streams()? {
        cases.push((name, Case::of(&stream, rewrite != Rewrite::Never)?));
    }
    let names: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
    let arm = |(name, case): (&'static str, Case)| {
        Arm::new(name, "ns", move |window| case.measure(window))
    };
    let mut arms: Vec<Arm> = cases.into_iter().map(arm).collect();
    let mut bench = Bench::new("gen-cost");
    harness.interleave(&mut bench, &mut arms)?;
    for name in &names[1..] {
        bench.ratio(name, gen_udp::RAW);
    }
    Ok(bench)
}

/// A program and its frames.
struct Case {
    object: Object,
    name: &'static str,
    frame: Vec<u8>,
}

impl Case {
    fn of(stream: &Template, rewrite: bool) -> Result<Self> {
        let templates = std::slice::from_ref(stream);
        let exit = Exit::Redirect(LOOPBACK);
        let (thread, threads, seed, group) = (0, 1, 1, 256);
        let clock = Clock::Frame;
        let job = Job { templates, exit, thread, threads, seed, group, pace: None, rewrite, clock };
        let Made { spec, frame, tables } = program::compile(&job)?;
        let object = Object::load(&spec, &LoadOptions::default())?;
        for (name, values) in &tables {
            for (index, value) in (0u32..).zip(values) {
                object.map(name)?.update(&index.to_ne_bytes(), value, Expect::Any)?;
            }
        }
        let mut words = [0u64; abi::control::LEN / 8];
        (words[abi::control::GO / 8], words[abi::control::LIMIT / 8]) = (1, u64::MAX);
        let words = words.map(u64::to_ne_bytes).concat();
        object.map(abi::CONTROL)?.update(&[0; 4], &words, Expect::Any)?;
        Ok(Self { object, name: abi::PROGRAM, frame })
    }

    /// The smallest mean of a call, in whole nanoseconds per frame.
    fn measure(&self, window: Duration) -> Result<f64> {
        let input = Input { packet: self.frame.clone(), ..Input::default() };
        let run = TestRun { input, repeat: REPEAT, ..TestRun::default() };
        let program = self.object.program(self.name)?;
        let mut least = f64::INFINITY;
        let start = Instant::now();
        while start.elapsed() < window || least.is_infinite() {
            let outcome = program.run(&run)?;
            ensure!(outcome.verdict() == Verdict::Redirect, "{} is wrong", outcome.verdict());
            least = least.min(f64::from(outcome.duration_ns));
        }
        Ok(least)
    }
}

const LOOPBACK: Ifindex = Ifindex(1);
/// Runs of one call: long beside the clock that is read for them, short beside a time slice.
const REPEAT: u32 = 20_000;
