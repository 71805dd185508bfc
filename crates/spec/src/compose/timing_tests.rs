//! What timing adds to a chain, and where its code is.

use super::tests::{assert_complete, default, listing, simple};
use super::*;
use crate::asm::Reg::*;
use crate::asm::{Assembler, Object};

#[test]
fn timing_costs_one_jump_at_the_end_of_a_program() {
    let spec = simple("one", "a");
    let links = [Link { spec: &spec, program: "a", go_on: VerdictSet::default() }; 3];
    let boundary = |timed| {
        let counters = Counters { timed, ..Counters::in_order(links.len()) };
        let composed = compose(&links, &counters, Form::Inline, None).unwrap();
        let text = listing(&composed.spec, "a");
        let counted = text.lines().skip_while(|line| !line.contains("count the verdict of a"));
        let code = counted.skip(1).take_while(|line| !line.contains("; context for a"));
        code.filter(|line| !line.starts_with('L')).count()
    };
    // Its counters, the verdict, the length, two sums, and a jump that the kernel removes.
    assert_eq!([boundary(false), boundary(true)], [10, 11]);
}

/// A program of at least this length.
fn long(name: &str, length: usize) -> Spec {
    let mut object = Object::new(name, "GPL");
    let mut a = Assembler::new(name, ProgramKind::XDP);
    (1..length).for_each(|_| {
        a.mov(R0, R1);
    });
    a.verdict(Verdict::Pass);
    object.program(a);
    object.finish().unwrap()
}

#[test]
fn jumps_reach_past_the_longest_programs() {
    let probes = [simple("probes", "before"), simple("probes", "after")];
    let mut probe = probes[0].clone();
    probe.programs.extend(probes[1].programs.clone());
    let probe = Probe { spec: &probe, before: "before", after: "after" };
    for lengths in [[31_998; 3], [15_000; 3], [100, 31_998, 100]] {
        let specs = lengths.map(|length| long("long", length));
        let links = specs.each_ref();
        let links = links.map(|spec| Link { spec, program: "long", go_on: default() });
        let counters = Counters { timed: true, ..Counters::in_order(links.len()) };
        for probe in [None, Some(probe)] {
            let composed = compose(&links, &counters, Form::Inline, probe).unwrap();
            assert_complete(&composed.spec, "long");
            let program = composed.spec.program("long").unwrap();
            let calls = program.insns.iter().filter(|insn| insn.is_local_call()).count();
            assert_eq!(calls, 0, "all are inlined");
        }
    }
}
