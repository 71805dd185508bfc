//! A live view of tables, as htop's: the reader chooses the table, sorts, filters and scrolls it.
//!
//! ```text
//!  state ──▶ Browsable: head, sheets ──▶ Browser (what keys chose) ──▶ draw: lines
//! ```
//!
//! Rule: a key changes the [`Browser`], a new state replaces the sheets, and drawing is a pure
//! function of both. Not here: the terminal ([`screen`]).

mod draw;
mod keys;
pub mod screen;
mod sheet;

#[cfg(test)]
pub use draw::picture;
pub use screen::BrowserScreen;
pub use sheet::{Cell, Heading, Sheet};

use super::View;
use sheet::Choice;

/// A state that consists of tables.
pub trait Browsable: View {
    /// The state in a line, for output that is not a terminal.
    fn line(&self) -> String;

    /// Lines above the tables.
    fn head(&self) -> String;

    /// The tables, always the same ones in the same order.
    fn sheets(&self) -> Vec<Sheet>;
}

/// What the reader chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Browser {
    /// Number of the table that is shown.
    sheet: usize,
    /// The choices for each table.
    choices: Vec<Choice>,
    /// The filter is being typed.
    is_typing: bool,
    is_paused: bool,
    has_help: bool,
}

impl Browser {
    fn choice(&mut self) -> &mut Choice {
        if self.choices.len() <= self.sheet {
            self.choices.resize(self.sheet + 1, Choice::default());
        }
        &mut self.choices[self.sheet]
    }
}

#[cfg(test)]
mod tests;
