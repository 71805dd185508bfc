//! A limit for each source, and frames from one source or from millions.
//!
//! Rule: the same program is measured in both cases: it writes a source into the frame and
//! continues with the filter; only the number of sources differs. It models a long flood: bursts
//! are of one packet, so that they are used up immediately and most packets of either are over the
//! limit.

use anyhow::Result;
use filter::{Action, Environment, Limit, Per, Rule, Ruleset, Unit};
use kernel::{LoadOptions, Object};
use spec::asm::Reg::{R1, R2, R3, R4, R6};
use spec::asm::{self, Assembler};
use spec::compose::{Link, VerdictSet, chain};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};

use super::VERDICTS;
use crate::harness::Arm;
use crate::micro::mean::{Runs, mean_ns};

/// The variants of limits, by clock and number of sources.
pub fn arms<'a>(frame: Vec<u8>) -> Result<Vec<Arm<'a>>> {
    let mut arms = Vec::new();
    for (clock, rate, burst) in [("", 10, 1), ("-exact", 60, 1)] {
        for (name, sources) in [("1-source", 1), ("10000000-sources", 10_000_000)] {
            let (object, frame) = (object(rate, burst, sources)?, frame.clone());
            let name = format!("limit{clock}-{name}");
            arms.push(Arm::new(&name, "ns", move |window| {
                let runs = Runs { frame: &frame, repeat: REPEAT, verdicts: &VERDICTS };
                mean_ns(object.program(NAME)?, runs, window)
            }));
        }
    }
    Ok(arms)
}

/// The filter after a program that writes sources.
fn object(rate: u64, burst: u64, sources: i32) -> Result<Object> {
    let per = Per::Source { v4: 32, v6: 128 };
    let action = Action::Limit(Limit { rate, unit: Unit::Packets, burst, per, total: None });
    let rules = vec![Rule { name: NAME.to_owned(), tests: Vec::new(), action }];
    let ruleset = Ruleset { rules, ..Ruleset::default() };
    let compiled = filter::compile(&ruleset, &Environment::default())?;
    let first = sender(sources)?;
    let links = [(&first, NAME), (&compiled.spec, filter::PROGRAM)].map(|(spec, program)| Link {
        spec,
        program,
        go_on: VerdictSet::default(),
    });
    let programs = Some(vec![NAME.to_owned()]);
    let object = Object::load(&chain(&links)?, &LoadOptions { programs, ..Default::default() })?;
    compiled.actions.fill(|name| object.map(name))?;
    Ok(object)
}

/// A program that gives the frame the next of `sources` sources, which are far from each other.
fn sender(sources: i32) -> Result<Spec> {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    let short = a.label();
    a.mov(R6, R1).packet(R2, R3, R6).need(R2, R3, ADDRESSES, R4, short);
    a.load_map_value(R1, TURN, 0).load64(R4, R1.at(0)).add(R4, 1).store64(R1.at(0), R4);
    a.mul32(R4, GOLDEN).mul(R4, sources).rsh(R4, 32).add(R4, FIRST);
    a.be32(R4).store32(R2.at(SOURCE), R4).bind(short).verdict(Verdict::Pass);
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.map(MapDef {
        name: TURN.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapDef::default()
    });
    object.program(a);
    Ok(object.finish()?)
}

const NAME: &str = "limited";
const TURN: &str = "turn";
/// 2^32 over the golden ratio.
const GOLDEN: i32 = 0x9e37_79b1_u32.cast_signed();
/// 10.0.0.1.
const FIRST: i32 = 0x0a00_0001;
/// Where the source is in the frame, and where both addresses end.
const SOURCE: i16 = 26;
const ADDRESSES: i32 = 34;
/// Runs of one call.
const REPEAT: u32 = 100_000;
