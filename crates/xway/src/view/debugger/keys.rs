//! What each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::draw::bytes_per_row;
use super::rows::{point_at, row_of_next};
use super::{Mode, Pane, Panes};

/// The effect of a key on the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Draw again.
    Draw,
    /// Execute a command of the console.
    Command(String),
    /// End the session.
    Quit,
}

impl Panes {
    /// Reacts to a key. `area` is that of the picture.
    pub fn key(&mut self, key: KeyEvent, area: Rect) -> Effect {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match &mut self.mode {
            Mode::Keys => self.pressed(key.code, is_control, area),
            Mode::Text(lines, first) => {
                let most = lines.len().saturating_sub(1);
                let page = usize::from(area.height.saturating_sub(4)).max(1);
                let next = match key.code {
                    KeyCode::Up | KeyCode::Char('k') => first.saturating_sub(1),
                    KeyCode::Down | KeyCode::Char('j') => *first + 1,
                    KeyCode::PageUp => first.saturating_sub(page),
                    KeyCode::PageDown | KeyCode::Char(' ') => *first + page,
                    KeyCode::Home | KeyCode::Char('g') => 0,
                    KeyCode::End | KeyCode::Char('G') => most.saturating_sub(page - 1),
                    _ => {
                        self.mode = Mode::Keys;
                        return Effect::Draw;
                    }
                };
                *first = next.min(most);
                Effect::Draw
            }
            Mode::Command(..) | Mode::Search(_) => self.typed(key.code, is_control),
        }
    }

    fn pressed(&mut self, code: KeyCode, is_control: bool, area: Rect) -> Effect {
        if let Some(motion) = motion(code).filter(|_| !is_control) {
            return Effect::Command(motion.to_owned());
        }
        match code {
            KeyCode::Char('c') if is_control => {
                self.say("Ctrl-C ends a motion; q ends the session", false);
            }
            KeyCode::Char(_) if is_control => {}
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('b') => return self.toggle(),
            KeyCode::Char('r') => return self.advance("advance"),
            KeyCode::Char('R') => return self.advance("reverse-advance"),
            KeyCode::Char('w') => return self.watch(),
            KeyCode::Char('.') if self.report.is_none() => {
                return Effect::Command("info".to_owned());
            }
            KeyCode::Char('.') => self.return_to_next(),
            KeyCode::Char(':') => self.mode = Mode::Command(String::new(), self.history.len()),
            KeyCode::Char('/') => self.mode = Mode::Search(String::new()),
            KeyCode::Char('o') => self.mode = Mode::Text(self.output.clone(), 0),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => {
                self.mode = Mode::Text(HELP.iter().map(|&line| line.to_owned()).collect(), 0);
            }
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(Pane::ALL.len() - 1),
            code => self.travel(code, area),
        }
        Effect::Draw
    }

    /// A key while a command or a text to search is typed.
    fn typed(&mut self, code: KeyCode, is_control: bool) -> Effect {
        let (Mode::Command(text, _) | Mode::Search(text)) = &mut self.mode else {
            return Effect::Draw;
        };
        match code {
            KeyCode::Char('u') if is_control => text.clear(),
            KeyCode::Char('c') if is_control => self.mode = Mode::Keys,
            KeyCode::Char(_) if is_control => {}
            KeyCode::Esc => self.mode = Mode::Keys,
            KeyCode::Backspace if text.is_empty() => self.mode = Mode::Keys,
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) if text.len() < LONGEST => text.push(letter),
            KeyCode::Up => self.recall(true),
            KeyCode::Down => self.recall(false),
            KeyCode::Enter => return self.entered(),
            _ => {}
        }
        Effect::Draw
    }

    fn entered(&mut self) -> Effect {
        match std::mem::replace(&mut self.mode, Mode::Keys) {
            Mode::Command(text, _) if !text.trim().is_empty() => {
                if self.history.len() == HISTORY {
                    self.history.remove(0);
                }
                self.history.push(text.clone());
                return Effect::Command(text);
            }
            Mode::Search(text) => {
                if !text.is_empty() {
                    self.search = text;
                }
                self.find();
            }
            _ => {}
        }
        Effect::Draw
    }

    /// Replaces what was typed by an older or newer command.
    fn recall(&mut self, older: bool) {
        let Mode::Command(text, number) = &mut self.mode else { return };
        *number = if older { number.saturating_sub(1) } else { *number + 1 };
        *number = (*number).min(self.history.len());
        *text = self.history.get(*number).cloned().unwrap_or_default();
    }

    /// Goes to the next row of the pane, or byte of the packet, with the text.
    fn find(&mut self) {
        let wanted = self.search.to_lowercase();
        let from = self.cursor(self.focus) + 1;
        let texts: Vec<String> = match (self.focus, &self.report) {
            (Pane::Packet, Some(report)) => {
                let digits = &report.overview.state.packet.bytes;
                let starts = (0..digits.len()).step_by(2);
                starts.map(|start| digits[start..].to_owned()).collect()
            }
            _ => self.rows(self.focus).into_iter().map(|row| row.text.to_lowercase()).collect(),
        };
        let is_packet = self.focus == Pane::Packet;
        let digits = wanted.replace([' ', ':'], "");
        let holds = |text: &String| match is_packet {
            true => !digits.is_empty() && text.starts_with(&digits),
            false => text.contains(&wanted),
        };
        let len = texts.len();
        let found = (from..from + len).map(|row| row % len).find(|row| holds(&texts[*row]));
        match found {
            Some(row) => {
                self.cursors[self.focus as usize] = row;
                self.say("", false);
            }
            None => self.say(&format!("`{}` was not found in this pane", self.search), true),
        }
    }

    fn turn(&mut self, by: usize) {
        self.focus = Pane::ALL[(self.focus as usize + by) % Pane::ALL.len()];
        if matches!(self.focus, Pane::Values | Pane::Maps) {
            self.side = self.focus;
        }
    }

    fn return_to_next(&mut self) {
        let Some(report) = &self.report else { return };
        for pane in [Pane::Source, Pane::Code] {
            self.cursors[pane as usize] = row_of_next(report, pane);
        }
    }

    fn travel(&mut self, code: KeyCode, area: Rect) {
        let is_packet = self.focus == Pane::Packet;
        let row = if is_packet { bytes_per_row(area) } else { 1 };
        let (cursor, shift) = (self.cursor(self.focus), &mut self.shifts[self.focus as usize]);
        let next = match code {
            KeyCode::Up | KeyCode::Char('k') => cursor.checked_sub(row).unwrap_or(cursor),
            KeyCode::Down | KeyCode::Char('j') => cursor + row,
            KeyCode::PageUp => cursor.saturating_sub(PAGE * row),
            KeyCode::PageDown => cursor + PAGE * row,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => usize::MAX,
            KeyCode::Left if is_packet => cursor.saturating_sub(1),
            KeyCode::Right if is_packet => cursor + 1,
            KeyCode::Left => {
                *shift = shift.saturating_sub(SHIFT);
                return;
            }
            KeyCode::Right => {
                *shift = shift.saturating_add(SHIFT).min(MOST_SHIFT);
                return;
            }
            _ => return,
        };
        self.cursors[self.focus as usize] = next;
        self.limit(self.focus);
    }

    /// What the chosen row stands for; of the packet, the field or byte.
    fn subject(&self) -> Option<String> {
        let cursor = self.cursor(self.focus);
        if self.focus != Pane::Packet {
            return self.rows(self.focus).get(cursor)?.subject.clone();
        }
        let packet = &self.report.as_ref()?.overview.state.packet;
        let byte = format!("packet[{cursor}]");
        Some(packet.field_at(cursor).map_or(byte, |(name, _)| name))
    }

    /// The chosen line or instruction.
    fn place(&mut self) -> Option<String> {
        let is_code = matches!(self.focus, Pane::Source | Pane::Code);
        let place = self.subject().filter(|_| is_code);
        if place.is_none() {
            self.say("choose a line or an instruction first", true);
        }
        place
    }

    /// Sets a breakpoint at the chosen place, or deletes the one that is there.
    fn toggle(&mut self) -> Effect {
        let Some(place) = self.place() else { return Effect::Draw };
        let points = self.report.as_ref().map_or(&[][..], |report| &report.points);
        Effect::Command(match point_at(points, &place) {
            Some(point) => format!("delete {}", point.number),
            None => format!("break {place}"),
        })
    }

    fn advance(&mut self, command: &str) -> Effect {
        match self.place() {
            Some(place) => Effect::Command(format!("{command} {place}")),
            None => Effect::Draw,
        }
    }

    fn watch(&mut self) -> Effect {
        let is_value = matches!(self.focus, Pane::Values | Pane::Packet | Pane::Maps);
        match self.subject().filter(|_| is_value) {
            Some(subject) => Effect::Command(format!("watch {subject}")),
            None => {
                self.say("choose a value, a byte of the packet or an entry of a map first", true);
                Effect::Draw
            }
        }
    }
}

/// The command of a key that moves.
fn motion(code: KeyCode) -> Option<&'static str> {
    let KeyCode::Char(letter) = code else { return None };
    Some(match letter {
        's' => "step",
        'S' => "reverse-step",
        'n' => "next",
        'N' => "reverse-next",
        'f' => "finish",
        'F' => "reverse-finish",
        'c' => "continue",
        'C' => "reverse-continue",
        'i' => "stepi",
        'I' => "reverse-stepi",
        'u' => "up",
        'd' => "down",
        '>' | ']' => "packet +1",
        '<' | '[' => "packet -1",
        _ => return None,
    })
}

const HELP: [&str; 23] = [
    "s S        step to another line; S goes back, as all capitals do",
    "n N        step over calls",
    "f F        out of the function",
    "c C        to a breakpoint or watchpoint",
    "i I        one instruction",
    "] [        next and previous packet",
    "u d        variables of the caller; of the called function again",
    "r R        run to the chosen line or instruction",
    "b          set or delete a breakpoint there",
    "w          watch the chosen value, field of the packet or entry of a map",
    "",
    "Tab        next pane; Shift-Tab: previous",
    "↑ ↓ j k    choose another row; PgUp PgDn Home End g G: farther",
    "← →        scroll; choose another byte of the packet",
    ".          choose what comes next again",
    "/          search in the pane, in the packet for hexadecimal digits; empty: again",
    ":          command of the console; `:help` lists them, ↑ recalls them",
    "o          show the last long output again",
    "Ctrl-C     end a motion that takes long; the position remains",
    "q          end the session",
    "",
    "●  breakpoint     ▶  comes next     *  changed",
    "Bytes of the packet are marked that differ from the packet as it was received.",
];
/// Rows of a page.
const PAGE: usize = 10;
/// Columns by which a pane is scrolled.
const SHIFT: u16 = 8;
const MOST_SHIFT: u16 = 400;
/// Bytes of a command.
const LONGEST: usize = 4096;
/// Commands that are recalled.
const HISTORY: usize = 100;
