//! What is done: one file a command, each from plain arguments to an answer.
//!
//! Rule: an answer goes out through [`Context::show`], so that every command has `--json`; what
//! fails leaves everything as it was and says who must do what.

pub mod attach;
pub mod bench;
pub mod check;
mod confine;
pub mod demo;
pub mod doctor;
pub mod drop;
pub mod filter;
mod folder;
pub mod forward;
pub mod generate;
pub mod lab;
pub mod map;
mod pick;
pub mod prog;
mod rights;
pub mod run;
pub mod shell;
pub mod sink;
pub mod state;
pub mod status;
mod watch;
pub mod xsk;

use std::time::Duration;

use anyhow::{Context as _, Result};
use control::{Control, Notice};

use crate::args::Cli;
use crate::view::{self, Form, Paint, View};

/// How soon a command that waits sees the end, or a packet.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// It worked, and the answer is no.
    No,
    /// That of a command which was run for the caller.
    Code(u8),
}

/// What holds for every command.
#[derive(Clone, Debug)]
pub struct Context {
    pub json: bool,
    pub control: Control,
    pub style: Paint,
}

impl Context {
    pub fn new(cli: &Cli) -> Self {
        let notify = |notice: &Notice| view::say(&format!("xway: {notice}"));
        let control = Control::new(&cli.state).with_observer(notify);
        Self { json: cli.json, control, style: Paint::stdout() }
    }

    /// Prints an answer in the way that was asked for.
    pub fn show(&self, answer: &impl View) -> Result<()> {
        self.write(answer, Form::Json).map(drop)
    }

    /// Prints one of several answers, in JSON on a line of its own. `false` when nobody reads on.
    pub fn show_next(&self, answer: &impl View) -> Result<bool> {
        self.write(answer, Form::JsonLine)
    }

    fn write(&self, answer: &impl View, json: Form) -> Result<bool> {
        let form = if self.json { json } else { Form::Text };
        let text =
            view::rendered(answer, form, self.style).context("cannot write the answer as JSON")?;
        view::print(&text).context("cannot write to standard output")
    }
}
