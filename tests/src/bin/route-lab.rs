//! The campaign `route-lab`, as root: routing daemons change routes while frames pass five routers.
//!
//! `route-lab [--flaps N] [--networks N] [--rate N] [--seed N] [--json]`
//! `route-lab follow [--routes N] [--rate N] [--json]`
//! `route-lab withdraw [--rounds N] [--frames N] [--rate N] [--json]`
//!
//! `cargo xtask route-lab` builds and runs it. Ends with 1 when a frame neither arrived nor was
//! counted by a router. `follow` measures `xway daemon`; `withdraw` compares how many frames a
//! withdrawn route still gets.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use xway_tests::route_lab::{Options, follow, run, withdraw};
use xway_tests::words::number;

const USAGE: &str = "usage: route-lab [--flaps N] [--networks N] [--rate N] [--seed N] [--json]
       route-lab follow [--routes N] [--rate N] [--json]
       route-lab withdraw [--rounds N] [--frames N] [--rate N] [--json]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ended = match words.split_first() {
        Some((first, rest)) if first == "follow" => changes(rest),
        Some((first, rest)) if first == "withdraw" => withdrawals(rest),
        _ => parse(&words).map(|(options, json)| campaign(&options, json)),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn changes(words: &[String]) -> Result<ExitCode, String> {
    let mut options = follow::Options { routes: 100_000, rate: 0 };
    let (mut json, mut words) = (false, words.iter());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--routes" => options.routes = number(&mut words, USAGE)?.clamp(1, MOST_ROUTES) as u32,
            "--rate" => options.rate = number(&mut words, USAGE)?.min(MOST_ROUTES) as u32,
            _ => return Err(format!("unknown option `{word}`: {USAGE}")),
        }
    }
    let report = follow::run(&options);
    match json {
        true => println!("{:#}", report.json()),
        false => println!("{report}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn withdrawals(words: &[String]) -> Result<ExitCode, String> {
    let mut options = withdraw::Options { rounds: 5, frames: 2_000_000, rate_pps: 1_000_000 };
    let (mut json, mut words) = (false, words.iter());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--rounds" => options.rounds = number(&mut words, USAGE)?.clamp(1, 1000) as usize,
            "--frames" => options.frames = number(&mut words, USAGE)?.clamp(1000, MOST_FRAMES),
            "--rate" => options.rate_pps = number(&mut words, USAGE)?.clamp(1000, MOST_FLOOD),
            _ => return Err(format!("unknown option `{word}`: {USAGE}")),
        }
    }
    let report = withdraw::run(&options, |rounds| eprintln!("{rounds} rounds"));
    match json {
        true => println!("{:#}", report.json()),
        false => println!("{report}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn campaign(options: &Options, json: bool) -> ExitCode {
    let report = run(options, |flaps| {
        if flaps.is_multiple_of(PROGRESS) {
            eprintln!("{flaps} flaps");
        }
    });
    if json {
        println!("{:#}", report.json());
    } else {
        println!("seed {}\n{report}", options.seed);
    }
    ExitCode::from(u8::from(!report.is_balanced()))
}

/// The options, and whether the result is JSON.
fn parse(words: &[String]) -> Result<(Options, bool), String> {
    let mut options = Options { seed: 1, flaps: 100, networks: 1000, rate_pps: 5000 };
    let (mut json, mut words) = (false, words.iter());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--seed" => options.seed = number(&mut words, USAGE)?,
            "--flaps" => options.flaps = number(&mut words, USAGE)? as usize,
            "--networks" => {
                options.networks = number(&mut words, USAGE)?.clamp(1, MOST_NETWORKS) as usize
            }
            "--rate" => options.rate_pps = number(&mut words, USAGE)?.clamp(1, MOST_PPS),
            _ => return Err(format!("unknown option `{word}`: {USAGE}")),
        }
    }
    Ok((options, json))
}

/// Flaps between two messages.
const PROGRESS: usize = 50;
const MOST_NETWORKS: u64 = 50_000;
const MOST_PPS: u64 = 50_000;
const MOST_ROUTES: u64 = 1_000_000;
/// Frames of a flood, and its rate.
const MOST_FRAMES: u64 = 100_000_000;
const MOST_FLOOD: u64 = 10_000_000;
