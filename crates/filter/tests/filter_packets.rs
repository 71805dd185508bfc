//! The filter's program on the engine and its model: the same fields, verdict, reason and rule for
//! nasty packets; and no way of wrapping a packet lets a source through that is to be dropped. The
//! kernel's turn is in `tests/`.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod filter_arm;
mod filter_reader;
mod filter_wrap;
mod nasty;

use filter::{Field, PROGRAM, PROGRAM_FRAGS, Rule, Ruleset, Test, Values};
use filter_arm::assert_same;
use functions::PassOrDrop;
use nasty::{Maker, Random};
use vm::{Options, VmRuntime};

#[test]
fn fields_are_those_of_the_model() {
    filter_reader::fields::<VmRuntime>(6_000);
}

#[test]
fn verdict_reason_and_rule_are_those_of_the_model() {
    filter_reader::verdicts::<VmRuntime>(60, 250);
}

#[test]
fn a_packet_cut_at_any_byte_is_judged_as_by_the_model() {
    filter_reader::cuts::<VmRuntime>(60);
}

#[test]
fn one_first_fragment_lets_as_many_bytes_follow_as_a_packet_has() {
    filter_reader::bytes_that_follow::<VmRuntime>();
}

fn engine(program: &'static str) -> VmRuntime {
    let programs = Some(vec![program.to_owned()]);
    VmRuntime::new(Options { programs, ..Options::default() })
}

#[test]
fn no_stack_lets_a_source_through() {
    filter_wrap::stacks(engine, PROGRAM, 4_000);
}

#[test]
fn what_passes_a_source_is_a_policy_by_name() {
    filter_wrap::named(engine, PROGRAM, 4_000);
}

#[test]
fn no_place_hides_a_source() {
    filter_wrap::hiding::places(engine, PROGRAM);
    filter_wrap::hiding::places(engine, PROGRAM_FRAGS);
    filter_wrap::hiding::beyond(engine, PROGRAM_FRAGS);
}

/// With anything broken and cut: what the innermost reader would still accept is dropped.
#[test]
fn broken_packets_of_a_dropped_source_are_judged_as_by_the_model() {
    let test = Test::Is(Field::Source4, Values::range(0x0a00_0000_u32, 0x0a00_00ff_u32));
    let rule = Rule { name: "bad".to_owned(), tests: vec![test], action: filter::Action::Drop };
    let rules = Ruleset { rules: vec![rule], default: PassOrDrop::Pass, ..Ruleset::default() };
    let mut random = Random::new(77);
    let maker = Maker { source: 66, lies: 12, fragments: true };
    let frames: Vec<_> = (0..4_000).map(|_| maker.broken(&mut random)).collect();
    assert_same::<VmRuntime>(&rules, &frames, 77);
}
