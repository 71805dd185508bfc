//! What a router's program alone costs a packet, by test run: without driver, sender and sink.
//!
//! The program is run with code before it that puts the frame back (`frames`), and so is a program
//! that does nothing, whose time is subtracted. The program's own code is unchanged.
//!
//! Rule: both run in turns of short batches, and the fastest quarter of each counts: whatever
//! disturbs a batch makes it slower. Not here: the programs (`way`).

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kernel::{LoadOptions, Object, Program, TestRun};
use spec::{Input, Verdict};

use super::frames::{FRAMES, Frames, Rewrite};
use super::net::Net;
use super::packets::Packets;
use super::way::{Loaded, Setup, Way};
use crate::harness::{Arm, Value};
use crate::scenario::test_run::{BATCH, FEWEST, NOTHING, fastest, nothing};

/// A way that is measured alone.
#[derive(Clone, Debug)]
pub struct Alone<'a> {
    pub net: &'a Net,
    /// A program.
    pub way: Way,
    pub setup: Setup,
    pub meets: Meets<'a>,
    pub rewrite: Rewrite,
    pub outcome: Outcome,
}

/// What a program meets.
#[derive(Clone, Debug)]
pub enum Meets<'a> {
    Packets(Packets<'a>),
    /// One frame.
    Frame(Vec<u8>),
}

/// What a program does with each packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Sends a frame that begins so.
    Sends(Vec<u8>),
    /// Drops it.
    Drops,
    /// Drops all but a few, which it answers.
    DropsMost,
}

impl<'a> Alone<'a> {
    /// A router that forwards these packets.
    pub fn forwarding(net: &'a Net, way: Way, setup: Setup, packets: Packets<'a>) -> Result<Self> {
        let outcome = Outcome::Sends(net.sink.mac()?.0.to_vec());
        let meets = Meets::Packets(packets);
        Ok(Self { net, way, setup, meets, rewrite: Rewrite::Nothing, outcome })
    }

    /// Nanoseconds of a packet in `row`, without those of the code before the program, which are in
    /// `around/row`.
    pub fn arm(self, row: String) -> Arm<'a> {
        let mut case = None;
        Arm::wide(&row.clone(), move |window| {
            let case = match &mut case {
                Some(case) => case,
                empty => empty.insert(self.load()?),
            };
            let [around, whole] = self.net.near.run(|| case.measure(self.net, window))??;
            Ok(vec![
                Value::new(&row, "ns", whole - around),
                Value::new(format!("around/{row}"), "ns", around),
            ])
        })
    }

    fn load(&self) -> Result<Case> {
        let frames = match &self.meets {
            Meets::Packets(packets) => self.net.frames_of(packets)?,
            Meets::Frame(frame) => vec![frame.clone()],
        };
        let frames = Frames::new(frames, self.rewrite)?;
        let (spec, name) =
            self.way.spec(self.net, &self.setup)?.context("no program to run alone")?;
        let program = self.way.start(self.net, &self.setup, &frames.before(&spec, name)?, name)?;
        frames.fill(program.map(FRAMES)?)?;
        let nothing = frames.before(&nothing()?, NOTHING)?;
        let nothing = Object::load(&nothing, &LoadOptions::default())?;
        frames.fill(nothing.map(FRAMES)?)?;
        let input = Input {
            packet: frames.first,
            ingress_ifindex: self.net.near.ifindex()?.0,
            ..Input::default()
        };
        let run = TestRun { input, repeat: BATCH, ..TestRun::default() };
        Ok(Case { program, nothing, run, outcome: self.outcome.clone() })
    }
}

/// Both programs, ready to run.
struct Case {
    program: Loaded,
    nothing: Object,
    run: TestRun,
    outcome: Outcome,
}

impl Case {
    /// Nanoseconds of a run without the program and with it.
    fn measure(&self, net: &Net, window: Duration) -> Result<[f64; 2]> {
        sys::cpu::set_affinity(&[net.cpu])?;
        let (nothing, program) = (self.nothing.program(NOTHING)?, self.program.program()?);
        // Only an interface with a program accepts test runs in its name.
        let _attached = net.attach(nothing)?;
        let (mut times, start) = ([Vec::new(), Vec::new()], Instant::now());
        while start.elapsed() < window || times[1].len() < FEWEST {
            times[0].push(self.batch(nothing, None)?);
            times[1].push(self.batch(program, Some(&self.outcome))?);
        }
        Ok(times.map(fastest))
    }

    fn batch(&self, program: &Program, expected: Option<&Outcome>) -> Result<f64> {
        let outcome = program.run(&self.run)?;
        let (verdict, packet) = (outcome.verdict(), &outcome.packet);
        match (expected, verdict) {
            (None, Verdict::Pass)
            | (Some(Outcome::Drops | Outcome::DropsMost), Verdict::Drop)
            // One of the few was the last of the batch.
            | (Some(Outcome::DropsMost), Verdict::Redirect) => {}
            (Some(Outcome::Sends(beginning)), Verdict::Redirect) => {
                ensure!(packet.starts_with(beginning), "{:02x?} was sent", packet.get(..18));
            }
            _ => bail!("{verdict} is wrong here"),
        }
        Ok(f64::from(outcome.duration_ns))
    }
}
