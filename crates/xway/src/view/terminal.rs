//! The terminal of a full-screen view: taken over, drawn to, and restored.
//!
//! Rule: it is restored when the value is dropped, also by a panic, and by every signal that ends
//! the command orderly.

use std::io::{self, Stderr};
use std::panic;
use std::sync::Once;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::{execute, terminal};
use ratatui::{Frame, Terminal};

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

/// Has the message of a panic printed where it remains visible.
fn restore_at_panic() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        print(panic);
    }));
}

fn restore() {
    // A terminal that was closed needs no restoring.
    let _closed = execute!(io::stderr(), terminal::LeaveAlternateScreen);
    let _closed = terminal::disable_raw_mode();
}
