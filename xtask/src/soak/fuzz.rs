//! Fuzzing: each target for a given time, one per processor in parallel.
//!
//! New inputs go to `target/soak/corpus`, findings to `fuzz/artifacts`.

use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::thread::{self, Builder};

use anyhow::{Context, Result, ensure};

use super::FOLDER;
use super::part::{Outcome, limited, logged};
use crate::root;

/// Names of all targets, which are those of their corpora.
pub fn targets() -> Result<Vec<String>> {
    let folder = root::path().join("fuzz/corpus");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Builds all targets with a nightly compiler and runs each.
pub fn run(seconds: u64) -> Result<Vec<Outcome>> {
    println!("fuzz: cargo +nightly fuzz build");
    let mut build = Command::new("cargo");
    build.args(["+nightly", "fuzz", "build"]).current_dir(root::path());
    ensure!(build.status().context("cargo fuzz")?.success(), "the fuzz targets do not build");
    let targets = targets()?;
    let queue = Mutex::new(targets.iter());
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some(target) = next(&queue) {
            println!("fuzz/{target}: {seconds} s");
            let outcome = one(target, seconds);
            outcomes.lock().expect("no worker panics").push(outcome);
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let mut started = (0..workers).map(|_| Builder::new().spawn_scoped(scope, work));
        started.try_for_each(|thread| thread.map(|_| ()))
    })
    .context("cannot start a thread")?;
    let outcomes = outcomes.into_inner().expect("no worker panics");
    let mut outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(outcomes)
}

fn next<'a>(queue: &Mutex<impl Iterator<Item = &'a String>>) -> Option<&'a String> {
    queue.lock().expect("no worker panics").next()
}

fn one(target: &str, seconds: u64) -> Result<Outcome> {
    let found = format!("{FOLDER}/corpus/{target}");
    let artifacts = format!("fuzz/artifacts/{target}/");
    for folder in [&found, &artifacts] {
        fs::create_dir_all(root::path().join(folder)).with_context(|| folder.clone())?;
    }
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let words = [
        format!("fuzz/target/{triple}/release/{target}"),
        format!("-artifact_prefix={artifacts}"),
        format!("-max_total_time={seconds}"),
        "-timeout=30".to_owned(),
        "-rss_limit_mb=4096".to_owned(),
        "-print_final_stats=1".to_owned(),
        found,
        format!("fuzz/corpus/{target}"),
    ];
    // Reading the corpus comes on top of the time, and a last input may take its limit.
    logged(&format!("fuzz/{target}"), limited(seconds + 300, &words), stats)
}

/// Executions, and the coverage and corpus of the last line of status.
fn stats(log: &str) -> String {
    let executions =
        log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let status = log.lines().rev().find(|line| line.starts_with('#') && line.contains("cov:"));
    let status = status.and_then(|line| {
        let (from, to) = (line.find("cov:")?, line.find("exec/s").or(line.find("lim:"))?);
        line.get(from..to)
    });
    let executions = executions.unwrap_or("0").trim();
    format!("{executions} executions, {}", status.unwrap_or("no coverage").trim())
}
