//! Tables that are read again at each interval: in a browser on a terminal, or printed.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use sys::signal::Stop;

use super::{Context, Exit, POLL_INTERVAL};
use crate::view::browser::{Browsable, BrowserScreen};

/// When tables are read.
pub struct Pace {
    pub interval: Duration,
    /// Number of intervals; until a signal without it.
    pub count: Option<u64>,
    /// Prints the table of one interval, also on a terminal.
    pub once: bool,
}

/// Shows what `read` returns, until a signal comes or the intervals are over.
pub fn show<T: Browsable>(
    pace: &Pace,
    stop: &Stop,
    context: &Context,
    mut read: impl FnMut() -> Result<T>,
) -> Result<Exit> {
    let is_terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
    if is_terminal && !pace.once && !context.json {
        return browse(pace, stop, read);
    }
    let mut left = pace.count.unwrap_or(u64::MAX);
    while left > 0 && stop.wait(pace.interval)?.is_none() {
        let state = read()?;
        if pace.once {
            return context.show(&state).map(|()| Exit::Done);
        }
        if !context.show_next(&state)? {
            break;
        }
        left -= 1;
    }
    Ok(Exit::Done)
}

fn browse<T: Browsable>(
    pace: &Pace,
    stop: &Stop,
    mut read: impl FnMut() -> Result<T>,
) -> Result<Exit> {
    let mut screen = BrowserScreen::open().context("cannot take over the terminal")?;
    screen.show(&read()?);
    let mut next = Instant::now() + pace.interval;
    let mut left = pace.count.unwrap_or(u64::MAX);
    while left > 0 && screen.react().context("cannot read keys")? {
        if Instant::now() >= next {
            screen.show(&read()?);
            next = Instant::now() + pace.interval;
            left -= 1;
        }
        if stop.wait(POLL_INTERVAL)?.is_some() {
            break;
        }
    }
    Ok(Exit::Done)
}
