//! The picture of a scenario while it runs: a bar for each arm, and the current event.

use ratatui::Frame;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::number::human;

use super::state::{ArmState, ScenarioState, rough};
use crate::view::live::Drawing;

impl ScenarioState {
    /// Rows of the whole picture; a terminal with fewer shows the arms around the current one.
    pub fn height(&self) -> u16 {
        u16::try_from(self.arms.len()).unwrap_or(u16::MAX).saturating_add(AROUND)
    }

    fn head(&self) -> Line<'_> {
        let now = self.now.map_or("", |arm| self.arms[arm].name.as_str());
        Line::from(vec![
            Span::from(self.title.as_str()).bold(),
            format!("  {}, about {} left; now ", self.called(self.round), rough(self.left()))
                .into(),
            now.into(),
        ])
    }

    /// The arms that fit into `rows`.
    fn visible(&self, rows: usize) -> &[ArmState] {
        let rows = rows.min(self.arms.len());
        let begin = self.now.unwrap_or(0).saturating_sub(rows / 2);
        let begin = begin.min(self.arms.len() - rows);
        &self.arms[begin..begin + rows]
    }

    /// Bars of one unit share their scale.
    fn largest(&self, unit: &str) -> f64 {
        let medians = self.arms.iter().filter(|arm| arm.unit == unit).filter_map(ArmState::median);
        medians.fold(0.0, f64::max)
    }

    fn row(&self, arm: &ArmState, (label, width): (usize, usize)) -> Line<'_> {
        let is_now = self.now.is_some_and(|now| self.arms[now].name == arm.name);
        let mark = if is_now { '>' } else { ' ' };
        let name: String = arm.name.chars().take(label).collect();
        let value = match arm.median() {
            _ if arm.is_out => "excluded".to_owned(),
            None => String::new(),
            Some(median) => human(median, &arm.unit),
        };
        let text = format!("{mark} {name:<label$} {value:>VALUE$} ");
        let room = width.saturating_sub(label + VALUE + 4);
        let share = arm.median().filter(|_| !arm.is_out).map_or(0.0, |median| {
            let largest = self.largest(&arm.unit);
            if largest > 0.0 { (median / largest).clamp(0.0, 1.0) } else { 0.0 }
        });
        let colour = if arm.counts() { Color::Blue } else { Color::DarkGray };
        let bar = Span::styled(bar(share, room), Style::new().fg(colour));
        let text = if is_now { Span::from(text).bold() } else { Span::from(text) };
        Line::from(vec![text, bar])
    }
}

impl Drawing for ScenarioState {
    fn line(&self) -> String {
        self.line.clone()
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let rows = usize::from(area.height.saturating_sub(AROUND));
        let longest = self.arms.iter().map(|arm| arm.name.chars().count()).max();
        let label = longest.unwrap_or(0).min(usize::from(area.width) / 3);
        let size = (label, usize::from(area.width));
        let arms = self.visible(rows).iter().map(|arm| self.row(arm, size));
        let foot = [Line::from(self.message.as_str()), Line::from(HINT).dim()];
        let lines: Vec<Line<'_>> = [self.head()].into_iter().chain(arms).chain(foot).collect();
        frame.render_widget(Paragraph::new(lines), area);
    }
}

/// `share` (0 to 1) of `room` columns, to an eighth of one.
fn bar(share: f64, room: usize) -> String {
    let eighths = (share * (room * 8) as f64).round() as usize;
    let last = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{last}", "█".repeat(eighths / 8))
}

/// Rows for the head, the last message, and the hint.
const AROUND: u16 = 3;
/// Columns of a value with its unit.
const VALUE: usize = 11;
const HINT: &str = "Ctrl-C ends after this turn and keeps what was measured; again: immediately";
