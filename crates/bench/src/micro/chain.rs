//! `chain`: what composing costs a packet, by the number of programs.
//!
//! The kernel runs composed programs on one 60-byte UDP frame repeatedly (test run) and returns the
//! mean time. The programs are eight small ones with a purpose each, in `bpf/chain`, which all let
//! the frame through; longer chains have them several times. `merged-c-8` is the same eight as one
//! program of one C source, with the same counters; `-uncounted` has none.

use std::time::Duration;

use anyhow::Result;
use kernel::{LoadOptions, Object};
use lab::frame::{Flow, Side};
use report::Bench;
use spec::compose::{Counters, Form, Link, VerdictSet, compose};
use spec::{Spec, Verdict};

use crate::field::FRAME;
use crate::harness::{Arm, Harness, Value};
use crate::micro::mean::{Runs, mean_ns};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `chain`.
pub const SCENARIO: Scenario = Scenario {
    name: "chain",
    kind: Kind::Part,
    about: "nanoseconds a packet of composed programs by their number; with one C source",
    effort: Effort::SHORT,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let mut bench = Bench::new("chain");
    bench
        .method(
            "Rows are nanoseconds a packet. N: a chain of N programs by test run on one UDP frame \
             of 60 bytes, which passes all of them; packets and bytes are counted by program and \
             verdict. N-uncounted: the same without these counters. N-functions: composed as \
             functions, the form for programs with too many paths.",
        )
        .method(
            "merged-c-8: the same eight as one program of one C source with the same counters, \
             merged-c-8-uncounted without. added: (8 - merged-c-8-uncounted) / 8 of one turn, so \
             what a program costs besides its own work, its counters included; \
             added-uncounted: the same without counters.",
        );
    let spec = Spec::parse("chain", OBJECT)?;
    let frame = frame()?;
    let mut arms = Vec::new();
    for links in LENGTHS {
        arms.push(
            Turn::composed(&spec, links, Form::Inline, true)?.arm(&links.to_string(), &frame),
        );
    }
    for (form, counts, name) in
        [(Form::Inline, false, "8-uncounted"), (Form::Call, true, "8-functions")]
    {
        arms.push(Turn::composed(&spec, 8, form, counts)?.arm(name, &frame));
    }
    for (program, name) in [("merged_counted", "merged-c-8"), ("merged", "merged-c-8-uncounted")] {
        arms.push(Turn::load(&spec, program)?.arm(name, &frame));
    }
    for (counts, name) in [(true, "added"), (false, "added-uncounted")] {
        let turns = (Turn::composed(&spec, 8, Form::Inline, counts)?, Turn::load(&spec, "merged")?);
        let frame = frame.clone();
        arms.push(Arm::wide(name, move |window| {
            let [chain, merged] = [&turns.0, &turns.1].map(|one| one.measure(&frame, window / 2));
            Ok(vec![Value::new(name, "ns", (chain? - merged?) / 8.0)])
        }));
    }
    harness.interleave(&mut bench, &mut arms)?;
    bench.ratio("8", "merged-c-8");
    bench.ratio("8-uncounted", "merged-c-8-uncounted");
    bench.ratio("8-functions", "8");
    Ok(bench)
}

/// A program that is measured.
struct Turn {
    object: Object,
    program: String,
}

impl Turn {
    fn load(spec: &Spec, program: &str) -> Result<Self> {
        let programs = Some(vec![program.to_owned()]);
        let object = Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?;
        Ok(Self { object, program: program.to_owned() })
    }

    /// The first of the eight programs, repeated from the first one after the last.
    fn composed(spec: &Spec, count: usize, form: Form, counts: bool) -> Result<Self> {
        let go_on = VerdictSet::default();
        let programs = MEMBERS.iter().cycle().take(count);
        let links: Vec<_> = programs.map(|program| Link { spec, program, go_on }).collect();
        let mut counters = Counters::in_order(count);
        if !counts {
            counters.of_link.fill(None);
        }
        Self::load(&compose(&links, &counters, form)?.spec, MEMBERS[0])
    }

    fn measure(&self, frame: &[u8], window: Duration) -> Result<f64> {
        let runs = Runs { frame, repeat: REPEAT, verdicts: &[Verdict::Pass] };
        mean_ns(self.object.program(&self.program)?, runs, window)
    }

    fn arm(self, name: &str, frame: &[u8]) -> Arm<'static> {
        let frame = frame.to_vec();
        Arm::new(name, "ns", move |window| self.measure(&frame, window))
    }
}

fn frame() -> Result<Vec<u8>> {
    let from = Side::new("02:00:00:00:00:01", "10.0.0.1", 1234)?;
    let to = Side::new("02:00:00:00:00:02", "10.0.0.2", 1234)?;
    Ok(Flow::new(from, to).udp_of_length(FRAME)?)
}

const OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/chain.o");
/// The programs of the object that `merged` consists of, in order.
const MEMBERS: [&str; 8] =
    ["length", "types", "ttl", "fragments", "martians", "ports", "sources", "protocols"];
const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];
/// Runs of one call.
const REPEAT: u32 = 100_000;
