//! The filter's reader in the kernel, by both entries of the program: for packets of any kind it
//! agrees with its model, and no encapsulation lets a source pass that must be dropped.

use filter::{Environment, Frame, Model, PROGRAM, PROGRAM_FRAGS, compile};
use kernel::{KernelRuntime, LoadOptions};
use spec::Runtime;
use vm::{Options, VmRuntime};

use crate::filter_arm::{Arm, LOOPBACK, random_ruleset};
use crate::nasty::{Maker, Random};

const ENTRIES: [&str; 2] = [PROGRAM, PROGRAM_FRAGS];

fn kernel(program: &'static str) -> KernelRuntime {
    let programs = Some(vec![program.to_owned()]);
    KernelRuntime::new(LoadOptions { programs, ..LoadOptions::default() })
}

fn engine(program: &'static str) -> VmRuntime {
    let programs = Some(vec![program.to_owned()]);
    VmRuntime::new(Options { programs, ..Options::default() })
}

#[test]
fn fields_are_those_of_the_model() {
    crate::filter_reader::fields::<KernelRuntime>(4_000);
}

#[test]
fn verdicts_are_those_of_the_model() {
    crate::filter_reader::verdicts::<KernelRuntime>(30, 250);
}

#[test]
fn a_packet_cut_at_any_byte() {
    crate::filter_reader::cuts::<KernelRuntime>(30);
}

#[test]
fn one_first_fragment_lets_as_many_bytes_follow_as_a_packet_has() {
    crate::filter_reader::bytes_that_follow::<KernelRuntime>();
}

#[test]
fn no_stack_lets_a_source_through() {
    for program in ENTRIES {
        crate::filter_wrap::stacks(kernel, program, 3_000);
    }
    crate::filter_wrap::stacks(engine, PROGRAM_FRAGS, 1_000);
}

#[test]
fn what_passes_a_source_is_a_policy_by_name() {
    for program in ENTRIES {
        crate::filter_wrap::named(kernel, program, 3_000);
    }
}

#[test]
fn no_place_hides_a_source() {
    for program in ENTRIES {
        crate::filter_wrap::hiding::places(kernel, program);
    }
    crate::filter_wrap::hiding::beyond(kernel, PROGRAM_FRAGS);
}

/// Bytes of a frame's first buffer, and those that a frame has at least in these tests.
const BUFFER: usize = 3520;
const LONG: usize = 4000;

/// Bytes beyond the first buffer are not a header: the decisions are those about the whole frame.
fn long_frames<R: Runtime>(start: fn(&'static str) -> R) {
    for seed in 1..=12 {
        let mut random = Random::new(seed);
        let rules = random_ruleset(&mut random);
        let compiled = compile(&rules, &Environment::default()).unwrap();
        let mut arm = Arm::made(start(PROGRAM_FRAGS), &compiled, PROGRAM_FRAGS);
        let mut model = Model::new(&rules, |_| None);
        for round in 0..60 {
            let maker = Maker { source: random.below(4) as u8, lies: 20, fragments: true };
            let mut bytes = maker.broken(&mut random);
            assert!(bytes.len() < BUFFER, "all headers are in the first buffer");
            bytes.resize(LONG + random.below(5000), 0);
            let is = arm.judge(&bytes);
            let expected = model.judge(&Frame { bytes: &bytes, ifindex: LOOPBACK, queue: 0 }, 0);
            let expected = (expected.verdict, expected.reason.label());
            assert_eq!((is.verdict, &*is.reason), expected, "{seed}, {round}: {rules:#?}");
        }
    }
}

#[test]
fn frames_of_several_buffers_are_judged_as_whole_ones() {
    long_frames(kernel);
    long_frames(engine);
}
