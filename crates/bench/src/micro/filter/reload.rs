//! Rules changed under a flood, as a user does it: `xway filter load` of ten thousand.
//!
//! Rule: the time is that of the whole command, from its start to its end; the parts are those that
//! it reports itself. A turn in which old and new rules together did not count each packet of the
//! flood once is a fault and has no value. The flood has a processor, the command another one.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use filter::File;
use serde_json::Value as Json;
use traffic::generator::{Config, Generator, Load};
use traffic::{Rate, Template};

use super::alone;
use super::line::{self, End, Line};
use crate::field::Field;
use crate::harness::{Arm, Value};
use crate::hook::tool::Tool;
use crate::transient::Transient;

/// The arm, or why there is none.
pub fn arm(field: &Field, end: End) -> Result<Arm<'_>> {
    ensure!(field.is_offer_known(), "the flood of another host is not counted here");
    let fixture = Fixture::build(field, end)?;
    Ok(Arm::wide(NAME, move |_| fixture.turn()))
}

/// Two files of rules, and the command that loads them.
struct Fixture<'a> {
    field: &'a Field,
    frame: Vec<u8>,
    xway: Tool,
    state: Folder,
    /// Files of rules before and after the change.
    files: [PathBuf; 2],
}

/// Directory of the program's state; dropping it removes the state and unloads the rules.
struct Folder(PathBuf);

/// Rules that are active until this is dropped.
struct ActiveRules<'a>(&'a Fixture<'a>);

impl<'a> Fixture<'a> {
    fn build(field: &'a Field, end: End) -> Result<Self> {
        let xway = Tool::new(field, program()?);
        let state = Folder::make()?;
        let files = ["before.toml", "after.toml"].map(|name| state.0.join(name));
        for (path, changed) in
            files.iter().zip(["limit 2mpps burst 200k", "limit 3mpps burst 300k"])
        {
            fs::write(path, rules(changed, end)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Self { field, frame: alone::frame(end)?, xway, state, files })
    }

    /// Seconds of one change, whole and in parts.
    fn turn(&self) -> Result<Vec<Value>> {
        let (_before, _) = self.load(&self.files[0])?;
        let flood = self.flood()?;
        let (given, start) = (flood.given(), Instant::now());
        let (_after, said) = self.load(&self.files[1])?;
        let (seconds, met) = (start.elapsed().as_secs_f64(), flood.given() - given);
        ensure!(!flood.is_done(), "the flood was over before the rules had changed");
        let report = flood.stop()?;
        if let Some(reason) = report.totals.blind {
            return Err(Transient::NoCounters { reason }.into());
        }
        self.account(report.totals.sent)?;
        ensure!(
            met as f64 >= RATE_PPS * seconds / 2.0,
            Transient::FloodDelayed { packets: met, seconds }
        );
        let mut values = vec![Value::new(NAME, "s", seconds)];
        for part in ["read", "compile", "load", "carry", "swap"] {
            let took = &said["took"][format!("{part}_s")];
            let took = took.as_f64().with_context(|| format!("the report has no {part}"))?;
            values.push(Value::new(format!("{NAME}-{part}"), "s", took));
        }
        Ok(values)
    }

    fn load(&self, path: &Path) -> Result<(ActiveRules<'_>, Json)> {
        let said =
            self.ask(&["load", self.field.receiver.device(), &path.display().to_string()])?;
        Ok((ActiveRules(self), said))
    }

    /// A flood that runs when this returns. Frames that the driver does not accept are counted
    /// separately.
    fn flood(&self) -> Result<Generator> {
        let config = Config {
            profile: Rate::PacketsPerSecond(RATE_PPS).into(),
            count: Some(MOST),
            duration: Some(LONGEST),
            cpus: vec![self.field.sender_cpu],
            ..Config::new(
                self.field.sender.device(),
                Load::Streams(vec![Template::constant("flood", self.frame.clone())]),
            )
        };
        let flood = self.field.sender.run(|| Generator::start(config))??;
        lab::until("the flood", PATIENCE, || Ok((flood.given() >= WARM_UP).then_some(())))?;
        Ok(flood)
    }

    /// Each packet was over the limit or met the last rule, once, whichever rules it came to.
    fn account(&self, sent: u64) -> Result<()> {
        let counted = Cell::new(0);
        let all = lab::until("all packets counted", PATIENCE, || {
            match self.counted() {
                Ok(now) => counted.set(now),
                Err(fault) => return Ok(Some(Err(fault))),
            }
            Ok((counted.get() >= sent).then_some(Ok(())))
        });
        if let Ok(fault) = all {
            fault?;
        }
        let counted = counted.get();
        ensure!(counted == sent, "{sent} packets came, and old and new rules counted {counted}");
        Ok(())
    }

    fn counted(&self) -> Result<u64> {
        let shown = self.ask(&["show", self.field.receiver.device(), "--interval", "1ms"])?;
        let rules = shown["rules"].as_array().context("it shows no rules")?;
        let last = rules.last().and_then(|rule| rule["packets"].as_u64());
        let limited = rules.iter().filter_map(|rule| rule["taken"].as_u64()).sum::<u64>();
        Ok(last.context("the last rule has no count")? + limited)
    }

    /// The output of `xway filter`.
    fn ask(&self, words: &[&str]) -> Result<Json> {
        let state = self.state.0.display().to_string();
        let words = [&["--state", &state, "--json", "filter"], words].concat();
        Ok(serde_json::from_str(&self.xway.run(words, "")?)?)
    }
}

impl Folder {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(crate::field::name()?);
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A destructor cannot report, and the rest is in the temporary directory.
        let bpffs = self.0.join("bpf");
        if sys::mount::is_bpffs(&bpffs) {
            let _stays = sys::mount::unmount(&bpffs);
        }
        let _stays = fs::remove_dir_all(&self.0);
    }
}

impl Drop for ActiveRules<'_> {
    fn drop(&mut self) {
        // The second of two finds nothing, and what cannot be done here the folder's end does.
        let _gone = self.0.ask(&["unload", self.0.field.receiver.device()]);
    }
}

/// The running executable, if it can change rules.
fn program() -> Result<String> {
    let path = std::env::current_exe().context("it is not known which program this is")?;
    let is_xway = path.file_name().is_some_and(|name| name == "xway");
    ensure!(is_xway, "{} is not xway, which changes rules", path.display());
    Ok(path.display().to_string())
}

/// Ten thousand rules: a limit whose buckets are copied, one that changes, a ban, and those that
/// are measured everywhere, of which the last drops the flood.
fn rules(changed: &str, end: End) -> Result<String> {
    let first = [
        "kept: limit 500kpps burst 50k per source udp".to_owned(),
        format!("changed: {changed} udp"),
        "banned: ban 60s tcp dport 7".to_owned(),
    ];
    let ruleset = line::ruleset(&Line::many(RULES - first.len() as u32, end));
    let mut file = File { ruleset, ..File::default() };
    for (at, rule) in first.iter().enumerate() {
        file.insert(at, rule)?;
    }
    Ok(file.to_toml())
}

/// Name of the row.
pub const NAME: &str = "reload-10000";
const RULES: u32 = 10_000;
const RATE_PPS: f64 = 1e6;
/// Packets before the change.
const WARM_UP: u64 = 50_000;
/// Frames of a flood: more than are sent during a change.
const MOST: u64 = 60_000_000;
const LONGEST: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(10);
