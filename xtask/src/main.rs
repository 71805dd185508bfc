//! `cargo xtask`: the steps of this repository that cargo alone cannot do.
//!
//! Rule: each task either changes files that are committed, or with `--check` only compares and
//! fails with the names of what differs. Not here: anything that a user of `xway` needs.
#![forbid(unsafe_code)]
// A build tool talks to the person who called it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod abi;
mod bpf;
mod campaign;
mod conformance;
mod header;
#[cfg(test)]
mod json_page;
mod man;
mod root;
mod root_tests;
mod soak;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask TASK
  bpf [--check]   build bpf/**/*.bpf.c into bpf/prebuilt, or compare with what is there
  abi [--check]   write each abi.rs from the objects' types, or compare
  header [--check]
                  write crates/xsk-c/include/xway_xsk.h from the crate, or compare
  conformance [DIR]... [--tables] [--beyond] [--engine interp|kernel]
                  run the cases (*.data) of folders, and the systematic cases that are made from
                  tables (--beyond: those that Linux refuses to load); fails if one fails
  faults [--command NAME]... [--call NAME] [--json] [--limit N] [--seed S] [--jobs N]
                  kill commands and fail their system calls, as root; fails if a state is lost
  man DIR         write the guides that are manual pages of section 5: rules, streams, configuration
  root-tests [--jobs N] [--only TEXT]...
                  run the tests that need root, N modules at a time (default: one per processor),
                  and print the time of each, slowest first
  balance-lab [--connections N] [--changes N] [--deaths N] [--backends N]
              [--delivery mac|geneve] [--flood PPS] [--seed N] [--json]
                  change the backends of a balancer under a flood of SYNs, as root; fails if a
                  connection breaks that should continue
  route-lab [--flaps N] [--networks N] [--rate N] [--seed N] [--json]
                  let BIRD and FRR change routes while frames pass five routers, as root; fails if
                  a frame neither arrives nor is counted
  route-lab follow [--routes N] [--rate N] [--json]
                  measure how many changes of routes `xway daemon` follows
  route-lab withdraw [--rounds N] [--frames N] [--rate N] [--json]
                  compare how many frames a next hop still gets whose route BIRD withdrew: from our
                  router with the daemon and without, and from Linux
  route-truth [--seed N] [--packets N] [--case K] [--json]
                  send random packets through our router and the kernel's with the same random
                  tables, as root; fails if one is treated differently for an unlisted reason
  soak [--seconds N] [--only NAME]... [--seed N] [--list]
                  run all campaigns; fails if one finds anything
  tidy            check the style rules: layers, cycles, lengths, names, words, places of unsafe
                  code
  tidy --json     print the size of the sources and the number of findings
  tidy --words [PATH]
                  print each phrase to replace in the files below PATH (default: all files),
                  including those that the exceptions allow
  tidy --levels   print the table of levels for ARCHITECTURE.md";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["conformance", rest @ ..] => return conformance::run(rest),
        [name @ ("balance-lab" | "faults" | "route-lab" | "route-truth"), rest @ ..] => {
            return campaign::run(name, rest);
        }
        ["root-tests", rest @ ..] => return root_tests::run(rest),
        ["soak", rest @ ..] => return soak::run(rest),
        ["bpf"] => bpf::build()?,
        ["bpf", "--check"] => bpf::check()?,
        ["abi"] => abi::write()?,
        ["abi", "--check"] => abi::check()?,
        ["header"] => header::write()?,
        ["header", "--check"] => header::check()?,
        ["man", dir] => man::write(Path::new(dir))?,
        ["tidy"] => tidy::check()?,
        ["tidy", "--json"] => tidy::print_numbers()?,
        ["tidy", "--words"] => tidy::print_words("")?,
        ["tidy", "--words", path] => tidy::print_words(path)?,
        ["tidy", "--levels"] => tidy::print_levels(),
        _ => bail!("{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}
