//! `chain`: what composing costs a packet, by the number of programs.
//!
//! The kernel runs composed programs on one 60-byte UDP frame repeatedly (test run) and returns the
//! mean time. The programs are eight small ones with a purpose each, in `bpf/chain`, which all let
//! the frame through; longer chains have them several times. `merged-c-8` is the same eight as one
//! program of one C source, with the same counters, and `merged-c-2` the first two; `-uncounted`
//! has none.

use std::rc::Rc;

use anyhow::Result;
use functions::capture;
use kernel::{LoadOptions, Object};
use report::Bench;
use spec::compose::{Counters, Form, Link, VerdictSet, compose};
use spec::{Spec, Verdict};

use crate::harness::{Arm, Harness};
use crate::micro::drop_cost::{Case, frame};
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
             verdict, and the programs are timed on one packet of about 1,024. N-untimed: the same \
             without timing; N-uncounted: without counters as well. N-functions: composed as \
             functions, the form for programs with too many paths.",
        )
        .method(
            "merged-c-N: the same programs as one program of one C source with the same counters, \
             merged-c-N-uncounted without. The ratio of merged-c-2 to 2 is the packet rate of a \
             chain of two as a share of that of the C source. added: (8 - \
             merged-c-8-uncounted) / 8 of one turn, so what a program costs besides its own work, \
             counters and timing included; \
             added-uncounted: the same without counters. probe: 8 with the probe of `xway capture` \
             around it that nothing reads, less 8, in one turn.",
        );
    let spec = Spec::parse("chain", OBJECT)?;
    let frame = frame("10.0.0.2")?;
    let chain = |count, form, counting| composed(&spec, count, form, counting, &frame);
    let merged = |program| load(&spec, program, &frame);
    let mut arms = Vec::new();
    for count in LENGTHS {
        arms.push(arm(&count.to_string(), chain(count, Form::Inline, Counting::Timed)?));
    }
    for count in [2, 8] {
        let untimed = chain(count, Form::Inline, Counting::Counted)?;
        arms.push(arm(&format!("{count}-untimed"), untimed));
        let uncounted = chain(count, Form::Inline, Counting::None)?;
        arms.push(arm(&format!("{count}-uncounted"), uncounted));
    }
    arms.push(arm("8-functions", chain(8, Form::Call, Counting::Timed)?));
    for (count, program, uncounted) in MERGED {
        arms.push(arm(&format!("merged-c-{count}"), merged(program)?));
        arms.push(arm(&format!("merged-c-{count}-uncounted"), merged(uncounted)?));
    }
    for (counting, name) in [(Counting::Timed, "added"), (Counting::None, "added-uncounted")] {
        let (chain, merged) = (chain(8, Form::Inline, counting)?, merged("merged")?);
        arms.push(Arm::new(name, "ns", move |window| {
            Ok((chain.measure(window / 2)? - merged.measure(window / 2)?) / 8.0)
        }));
    }
    let (probed, plain) = (probed(&spec, &frame)?, chain(8, Form::Inline, Counting::Timed)?);
    arms.push(Arm::new("probe", "ns", move |window| {
        Ok(probed.measure(window / 2)? - plain.measure(window / 2)?)
    }));
    harness.interleave(&mut bench, &mut arms)?;
    bench.ratio("merged-c-2", "2");
    bench.ratio("merged-c-2", "2-untimed");
    bench.ratio("merged-c-2-uncounted", "2-uncounted");
    bench.ratio("8", "merged-c-8");
    bench.ratio("8-untimed", "merged-c-8");
    bench.ratio("8-uncounted", "merged-c-8-uncounted");
    bench.ratio("8-functions", "8");
    Ok(bench)
}

/// A program of an object, ready to run.
fn load(spec: &Spec, program: &'static str, frame: &[u8]) -> Result<Case> {
    let programs = Some(vec![program.to_owned()]);
    let object = Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?;
    let (object, frame) = (Rc::new(object), frame.to_vec());
    Ok(Case { object, program, frame, verdict: Verdict::Pass })
}

/// What a chain counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    None,
    Counted,
    Timed,
}

/// The first of the eight programs, repeated from the first one after the last.
fn composed(
    spec: &Spec,
    count: usize,
    form: Form,
    counting: Counting,
    frame: &[u8],
) -> Result<Case> {
    let mut counters = Counters::in_order(count);
    counters.of_link.iter_mut().for_each(|one| one.counts = counting != Counting::None);
    counters.timed = counting == Counting::Timed;
    load(&compose(&links(spec, count), &counters, form, None)?.spec, MEMBERS[0], frame)
}

/// The eight programs, timed, with the probe of a capture whose reader was killed.
fn probed(spec: &Spec, frame: &[u8]) -> Result<Case> {
    let probe = Spec::parse("capture", capture::OBJECT)?;
    let counters = Counters { timed: true, ..Counters::in_order(MEMBERS.len()) };
    let links = links(spec, MEMBERS.len());
    let composed = compose(&links, &counters, Form::Inline, Some(capture::probe(&probe)))?;
    load(&composed.spec, MEMBERS[0], frame)
}

fn links(spec: &Spec, count: usize) -> Vec<Link<'_>> {
    let go_on = VerdictSet::default();
    let programs = MEMBERS.iter().cycle().take(count);
    programs.map(|program| Link { spec, program, go_on }).collect()
}

fn arm(name: &str, case: Case) -> Arm<'static> {
    Arm::new(name, "ns", move |window| case.measure(window))
}

const OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/chain.o");
/// The programs of the object that `merged` consists of, in order.
const MEMBERS: [&str; 8] =
    ["length", "types", "ttl", "fragments", "martians", "ports", "sources", "protocols"];
/// Programs that are the first members merged in C: their number, and the names of the program that
/// counts as a chain does and of the one that does not.
const MERGED: [(usize, &str, &str); 2] =
    [(2, "merged_two_counted", "merged_two"), (8, "merged_counted", "merged")];
const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];

#[cfg(test)]
mod tests {
    use spec::compose::{Composed, VERDICTS_MAP};
    use spec::{Input, Map as _, Runtime as _};
    use vm::VmRuntime;

    use super::*;

    /// Frames that each of the first programs drops, and one that all let through.
    fn frames() -> Vec<Vec<u8>> {
        let passes = frame("10.0.0.2").unwrap();
        let short = passes[..41].to_vec();
        let with = |offset: usize, byte: u8| {
            let mut frame = passes.clone();
            frame[offset] = byte;
            frame
        };
        let (unknown_type, no_ttl, from_loopback) = (with(13, 0x77), with(22, 0), with(26, 127));
        vec![passes, short, unknown_type, no_ttl, from_loopback]
    }

    /// The verdicts, and what a map holds afterwards.
    fn run(spec: &Spec, program: &str, map: &str) -> (Vec<Verdict>, Vec<u8>) {
        let mut runtime = VmRuntime::default();
        runtime.load(spec).unwrap();
        let verdict = |packet: Vec<u8>| {
            runtime.run(program, &Input { packet, ..Input::default() }).unwrap().verdict
        };
        let verdicts = frames().into_iter().map(verdict).collect();
        (verdicts, runtime.map(map).unwrap().lookup(&[0; 4]).unwrap().unwrap())
    }

    #[test]
    fn merged_programs_decide_and_count_as_the_chain_does() {
        let spec = Spec::parse("chain", OBJECT).unwrap();
        for (count, counting, plain) in MERGED {
            let links = links(&spec, count);
            let composed = compose(&links, &Counters::in_order(count), Form::Inline, None);
            let Composed { spec: chain, .. } = composed.unwrap();
            let (expected, counts) = run(&chain, MEMBERS[0], VERDICTS_MAP);
            let (verdicts, merged) = run(&spec, counting, "merged_verdicts");
            assert_eq!(verdicts, expected, "{counting}");
            assert_eq!(run(&spec, plain, "merged_verdicts").0, expected, "{plain}");
            assert_eq!(expected[..3], [Verdict::Pass, Verdict::Drop, Verdict::Drop]);
            // Packets and bytes by verdict of each program; a chain has more before and after.
            let parts = merged.chunks(96).take(count);
            let of_chain = (0..count).map(|slot| &counts[40 + slot * 112..][..96]);
            assert!(parts.eq(of_chain), "{counting}: {merged:?} {counts:?}");
        }
    }
}
