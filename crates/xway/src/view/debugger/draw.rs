//! The picture: position, panes, a message, and a line of keys or the command that is typed.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::text;

use super::rows::{PacketRow, packet_rows};
use super::{Mode, Pane, Panes, Report};
use crate::view::wrapped;

/// Draws a state.
pub fn draw(panes: &Panes, frame: &mut Frame<'_>) {
    let rows =
        [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1), Constraint::Length(1)];
    let [head, middle, message, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(self::head(panes)).style(REVERSED), head);
    match &panes.mode {
        Mode::Text(lines, first) => {
            frame.render_widget(Paragraph::new(text_lines(lines, *first, middle)), middle);
        }
        _ => draw_panes(panes, middle, frame),
    }
    let style = if panes.message.is_error { BOLD } else { Style::new() };
    let text = text::line(&panes.message.text).into_owned();
    frame.render_widget(Paragraph::new(Line::styled(text, style)), message);
    frame.render_widget(Paragraph::new(self::foot(panes, foot.width)), foot);
}

/// Bytes of the packet in a row.
pub fn bytes_per_row(area: Rect) -> usize {
    let width = if is_small(area) { area.width } else { panes_of(area).packet.width - 1 };
    let width = usize::from(width);
    if width >= OFFSET + 16 * BYTE + NAMES { 16 } else { 8 }
}

/// Whether one pane is shown, in an area with or without the other lines.
fn is_small(area: Rect) -> bool {
    area.height < LOW || area.width < NARROW
}

/// The areas of the panes.
struct Areas {
    source: Rect,
    code: Rect,
    values: Rect,
    packet: Rect,
    /// `None` where maps and values share an area.
    maps: Option<Rect>,
}

fn panes_of(area: Rect) -> Areas {
    let [above, below] = Layout::vertical([Constraint::Fill(6), Constraint::Fill(5)]).areas(area);
    let [source, code] =
        Layout::horizontal([Constraint::Fill(6), Constraint::Fill(5)]).areas(above);
    if area.width >= WIDE {
        let parts = [Constraint::Fill(1), Constraint::Length(PACKET), Constraint::Fill(1)];
        let [values, packet, maps] = Layout::horizontal(parts).areas(below);
        return Areas { source, code, values, packet, maps: Some(maps) };
    }
    let [values, packet] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(below);
    Areas { source, code, values, packet, maps: None }
}

fn draw_panes(panes: &Panes, area: Rect, frame: &mut Frame<'_>) {
    let Some(report) = &panes.report else {
        let text = "The position is not shown. Press . to read it again.";
        frame.render_widget(Paragraph::new(text), area);
        return;
    };
    if is_small(frame.area()) {
        draw_pane(panes, report, panes.focus, area, frame);
        return;
    }
    let areas = panes_of(area);
    draw_pane(panes, report, Pane::Source, areas.source, frame);
    draw_pane(panes, report, Pane::Code, beside(areas.code, frame), frame);
    let side = if areas.maps.is_some() { Pane::Values } else { panes.side };
    draw_pane(panes, report, side, areas.values, frame);
    draw_pane(panes, report, Pane::Packet, beside(areas.packet, frame), frame);
    if let Some(maps) = areas.maps {
        draw_pane(panes, report, Pane::Maps, beside(maps, frame), frame);
    }
}

/// Draws a line at the left of an area, and returns what remains of it.
fn beside(area: Rect, frame: &mut Frame<'_>) -> Rect {
    let [line, rest] = Layout::horizontal([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let lines = vec![Line::raw("│"); usize::from(area.height)];
    frame.render_widget(Paragraph::new(lines).style(DIM), line);
    rest
}

fn draw_pane(panes: &Panes, report: &Report, pane: Pane, area: Rect, frame: &mut Frame<'_>) {
    let [head, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let has_focus = panes.focus == pane;
    let width = usize::from(head.width);
    let rule = if has_focus { '═' } else { '─' };
    let title = format!("{rule} {} ", title(pane, panes, report));
    let title: String = title.chars().chain(std::iter::repeat(rule)).take(width).collect();
    let style = if has_focus { BOLD } else { DIM };
    frame.render_widget(Paragraph::new(title).style(style), head);
    let height = usize::from(rest.height);
    if pane == Pane::Packet {
        let lines = packet_lines(panes, report, (rest, bytes_per_row(frame.area())));
        frame.render_widget(Paragraph::new(lines), rest);
        return;
    }
    let (rows, cursor) = (panes.rows(pane), panes.cursor(pane));
    let first = first_row(cursor, rows.len(), height);
    let visible = rows.iter().enumerate().skip(first).take(height);
    let lines = visible.map(|(number, row)| {
        let mut style = if row.is_next || row.is_changed { BOLD } else { Style::new() };
        if row.is_heading {
            style = DIM;
        }
        if has_focus && number == cursor {
            style = style.add_modifier(Modifier::REVERSED);
        }
        Line::styled(row.text.clone(), style)
    });
    let lines: Vec<_> = lines.collect();
    let shift = panes.shifts[pane as usize];
    frame.render_widget(Paragraph::new(lines).scroll((0, shift)), rest);
}

/// The first row that is shown, so that the chosen one is in the middle.
fn first_row(cursor: usize, rows: usize, height: usize) -> usize {
    cursor.saturating_sub(height / 2).min(rows.saturating_sub(height))
}

fn title(pane: Pane, panes: &Panes, report: &Report) -> String {
    match (pane, &report.source) {
        (Pane::Source, Some(listing)) => text::line(&listing.file).into_owned(),
        (Pane::Source, None) => "no source lines".to_owned(),
        (Pane::Code, _) => match report.code.first() {
            Some(line) => format!("instructions of {}", text::line(&line.program)),
            None => "instructions".to_owned(),
        },
        (Pane::Values, _) => "values".to_owned(),
        (Pane::Maps, _) => "maps".to_owned(),
        (Pane::Packet, _) => {
            let packet = &report.overview.state.packet;
            let len = packet.bytes.len() / 2;
            let field = packet.field_at(panes.cursor(Pane::Packet));
            match field.filter(|_| panes.focus == Pane::Packet) {
                Some((name, value)) => format!("{name} = {}", text::line(&value)),
                None => format!("packet, {len} bytes"),
            }
        }
    }
}

fn packet_lines(
    panes: &Panes,
    report: &Report,
    (area, bytes): (Rect, usize),
) -> Vec<Line<'static>> {
    let (rows, height) = (packet_rows(report, bytes), usize::from(area.height));
    let cursor = panes.cursor(Pane::Packet);
    let first = first_row(cursor / bytes, rows.len(), height);
    let chosen = (panes.focus == Pane::Packet).then_some(cursor);
    rows.iter().skip(first).take(height).map(|row| packet_line(row, chosen, bytes)).collect()
}

fn packet_line(row: &PacketRow, chosen: Option<usize>, bytes: usize) -> Line<'static> {
    let mut spans = vec![Span::styled(format!("{:04x}: ", row.offset), DIM)];
    for (offset, (digits, is_changed)) in (row.offset..).zip(&row.bytes) {
        let mut style = if *is_changed { BOLD } else { Style::new() };
        if chosen == Some(offset) {
            style = style.add_modifier(Modifier::REVERSED);
        }
        spans.push(Span::styled(digits.clone(), style));
        spans.push(Span::raw(if *is_changed { "*" } else { " " }));
    }
    let missing = (bytes - row.bytes.len()) * BYTE;
    spans.push(Span::styled(format!("{:missing$}{}", "", row.headers), DIM));
    Line::from(spans)
}

fn text_lines(lines: &[String], first: usize, area: Rect) -> Vec<Line<'static>> {
    let wrap = |line: &String| -> Vec<String> {
        let line = text::line(&line.replace('\t', "    ")).into_owned();
        if line.chars().count() <= usize::from(area.width) {
            return vec![line];
        }
        wrapped(&line, usize::from(area.width)).lines().map(str::to_owned).collect()
    };
    let lines = lines.iter().skip(first).flat_map(wrap).take(usize::from(area.height));
    lines.map(Line::raw).collect()
}

/// Object and position.
fn head(panes: &Panes) -> String {
    let Some(report) = &panes.report else { return String::new() };
    let stop = &report.overview.stop;
    let mut text = format!(
        " {}  packet {} of {}, step {}",
        text::line(&report.object),
        stop.position.packet,
        report.packets,
        stop.position.step
    );
    if let Some(verdict) = stop.verdict {
        text.push_str(&format!("  verdict {verdict}"));
    }
    if let Some(fault) = &stop.fault {
        text.push_str(&format!("  fault: {}", text::line(fault)));
    }
    if let Some(place) = report.chosen() {
        let number = report.overview.state.frame;
        let number = if number > 0 { format!("#{number} ") } else { String::new() };
        text.push_str(&format!("  {number}{}", text::line(&place.function)));
        if let Some(source) = &place.source {
            let file = source.file.rsplit('/').next().unwrap_or_default();
            text.push_str(&format!(" at {}:{}", text::line(file), source.line));
        }
    }
    text
}

/// What is typed, or the keys that fit.
fn foot<'a>(panes: &Panes, width: u16) -> Line<'a> {
    let (prompt, typed) = match &panes.mode {
        Mode::Command(text, _) => (":", text),
        Mode::Search(text) => ("/", text),
        Mode::Text(..) => {
            return Line::styled("↑↓ PgUp PgDn scroll; any other key closes this", DIM);
        }
        Mode::Keys => {
            let mut text = String::new();
            for key in KEYS {
                if text.chars().count() + key.chars().count() > usize::from(width) {
                    break;
                }
                text.push_str(key);
            }
            return Line::styled(text.trim_end().to_owned(), DIM);
        }
    };
    // The end of a long command remains visible.
    let room = usize::from(width).saturating_sub(2);
    let typed = text::line(typed).into_owned();
    let hidden = typed.chars().count().saturating_sub(room);
    let shown: String = typed.chars().skip(hidden).collect();
    Line::raw(format!("{prompt}{shown}_"))
}

const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// Columns from which maps have a pane of their own.
const WIDE: u16 = 130;
/// Columns of the packet then: offset, 16 bytes, names of headers.
const PACKET: u16 = 66;
/// Columns of the offset, a byte, and the names of headers.
const OFFSET: usize = 6;
const BYTE: usize = 3;
const NAMES: usize = 10;
/// Rows and columns below which one pane is shown.
const LOW: u16 = 12;
const NARROW: u16 = 60;
/// Keys of the last line, the most important first.
const KEYS: [&str; 9] = [
    "q quit  ",
    "? help  ",
    "s n f c i step  ",
    "S N F C I back  ",
    "b break  ",
    ": command  ",
    "] [ packet  ",
    "Tab pane  ",
    "/ search  ",
];
