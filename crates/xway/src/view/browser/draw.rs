//! The picture: head, names of the tables, the rows that fit, and a line of help or the filter.

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span, Text};

use super::{Browser, Sheet};
use crate::view::wrapped;

/// Draws a state for an area.
pub fn picture<'a>(browser: &Browser, head: &str, sheets: &[Sheet], area: Rect) -> Text<'a> {
    let width = usize::from(area.width);
    let mut lines: Vec<Line<'a>> = above(browser, head, sheets, width);
    let room = usize::from(area.height).saturating_sub(lines.len() + 1);
    if browser.has_help {
        let help = HELP.iter().take(room).map(|line| Line::raw((*line).to_owned()));
        lines.extend(help);
    } else if let Some(sheet) = sheets.get(browser.sheet) {
        lines.extend(rows(browser, sheet, width, room));
    }
    lines.resize(usize::from(area.height).saturating_sub(1), Line::default());
    lines.push(foot(browser, sheets, width));
    Text::from(lines)
}

/// Number of rows of the table that fit.
pub fn height(head: &str, area: Rect) -> usize {
    let head = head_lines(head, usize::from(area.width)).count();
    usize::from(area.height).saturating_sub(head + BETWEEN + TABLE_HEAD)
}

fn head_lines(head: &str, width: usize) -> impl Iterator<Item = String> {
    let wrap = move |line: &str| -> Vec<String> {
        wrapped(line, width).lines().map(str::to_owned).collect()
    };
    head.lines().flat_map(wrap)
}

fn above<'a>(browser: &Browser, head: &str, sheets: &[Sheet], width: usize) -> Vec<Line<'a>> {
    let mut lines: Vec<_> = head_lines(head, width).map(Line::raw).collect();
    let names = sheets.iter().enumerate().flat_map(|(number, sheet)| {
        let style = if number == browser.sheet { REVERSED } else { Style::new() };
        [Span::styled(format!(" {} ", sheet.name), style), Span::raw(" ")]
    });
    lines.push(names.collect::<Vec<_>>().into());
    lines
}

fn rows<'a>(browser: &Browser, sheet: &Sheet, width: usize, room: usize) -> Vec<Line<'a>> {
    let choice = browser.choices.get(browser.sheet).cloned().unwrap_or_default();
    if sheet.len(&choice) == 0 {
        let text = match choice.filter.is_empty() {
            true => sheet.empty.clone(),
            false => format!("no row contains `{}`", choice.filter),
        };
        return wrapped(&text, width).lines().map(|line| Line::raw(line.to_owned())).collect();
    }
    let text = sheet.shown(&choice, room.saturating_sub(TABLE_HEAD)).within(width);
    let lines = text.lines().take(room).enumerate().map(|(number, line)| {
        let style = if number == 0 { BOLD } else { Style::new() };
        Line::styled(line.to_owned(), style)
    });
    lines.collect()
}

/// The filter that is typed, or the keys that fit, and which rows are shown.
fn foot<'a>(browser: &Browser, sheets: &[Sheet], width: usize) -> Line<'a> {
    let choice = browser.choices.get(browser.sheet).cloned().unwrap_or_default();
    if browser.is_typing {
        return Line::raw(format!("filter: {}_  (Enter accepts, Esc clears)", choice.filter));
    }
    let mut text = String::new();
    if browser.is_paused {
        text.push_str("paused; ");
    }
    if !choice.filter.is_empty() {
        text.push_str(&format!("filter `{}`; ", choice.filter));
    }
    let rows = sheets.get(browser.sheet).map_or(0, |sheet| sheet.len(&choice));
    if choice.skipped > 0 {
        text.push_str(&format!("from row {} of {rows}; ", choice.skipped + 1));
    }
    for key in KEYS {
        if text.chars().count() + key.chars().count() > width {
            break;
        }
        text.push_str(key);
    }
    Line::styled(text.trim_end().to_owned(), DIM)
}

const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// Keys of the line of help, the most important first.
const KEYS: [&str; 7] =
    ["q quit  ", "? help  ", "/ filter  ", "←→ sort  ", "Tab table  ", "↑↓ scroll  ", "p pause"];
const HELP: [&str; 12] = [
    "",
    "q, Esc, Ctrl-C   quit",
    "Tab, Shift-Tab   next or previous table",
    "← →, < >         sort by the next column",
    "r                reverse the order",
    "/                show rows that contain a text",
    "a                use this filter in all tables",
    "↑ ↓, j k         scroll by one row",
    "PgUp PgDn        scroll by a page",
    "Home End, g G    first or last rows",
    "p, space         pause, or continue",
    "?, h, F1         this help",
];
/// Lines other than head and table: names of the tables, and the last line.
const BETWEEN: usize = 2;
/// Lines of a table above its rows.
const TABLE_HEAD: usize = 2;
