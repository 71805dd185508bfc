//! A bar for each of several things: who is faster, and by how much.
//!
//! Rule: names stand above their bars and values at the right edge, so nothing is rotated,
//! cut or overlaid, however narrow the screen.

use super::axis::Axis;
use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, Svg, clip, letters};
use super::heading::{bar_class, heading, note, references};
use super::mark::{self, drawable};
use super::theme::{GREY, LETTER, LINE, SMALL_LETTER};
use crate::Stats;

/// Horizontal bars of one unit, in the order in which they are added.
#[derive(Debug, Clone)]
pub struct Bars {
    title: String,
    subtitle: String,
    unit: String,
    bars: Vec<Bar>,
    sources: Vec<String>,
}

#[derive(Debug, Clone)]
struct Bar {
    name: String,
    stats: Option<Stats>,
    is_reference: bool,
}

impl Bars {
    /// `unit` is that of the values, such as `pps` or `ns`; the figure finds the prefix.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Bars {
        let (title, unit) = (title.into(), unit.into());
        Bars { title, unit, subtitle: String::new(), bars: Vec::new(), sources: Vec::new() }
    }

    pub fn title(&mut self, title: impl Into<String>) -> &mut Bars {
        self.title = title.into();
        self
    }

    pub fn subtitle(&mut self, subtitle: impl Into<String>) -> &mut Bars {
        self.subtitle = subtitle.into();
        self
    }

    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Something measured: a bar to the median with a whisker from min to max.
    pub fn bar(&mut self, name: &str, stats: Stats) -> &mut Bars {
        self.push(name, Some(stats), false)
    }

    /// A place that says "not measured".
    pub fn missing(&mut self, name: &str) -> &mut Bars {
        self.push(name, None, false)
    }

    /// A published value, drawn lighter; `source` says where it was published and on what.
    pub fn reference(&mut self, name: &str, value: f64, source: &str) -> &mut Bars {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.into());
        }
        self.push(name, Some(Stats::single(value)), true)
    }

    pub fn to_svg(&self) -> Svg {
        let mut canvas = Canvas::default();
        let top = heading(&mut canvas, &self.title, &self.subtitle);
        let height = ROW * self.bars.len() as f64;
        let area = Area { x: LEFT, y: top, width: RIGHT - LEFT, height };
        let axis = Axis::over(self.bars.iter().flat_map(Bar::ends), &self.unit, 5);
        for (index, bar) in self.bars.iter().enumerate() {
            let y = top + ROW * index as f64;
            self.draw(&mut canvas, Area { y, height: ROW, ..area }, &axis, bar);
        }
        let mut y = mark::labels(&mut canvas, area, &axis);
        if self.bars.iter().any(Bar::has_whisker) {
            y = note(&mut canvas, y, "Bar: median. Whisker: min to max.");
        }
        y = references(&mut canvas, y, &self.sources);
        canvas.finish(&self.label(), y + 12.0)
    }

    fn push(&mut self, name: &str, stats: Option<Stats>, is_reference: bool) -> &mut Bars {
        self.bars.push(Bar { name: name.into(), stats: drawable(stats), is_reference });
        self
    }

    /// Name and value above the bar, the range softer before the value.
    fn draw(&self, canvas: &mut Canvas, row: Area, axis: &Axis, bar: &Bar) {
        let (value, range) = mark::words(bar.stats, &self.unit);
        let y = row.y + LINE - 6.0;
        let value_width = LETTER * (value.chars().count() + 1) as f64;
        let range_width = SMALL_LETTER * range.chars().count() as f64;
        let room = letters(row.width - value_width - range_width, LETTER);
        let name = if bar.is_reference { "soft" } else { "strong" };
        canvas.text(name, (row.x, y), Anchor::Start, &clip(&bar.name, room));
        canvas.text(name, (row.right(), y), Anchor::End, &value);
        let range_end = row.right() - value_width;
        canvas.text("small soft", (range_end, y), Anchor::End, &range);
        let place = Area { y: row.y + LINE, height: BAR, ..row };
        mark::grid(canvas, Area { y: place.y - 3.0, height: BAR + 6.0, ..place }, axis);
        if let Some(stats) = bar.stats {
            let class = bar_class(if bar.is_reference { GREY } else { 0 }, bar.is_reference);
            mark::bar(canvas, &class, place, axis, stats);
        }
    }

    fn label(&self) -> String {
        let values = self.bars.iter().map(|bar| {
            let (value, _) = mark::words(bar.stats, &self.unit);
            format!("{} {value}", bar.name)
        });
        format!("{}: {}", self.title, values.collect::<Vec<_>>().join(", "))
    }
}

impl Bar {
    fn ends(&self) -> impl Iterator<Item = f64> {
        self.stats.into_iter().flat_map(|stats| [stats.min, stats.median, stats.max])
    }

    fn has_whisker(&self) -> bool {
        self.stats.is_some_and(|stats| stats.max > stats.min)
    }
}

const BAR: f64 = 20.0;
const ROW: f64 = LINE + BAR + 14.0;
