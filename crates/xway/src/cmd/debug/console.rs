//! Where commands come from: the arguments, a script, a terminal, or standard input.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::{Context as _, Error, Result, bail};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};

use super::command::{Command, parse};
use super::session::Session;
use crate::cmd::Context;
use crate::view::debug::Output;
use crate::view::fail;

/// A source of lines, opened before the process is confined.
#[derive(Debug)]
pub enum Console {
    /// Commands of a script and of the arguments; none are read afterwards.
    Batch,
    Terminal(Box<DefaultEditor>),
    Input,
}

impl Console {
    /// Standard input, or no further commands if there are some already and no terminal.
    pub fn open(is_batch: bool) -> Result<Self> {
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            let config = Config::builder().auto_add_history(true).build();
            let editor = DefaultEditor::with_config(config);
            return Ok(Self::Terminal(Box::new(editor.context("the terminal cannot be used")?)));
        }
        Ok(if is_batch { Self::Batch } else { Self::Input })
    }

    /// Whether motions end by Ctrl-C, and not the session.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Executes commands until the session ends.
    pub fn run(self, session: &mut Session<'_>, context: &Context) -> Result<()> {
        match self {
            Self::Batch => Ok(()),
            Self::Input => input(session, context),
            Self::Terminal(editor) => terminal(*editor, session, context),
        }
    }
}

/// Executes the commands of a script or of the arguments; an error ends the session. Returns
/// whether the session continues.
pub fn script(
    lines: impl Iterator<Item = (String, String)>,
    session: &mut Session<'_>,
    context: &Context,
) -> Result<bool> {
    for (place, line) in lines {
        let proceeds = parse(&line).and_then(|command| match command {
            Some(command) => execute(command, session, context),
            None => Ok(true),
        });
        if !proceeds.with_context(|| format!("{place}: {}", line.trim()))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads lines that another program writes.
fn input(session: &mut Session<'_>, context: &Context) -> Result<()> {
    let mut stdin = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let mut limited = io::Read::take(&mut stdin, LONGEST);
        limited.read_until(b'\n', &mut line).context("cannot read standard input")?;
        if line.is_empty() {
            return Ok(());
        }
        if line.len() as u64 == LONGEST {
            bail!("a command is longer than {LONGEST} bytes");
        }
        if !attempt(&String::from_utf8_lossy(&line), None, session, context)?.0 {
            return Ok(());
        }
    }
}

/// Reads lines that a person edits; an empty one repeats the motion before.
fn terminal(mut editor: DefaultEditor, session: &mut Session<'_>, context: &Context) -> Result<()> {
    let mut last = None;
    loop {
        let line = match editor.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error).context("cannot read the terminal"),
        };
        let (proceeds, command) = attempt(&line, last.take(), session, context)?;
        if !proceeds {
            return Ok(());
        }
        last = command;
    }
}

/// Executes a line, or a command again; an error is shown. Returns whether the session continues,
/// and a motion that an empty line repeats.
fn attempt(
    line: &str,
    again: Option<Command>,
    session: &mut Session<'_>,
    context: &Context,
) -> Result<(bool, Option<Command>)> {
    let command = match parse(line) {
        Ok(None) if line.trim().is_empty() => again,
        Ok(command) => command,
        Err(error) => return report(&error, context).map(|shown| (shown, None)),
    };
    let Some(command) = command else { return Ok((true, None)) };
    let motion = matches!(command, Command::Move { .. }).then(|| command.clone());
    match execute(command, session, context) {
        Ok(proceeds) => Ok((proceeds, motion)),
        Err(error) => report(&error, context).map(|shown| (shown, None)),
    }
}

/// Returns `false` when the session ends or standard output was closed.
fn execute(command: Command, session: &mut Session<'_>, context: &Context) -> Result<bool> {
    match session.execute(command)? {
        None => Ok(false),
        Some(output) => context.show_next(&output),
    }
}

/// Shows an error where results are read.
fn report(error: &Error, context: &Context) -> Result<bool> {
    let text = full(error);
    if context.json {
        return context.show_next(&Output::Error(text));
    }
    fail(&format!("xway: {text}"));
    Ok(true)
}

/// An error with its causes.
pub fn full(error: &Error) -> String {
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    let mut text = String::new();
    for cause in causes.iter().filter(|cause| !cause.is_empty()) {
        if !text.contains(cause.as_str()) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(cause);
        }
    }
    text
}

const PROMPT: &str = "(xway) ";
/// Bytes of a line.
const LONGEST: u64 = 1 << 16;
