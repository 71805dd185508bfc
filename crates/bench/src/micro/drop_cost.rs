//! `drop-cost`: what the drop program itself takes for a packet, sender and driver left out.
//!
//! The kernel runs the program on one 60-byte UDP frame repeatedly (test run) and returns the mean
//! time. `nothing` is a program of two instructions: what the test run itself costs.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use functions::drop;
use kernel::Object;
use lab::frame::{Flow, Side};
use report::Bench;
use spec::Verdict;

use crate::harness::{Arm, Harness};
use crate::hook::{limit, xdp};
use crate::micro::mean::{Runs, mean_ns};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `drop-cost`.
pub const SCENARIO: Scenario = Scenario {
    name: "drop-cost",
    kind: Kind::Part,
    about: "nanoseconds a packet of the drop program alone, by its number of rules",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let hit = frame("10.0.0.2")?;
    let miss = frame("10.99.0.2")?;
    let one = || xdp::object(&["10.0.0.2 udp 1234".to_owned()]);
    let many = || xdp::object(&rules(MANY));
    let cases = [
        ("nothing", limit::object()?, limit::NAME, &hit, Verdict::Drop),
        ("1-rule", one()?, drop::PROGRAM, &hit, Verdict::Drop),
        ("1-rule-pass", one()?, drop::PROGRAM, &miss, Verdict::Pass),
        ("10000-rules", many()?, drop::PROGRAM, &hit, Verdict::Drop),
        ("10000-rules-pass", many()?, drop::PROGRAM, &miss, Verdict::Pass),
    ];
    let mut bench = Bench::new("drop-cost");
    let mut arms: Vec<_> = cases
        .into_iter()
        .map(|(name, object, program, frame, verdict)| {
            let object = Rc::new(object);
            let case = Case { object, program, frame: frame.clone(), verdict };
            Arm::new(name, "ns", move |window| case.measure(window))
        })
        .collect();
    harness.interleave(&mut bench, &mut arms)?;
    bench.ratio("10000-rules", "1-rule");
    Ok(bench)
}

/// A program, a frame and the expected verdict.
pub(super) struct Case {
    /// The object that holds the program.
    pub object: Rc<Object>,
    /// Name of the program.
    pub program: &'static str,
    /// The frame that the program runs on.
    pub frame: Vec<u8>,
    /// The verdict that the program must return.
    pub verdict: Verdict,
}

impl Case {
    /// Mean nanoseconds a packet over the window.
    pub fn measure(&self, window: Duration) -> Result<f64> {
        let verdicts = &[self.verdict];
        let runs = Runs { frame: &self.frame, repeat: REPEAT, verdicts };
        mean_ns(self.object.program(self.program)?, runs, window)
    }
}

/// A UDP frame of 60 bytes to an address.
pub(super) fn frame(to: &str) -> Result<Vec<u8>> {
    let from = Side::new("02:00:00:00:00:01", "10.0.0.1", 1234)?;
    let to = Side::new("02:00:00:00:00:02", to, 1234)?;
    Ok(Flow::new(from, to).udp_of_length(60)?)
}

/// `count` addresses, all with the same port, the frame's among them.
fn rules(count: u32) -> Vec<String> {
    let address = |number: u32| std::net::Ipv4Addr::from_bits(0x0a00_0002 + number);
    (0..count).map(|number| format!("{} udp 1234", address(number))).collect()
}

const MANY: u32 = 10_000;
/// Runs of one call.
const REPEAT: u32 = 100_000;
