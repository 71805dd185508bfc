//! Compiled rules on the engine and the kernel: the verdict of every frame, and which rules
//! counted it, are those of the model.
//!
//! Not here: oddities and tunnels, and what limits and bans do; each has a file of its own.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod filter_code_support;

use filter_code_support::{Random, frames, rules};
use functions::filter::{
    Action, Base, Compiled, Environment, Frame, Model, PROGRAM, Payload, Rule, Ruleset, Test, act,
    compile,
};
use kernel::KernelRuntime;
use spec::{Input, Map, Runtime, Spec};
use vm::VmRuntime;

/// Packets that each rule counted.
type Counts = Vec<u64>;

fn compiled(rules: &Ruleset) -> Compiled {
    compile(rules, &Environment::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Verdicts of all frames, and the counts.
fn run<R: Runtime>(
    runtime: &mut R,
    compiled: &Compiled,
    frames: &[Vec<u8>],
) -> (Vec<spec::Verdict>, Counts) {
    runtime.load(&compiled.spec).unwrap_or_else(|error| panic!("{error}"));
    let filled = compiled.acts.fill(|name| Ok(runtime.map(name).unwrap()));
    filled.unwrap_or_else(|error: <R::Map as Map>::Error| panic!("{error}"));
    let mut verdict = |frame: &Vec<u8>| {
        let input = Input { packet: frame.clone(), ..Input::default() };
        runtime.run(PROGRAM, &input).unwrap_or_else(|error| panic!("{error}")).verdict
    };
    let verdicts = frames.iter().map(&mut verdict).collect();
    let counts = runtime.map(act::COUNTS).unwrap();
    let count = |rule| act::count(counts, rule).unwrap_or_else(|error| panic!("{error}")).packets;
    (verdicts, (0..compiled.names.len() as u32).map(count).collect())
}

/// What the model says.
fn modelled(rules: &Ruleset, frames: &[Vec<u8>]) -> (Vec<spec::Verdict>, Counts) {
    let mut model = Model::new(rules, |_| None);
    let mut counts = vec![0; rules.rules.len()];
    let mut verdict = |bytes: &Vec<u8>| {
        let judgement = model.judge(&Frame { bytes, ..Frame::default() }, 0);
        for judged in &judgement.layers {
            judged.effects.iter().for_each(|rule| counts[*rule] += 1);
        }
        if let Some(rule) = judgement.rule {
            counts[rule] += 1;
        }
        judgement.verdict
    };
    (frames.iter().map(&mut verdict).collect(), counts)
}

fn assert_same(rules: &Ruleset, frames: &[Vec<u8>]) {
    let compiled = compiled(rules);
    let expected = modelled(rules, frames);
    let arms = [
        ("engine", run(&mut VmRuntime::default(), &compiled, frames)),
        ("kernel", run(&mut KernelRuntime::default(), &compiled, frames)),
    ];
    for (arm, (verdicts, counts)) in arms {
        for (number, frame) in frames.iter().enumerate() {
            let [is, wanted] = [verdicts[number], expected.0[number]];
            assert_eq!(is, wanted, "{arm}: {frame:02x?}\n{}", compiled.description);
        }
        for (number, rule) in rules.rules.iter().enumerate() {
            let [is, wanted] = [counts[number], expected.1[number]];
            assert_eq!(is, wanted, "{arm}: `{rule}` counted\n{}", compiled.description);
        }
    }
}

#[test]
fn rules_of_every_number_load_and_answer() {
    for (count, packets) in [(0, 50), (1, 100), (3, 200), (10, 300), (100, 300), (1_000, 300)] {
        for seed in 1..=3 {
            let mut random = Random(seed + count as u64);
            let rules = rules(&mut random, count);
            let frames = frames(&mut random, packets);
            assert_same(&rules, &frames);
        }
    }
}

#[test]
fn ten_thousand_rules_load_and_answer() {
    let mut random = Random(10_000);
    let rules = rules(&mut random, 10_000);
    let frames = frames(&mut random, 500);
    assert_same(&rules, &frames);
}

#[test]
fn more_rules_than_a_verifier_follows_are_refused_with_words() {
    let payload = Payload { from: Base::Frame, offset: 0, mask: vec![255], value: vec![1] };
    let rule = |number: u32| Rule {
        name: format!("r{number}"),
        tests: vec![Test::Payload(payload.clone())],
        action: Action::Drop,
    };
    let rules = Ruleset { rules: (0..10_000).map(rule).collect(), ..Ruleset::default() };
    let refused = compile(&rules, &Environment::default()).unwrap_err().to_string();
    assert!(refused.contains("look at bytes"), "{refused}");
}

#[test]
fn names_of_rules_are_lines_of_the_program() {
    let mut random = Random(5);
    let rules = rules(&mut random, 6);
    let spec: Spec = compiled(&rules).spec;
    let mut kernel = KernelRuntime::default();
    kernel.load(&spec).unwrap_or_else(|error| panic!("{error}"));
    let dump = kernel.object().unwrap().program(PROGRAM).unwrap().dump().unwrap();
    for rule in &rules.rules {
        let named =
            |line: &kernel::DumpLine| line.source.text.contains(&format!("{}: ", rule.name));
        assert!(dump.lines.iter().any(named), "{}", rule.name);
    }
}
