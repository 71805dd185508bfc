//! `differential --programs N --seed S`: random programs on kernel and engine, as root.
//!
//! Ends with 1 when the two differ anywhere; prints each difference as it is found.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a tool for those who work on this repository")]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::Instant;

use xway_tests::differential::{Arms, Case, Report, text};

const USAGE: &str = "usage: differential [--programs N] [--seed S] [--findings N] [--show]";

fn main() -> ExitCode {
    let (mut programs, mut seed, mut findings, mut show) = (1000, 1, 5, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u64>().ok()).expect(USAGE);
        match word.as_str() {
            "--programs" => programs = number(),
            "--seed" => seed = number(),
            "--findings" => findings = number(),
            "--show" => show = true,
            _ => panic!("{USAGE}"),
        }
    }
    if show {
        let case = Case::random(seed);
        let arms = Arms::here();
        println!("{}\n{:?}", text(&case), arms.judge(&case));
        match arms.translated(&case.spec, case.entry()) {
            Ok(listing) => println!("as the kernel runs it:\n{listing}"),
            Err(failure) => println!("{failure}"),
        }
        return ExitCode::SUCCESS;
    }
    sys::thread::in_private_network(|| run(programs, seed, findings as usize)).unwrap()
}

/// Cases with seeds from `seed` on, until `programs` were compared or too many differ.
fn run(programs: u64, seed: u64, findings: usize) -> ExitCode {
    let (arms, start) = (Arms::here(), Instant::now());
    let (mut report, mut shown) = (Report::default(), 0);
    while report.programs < programs && report.findings.len() < findings {
        report.add(&arms, seed + report.cases);
        for finding in &report.findings[shown..] {
            println!("seed {}: {}\n{}\n", finding.seed, finding.difference, finding.text);
        }
        shown = report.findings.len();
        if report.cases.is_multiple_of(1000) {
            eprintln!("{}", summary(&report, start));
        }
    }
    println!("{}\n{}", summary(&report, start), report.tally);
    ExitCode::from(u8::from(shown != 0))
}

fn summary(report: &Report, start: Instant) -> String {
    let seconds = start.elapsed().as_secs_f64();
    format!(
        "{} programs in {} cases, {} packets; {:.1} % accepted; {} differences; {:.0} programs/s",
        report.programs,
        report.cases,
        report.packets,
        report.acceptance(),
        report.findings.len(),
        report.programs as f64 / seconds,
    )
}
