//! `cargo xtask soak`: all campaigns, one after another, and what they found.
//!
//! Every campaign is a command with a time limit of its own and writes a log below `target/soak`.
//! Rule: a part that ends with anything but success has found something, and soak ends with 1.
//! Not here: what the campaigns do.

mod fuzz;
mod part;

use std::fs;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use crate::root;
use part::Outcome;

/// Below the repository's folder: logs, and the inputs that the fuzzer adds.
const FOLDER: &str = "target/soak";
const USAGE: &str = "usage: cargo xtask soak [--seconds N] [--only NAME]... [--seed N] [--list]";

struct Options {
    /// Time of each fuzz target. The sizes of the other campaigns are proportional to it.
    seconds: u64,
    seed: u64,
    only: Vec<String>,
    list: bool,
}

pub fn run(words: &[&str]) -> Result<ExitCode> {
    let options = parse(words)?;
    let parts = part::all(options.seconds, options.seed);
    if options.list {
        fuzz::targets()?.iter().for_each(|target| println!("fuzz/{target}"));
        parts.iter().for_each(|part| println!("{}: {}", part.name, part.words.join(" ")));
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|one| one == name);
    for name in &options.only {
        let known = name == "fuzz" || parts.iter().any(|part| part.name == name);
        ensure!(known, "no campaign is called `{name}`; --list shows all");
    }
    fs::create_dir_all(root::path().join(FOLDER)).context(FOLDER)?;
    println!("seed {}, logs in {FOLDER}", options.seed);
    let mut outcomes = Vec::new();
    if wanted("fuzz") {
        outcomes.extend(fuzz::run(options.seconds)?);
    }
    for part in parts.iter().filter(|part| wanted(part.name)) {
        println!("{}: {}", part.name, part.words.join(" "));
        outcomes.push(part.run()?);
    }
    Ok(summary(&outcomes))
}

fn summary(outcomes: &[Outcome]) -> ExitCode {
    println!("\n{:<22} {:>7}  result", "campaign", "seconds");
    for outcome in outcomes {
        let result = if outcome.is_clean { "nothing found" } else { "FOUND" };
        println!("{:<22} {:>7}  {result}; {}", outcome.name, outcome.seconds, outcome.note);
    }
    let found = outcomes.iter().filter(|outcome| !outcome.is_clean).count();
    println!("soak: {} campaigns, {found} with findings", outcomes.len());
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(words: &[&str]) -> Result<Options> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let mut options = Options { seconds: 600, seed: now, only: Vec::new(), list: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().context(USAGE);
        match *word {
            "--seconds" => options.seconds = value()?.parse().context(USAGE)?,
            "--seed" => options.seed = value()?.parse().context(USAGE)?,
            "--only" => options.only.push((*value()?).to_owned()),
            "--list" => options.list = true,
            _ => bail!(USAGE),
        }
    }
    Ok(options)
}
