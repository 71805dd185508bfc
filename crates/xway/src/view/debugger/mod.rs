//! The full-screen debugger: source, instructions, values, packet and maps in panes.
//!
//! ```text
//!  debugger ──▶ Report ──▶ Panes (what keys chose) ──▶ draw: a picture
//!                            └──▶ keys: commands of the console
//! ```
//!
//! Rule: drawing is a pure function of [`Panes`], and a key that concerns the program becomes a
//! command of the console, as text. Not here: the debugger, and the terminal ([`screen`]).

mod draw;
mod keys;
mod rows;
pub mod screen;

use runner::debug::{CodeLine, FramePlace, Overview, StopPoint};

use super::debug::Listing;
use rows::{Row, row_of_next};

pub use keys::Effect;
pub use screen::DebuggerScreen;

/// What the debugger reports at a position.
#[derive(Debug)]
pub struct Report {
    /// Short name of the object.
    pub object: String,
    /// Number of packets that the program receives.
    pub packets: u64,
    pub overview: Overview,
    /// The whole source file of the current line; `None` without line information.
    pub source: Option<Listing>,
    /// Instructions of the program that runs.
    pub code: Vec<CodeLine>,
    pub points: Vec<StopPoint>,
}

impl Report {
    /// The chosen frame of the stack.
    fn chosen(&self) -> Option<&FramePlace> {
        self.overview.state.frames.get(self.overview.state.frame)
    }
}

/// A part of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Source,
    Code,
    Values,
    Packet,
    Maps,
}

/// What keys do now.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// Each key is a command.
    Keys,
    /// A command of the console is typed; the number is that of the older one that is shown.
    Command(String, usize),
    /// A text to search is typed.
    Search(String),
    /// Text that fills the picture, from this line on.
    Text(Vec<String>, usize),
}

/// The line below the panes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Message {
    text: String,
    is_error: bool,
}

/// What is shown, and what the user chose.
#[derive(Debug)]
pub struct Panes {
    report: Option<Report>,
    /// Names and texts of the values that were shown before, to mark those that changed.
    before: Vec<(String, String)>,
    focus: Pane,
    /// Values or maps, of which narrow terminals show one.
    side: Pane,
    /// The chosen row of each pane; the chosen byte of the packet.
    cursors: [usize; 5],
    /// Columns that are left of each pane.
    shifts: [u16; 5],
    mode: Mode,
    message: Message,
    /// The text that was searched last.
    search: String,
    /// Commands that were typed, oldest first.
    history: Vec<String>,
    /// The text that filled the picture last.
    output: Vec<String>,
}

impl Default for Panes {
    fn default() -> Self {
        Self {
            report: None,
            before: Vec::new(),
            focus: Pane::Source,
            side: Pane::Values,
            cursors: [0; 5],
            shifts: [0; 5],
            mode: Mode::Keys,
            message: Message::default(),
            search: String::new(),
            history: Vec::new(),
            output: Vec::new(),
        }
    }
}

impl Panes {
    /// Shows a position. The cursors of source and instructions go to what comes next.
    pub fn show(&mut self, report: Report) {
        self.before = self.report.as_ref().map(rows::values).unwrap_or_default();
        let source = report.source.as_ref();
        // After the last instruction of a packet, the source file remains.
        let kept = self.report.take().and_then(|before| before.source);
        let has_moved = source.is_some();
        let report = Report { source: report.source.or(kept), ..report };
        if has_moved {
            self.cursors[Pane::Source as usize] = row_of_next(&report, Pane::Source);
        }
        self.cursors[Pane::Code as usize] = row_of_next(&report, Pane::Code);
        self.report = Some(report);
        Pane::ALL.into_iter().for_each(|pane| self.limit(pane));
    }

    /// Shows other breakpoints at the same position.
    pub fn show_points(&mut self, points: Vec<StopPoint>) {
        if let Some(report) = &mut self.report {
            report.points = points;
        }
    }

    /// The position could not be read.
    pub fn forget(&mut self) {
        self.report = None;
    }

    /// Shows a line below the panes.
    pub fn say(&mut self, text: &str, is_error: bool) {
        self.message = Message { text: text.to_owned(), is_error };
    }

    /// Shows the result of a command: below the panes if it has one line, else instead of them.
    pub fn print(&mut self, text: &str) {
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        match lines.as_slice() {
            [] => self.say("", false),
            [line] => self.say(line, false),
            _ => {
                self.say("", false);
                self.output.clone_from(&lines);
                self.mode = Mode::Text(lines, 0);
            }
        }
    }

    fn rows(&self, pane: Pane) -> Vec<Row> {
        self.report.as_ref().map_or_else(Vec::new, |report| rows::of(pane, report, &self.before))
    }

    /// Number of rows of a pane; of bytes of the packet.
    fn len(&self, pane: Pane) -> usize {
        match (pane, &self.report) {
            (Pane::Packet, Some(report)) => report.overview.state.packet.bytes.len() / 2,
            _ => self.rows(pane).len(),
        }
    }

    fn cursor(&self, pane: Pane) -> usize {
        self.cursors[pane as usize]
    }

    fn limit(&mut self, pane: Pane) {
        let last = self.len(pane).saturating_sub(1);
        let cursor = &mut self.cursors[pane as usize];
        *cursor = (*cursor).min(last);
    }
}

impl Pane {
    const ALL: [Self; 5] = [Self::Source, Self::Code, Self::Values, Self::Packet, Self::Maps];
}

#[cfg(test)]
mod tests;
