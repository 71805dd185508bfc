//! `filter`: the cost of rules per packet, by their number, compared with other filters.
//!
//! Two measures. Programs alone: the kernel runs them on one frame repeatedly (test run) and
//! returns the mean time; ours, `drop`, and xdp-filter where it is installed. Live: one sender
//! floods, and the time between packets is that of the sender's processor, which does all the work
//! on veth: ours, xdp-filter, nft and iptables, each in its best form. Apart from these: how long a
//! change of rules takes under a flood (`reload`), and what processors that share limits cost each
//! other (`shared`). Rows are named after the filter and the rules: see `tell`.
//!
//! Rule: every cell is measured for a frame that the last rule drops, and for one (`-pass`) that
//! all rules let through.

mod alone;
mod iptables;
mod line;
mod live;
mod nft;
mod reload;
mod shared;
mod spoofed;
mod xdp_filter;

use std::net::Ipv4Addr;
use std::rc::Rc;

use anyhow::Result;
use filter::{Environment, Ruleset};
use kernel::{LoadOptions, Object};
use report::Bench;
use spec::Verdict;

use self::line::{End, Line};
use crate::field::Field;
use crate::harness::Harness;
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `filter`.
pub const SCENARIO: Scenario = Scenario {
    name: "filter",
    kind: Kind::Part,
    about: "nanoseconds a packet of filter rules by their number; with xdp-filter, nft, iptables",
    // Three minutes in all, of which set-up takes half a one.
    effort: Effort { rounds: 6, seconds: 0.1 },
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    let mut bench = Bench::new("filter");
    tell(&mut bench);
    let field = Field::build(testbed)?;
    let (source, dest) = field.addresses()?;
    let end = End { source, dest, port: crate::field::PORT };
    match reload::arm(&field, end) {
        Ok(arm) => {
            // A fault is reported with the missing row, and the others are measured.
            let measured = harness.interleave(&mut bench, &mut [arm]);
            if harness.is_interrupted() {
                return measured.map(|()| bench);
            }
        }
        Err(fault) => _ = bench.absent(reload::NAME, format!("not here: {fault:#}")),
    }
    harness.say("making the rules");
    let cells = CELLS.iter().map(|cell| Ok((*cell, Rc::new(cell.object(end)?))));
    let cells = cells.collect::<Result<Vec<_>>>()?;
    let peers = xdp_filter::objects(end);
    if let Err(fault) = &peers {
        bench.absent("xdp-filter", format!("not here: {fault:#}"));
    }
    let peers = peers.unwrap_or_default();
    harness.interleave(&mut bench, &mut alone::arms(&cells, &peers, end)?)?;
    if harness.is_interrupted() {
        return Ok(bench);
    }
    let fixture = live::Fixture::build(&field)?;
    let mut arms = live::arms(&fixture, &cells, &peers, end, &mut bench)?;
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    judge(&mut bench);
    Ok(bench)
}

/// How it is measured.
fn tell(bench: &mut Bench) {
    bench
        .method(
            "Rows are nanoseconds a packet. N-rules: the program alone, by test run on one UDP \
             frame of 60 bytes that the last of N rules drops; -pass: its port and source are \
             others, so that no rule matches. Rules test prefixes of source and destination, \
             protocol and port, some of them not all of these. set-1000000: one rule whose source \
             is in a set of a million random addresses. `nothing` is a program of two \
             instructions, `drop` the program that `xway drop` loads, with a rule for that frame.",
        )
        .method(
            "xdp-filter-: alone, too: its object for addresses with a policy to pass, from the \
             package xdp-tools, with N addresses in place of N rules, since it has none of several \
             fields; its map made larger for the million.",
        )
        .method(
            "limit-: one rule that limits each source; that frame from one source, or from ten \
             million in disorder, which the program's first part writes into it in either case. \
             -exact: with a burst that needs the exact clock. limit-one-cpu: within the limit, so \
             that each packet is written into buckets; two-cpus: on two processors together, the \
             mean of both, with a source each, or (-same) one; limit-over-: the same over the \
             limit.",
        )
        .method(
            "reload-10000: seconds of `xway filter load`, from its start to its end, of ten \
             thousand rules that replace ten thousand others; one limit changes and another \
             one's buckets are copied. It runs under a flood of a million packets a second; its \
             parts as it reports them. That old and new rules counted each packet of the flood \
             once is checked in each round.",
        )
        .method(
            "live-, nft-, iptables-raw-: one sender's flood of that frame in the lab; sending and \
             receiving are one processor's work: `live-nothing` shows it without rules. live- is \
             the filter in the driver, live-xdp-filter- its peer there; nft- a chain at ingress of \
             the device with the same rules in the same order, nft-map- with a map of verdicts \
             for each shape of rule; iptables-raw- the chain PREROUTING of table raw. Their \
             set-1000000 is a set of nft and one of ipset. -pass: no rule matches, and a chain of \
             nft after table raw drops all; sets match the destination.",
        );
}

fn judge(bench: &mut Bench) {
    for pass in ["", "-pass"] {
        let one = format!("1-rule{pass}");
        bench.ratio(&format!("10000-rules{pass}"), &one);
        bench.ratio(&format!("set-{SET}{pass}"), &one);
    }
    for clock in ["", "-exact"] {
        let row = |sources: &str| format!("limit{clock}-{sources}");
        bench.ratio(&row("10000000-sources"), &row("1-source"));
    }
    for over in ["", "-over"] {
        for two in ["two-cpus", "two-cpus-same"] {
            between(bench, &format!("limit{over}-{two}"), &format!("limit{over}-one-cpu"));
        }
    }
    for cell in CELLS {
        for pass in ["", "-pass"] {
            let name = format!("{}{pass}", cell.name());
            against(bench, "xdp-filter", &name, "");
            for peer in ["live-xdp-filter", "nft", "nft-map", "iptables-raw"] {
                against(bench, peer, &name, "live-");
            }
        }
    }
}

/// Adds the ratio of a peer's row to ours.
fn against(bench: &mut Bench, peer: &str, name: &str, ours: &str) {
    between(bench, &format!("{peer}-{name}"), &format!("{ours}{name}"));
}

/// Adds the ratio of a row to another one, if both exist.
fn between(bench: &mut Bench, row: &str, base: &str) {
    if bench.rounds().iter().any(|rounds| rounds.name == row) {
        bench.ratio(row, base);
    }
}

/// Verdicts of a limit: both are correct.
const VERDICTS: [Verdict; 2] = [Verdict::Drop, Verdict::Pass];

/// The rules that a row is measured with.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Rules(u32),
    Set,
}

impl Cell {
    /// The part of a row's name for these rules.
    fn name(self) -> String {
        match self {
            Self::Rules(1) => "1-rule".to_owned(),
            Self::Rules(count) => format!("{count}-rules"),
            Self::Set => format!("set-{SET}"),
        }
    }

    /// The filter with these rules, ready to run.
    fn object(self, end: End) -> Result<Object> {
        match self {
            Self::Rules(count) => object(&line::ruleset(&Line::many(count, end))),
            Self::Set => object(&line::set(SET, filter::Side::Source, end)),
        }
    }
}

/// The filter with any rules.
fn object(ruleset: &Ruleset) -> Result<Object> {
    let compiled = filter::compile(ruleset, &Environment::default())?;
    let programs = Some(vec![filter::PROGRAM.to_owned()]);
    let object = Object::load(&compiled.spec, &LoadOptions { programs, ..Default::default() })?;
    compiled.actions.fill(|name| object.map(name))?;
    Ok(object)
}

/// An end that no rule matches.
const fn other(end: End) -> End {
    End { source: Ipv4Addr::new(10, 0, 0, 77), port: end.port + 1, ..end }
}

const CELLS: [Cell; 6] = [
    Cell::Rules(1),
    Cell::Rules(10),
    Cell::Rules(100),
    Cell::Rules(1_000),
    Cell::Rules(10_000),
    Cell::Set,
];
/// Addresses in the set.
const SET: u32 = 1_000_000;
