//! `drop`: how many UDP frames a second each hook of the receive path can end, from a socket down
//! to the driver.
//!
//! `limit` is a program of two instructions in the driver: the rate when dropping a packet costs
//! nothing, so it is the limit of the sender. A hook near it is bounded by the sender.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use report::{Bench, Figure};

use super::cost;
use crate::field::Field;
use crate::harness::{Arm, Harness, Value};
use crate::hook::{self, Hook, Span};
use crate::{Effort, Kind, Scenario, Testbed, nic};

/// The scenario `drop`.
pub const SCENARIO: Scenario = Scenario {
    name: "drop",
    kind: Kind::Picture,
    about: "packets that end a second, by hook: socket, netfilter, tc, XDP, AF_XDP",
    effort: Effort::SHORT,
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    let field = Field::build(testbed)?;
    let own =
        |hook: &Hook| (hook.is_apart && *testbed == Testbed::Lab).then(|| Field::build(testbed));
    let own = hook::ALL.iter().map(|hook| own(hook).transpose()).collect::<Result<Vec<_>>>()?;
    let mut bench = Bench::new("drop");
    tell(&mut bench);
    nic::begin(&field, harness, &mut bench)?;
    let places = own.iter().map(|own| own.as_ref().unwrap_or(&field));
    let mut arms: Vec<Arm> =
        hook::ALL.iter().zip(places).map(|(hook, field)| arm(field, hook)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    judge(&mut bench, field.is_shared());
    Ok(bench)
}

/// How it is measured.
fn tell(bench: &mut Bench) {
    bench
        .method(
            "One sender floods with UDP frames of 60 bytes of one flow, made once, sent by XDP.",
        )
        .method(
            "Each hook in turn ends them; counted is what ended there (by the rule's own counter, \
             the program's map, or who read it), not what was sent.",
        )
        .method(
            "offered/HOOK is what the sender's driver was given meanwhile, lost/HOOK what of it \
             did not end at the hook.",
        )
        .method(
            "ns/HOOK is how much longer a packet takes at the hook than at limit, of the same \
             round, where sender and hook share a processor. There is none where another one \
             reads or receives.",
        );
    for hook in hook::ALL {
        bench.method(&format!("{}: {}.", hook.name, hook.about));
    }
}

fn arm<'a>(field: &'a Field, hook: &'a Hook) -> Arm<'a> {
    Arm::wide(hook.name, move |window| {
        let span = measure(field, hook, window)?;
        let mut values = vec![Value::new(hook.name, "pps", span.rate())];
        if field.is_offer_known() {
            let row = |what: &str| format!("{what}/{}", hook.name);
            values.push(Value::new(row("offered"), "pps", span.offered_rate()));
            values.push(Value::new(row("lost"), "%", span.lost()));
        }
        Ok(values)
    })
}

/// One hook under the flood.
fn measure(field: &Field, hook: &Hook, window: Duration) -> Result<Span> {
    let set = (hook.set)(field)?;
    let flood = field.flood(None, window)?;
    hook::warm_up(set.as_ref())?;
    Span::of(&flood, set.as_ref(), || sleep(window))
}

/// Adds ratios of rows; a packet's time only if one processor does all of its work.
fn judge(bench: &mut Bench, is_shared: bool) {
    let is_there = |hook: &&Hook| bench.rounds().iter().any(|row| row.name == hook.name);
    let there: Vec<&Hook> = hook::ALL.iter().filter(is_there).collect();
    let limit = bench.median(LIMIT);
    for hook in there.iter().filter(|hook| hook.name != LIMIT) {
        if bench.median(hook.name).zip(limit).is_some_and(|(rate, limit)| rate >= NEAR * limit) {
            bench.mark(hook.name, "within 10 % of limit: bounded by the sender");
        } else if is_shared && !hook.is_read {
            cost::longer(bench, &format!("ns/{}", hook.name), hook.name, LIMIT);
        }
    }
    for (a, b) in pairs(&there) {
        bench.ratio(a, b);
    }
    bench.figure(figure(&there));
}

/// Native XDP and every other hook, from the top of the stack down, then neighbors.
fn pairs(there: &[&Hook]) -> Vec<(&'static str, &'static str)> {
    let names: Vec<_> = there.iter().map(|hook| hook.name).filter(|name| *name != LIMIT).collect();
    let mut pairs = Vec::new();
    if names.contains(&NATIVE) {
        let others = names.iter().filter(|name| **name != NATIVE);
        pairs.extend(others.map(|name| (NATIVE, *name)));
    }
    let neighbours = names.windows(2).map(|pair| (pair[1], pair[0]));
    let new: Vec<_> = neighbours.filter(|pair| !pairs.contains(pair)).collect();
    pairs.extend(new);
    pairs
}

fn figure(there: &[&Hook]) -> Figure {
    let rows = there.iter().map(|hook| hook.name.to_owned());
    let figure = Figure::bars("drop", "Packets that end a second, by hook", rows)
        .subtitle("UDP frames of 60 bytes from one processor; beside them, other hardware");
    PUBLISHED.iter().fold(figure, |figure, (row, pps, source)| figure.reference(row, *pps, source))
}

const LIMIT: &str = hook::limit::NAME;
const NATIVE: &str = hook::xdp::NATIVE.name;
/// Share of the limit from which on the sender bounds a row.
const NEAR: f64 = 0.9;

/// Rows and what others published of one processor, on other hardware.
const PUBLISHED: &[(&str, f64, &str)] = &[
    ("socket", 783_063.0, TALK),
    ("iptables-input", 1_266_730.0, TALK),
    ("tc-bpf", 4_083_820.0, TALK),
    ("xdp-native", 9_941_337.0, TALK),
    ("conntrack", 1_819_409.0, PAPER),
    ("iptables-input", 3_319_718.0, PAPER),
    ("iptables-raw", 5_051_787.0, PAPER),
    ("xdp-native", 23_863_471.0, PAPER),
];
const TALK: &str = "Faster Packet Processing in Linux: XDP (SOSCON 2019): other hardware, \
                    ConnectX-4 at 10 Gbit/s, one processor, 60-byte UDP, netfilter hook not stated";
const PAPER: &str = "The eXpress Data Path (CoNEXT 2018), figure 3: other hardware, ConnectX-5 at \
                     100 Gbit/s, one core of an E5-1650 v4, 64-byte frames, retpolines and \
                     preemption off";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_is_compared_with_every_other_one_then_neighbours_once() {
        let hooks: Vec<Hook> = ["socket", "tc-bpf", "xdp-native", "limit"]
            .iter()
            .map(|name| *hook::ALL.iter().find(|hook| hook.name == *name).unwrap())
            .collect();
        let [socket, tc, native, limit] = &hooks[..] else { panic!("four") };
        let table: [(&[&Hook], &[_]); 4] = [
            (
                &[socket, tc, native, limit],
                &[("xdp-native", "socket"), ("xdp-native", "tc-bpf"), ("tc-bpf", "socket")],
            ),
            (&[socket, tc, limit], &[("tc-bpf", "socket")]),
            (&[native, limit], &[]),
            (&[], &[]),
        ];
        for (there, want) in table {
            assert_eq!(pairs(there), want);
        }
    }

    #[test]
    fn published_values_are_of_hooks_that_there_are() {
        for (row, ..) in PUBLISHED {
            assert!(hook::ALL.iter().any(|hook| hook.name == *row), "{row}");
        }
    }
}
