//! The terminal of a full-screen view: taken over, drawn to, and restored.
//!
//! Rule: it is restored when the value is dropped, also by a panic, and by every signal that ends
//! the command orderly.

use std::io::{self, IsTerminal as _, Stderr};
use std::os::fd::AsFd as _;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::{execute, terminal};
use ratatui::{Frame, Terminal};
use sys::poll::{self, Watch};

use super::live;

/// The terminal of standard error.
#[derive(Debug)]
pub struct FullScreen(Terminal<CrosstermBackend<Stderr>>);

impl FullScreen {
    /// Takes over the terminal.
    pub fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(restore_at_panic);
        terminal::enable_raw_mode()?;
        IS_TAKEN_OVER.store(true, Relaxed);
        let open = || {
            execute!(io::stderr(), terminal::EnterAlternateScreen)?;
            Terminal::new(CrosstermBackend::new(io::stderr()))
        };
        Ok(Self(open().inspect_err(|_| restore())?))
    }

    /// Draws a picture, in which characters that steer the terminal are replaced.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) {
        let show = |frame: &mut Frame<'_>| {
            draw(frame);
            live::make_safe(frame);
        };
        // A terminal that was closed does not end the command.
        let _closed = self.0.draw(show);
    }

    /// The area that a picture fills.
    pub fn area(&mut self) -> ratatui::layout::Rect {
        self.0.get_frame().area()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
        // The cursor was hidden while drawing.
        let _closed = self.0.show_cursor();
    }
}

/// What the user did at the terminal.
///
/// Rule: crossterm never returns from reading a terminal that was closed, so that is checked
/// before.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Events come from standard input; from the controlling terminal if it is another file.
    is_stdin: bool,
}

/// What came within the time to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    Event(Event),
    Nothing,
    /// The terminal was closed.
    End,
}

impl Input {
    pub fn new() -> Self {
        Self { is_stdin: io::stdin().is_terminal() }
    }

    /// Waits for an event.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn wait(self, timeout: Duration) -> io::Result<Arrived> {
        if !self.is_stdin {
            return read(timeout);
        }
        for timeout in [Duration::ZERO, timeout] {
            let stdin = io::stdin();
            let mut watch = [Watch::readable(stdin.as_fd())];
            poll::wait(&mut watch, Some(timeout)).map_err(io::Error::other)?;
            if watch[0].is_closed() {
                return Ok(Arrived::End);
            }
            let arrived = read(Duration::ZERO)?;
            if arrived != Arrived::Nothing {
                return Ok(arrived);
            }
        }
        Ok(Arrived::Nothing)
    }
}

fn read(timeout: Duration) -> io::Result<Arrived> {
    match event::poll(timeout)? {
        true => event::read().map(Arrived::Event),
        false => Ok(Arrived::Nothing),
    }
}

/// Has the message of a panic printed where it remains visible.
fn restore_at_panic() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        print(panic);
    }));
}

/// Leaving the other screen twice would move the cursor to where it was before, so that the next
/// output would replace the message of a panic.
fn restore() {
    if !IS_TAKEN_OVER.swap(false, Relaxed) {
        return;
    }
    // A terminal that was closed needs no restoring.
    let _closed = execute!(io::stderr(), terminal::LeaveAlternateScreen);
    let _closed = terminal::disable_raw_mode();
}

/// Whether the terminal must be restored.
static IS_TAKEN_OVER: AtomicBool = AtomicBool::new(false);
