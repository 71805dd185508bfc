//! Ctrl-C: the first one ends the run after the current turn, the second one immediately.
//!
//! Rule: the second one is handled by a thread of its own, because a turn may hang; no other thread
//! handles signals.

use std::io::{self, IsTerminal};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use ratatui::crossterm::{cursor, execute};
use sys::signal::Stop;

use crate::view::say;

/// What the thread and the run know of each other.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    /// The arm whose turn it is.
    now: Arc<Mutex<String>>,
}

impl Interrupt {
    /// Starts handling signals. It must be called before another thread is started. `prints`
    /// selects messages, which a live view shows itself.
    pub fn listen(prints: bool) -> Result<Self> {
        let (this, stop) = (Self::default(), Stop::new()?);
        let heard = this.clone();
        let thread = thread::Builder::new().name("interrupt".into());
        thread.spawn(move || heard.hear(&stop, prints)).context("cannot listen for signals")?;
        Ok(this)
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// It is the turn of this arm, which is to be named if it hangs.
    pub fn turns(&self, arm: &str) {
        arm.clone_into(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn hear(&self, stop: &Stop, prints: bool) {
        // A wait that fails once fails always: then a signal is as if it were not there.
        while let Ok(signal) = stop.wait(LONG) {
            if signal.is_some() && self.asked.swap(true, Ordering::Relaxed) {
                self.end();
            } else if signal.is_some() && prints {
                say("ends after this turn and keeps its results; press again to end immediately");
            }
        }
    }

    /// Ends without cleaning up: the lab's record remains, by which the next lab removes its
    /// objects.
    fn end(&self) -> ! {
        if io::stderr().is_terminal() {
            // Below the picture, which hides the cursor. A terminal that went away needs neither.
            let _gone = execute!(io::stderr(), cursor::Show);
            say("");
        }
        let arm = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        say(&farewell(&arm));
        process::exit(CUT_OFF)
    }
}

/// Without an arm it was still being set up.
fn farewell(arm: &str) -> String {
    let place = match arm {
        "" => String::new(),
        arm => format!(", in the turn of \"{arm}\""),
    };
    format!(
        "xway: ended immediately{place}; the next lab, or `xway lab gc`, removes what this one left"
    )
}

/// Between two waits for a signal.
const LONG: Duration = Duration::from_secs(3600);
/// The exit code of a run that was cut off.
const CUT_OFF: i32 = 1;

#[cfg(test)]
mod tests {
    use super::farewell;

    #[test]
    fn the_arm_that_hangs_is_named() {
        assert!(farewell("tc").starts_with("xway: ended immediately, in the turn of \"tc\"; "));
        assert!(farewell("").starts_with("xway: ended immediately; "));
    }
}
