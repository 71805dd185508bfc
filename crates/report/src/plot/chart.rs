//! Values over time: panels below each other on one time axis, with named phases in the background.
//!
//! Rule: values of different units get their own panels, never a second y axis. Phases differ by
//! name and by shade; a gap in the values is a gap in the line.

use super::axis::{Axis, is_plottable};
use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, Svg, letters, wrap};
use super::heading::{Key, Swatch, heading, legend};
use super::mark::levels;
use super::theme::{self, LETTER, LINE};

/// Panels that share one x axis.
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    subtitle: String,
    unit: String,
    phases: Vec<Phase>,
    panels: Vec<Panel>,
}

/// A named stretch of the x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Name above the phase.
    pub name: String,
    /// Time at which the phase begins.
    pub start: f64,
    /// Time at which the phase ends.
    pub end: f64,
    /// Shade of the background.
    pub tone: Tone,
}

/// The shade of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Danger,
    Safe,
}

/// One y axis and what is drawn on it.
#[derive(Debug, Clone)]
pub struct Panel {
    title: String,
    unit: String,
    series: Vec<Series>,
    notes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Series {
    name: String,
    colour: usize,
    style: Style,
    points: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Line,
    Area,
    Dashed,
}

impl Panel {
    /// `unit` is that of the values; the figure finds the prefix.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Panel {
        let (title, unit) = (title.into(), unit.into());
        Panel { title, unit, series: Vec::new(), notes: Vec::new() }
    }

    /// Adds a line through `points` (x, y); a point that is not a number interrupts it.
    pub fn line(self, name: &str, colour: usize, points: Vec<(f64, f64)>) -> Panel {
        self.with(name, colour, Style::Line, points)
    }

    /// A line with the area down to zero filled.
    pub fn area(self, name: &str, colour: usize, points: Vec<(f64, f64)>) -> Panel {
        self.with(name, colour, Style::Area, points)
    }

    /// Adds values that were not measured here, dashed and gray; their name should state it.
    pub fn reference(self, name: &str, points: Vec<(f64, f64)>) -> Panel {
        self.with(name, theme::GREY, Style::Dashed, points)
    }

    /// One short text for each phase of the chart, shown above the values, such as a median.
    pub fn notes(mut self, notes: Vec<String>) -> Panel {
        self.notes = notes;
        self
    }

    fn with(mut self, name: &str, colour: usize, style: Style, points: Vec<(f64, f64)>) -> Panel {
        self.series.push(Series { name: name.into(), colour, style, points });
        self
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(|series| series.points.iter().map(|point| point.1))
    }

    fn keys(&self) -> Vec<Key> {
        if self.series.len() < 2 {
            return Vec::new();
        }
        let key = |series: &Series| Key { swatch: series.swatch(), name: series.name.clone() };
        self.series.iter().map(key).collect()
    }
}

impl Series {
    fn swatch(&self) -> Swatch {
        let mark = if self.style == Style::Dashed { "reference" } else { "bar" };
        Swatch::Box(format!("{} {mark}", theme::colour(self.colour)))
    }

    /// Runs of points that can be drawn.
    fn runs(&self) -> impl Iterator<Item = &[(f64, f64)]> {
        let split = self.points.split(|(x, y)| !is_plottable(*x) || !is_plottable(*y));
        split.filter(|run| !run.is_empty())
    }

    fn draw(&self, canvas: &mut Canvas, plot: &Plot) {
        let colour = theme::colour(self.colour);
        let is_filled = self.style == Style::Area;
        let line = if self.style == Style::Dashed { "dashed" } else { "line" };
        for run in self.runs() {
            let points: Vec<_> = run.iter().map(|point| plot.at(*point)).collect();
            if is_filled {
                let (first, last) = (points[0].0, points[points.len() - 1].0);
                let floor = [(last, plot.y(0.0)), (first, plot.y(0.0))];
                let outline = [points.as_slice(), &floor].concat();
                // What lies below is hidden first, or two areas would mix to a third color.
                canvas.path("under", &outline, true);
                canvas.path(&format!("{colour} area"), &outline, true);
            }
            canvas.path(&format!("{colour} {line}"), &points, false);
        }
    }
}

impl Chart {
    /// `unit` is that of x, such as `s`.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Chart {
        let (title, unit) = (title.into(), unit.into());
        Chart { title, unit, subtitle: String::new(), phases: Vec::new(), panels: Vec::new() }
    }

    /// Sets the line below the heading.
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Chart {
        self.subtitle = subtitle.into();
        self
    }

    /// Adds a phase. One whose ends are not numbers, or in the wrong order, is left out.
    pub fn phase(mut self, phase: Phase) -> Chart {
        let is_drawable = is_plottable(phase.start) && is_plottable(phase.end);
        if is_drawable && phase.start < phase.end {
            self.phases.push(phase);
        }
        self
    }

    /// One more panel, below the others.
    pub fn panel(mut self, panel: Panel) -> Chart {
        self.panels.push(panel);
        self
    }

    /// Draws the figure.
    pub fn to_svg(&self) -> Svg {
        let mut canvas = Canvas::default();
        let x = self.x_axis();
        let mut y = heading(&mut canvas, &self.title, &self.subtitle);
        y = self.phase_names(&mut canvas, y, &x);
        for panel in &self.panels {
            y = self.draw(&mut canvas, y, &x, panel) + GAP;
        }
        y = self.time_labels(&mut canvas, y - GAP, &x);
        let names: Vec<_> = self.panels.iter().map(|panel| panel.title.as_str()).collect();
        canvas.finish(&format!("{}: {}", self.title, names.join(", ")), y + 12.0)
    }

    fn x_axis(&self) -> Axis {
        let phases = self.phases.iter().flat_map(|phase| [phase.start, phase.end]);
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        let points = series.flat_map(|series| series.points.iter().map(|point| point.0));
        Axis::exact(phases.chain(points), &self.unit, 6)
    }

    /// Names above the first panel, centred on their phases and standing on one base line.
    fn phase_names(&self, canvas: &mut Canvas, y: f64, x: &Axis) -> f64 {
        let wrapped = self.phases.iter().map(|phase| {
            let (left, right) = span(x, phase);
            let room = letters(right - left, LETTER);
            let parts = phase.name.split_inclusive(", ");
            let lines: Vec<_> = parts.flat_map(|part| wrap(part, room)).take(NAME_LINES).collect();
            ((left + right) / 2.0, lines)
        });
        let wrapped: Vec<_> = wrapped.collect();
        let tallest = wrapped.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        for (middle, lines) in &wrapped {
            let skipped = tallest - lines.len();
            for (index, line) in lines.iter().enumerate() {
                let base = y + (LINE - 4.0) * (skipped + index + 1) as f64 - 4.0;
                canvas.text("strong", (*middle, base), Anchor::Middle, line);
            }
        }
        y + (LINE - 4.0) * tallest as f64 + 8.0
    }

    fn draw(&self, canvas: &mut Canvas, y: f64, x: &Axis, panel: &Panel) -> f64 {
        let axis = Axis::over(panel.values(), &panel.unit, 5);
        let name = format!("{}, {}", panel.title, axis.unit());
        let name = name.trim_end_matches([',', ' ']);
        canvas.text("strong", (LEFT, y + LINE - 8.0), Anchor::Start, name);
        let y = legend(canvas, y + LINE, &panel.keys());
        let has_notes = !self.phases.is_empty() && !panel.notes.is_empty();
        let strip = if has_notes { LINE + 2.0 } else { 6.0 };
        let area = Area { x: START, y, width: RIGHT - START, height: PLOT + strip };
        self.shade(canvas, area, x);
        let plot = Plot { x, y: &axis, area: Area { y: y + strip, height: PLOT, ..area } };
        levels(canvas, plot.area, &axis);
        for series in &panel.series {
            series.draw(canvas, &plot);
        }
        self.notes(canvas, y, x, panel);
        area.bottom()
    }

    fn shade(&self, canvas: &mut Canvas, area: Area, x: &Axis) {
        for phase in &self.phases {
            let (left, right) = span(x, phase);
            let class = match phase.tone {
                Tone::Plain => "plain",
                Tone::Danger => "danger",
                Tone::Safe => "safe",
            };
            // A slit of background between the bands separates them without a line.
            let width = (right - left - 2.0).max(1.0);
            canvas.rect(class, Area { x: left + 1.0, width, ..area }, 3.0);
        }
    }

    /// A note that is wider than its phase is left out; the table has it.
    fn notes(&self, canvas: &mut Canvas, y: f64, x: &Axis, panel: &Panel) {
        for (phase, note) in self.phases.iter().zip(&panel.notes) {
            let (left, right) = span(x, phase);
            if note.chars().count() <= letters(right - left, LETTER) {
                let at = ((left + right) / 2.0, y + LINE - 6.0);
                canvas.text("strong", at, Anchor::Middle, note);
            }
        }
    }

    fn time_labels(&self, canvas: &mut Canvas, y: f64, x: &Axis) -> f64 {
        let ticks = x.ticks();
        for (index, (value, label)) in ticks.iter().enumerate() {
            let at = START + (RIGHT - START) * x.place(*value);
            canvas.path("base", &[(at, y), (at, y + 5.0)], false);
            let is_last = index + 1 == ticks.len();
            let label = if is_last { format!("{label} {}", x.unit()) } else { label.clone() };
            let anchor = if is_last && at > RIGHT - 40.0 { Anchor::End } else { Anchor::Middle };
            let at = if matches!(anchor, Anchor::End) { RIGHT } else { at };
            canvas.text("small soft", (at, y + 24.0), anchor, label.trim_end());
        }
        y + 28.0
    }
}

/// A panel's coordinates.
struct Plot<'a> {
    x: &'a Axis,
    y: &'a Axis,
    area: Area,
}

impl Plot<'_> {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.area.x + self.area.width * self.x.place(x), self.y(y))
    }

    fn y(&self, value: f64) -> f64 {
        self.area.bottom() - self.area.height * self.y.place(value)
    }
}

/// Left and right edge of a phase.
fn span(x: &Axis, phase: &Phase) -> (f64, f64) {
    let at = |value| START + (RIGHT - START) * x.place(value);
    (at(phase.start), at(phase.end))
}

/// Where the plots begin, right of the y labels.
const START: f64 = LEFT + 48.0;
const PLOT: f64 = 160.0;
const GAP: f64 = 14.0;
const NAME_LINES: usize = 3;
