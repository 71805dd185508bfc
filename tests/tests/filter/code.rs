//! Compiled rules on the engine and the kernel: the verdict of every frame, and which rules
//! counted it, are those of the model.
//!
//! Not here: anomalies and tunnels, and what limits and bans do; each has a file of its own.

use filter::language::classic::{Classic, Program};
use filter::runtime::actions;
use filter::{
    Action, Base, Compiled, Environment, Expression, Field, Form, Frame, Model, PROGRAM, Payload,
    Rule, Ruleset, Scope, Test, Values, compile, maps,
};
use kernel::KernelRuntime;
use spec::{Input, Map, Runtime, Spec};
use vm::VmRuntime;
use xway_tests::filter::language;
use xway_tests::filter::seeded::{Random, frames, rules};
use xway_tests::filter::verified::{Campaign, instructions};

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

/// Each action, field and kind of value, alone and before another rule.
#[test]
fn every_word_of_the_language_loads() {
    let mut campaign = Campaign::default();
    for (text, file) in language::alone() {
        for form in [Form::Fast, Form::Small] {
            match instructions(&file, form) {
                Ok(count) => campaign.add(count, text.clone()),
                Err(error) => campaign.refused.push((text.clone(), error)),
            }
        }
        campaign.files += 1;
    }
    campaign.assert_accepted();
}

/// Prints the verified instructions of each file. More files, from other seeds:
/// `XWAY_RULE_FILES=2000 XWAY_RULE_SEED=1`.
#[test]
fn random_files_of_the_whole_language_load() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let files = number("XWAY_RULE_FILES").unwrap_or(25);
    Campaign::run(number("XWAY_RULE_SEED").unwrap_or(7), files).assert_accepted();
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

/// One rule of a kind multiplies the ways that a verifier has to walk; some were refused.
#[test]
fn actions_that_are_hard_to_load() {
    let scope = Scope::default();
    let texts = [
        "mark 7 icmp type 8",
        "sample 1/100 udp",
        "synproxy above 1000pps tcp dport 80",
        "limit 1000pps per source tcp",
        "ban 60s tcp flags fin,syn/fin,syn",
        "drop udp payload transport+8 = 0x1234",
        "drop from 10.0.0.0/8",
    ];
    let all = texts.iter().map(|text| Rule::parse(text, &scope).unwrap());
    let mut all: Vec<Rule> = all.collect();
    all.push(Rule {
        name: "memory".to_owned(),
        tests: vec![Test::Expression(with_memory())],
        action: Action::Drop,
    });
    let each = all.iter().map(|rule| vec![rule.clone()]);
    for rules in each.chain([all.clone()]) {
        let rules = Ruleset { rules, ..Ruleset::default() };
        KernelRuntime::default()
            .load(&compiled(&rules, Form::Fast).spec)
            .unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Whether the byte at 14 is in the word memory; what uses that memory takes most of the stack.
fn with_memory() -> Expression {
    let insn = |code, jump_true, jump_false, k| Classic { code, jump_true, jump_false, k };
    let program = [
        insn(0x30, 0, 0, 14),
        insn(0x02, 0, 0, 15),
        insn(0x60, 0, 0, 15),
        insn(0x15, 0, 1, 0x45),
        insn(0x06, 0, 0, 65_535),
        insn(0x06, 0, 0, 0),
    ];
    Expression { text: "ip[0] = 0x45".to_owned(), program: Program::new(&program).unwrap() }
}

#[test]
fn more_rules_than_a_verifier_follows_are_refused_with_words() {
    let rule = |number: u32| {
        let payload = Payload {
            from: Base::Frame,
            negated: false,
            offset: 0,
            mask: vec![255; 16],
            value: number.to_be_bytes().repeat(4),
        };
        Rule {
            name: format!("r{number}"),
            tests: vec![Test::Payload(payload)],
            action: Action::Drop,
        }
    };
    let rules = Ruleset { rules: (0..30_000).map(rule).collect(), ..Ruleset::default() };
    let refused = compile(&rules, &Environment::default()).unwrap_err().to_string();
    assert!(refused.contains("too many rules with `payload`"), "{refused}");
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
