//! The campaign `balance-lab`, as root: connections continue while backends change under a flood.
//!
//! `balance-lab [--connections N] [--changes N] [--backends N] [--flood PPS] [--seed N] [--json]`
//!
//! `cargo xtask balance-lab` builds and runs it. Ends with 1 when a connection broke that should
//! have continued.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use xway_tests::balance_lab::{Options, run, serve};
use xway_tests::words::number;

const USAGE: &str = "usage: balance-lab [--connections N] [--changes N] [--backends N] \
                     [--flood PPS] [--seed N] [--json]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, backend] = &words[..]
        && let ("serve", Ok(backend)) = (first.as_str(), backend.parse())
    {
        serve(backend);
        return ExitCode::SUCCESS;
    }
    let (options, json) = match parse(&words) {
        Ok(parsed) => parsed,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let report = run(&options, |changes| {
        if changes.is_multiple_of(10) {
            eprintln!("{changes} changes");
        }
    });
    match json {
        true => println!("{:#}", report.json()),
        false => println!("{report}"),
    }
    ExitCode::from(u8::from(!report.is_whole()))
}

/// The options, and whether the result is JSON.
fn parse(words: &[String]) -> Result<(Options, bool), String> {
    let mut options =
        Options { seed: 1, connections: 1000, changes: 20, backends: 8, flood_pps: 100_000 };
    let (mut json, mut words) = (false, words.iter());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--seed" => options.seed = number(&mut words, USAGE)?,
            "--connections" => {
                options.connections = number(&mut words, USAGE)?.clamp(1, 15_000) as usize
            }
            "--changes" => options.changes = number(&mut words, USAGE)?.min(10_000) as usize,
            "--backends" => options.backends = number(&mut words, USAGE)?.clamp(1, 64) as usize,
            "--flood" => options.flood_pps = number(&mut words, USAGE)?.min(10_000_000),
            _ => return Err(format!("unknown option `{word}`: {USAGE}")),
        }
    }
    Ok((options, json))
}
