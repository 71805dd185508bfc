//! The fault campaign, as root: every system call of a command is killed or failed.
//!
//! `faults [--command NAME]... [--call NAME] [--json] [--limit N] [--seed S] [--jobs N]`
//!
//! `cargo xtask faults` builds and runs it. Ends with 1 when a state was lost or something leaked.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use xway_tests::faults::{Options, run};
use xway_tests::words::number;

const USAGE: &str =
    "usage: faults [--command NAME]... [--call NAME] [--json] [--limit N] [--seed S] [--jobs N]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = parse(&words).and_then(|(options, json)| campaign(&options, json));
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn campaign(options: &Options, json: bool) -> Result<ExitCode, String> {
    let report = run(options, |tally| eprint!("{tally}\n{}", tally.findings()))?;
    if json {
        println!("{}", report.json())
    } else {
        println!("{report}")
    }
    Ok(ExitCode::from(u8::from(!report.is_clean())))
}

/// The options, and whether the result is JSON.
fn parse(words: &[String]) -> Result<(Options, bool), String> {
    let (mut options, mut json) = (Options::default(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or_else(|| USAGE.to_owned());
        match word.as_str() {
            "--json" => json = true,
            "--command" => options.commands.push(value()?),
            "--call" => options.call = value()?,
            "--limit" => options.limit = Some(number(&mut words, USAGE)? as usize),
            "--seed" => options.seed = number(&mut words, USAGE)?,
            "--jobs" => options.jobs = number(&mut words, USAGE)? as usize,
            _ => return Err(format!("unknown option `{word}`: {USAGE}")),
        }
    }
    Ok((options, json))
}
