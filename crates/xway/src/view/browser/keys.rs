//! What each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::sheet::Choice;
use super::{Browser, Sheet};

/// The effect of a key on the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Draw again.
    Draw,
    /// End the command.
    Quit,
}

impl Browser {
    /// Reacts to a key. `height` is the number of rows that are shown.
    pub fn key(&mut self, key: KeyEvent, sheets: &[Sheet], height: usize) -> Effect {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if is_control => return Effect::Quit,
            code if self.is_typing => self.typed(code),
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Esc if self.has_help => self.has_help = false,
            KeyCode::Esc if !self.choice().filter.is_empty() => self.choice().filter.clear(),
            KeyCode::Esc => return Effect::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.has_help = !self.has_help,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('a') => self.share_filter(sheets.len()),
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('r') => {
                let choice = self.choice();
                choice.is_reversed = !choice.is_reversed;
            }
            KeyCode::Tab => self.turn(1, sheets.len()),
            KeyCode::BackTab => self.turn(sheets.len().saturating_sub(1), sheets.len()),
            KeyCode::Right | KeyCode::Char('>') => self.sort(1, sheets),
            KeyCode::Left | KeyCode::Char('<') => self.sort(-1, sheets),
            code => self.scroll(code, height),
        }
        self.limit(sheets, height);
        Effect::Draw
    }

    /// A key while the filter is typed.
    fn typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.choice().filter.clear();
            }
            KeyCode::Backspace => drop(self.choice().filter.pop()),
            KeyCode::Char(letter) if self.choice().filter.len() < FILTER_MAX => {
                self.choice().filter.push(letter);
            }
            _ => {}
        }
    }

    /// Filters all tables as this one, to show a single interface or rule.
    fn share_filter(&mut self, sheets: usize) {
        let filter = self.choice().filter.clone();
        self.choices.resize(sheets.max(self.choices.len()), Choice::default());
        self.choices.iter_mut().for_each(|choice| choice.filter.clone_from(&filter));
    }

    fn turn(&mut self, by: usize, sheets: usize) {
        self.sheet = (self.sheet + by) % sheets.max(1);
    }

    /// Sorts by the next or the previous column; before the first one is the table's own order.
    fn sort(&mut self, by: isize, sheets: &[Sheet]) {
        let columns = sheets.get(self.sheet).map_or(0, Sheet::columns);
        let choice = self.choice();
        let place = choice.sort.map_or(0, |column| column + 1);
        let next = (place + columns + 1).saturating_add_signed(by) % (columns + 1);
        choice.sort = next.checked_sub(1);
        choice.is_reversed = false;
    }

    fn scroll(&mut self, code: KeyCode, height: usize) {
        let choice = self.choice();
        choice.skipped = match code {
            KeyCode::Up | KeyCode::Char('k') => choice.skipped.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => choice.skipped.saturating_add(1),
            KeyCode::PageUp => choice.skipped.saturating_sub(height),
            KeyCode::PageDown => choice.skipped.saturating_add(height),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => usize::MAX,
            _ => choice.skipped,
        };
    }

    /// Keeps the last row in view.
    pub fn limit(&mut self, sheets: &[Sheet], height: usize) {
        let sheet = self.sheet;
        let choice = self.choice();
        let rows = sheets.get(sheet).map_or(0, |sheet| sheet.len(choice));
        choice.skipped = choice.skipped.min(rows.saturating_sub(height));
    }

    /// Whether new states are not shown.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }
}

/// Bytes of a filter.
const FILTER_MAX: usize = 64;
