//! The campaign `balance-lab`, as root: connections continue while backends change and a balancer
//! dies, under a flood.
//!
//! `balance-lab [--connections N] [--changes N] [--deaths N] [--backends N] [--delivery mac|geneve]
//! [--flood PPS] [--seed N] [--json]`
//!
//! `cargo xtask balance-lab` builds and runs it. Ends with 1 when a connection broke that should
//! have continued.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use xway_tests::balance_lab::{Options, run, serve};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, backend] = &words[..]
        && let ("serve", Ok(backend)) = (first.as_str(), backend.parse())
    {
        serve(backend);
        return ExitCode::SUCCESS;
    }
    let (options, json) = match Options::parse(&words) {
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
