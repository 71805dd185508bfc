//! The campaign `route-truth`, as root: our router beside the kernel's.
//!
//! `route-truth [--seed N] [--packets N] [--case K] [--json]`
//!
//! `cargo xtask route-truth` builds and runs it. Ends with 1 when a packet was treated differently
//! for a reason that is not listed.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use xway_tests::route_truth::{Options, run};
use xway_tests::words::number;

const USAGE: &str = "usage: route-truth [--seed N] [--packets N] [--case K] [--json]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = parse(&words).and_then(|(options, json)| campaign(&options, json));
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn campaign(options: &Options, json: bool) -> Result<ExitCode, String> {
    let report = run(options, |report| {
        if report.packets.is_multiple_of(PROGRESS) {
            eprintln!("{} packets, {} the same", report.packets, report.same);
        }
    })?;
    if json {
        println!("{:#}", report.json());
    } else {
        println!("seed {}\n{report}", options.seed);
        if options.case.is_some() {
            report.differing.iter().for_each(|class| println!("{}\n{}", class.name, class.example));
        }
    }
    Ok(ExitCode::from(u8::from(!report.unlisted().is_empty())))
}

/// The options, and whether the result is JSON.
fn parse(words: &[String]) -> Result<(Options, bool), String> {
    let (mut options, mut json) = (Options { seed: 1, packets: 5000, case: None }, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--seed" => options.seed = number(&mut words, USAGE)?,
            "--packets" => options.packets = number(&mut words, USAGE)? as usize,
            "--case" => options.case = Some(number(&mut words, USAGE)? as usize),
            _ => return Err(format!("unknown option `{word}`: {USAGE}")),
        }
    }
    Ok((options, json))
}

/// Packets between two messages.
const PROGRESS: usize = 5000;
