//! `BrowserScreen`: the terminal of a browser.

use std::io;
use std::time::Duration;

use ratatui::Frame;
use ratatui::crossterm::event::{Event, KeyEventKind};
use ratatui::widgets::Paragraph;

use super::draw::{height, picture};
use super::keys::Effect;
use super::{Browsable, Browser, Sheet};
use crate::view::terminal::{Arrived, FullScreen, Input};

/// The terminal, the state that was shown last, and what the reader chose.
#[derive(Debug)]
pub struct BrowserScreen {
    terminal: FullScreen,
    input: Input,
    browser: Browser,
    head: String,
    sheets: Vec<Sheet>,
}

impl BrowserScreen {
    /// Takes over the terminal of standard error.
    pub fn open() -> io::Result<Self> {
        let (terminal, input) = (FullScreen::open()?, Input::new());
        let (head, sheets) = (String::new(), Vec::new());
        Ok(Self { terminal, input, browser: Browser::default(), head, sheets })
    }

    /// Shows a new state, unless the reader paused.
    pub fn show(&mut self, state: &impl Browsable) {
        if !self.browser.is_paused() || self.sheets.is_empty() {
            (self.head, self.sheets) = (state.head(), state.sheets());
            self.draw();
        }
    }

    /// Reacts to keys that were pressed; returns `false` when the reader quits or the terminal was
    /// closed.
    pub fn react(&mut self) -> io::Result<bool> {
        let mut is_changed = false;
        loop {
            let event = match self.input.wait(Duration::ZERO)? {
                Arrived::Event(event) => event,
                Arrived::Nothing => break,
                Arrived::End => return Ok(false),
            };
            is_changed = true;
            let Event::Key(key) = event else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let rows = height(&self.head, self.terminal.area());
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
        let Self { terminal, browser, head, sheets, .. } = self;
        let show = |frame: &mut Frame<'_>| {
            browser.limit(sheets, height(head, frame.area()));
            let text = picture(browser, head, sheets, frame.area());
            frame.render_widget(Paragraph::new(text), frame.area());
        };
        terminal.draw(show);
    }
}
