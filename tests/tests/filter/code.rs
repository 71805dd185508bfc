//! Compiled rules on the engine and the kernel: the verdict of every frame, and which rules
//! counted it, are those of the model.
//!
//! Not here: anomalies and tunnels, what limits and bans do, and what only has to be accepted by
//! the verifier; each has a file of its own.

use filter::runtime::actions;
use filter::{
    Action, Base, Compiled, Environment, Field, Form, Frame, Model, PROGRAM, Payload, Rule,
    Ruleset, Test, Values, compile, maps,
};
use kernel::KernelRuntime;
use spec::{Input, Map, Runtime, Spec};
use vm::VmRuntime;
use xway_tests::filter::seeded::{Random, frames, rules};

/// Packets that each rule counted.
type Counts = Vec<u64>;

fn compiled(rules: &Ruleset, form: Form) -> Compiled {
    let environment = Environment { form, ..Environment::default() };
    compile(rules, &environment).unwrap_or_else(|error| panic!("{error}"))
}

/// Verdicts of all frames, and the counts.
fn run<R: Runtime>(
    runtime: &mut R,
    compiled: &Compiled,
    frames: &[Vec<u8>],
) -> (Vec<spec::Verdict>, Counts) {
    runtime.load(&compiled.spec).unwrap_or_else(|error| panic!("{error}"));
    let filled = compiled.actions.fill(|name| Ok(runtime.map(name).unwrap()));
    filled.unwrap_or_else(|error: <R::Map as Map>::Error| panic!("{error}"));
    let mut verdict = |frame: &Vec<u8>| {
        let input = Input { packet: frame.clone(), ..Input::default() };
        runtime.run(PROGRAM, &input).unwrap_or_else(|error| panic!("{error}")).verdict
    };
    let verdicts = frames.iter().map(&mut verdict).collect();
    let counts = runtime.map(maps::COUNTS).unwrap();
    let count =
        |rule| actions::count(counts, rule).unwrap_or_else(|error| panic!("{error}")).packets;
    (verdicts, (0..compiled.names.len() as u32).map(count).collect())
}

/// The model's results.
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
    let (compiled, small) = (compiled(rules, Form::Fast), compiled(rules, Form::Small));
    let expected = modelled(rules, frames);
    let arms = [
        ("engine", run(&mut VmRuntime::default(), &compiled, frames)),
        ("kernel", run(&mut KernelRuntime::default(), &compiled, frames)),
        ("kernel, small", run(&mut KernelRuntime::default(), &small, frames)),
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

/// Rules that cannot be in tables, or all match: each number of them loads.
#[test]
fn rulesets_that_are_hard_to_load() {
    let mut random = Random(3);
    let frames = frames(&mut random, 60);
    let looking = |number: u32| {
        Test::Payload(Payload {
            from: Base::Transport,
            negated: false,
            offset: (number % 3) as u16,
            mask: vec![0xff; 4],
            value: number.to_be_bytes().to_vec(),
        })
    };
    let from = |number: u32| {
        let ports = Values::range(number % 50, 60_u32);
        vec![Test::Is(Field::SourcePort, ports), looking(number)]
    };
    let all = |_| Vec::new();
    type Tests<'a> = &'a dyn Fn(u32) -> Vec<Test>;
    let cases: [(&str, u32, Tests<'_>, Action); 6] = [
        ("look at bytes", 10_000, &|number| vec![looking(number)], Action::Drop),
        ("look at bytes", 1_900, &|number| vec![looking(number)], Action::Drop),
        ("look at bytes and ports", 1_000, &from, Action::Drop),
        ("look at bytes and count", 300, &from, Action::Count),
        ("count everything", 20, &all, Action::Count),
        ("count everything", 3_000, &all, Action::Count),
    ];
    for (what, count, tests, action) in cases {
        println!("{count} rules that {what}");
        let rule = |number| Rule {
            name: format!("r{number}"),
            tests: tests(number),
            action: action.clone(),
        };
        let rules = Ruleset { rules: (0..count).map(rule).collect(), ..Ruleset::default() };
        assert_same(&rules, &frames);
    }
}

#[test]
fn names_of_rules_are_lines_of_the_program() {
    let mut random = Random(5);
    let rules = rules(&mut random, 6);
    let spec: Spec = compiled(&rules, Form::Fast).spec;
    let mut kernel = KernelRuntime::default();
    kernel.load(&spec).unwrap_or_else(|error| panic!("{error}"));
    let dump = kernel.object().unwrap().program(PROGRAM).unwrap().dump().unwrap();
    for rule in &rules.rules {
        let named =
            |line: &kernel::DumpLine| line.source.text.contains(&format!("{}: ", rule.name));
        assert!(dump.lines.iter().any(named), "{}", rule.name);
    }
}
