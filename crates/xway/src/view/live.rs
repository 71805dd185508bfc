//! Live views on standard error: the state is a value, drawing it is a pure function.
//!
//! On a terminal the picture is redrawn in place; elsewhere each new line of a state is printed
//! once.

use std::io::{self, IsTerminal, Stderr};

use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Cell;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use report::text;

use super::{output, say};

/// A state that can be drawn.
pub trait Drawing {
    /// The state in a line, for output that is not a terminal.
    fn line(&self) -> String;

    fn draw(&self, frame: &mut Frame<'_>);
}

/// The output for live states.
pub struct Screen {
    terminal: Option<Terminal<CrosstermBackend<Stderr>>>,
    said: String,
}

impl Screen {
    /// Takes `height` rows below the cursor when standard error is a terminal.
    pub fn new(height: u16) -> Self {
        let options = TerminalOptions { viewport: Viewport::Inline(height) };
        let open = || Terminal::with_options(CrosstermBackend::new(io::stderr()), options).ok();
        let terminal = io::stderr().is_terminal().then(open).flatten();
        Self { terminal, said: String::new() }
    }

    pub fn show(&mut self, state: &impl Drawing) {
        match &mut self.terminal {
            // A terminal that was closed does not end the command.
            Some(terminal) => drop(terminal.draw(|frame| draw(state, frame))),
            None => {
                let line = state.line();
                if line != self.said {
                    say(&line);
                    self.said = line;
                }
            }
        }
    }
}

fn draw(state: &impl Drawing, frame: &mut Frame<'_>) {
    state.draw(frame);
    make_safe(frame);
}

/// Replaces characters that would steer the terminal, or that its locale cannot show.
pub fn make_safe(frame: &mut Frame<'_>) {
    let is_unsafe = |cell: &&mut Cell| cell.symbol().chars().any(text::is_hidden);
    for cell in frame.buffer_mut().content.iter_mut().filter(is_unsafe) {
        cell.set_char(char::REPLACEMENT_CHARACTER);
    }
    if output::is_ascii() {
        for cell in &mut frame.buffer_mut().content {
            let similar = cell.symbol().chars().next().map_or(' ', output::similar);
            cell.set_char(similar);
        }
    }
}

impl Drop for Screen {
    /// Leaves the rows empty, for what is printed next.
    fn drop(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            let begin = terminal.get_frame().area().as_position();
            drop(terminal.clear());
            drop(terminal.set_cursor_position(begin));
            drop(terminal.show_cursor());
        }
    }
}
