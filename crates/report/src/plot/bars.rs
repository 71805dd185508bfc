//! A bar for each of several rows: which is faster, and by how much.
//!
//! Rule: names are above their bars and values at the right edge, so nothing is rotated, cut or
//! overlaid, however narrow the screen. Measured values set the scale; a published bar that is
//! longer is cut at the edge and marked.

use super::axis::Axis;
use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, Svg, clip, letters, wrap};
use super::footnote::Footnotes;
use super::heading::{heading, note, references};
use super::mark::{self, drawable};
use super::theme::{GREY, LETTER, LINE, SMALL_LETTER, colour};
use crate::Stats;

/// Horizontal bars of one unit, in the order in which they are added.
#[derive(Debug, Clone)]
pub struct Bars {
    title: String,
    subtitle: String,
    unit: String,
    bars: Vec<Bar>,
    sources: Vec<String>,
    footnotes: Footnotes,
}

#[derive(Debug, Clone)]
struct Bar {
    name: String,
    /// Signs of its footnotes.
    signs: String,
    stats: Option<Stats>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Ours,
    Bound,
    Published,
    Absent(String),
}

impl Bars {
    /// `unit` is that of the values, such as `pps` or `ns`; the figure finds the prefix.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Bars {
        Bars {
            title: title.into(),
            subtitle: String::new(),
            unit: unit.into(),
            bars: Vec::new(),
            sources: Vec::new(),
            footnotes: Footnotes::default(),
        }
    }

    /// Sets the heading.
    pub fn title(&mut self, title: impl Into<String>) -> &mut Bars {
        self.title = title.into();
        self
    }

    /// Sets the line below the heading.
    pub fn subtitle(&mut self, subtitle: impl Into<String>) -> &mut Bars {
        self.subtitle = subtitle.into();
        self
    }

    /// Unit of the values.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Something measured: a bar to the median with a whisker from min to max.
    pub fn bar(&mut self, name: &str, stats: Stats) -> &mut Bars {
        self.push(name, Some(stats), Kind::Ours)
    }

    /// As [`Bars::bar`], of what bounds the others and does not compete with them: in grey.
    pub fn bound(&mut self, name: &str, stats: Stats) -> &mut Bars {
        self.push(name, Some(stats), Kind::Bound)
    }

    /// Adds a row without a bar, labeled "not measured".
    pub fn missing(&mut self, name: &str) -> &mut Bars {
        self.push(name, None, Kind::Ours)
    }

    /// Adds a row without a bar, labeled "not here" with the reason.
    pub fn absent(&mut self, name: &str, reason: &str) -> &mut Bars {
        self.push(name, None, Kind::Absent(reason.into()))
    }

    /// Adds a published value, drawn lighter; `source` names publication and hardware.
    pub fn reference(&mut self, name: &str, value: f64, source: &str) -> &mut Bars {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.into());
        }
        self.push(name, Some(Stats::single(value)), Kind::Published)
    }

    /// A footnote of the last bar.
    pub fn mark(&mut self, text: &str) -> &mut Bars {
        if let Some(bar) = self.bars.last_mut() {
            bar.signs.push_str(&self.footnotes.sign(text));
        }
        self
    }

    /// Draws the figure.
    pub fn to_svg(&self) -> Svg {
        let mut canvas = Canvas::default();
        let top = heading(&mut canvas, &self.title, &self.subtitle);
        let axis = self.axis();
        let mut y = top;
        for (index, bar) in self.bars.iter().enumerate() {
            let row = Area { x: LEFT, y, width: RIGHT - LEFT, height: 0.0 };
            self.draw(&mut canvas, row, &axis, index);
            y += bar.height();
        }
        let area = Area { x: LEFT, y: top, width: RIGHT - LEFT, height: y - top };
        y = mark::labels(&mut canvas, area, &axis);
        if self.bars.iter().any(Bar::has_whisker) {
            y = note(&mut canvas, y, "Bar: median. Whisker: min to max.");
        }
        y = self.footnotes.draw(&mut canvas, y);
        y = references(&mut canvas, y, &self.sources);
        canvas.finish(&self.label(), y + 12.0)
    }

    fn push(&mut self, name: &str, stats: Option<Stats>, kind: Kind) -> &mut Bars {
        self.bars.push(Bar {
            name: name.into(),
            signs: String::new(),
            stats: drawable(stats),
            kind,
        });
        self
    }

    fn axis(&self) -> Axis {
        let own = self.bars.iter().filter(|bar| bar.kind != Kind::Published);
        let own = own.flat_map(Bar::ends).reduce(f64::max).filter(|own| *own > 0.0);
        let longest = own.map_or(f64::INFINITY, |own| own * REACH);
        let ends = self.bars.iter().flat_map(Bar::ends).map(|end| end.min(longest));
        Axis::over(ends, &self.unit, 5)
    }

    /// Name and value above the bar, the range softer before the value.
    fn draw(&self, canvas: &mut Canvas, row: Area, axis: &Axis, index: usize) {
        let bar = &self.bars[index];
        let (value, range) = self.words(bar, axis);
        let y = row.y + LINE - 6.0;
        let value_width = LETTER * (value.chars().count() + 1) as f64;
        let range_width = SMALL_LETTER * range.chars().count() as f64;
        let room = letters(row.width - value_width - range_width, LETTER);
        let class = bar.text_class();
        canvas.text(class, (row.x, y), Anchor::Start, &clip(&self.name(index), room));
        canvas.text(class, (row.right(), y), Anchor::End, &value);
        let range_end = row.right() - value_width;
        canvas.text("small soft", (range_end, y), Anchor::End, &range);
        let place = Area { y: row.y + LINE, height: bar.thickness(), ..row };
        if let Kind::Absent(reason) = &bar.kind {
            return absence(canvas, place, reason);
        }
        mark::grid(canvas, Area { y: place.y - 3.0, height: place.height + 6.0, ..place }, axis);
        if let Some(stats) = bar.stats {
            mark::bar(canvas, &bar.class(), place, axis, stats);
        }
    }

    /// A published value right below its own bar does not repeat the name.
    fn name(&self, index: usize) -> String {
        let bar = &self.bars[index];
        let above = index.checked_sub(1).map(|above| &self.bars[above]);
        match above {
            _ if bar.kind != Kind::Published => format!("{}{}", bar.name, bar.signs),
            Some(above) if above.name == bar.name => "published".into(),
            _ => format!("{}, published", bar.name),
        }
    }

    fn words(&self, bar: &Bar, axis: &Axis) -> (String, String) {
        let (value, range) = mark::words(bar.stats, &self.unit);
        match bar.kind {
            Kind::Absent(_) => ("not here".into(), String::new()),
            _ if bar.ends().any(|end| end > axis.high()) => (value, "beyond the scale →".into()),
            _ => (value, range),
        }
    }

    fn label(&self) -> String {
        let values = self.bars.iter().enumerate().map(|(index, bar)| match &bar.kind {
            Kind::Absent(reason) => format!("{} not here: {reason}", bar.name),
            Kind::Published => format!("{} {}", self.name(index), self.value(bar)),
            _ => format!("{} {}", bar.name, self.value(bar)),
        });
        format!("{}: {}", self.title, values.collect::<Vec<_>>().join(", "))
    }

    fn value(&self, bar: &Bar) -> String {
        mark::words(bar.stats, &self.unit).0
    }
}

/// Why there is no bar, where it would be.
fn absence(canvas: &mut Canvas, place: Area, reason: &str) {
    let lines = wrap(reason, letters(place.width, SMALL_LETTER));
    for (index, line) in lines.iter().take(REASON_LINES).enumerate() {
        let is_cut = index + 1 == REASON_LINES && lines.len() > REASON_LINES;
        let line = if is_cut { format!("{line} …") } else { line.clone() };
        let y = place.y + 12.0 + (LINE - 6.0) * index as f64;
        canvas.text("small soft", (place.x, y), Anchor::Start, &line);
    }
}

impl Bar {
    fn ends(&self) -> impl Iterator<Item = f64> {
        self.stats.into_iter().flat_map(|stats| [stats.min, stats.median, stats.max])
    }

    fn has_whisker(&self) -> bool {
        self.stats.is_some_and(|stats| stats.max > stats.min)
    }

    fn class(&self) -> String {
        let (series, mark) = match self.kind {
            Kind::Published => (GREY, "reference"),
            Kind::Bound => (GREY, "bar"),
            _ => (0, "bar"),
        };
        format!("{} {mark}", colour(series))
    }

    fn text_class(&self) -> &'static str {
        match self.kind {
            Kind::Ours => "strong",
            Kind::Published => "small soft",
            _ => "soft",
        }
    }

    fn thickness(&self) -> f64 {
        if self.kind == Kind::Published { BAR / 2.0 } else { BAR }
    }

    /// With its name above and what separates it from the next.
    fn height(&self) -> f64 {
        match &self.kind {
            Kind::Published => LINE + BAR / 2.0 + 12.0,
            Kind::Absent(reason) => {
                let lines = wrap(reason, letters(RIGHT - LEFT, SMALL_LETTER)).len();
                LINE + (LINE - 6.0) * lines.clamp(1, REASON_LINES) as f64 + 10.0
            }
            _ => LINE + BAR + 14.0,
        }
    }
}

const BAR: f64 = 20.0;
/// How long a published bar may be beside the longest of ours.
const REACH: f64 = 1.5;
/// Maximum number of lines of the reason for an absent row.
const REASON_LINES: usize = 2;
