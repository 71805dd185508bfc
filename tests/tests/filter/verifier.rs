//! Compiled rules and the kernel's verifier: every word of the language is accepted, and what would
//! be refused is refused before.
//!
//! Not here: the verdicts of what is accepted (`code`).

use filter::language::classic::{Classic, Program};
use filter::{
    Action, Base, Environment, Expression, Form, Payload, Rule, Ruleset, Scope, Test, compile,
};
use kernel::KernelRuntime;
use spec::Runtime;
use xway_tests::filter::language;
use xway_tests::filter::verified::{Campaign, instructions};

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
            .load(&compile(&rules, &Environment::default()).unwrap().spec)
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
