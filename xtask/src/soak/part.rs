//! One campaign as a command: started, limited in time, its output kept.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::FOLDER;
use crate::root;

/// A campaign other than fuzzing. All of them make namespaces or load programs.
pub struct Part {
    pub name: &'static str,
    pub words: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
    /// Seconds after which it is stopped and counts as a finding.
    pub limit: u64,
}

/// The outcome of a campaign.
pub struct Outcome {
    pub name: String,
    pub is_clean: bool,
    pub seconds: u64,
    /// Its last line, or where its log is.
    pub note: String,
}

/// Seconds at which every campaign has its full size.
const FULL: u64 = 600;
/// System calls of each command at which faults are injected, in a campaign of almost full size. A
/// full one injects them at all.
const FAULTS: u64 = 200;

/// All campaigns other than fuzzing. Their sizes are proportional to `seconds`.
pub fn all(seconds: u64, seed: u64) -> Vec<Part> {
    let of = |full: u64| (full * seconds / FULL).max(1).to_string();
    let faults = if seconds < FULL { format!(" --limit {}", of(FAULTS)) } else { String::new() };
    let test = "cargo test --release --package xway-tests --test";
    let tool = "cargo run --release --package xway-tests --bin";
    let programs = of(100_000);
    vec![
        Part {
            name: "programs",
            words: split(&format!("{tool} differential -- --programs {programs} --seed {seed}")),
            environment: Vec::new(),
            limit: 2 * 3600,
        },
        Part {
            name: "faults",
            words: split(&format!("cargo xtask faults --jobs 2 --seed {seed}{faults}")),
            environment: Vec::new(),
            limit: 6 * 3600,
        },
        Part {
            name: "rules",
            words: split(&format!("{test} filter -- verifier::random_files --nocapture")),
            environment: vec![("XWAY_RULE_FILES", of(2000)), ("XWAY_RULE_SEED", seed.to_string())],
            limit: 4 * 3600,
        },
        Part {
            name: "frames",
            words: split(&format!("{test} hostile -- --skip tcp:: --nocapture --test-threads=1")),
            environment: vec![
                ("XWAY_HOSTILE_FRAMES", of(1_000_000)),
                ("XWAY_HOSTILE_SEED", seed.to_string()),
            ],
            limit: 10 * 3600,
        },
        Part {
            name: "answers",
            words: split(&format!("{test} hostile -- tcp:: --nocapture --test-threads=1")),
            environment: vec![
                ("XWAY_HOSTILE_FRAMES", of(100_000)),
                ("XWAY_HOSTILE_SEED", seed.to_string()),
            ],
            limit: 4 * 3600,
        },
        routes(seed, &of(500_000)),
        daemons(seed, &of(1000)),
        connections(seed, &of(200)),
        Part {
            name: "chain",
            words: split(&format!("{test} chain -- members::each_member_counts --nocapture")),
            environment: vec![
                ("XWAY_CHAIN_MOVES", of(1000)),
                ("XWAY_CHAIN_SEED", seed.to_string()),
            ],
            limit: 2 * 3600,
        },
        flood(test),
        Part {
            name: "xsk",
            words: split(&format!("{test} xsk -- soak:: --nocapture --test-threads=1")),
            environment: vec![("XWAY_SOAK_SECONDS", seconds.to_string())],
            limit: seconds + 1800,
        },
    ]
}

/// Rules against a flood.
fn flood(test: &str) -> Part {
    let words = split(&format!("{test} filter -- flood:: --ignored --nocapture --test-threads=1"));
    Part { name: "flood", words, environment: Vec::new(), limit: 3600 }
}

/// Our router beside the kernel's.
fn routes(seed: u64, packets: &str) -> Part {
    let words = split(&format!("cargo xtask route-truth --seed {seed} --packets {packets}"));
    Part { name: "routes", words, environment: Vec::new(), limit: 4 * 3600 }
}

/// Routing daemons above five routers, with some 10,000 updates of routes a second: more would
/// need more processors.
fn daemons(seed: u64, flaps: &str) -> Part {
    let words = format!("cargo xtask route-lab --seed {seed} --flaps {flaps} --networks 12000");
    Part { name: "daemons", words: split(&words), environment: Vec::new(), limit: 2 * 3600 }
}

/// Connections through two balancers, of which one dies, while backends change.
fn connections(seed: u64, changes: &str) -> Part {
    let delivery = if seed.is_multiple_of(2) { "mac" } else { "geneve" };
    let flags = format!("--connections 5000 --flood 200000 --delivery {delivery}");
    let words = format!("cargo xtask balance-lab --seed {seed} --changes {changes} {flags}");
    Part { name: "connections", words: split(&words), environment: Vec::new(), limit: 2 * 3600 }
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Part {
    /// Runs it to its end, or to its limit.
    pub fn run(&self) -> Result<Outcome> {
        let mut command = limited(self.limit, &self.words);
        command.envs(self.environment.iter().map(|(name, value)| (*name, value.as_str())));
        // Cargo builds as the caller and starts what it built as root.
        if let Ok(runner) = std::env::var("XWAY_ROOT_RUNNER") {
            let target = format!("{}_UNKNOWN_LINUX_GNU", std::env::consts::ARCH.to_uppercase());
            command.env(format!("CARGO_TARGET_{target}_RUNNER"), runner);
        }
        logged(self.name, command, |log| {
            let last = log.lines().rev().find(|line| !line.trim().is_empty());
            last.unwrap_or_default().trim().to_owned()
        })
    }
}

/// A command that is stopped after some seconds, with all that it started.
pub fn limited(seconds: u64, words: &[String]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", &seconds.to_string()]).args(words);
    command.current_dir(root::path());
    command
}

/// Runs a command whose output goes to a log; `note` reads it.
pub fn logged(name: &str, mut command: Command, note: fn(&str) -> String) -> Result<Outcome> {
    let start = Instant::now();
    let path = root::path().join(FOLDER).join(format!("{}.log", name.replace('/', "-")));
    let log = File::create(&path).with_context(|| path.display().to_string())?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let status = command.status().with_context(|| format!("cannot start {name}"))?;
    let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    let mut note = note(&text);
    if !status.success() {
        note = format!("{status}, see {}: {note}", path.display());
    }
    let seconds = start.elapsed().as_secs();
    Ok(Outcome { name: name.to_owned(), is_clean: status.success(), seconds, note })
}
