//! `BrowserScreen`: the terminal of a browser.
//!
//! Rule: the terminal is restored when the value is dropped, and by every signal that ends the
//! command orderly.

use std::io::{self, Stderr};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::{execute, terminal};
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

use super::draw::{height, picture};
use super::keys::Effect;
use super::{Browsable, Browser, Sheet};
use crate::view::live;

/// The terminal, the state that was shown last, and what the reader chose.
#[derive(Debug)]
pub struct BrowserScreen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    browser: Browser,
    head: String,
    sheets: Vec<Sheet>,
}

impl BrowserScreen {
    /// Takes over the terminal of standard error.
    pub fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let open = || {
            execute!(io::stderr(), terminal::EnterAlternateScreen)?;
            Terminal::new(CrosstermBackend::new(io::stderr()))
        };
        let terminal = open().inspect_err(|_| restore())?;
        let (head, sheets) = (String::new(), Vec::new());
        Ok(Self { terminal, browser: Browser::default(), head, sheets })
    }

    /// Shows a new state, unless the reader paused.
    pub fn show(&mut self, state: &impl Browsable) {
        if !self.browser.is_paused() || self.sheets.is_empty() {
            (self.head, self.sheets) = (state.head(), state.sheets());
            self.draw();
        }
    }

    /// Reacts to keys that were pressed; returns `false` when the reader quits.
    pub fn react(&mut self) -> io::Result<bool> {
        let mut is_changed = false;
        while event::poll(Duration::ZERO)? {
            is_changed = true;
            let Event::Key(key) = event::read()? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let rows = height(&self.head, self.terminal.get_frame().area());
            if self.browser.key(key, &self.sheets, rows) == Effect::Quit {
                return Ok(false);
            }
        }
        if is_changed {
            self.draw();
        }
        Ok(true)
    }

    fn draw(&mut self) {
        let Self { terminal, browser, head, sheets } = self;
        let show = |frame: &mut Frame<'_>| {
            browser.limit(sheets, height(head, frame.area()));
            let text = picture(browser, head, sheets, frame.area());
            frame.render_widget(Paragraph::new(text), frame.area());
            live::make_safe(frame);
        };
        // A terminal that was closed does not end the command.
        let _closed = terminal.draw(show);
    }
}

impl Drop for BrowserScreen {
    fn drop(&mut self) {
        restore();
        // The cursor was hidden while drawing.
        let _closed = self.terminal.show_cursor();
    }
}

fn restore() {
    // A terminal that was closed needs no restoring.
    let _closed = execute!(io::stderr(), terminal::LeaveAlternateScreen);
    let _closed = terminal::disable_raw_mode();
}
