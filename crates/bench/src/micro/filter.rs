//! `filter`: what rules cost a packet, by how many there are, and what they cost elsewhere.
//!
//! Two measures. The program alone: the kernel runs it on one frame again and again (test run) and
//! tells the mean time; the frame is dropped by the last rule, or differs from it in its port and
//! passes all of them. Live: one sender floods with the frame that the last rule drops, and what
//! ends is counted, here in the driver, at nft's netdev hook and in the iptables table raw, with
//! the same rules.

mod line;
mod live;

use anyhow::Result;
use functions::filter::{self, Environment, Ruleset};
use kernel::{LoadOptions, Object};
use lab::frame::{Flow, Side};
use report::Bench;
use spec::Verdict;

use self::line::{End, Line};
use super::drop_cost::Case;
use crate::field::Field;
use crate::harness::{Arm, Harness};
use crate::{Effort, Ground, Kind, Scenario};

pub const SCENARIO: Scenario = Scenario {
    name: "filter",
    kind: Kind::Part,
    about: "what filter rules cost by their number: the program alone; live, with nft and iptables",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, ground: &Ground) -> Result<Bench> {
    let mut bench = Bench::new("filter");
    tell(&mut bench);
    let alone = alone()?;
    let (field, apart) = (Field::build(ground)?, Field::build(ground)?);
    let mut arms: Vec<Arm> = alone
        .into_iter()
        .map(|(name, case)| Arm::new(&name, "ns", move |window| case.measure(window)))
        .collect();
    arms.extend(live::arms(&field, &apart)?);
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    judge(&mut bench);
    Ok(bench)
}

/// How it is measured.
fn tell(bench: &mut Bench) {
    bench
        .method(
            "N-rules: nanoseconds a packet of the program alone, by test run on one UDP frame of \
             60 bytes that the last of N rules drops; -pass: its port is another, so that no rule \
             matches. Rules test prefixes of source and destination, protocol and port, some of \
             them not all of these; none but the last can match.",
        )
        .method("set-1000000: one rule whose source is in a set of a million random addresses.")
        .method(
            "live-, nft-, iptables-raw-: packets a second that end, of one sender's flood of that \
             frame, in the lab; live- is the filter in the driver, nft- a chain at ingress of the \
             device, iptables-raw- the chain PREROUTING of table raw, each with the same rules in \
             the same order. nft-set- is one nft rule with a set of so many addresses, live-set- \
             one of ours with the same.",
        )
        .method("xdp-filter is not compared: it has no rules of several fields in an order.");
}

fn judge(bench: &mut Bench) {
    for pass in ["", "-pass"] {
        bench.ratio(&format!("10000-rules{pass}"), &format!("1-rule{pass}"));
        bench.ratio(&format!("set-{SET}{pass}"), &format!("1-rule{pass}"));
    }
    for count in COUNTS {
        for peer in ["nft", "iptables-raw"] {
            let rules = rules(count);
            bench.ratio(&format!("live-{rules}"), &format!("{peer}-{rules}"));
        }
    }
    bench.ratio(&format!("live-set-{LIVE_SET}"), &format!("nft-set-{LIVE_SET}"));
}

/// The program with rules and a set, each on a frame that it drops and one that passes.
fn alone() -> Result<Vec<(String, Case)>> {
    let mut cases = Vec::new();
    let end = End { source: "10.0.0.1".parse()?, dest: "10.0.0.2".parse()?, port: PORT };
    for count in COUNTS {
        let ruleset = line::ruleset(&Line::many(count, end));
        both(&mut cases, &rules(count), &ruleset, end)?;
    }
    both(&mut cases, &format!("set-{SET}"), &line::set(SET, end), end)?;
    Ok(cases)
}

fn both(cases: &mut Vec<(String, Case)>, name: &str, ruleset: &Ruleset, end: End) -> Result<()> {
    // In a set, only the source counts.
    let other = End { source: "10.0.0.3".parse()?, port: PORT + 1, ..end };
    for (suffix, end, verdict) in [("", end, Verdict::Drop), ("-pass", other, Verdict::Pass)] {
        let (object, program) = (object(ruleset)?, filter::PROGRAM);
        let case = Case { object, program, frame: frame(end)?, verdict };
        cases.push((format!("{name}{suffix}"), case));
    }
    Ok(())
}

/// In names of rows.
fn rules(count: u32) -> String {
    if count == 1 { "1-rule".to_owned() } else { format!("{count}-rules") }
}

/// The filter with these rules, ready to run.
fn object(ruleset: &Ruleset) -> Result<Object> {
    let compiled = filter::compile(ruleset, &Environment::default())?;
    let object = Object::load(&compiled.spec, &LoadOptions::default())?;
    compiled.acts.fill(|name| object.map(name))?;
    Ok(object)
}

fn frame(end: End) -> Result<Vec<u8>> {
    let from = Side::new("02:00:00:00:00:01", &end.source.to_string(), end.port)?;
    let to = Side::new("02:00:00:00:00:02", &end.dest.to_string(), end.port)?;
    Ok(Flow::new(from, to).udp_of_length(crate::field::FRAME)?)
}

const COUNTS: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// Addresses in the set, and in the one that peers have as well.
const SET: u32 = 1_000_000;
const LIVE_SET: u32 = 10_000;
const PORT: u16 = crate::field::PORT;
