//! Commands, one file each: plain arguments, one call of a library, a view of the result.
//!
//! Rule: results are printed by [`Context::show`], so that every command has `--json`. A command
//! that fails changes nothing, and its error names the remedy.

pub mod apply;
pub mod asm;
pub mod attach;
pub mod balance;
pub mod bench;
pub mod capture;
pub mod chain;
pub mod check;
mod confine;
pub mod confirm;
pub mod daemon;
pub mod debug;
pub mod demo;
pub mod disasm;
pub mod doctor;
pub mod drop;
pub mod extcap;
pub mod filter;
mod folder;
pub mod generate;
pub mod lab;
mod live;
pub mod man;
pub mod map;
mod pick;
pub mod prog;
mod rights;
pub mod route;
pub mod run;
pub mod scan;
mod scenario;
pub mod shell;
pub mod sink;
pub mod state;
pub mod status;
pub mod top;
mod watch;
pub mod why_drop;
pub mod xsk;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use control::{Control, Notice};
use sys::signal::Stop;

use crate::args::Cli;
use crate::view::{self, Form, Paint, View, output};

/// Longest time until a waiting command notices its end, or a packet.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits for a poll interval. Returns whether a signal arrived, or `time` after `begin` is over.
fn wait_is_over(stop: &Stop, begin: Instant, time: Option<Duration>) -> Result<bool> {
    let left = time.map(|time| time.saturating_sub(begin.elapsed()));
    let is_interrupted = stop.wait(left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL))?.is_some();
    Ok(is_interrupted || left.is_some_and(|left| left.is_zero()))
}

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// It worked, and the result is negative.
    No,
    /// Exit code of a command that was run for the caller.
    Code(u8),
}

/// Options and objects that all commands share.
#[derive(Clone, Debug)]
pub struct Context {
    pub json: bool,
    pub control: Control,
    pub style: Paint,
}

impl Context {
    pub fn new(cli: &Cli) -> Self {
        let is_verbose = cli.verbose;
        let notify = move |notice: &Notice| {
            if is_verbose || !notice.is_detail() {
                view::say(&format!("xway: {notice}"));
            }
        };
        let control = Control::new(&cli.state).with_observer(notify);
        Self { json: cli.json, control, style: output::configure(cli) }
    }

    /// Prints a result as text or JSON.
    pub fn show(&self, answer: &impl View) -> Result<()> {
        self.write(answer, Form::Json).map(drop)
    }

    /// Prints one of several results, in JSON on a line of its own. Returns `false` if standard
    /// output was closed.
    pub fn show_next(&self, answer: &impl View) -> Result<bool> {
        self.write(answer, Form::JsonLine)
    }

    fn write(&self, answer: &impl View, json: Form) -> Result<bool> {
        let form = if self.json { json } else { Form::Text };
        let text =
            view::rendered(answer, form, self.style).context("cannot write the result as JSON")?;
        view::print(&text).context("cannot write to standard output")
    }
}
