//! Rules written as BGP FlowSpec routes and read again decide as before, for nasty packets, too;
//! and what is refused is refused by the name of a rule.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod nasty;

use filter::import_export::{Cause, flowspec};
use filter::{Frame, Model, Policies, Rule, Ruleset, Scope};
use nasty::{Maker, Random};
use spec::Verdict;

const SEED: u64 = 0xf10e;
const RULESETS: usize = 400;

/// Rules that routes can express, about addresses and ports that packets of a `Maker` have.
const FAMILIES: [&str; 6] =
    ["ipv4", "ipv6", "", "ethertype ipv4", "ethertype ipv6", "ethertype {ipv4, ipv6}"];
const TESTS: &[&str] = &[
    "from 10.0.0.1",
    "from 10.0.0.0/30",
    "from not 10.0.0.2",
    "to {10.0.1.0-10.0.1.5, 2001:db8::/48}",
    "from {10.0.0.0/31, 2001:db8::1}",
    "to 2001:db8:0:1::/64",
    "protocol {tcp, udp}",
    "protocol not {tcp, 59}",
    "udp dport 53",
    "udp dport not {53, 80}",
    "protocol {tcp, udp} sport < 80",
    "tcp dport any",
    "tcp flags syn/syn,ack",
    "tcp flags {syn|ack, none}",
    "tcp flags not any",
    "tcp flags any",
    "icmp type echo-request",
    "icmp type {3/0-4, 8, 11/1}",
    "icmpv6 type not 128",
    "type any",
    "length > 100",
    "length not 70-90",
    "dscp {ef, 0-7}",
    "fragment whole",
    "fragment any",
    "fragment not later",
];
const ACTIONS: [&str; 2] = ["drop", "pass"];

fn rule(text: &str) -> Result<Rule, String> {
    Rule::parse(text, &Scope::default()).map_err(|error| format!("{text}: {error}"))
}

fn ruleset(random: &mut Random) -> Ruleset {
    let rules = (0..=random.below(4)).map(|number| {
        loop {
            let tests: Vec<_> = (0..random.below(3)).map(|_| random.pick(TESTS)).collect();
            let (action, family) = (random.pick(&ACTIONS), random.pick(&FAMILIES));
            // Two tests may have words that do not go together, such as two kinds of ICMP.
            match rule(&format!("r{number}: {action} {family} {}", tests.join(" "))) {
                Err(_) if tests.len() > 1 => {}
                rule => break rule.unwrap(),
            }
        }
    });
    let policies = Policies::of_imported_rules();
    Ruleset { rules: rules.collect(), policies, ..Ruleset::default() }
}

fn verdicts(ruleset: &Ruleset, frames: &[Vec<u8>]) -> Vec<Verdict> {
    let mut model = Model::new(ruleset, |_| None);
    let judge = |bytes: &Vec<u8>| model.judge(&Frame { bytes, ifindex: 1, queue: 0 }, 0).verdict;
    frames.iter().map(judge).collect()
}

#[test]
fn routes_decide_as_the_rules_that_they_are_made_of() {
    let mut random = Random::new(SEED);
    let makers = [(0, true), (0, false), (8, true)];
    let frames = |random: &mut Random| -> Vec<_> {
        let frame = |_| {
            let (lies, fragments) = random.pick(&makers);
            let maker = Maker { source: random.below(4) as u8, lies, fragments };
            let mut frame = if lies > 0 { maker.broken(random) } else { maker.frame(random) };
            // Also within the IP header.
            if random.below(4) == 0 {
                frame.truncate(random.below(80));
            }
            frame
        };
        (0..150).map(frame).collect()
    };
    let (mut written, mut refused, mut drops) = (0, 0, 0);
    while written < RULESETS {
        let rules = ruleset(&mut random);
        let tell = || rules.rules.iter().map(|rule| format!("{rule}\n")).collect::<String>();
        let text = match flowspec::export(&rules) {
            Ok(text) => text,
            Err(error) => {
                let names: Vec<_> =
                    rules.rules.iter().map(|it| format!("rule {}", it.name)).collect();
                assert!(names.contains(&error.place), "{error}");
                assert!(matches!(error.cause, Cause::FlowspecExport(_)), "{error}");
                refused += 1;
                continue;
            }
        };
        let back =
            flowspec::import(&text).unwrap_or_else(|error| panic!("{error}\n{text}\n{}", tell()));
        let frames = frames(&mut random);
        let want = verdicts(&rules, &frames);
        let place = verdicts(&back, &frames).iter().zip(&want).position(|(is, want)| is != want);
        if let Some(place) = place {
            panic!("{:?} by\n{}\nand not by\n{text}\n{:02x?}", want[place], tell(), frames[place]);
        }
        drops += want.iter().filter(|it| **it == Verdict::Drop).count();
        written += 1;
    }
    assert!(drops > 20 * RULESETS && refused > 0, "{drops} drops, {refused} refused");
}
