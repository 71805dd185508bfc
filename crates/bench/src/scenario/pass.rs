//! `pass`: the cost of an XDP program before the stack for the packets that it passes.
//!
//! A rule drops every packet in the stack, with and without a program before it that counts and
//! passes. The difference is small, so both are measured in one turn under one flood: without,
//! with, without.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use kernel::{Link, LoadOptions, Mode, Object};
use report::{Bench, Figure};
use spec::asm::{self, Assembler};
use spec::{ProgramKind, Verdict};

use super::cost;
use crate::field::Field;
use crate::harness::{Arm, Harness, Value};
use crate::hook::{self, Hook, Span, counter, nft};
use crate::{Effort, Kind, Scenario, Testbed, nic};

/// The scenario `pass`.
pub const SCENARIO: Scenario = Scenario {
    name: "pass",
    kind: Kind::Picture,
    about: "nanoseconds that an XDP program costs packets that it lets pass to the stack",
    effort: Effort { rounds: 25, seconds: 0.3 },
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    let field = &Field::build(testbed)?;
    let mut bench = Bench::new("pass");
    bench
        .method(
            "One sender floods with UDP frames of 60 bytes of one flow, made once, sent by XDP.",
        )
        .method(&format!("{RAW}: they end at {}; counted by the rule.", nft::RAW.about))
        .method(&format!(
            "{AFTER}: the same after an XDP program in the driver that counts packets and lets \
             them pass."
        ))
        .method(
            "Both under one flood in one turn: a quarter without, half with, a quarter without.",
        )
        .method(&format!("{EXTRA} is the difference of a packet's time, round by round."));
    nic::begin(field, harness, &mut bench)?;
    let arm = Arm::wide(AFTER, |window| {
        let (raw, behind) = measure(field, &nft::RAW, window)?;
        let spans = [(AFTER, behind), (RAW, raw)];
        let mut values = spans.map(|(row, span)| Value::new(row, "pps", span.rate())).to_vec();
        if field.is_offer_known() {
            let lost =
                |(row, span): (&str, Span)| Value::new(format!("lost/{row}"), "%", span.lost());
            values.extend(spans.map(lost));
        }
        Ok(values)
    });
    harness.interleave(&mut bench, &mut [arm])?;
    cost::longer(&mut bench, EXTRA, AFTER, RAW);
    bench.ratio(RAW, AFTER);
    figures(&mut bench);
    Ok(bench)
}

/// Packets that end at `hook`, without and with the program before it.
fn measure(field: &Field, hook: &Hook, window: Duration) -> Result<(Span, Span)> {
    let set = (hook.set)(field)?;
    let flood = field.flood(None, window)?;
    hook::warm_up(set.as_ref())?;
    let span = |part: Duration| Span::of(&flood, set.as_ref(), || sleep(part));
    let before = span(window / 4)?;
    let program = PassProgram::attach(field)?;
    let behind = span(window / 2)?;
    let passed = program.passed()?;
    drop(program);
    let after = span(window / 4)?;
    ensure!(passed >= behind.ended, "{passed} of {} packets passed it", behind.ended);
    Ok((before.and(after), behind))
}

/// The program that lets packets pass.
struct PassProgram {
    object: Object,
    _link: Link,
}

impl PassProgram {
    fn attach(field: &Field) -> Result<Self> {
        let mut a = Assembler::new(PROGRAM, ProgramKind::XDP);
        let on = a.label();
        counter::count(&mut a, on);
        a.bind(on).verdict(Verdict::Pass);
        let mut object = asm::Object::new(PROGRAM, "Dual MIT/GPL");
        object.map(counter::map());
        object.program(a);
        let object = Object::load(&object.finish()?, &LoadOptions::default())?;
        let link = field.receiver.attach(object.program(PROGRAM)?, Mode::Native)?;
        Ok(Self { object, _link: link })
    }

    fn passed(&self) -> Result<u64> {
        counter::read(&self.object)
    }
}

fn figures(bench: &mut Bench) {
    let rows = [RAW, AFTER].map(String::from);
    let rates = Figure::bars("pass", "Packets that a rule drops, after XDP and without", rows)
        .reference(RAW, 4_837_269.0, PAPER)
        .reference(AFTER, 4_545_188.0, PAPER);
    bench.figure(rates);
    if bench.median(EXTRA).is_some() {
        let title = "What passing an XDP program costs a packet";
        let extra = Figure::bars("pass-ns", title, [EXTRA.to_owned()]);
        bench.figure(extra.reference(EXTRA, 13.28, PAPER));
    }
}

const RAW: &str = "raw";
const AFTER: &str = "raw-behind-xdp";
const EXTRA: &str = "ns/xdp-pass";
const PROGRAM: &str = "count_pass";
const PAPER: &str = "The eXpress Data Path (CoNEXT 2018): other hardware, ConnectX-5 at 100 \
                     Gbit/s, one core of an E5-1650 v4, an iptables rule in table raw";
