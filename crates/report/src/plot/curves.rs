//! Values along something that was varied: the load, the number of cores, of destinations.
//!
//! Rule: curves differ by color and by the shape of their points, published ones by dashes;
//! a place where nothing was measured is a gap in the line.

use super::axis::{Axis, is_plottable};
use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, Svg, clip, letters};
use super::footnote::Footnotes;
use super::heading::{Key, Swatch, heading, legend, note, references};
use super::logarithm::Logarithm;
use super::mark::{drawable, levels};
use super::marker::marker;
use super::published::Published;
use super::theme::{self, LETTER, LINE, SMALL_LETTER};
use crate::Stats;
use crate::figure::XAxis;
use crate::number::human;

/// Lines of one unit through the medians of what was measured at each place.
#[derive(Debug, Clone)]
pub struct Curves {
    title: String,
    subtitle: String,
    unit: String,
    x: XAxis,
    curves: Vec<Curve>,
    published: Vec<Published>,
    sources: Vec<String>,
    footnotes: Footnotes,
    remarks: Vec<String>,
}

/// What was measured at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// From zero on.
    pub x: f64,
    /// `None` where nothing was measured.
    pub stats: Option<Stats>,
    /// Footnotes; a point that has one is drawn hollow.
    pub marks: Vec<String>,
}

#[derive(Debug, Clone)]
struct Curve {
    name: String,
    /// Signs of the footnotes of its points.
    signs: String,
    points: Vec<Point>,
}

impl Curves {
    /// `unit` is that of the values, such as `pps` or `ns`; the figure finds the prefix.
    pub fn new(title: impl Into<String>, unit: impl Into<String>, x: XAxis) -> Curves {
        Curves {
            title: title.into(),
            subtitle: String::new(),
            unit: unit.into(),
            x,
            curves: Vec::new(),
            published: Vec::new(),
            sources: Vec::new(),
            footnotes: Footnotes::default(),
            remarks: Vec::new(),
        }
    }

    /// Sets the line below the heading.
    pub fn subtitle(&mut self, subtitle: impl Into<String>) -> &mut Curves {
        self.subtitle = subtitle.into();
        self
    }

    /// One more line, in the order of x whatever the order of its points.
    pub fn curve(&mut self, name: &str, points: impl IntoIterator<Item = Point>) -> &mut Curves {
        let has_place = |point: &Point| is_plottable(point.x) && point.x >= 0.0;
        let sound = |point: Point| Point { stats: drawable(point.stats), ..point };
        let mut points: Vec<_> = points.into_iter().filter(has_place).map(sound).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mut signs = String::new();
        for text in points.iter().flat_map(|point| &point.marks) {
            let sign = self.footnotes.sign(text);
            if !signs.contains(&sign) {
                signs.push_str(&sign);
            }
        }
        self.curves.push(Curve { name: name.into(), signs, points });
        self
    }

    /// Adds a published line (x, y), dashed, in the color of the curve of the same name. `source`
    /// names publication and hardware. Points outside the range of measured places, or far above
    /// them, are not drawn.
    pub fn reference(&mut self, name: &str, points: Vec<(f64, f64)>, source: &str) -> &mut Curves {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.into());
        }
        self.published.push(Published::new(name, points));
        self
    }

    /// A remark below the picture.
    pub fn remark(&mut self, text: &str) -> &mut Curves {
        self.remarks.push(text.into());
        self
    }

    /// Draws the figure.
    pub fn to_svg(&self) -> Svg {
        let mut canvas = Canvas::default();
        let mut y = heading(&mut canvas, &self.title, &self.subtitle);
        y = legend(&mut canvas, y, &self.keys());
        let plot = self.plot(y + LINE + 4.0);
        canvas.text("strong", (LEFT, y + LINE - 14.0), Anchor::Start, plot.y.unit());
        levels(&mut canvas, plot.area, &plot.y);
        for published in &self.published {
            self.draw_published(&mut canvas, &plot, published);
        }
        for (series, curve) in self.curves.iter().enumerate() {
            curve.draw(&mut canvas, &plot, series);
        }
        y = plot.labels(&mut canvas, &self.x);
        y = note(&mut canvas, y, self.legend_of_marks());
        y = self.footnotes.draw(&mut canvas, y);
        y = self.remarks.iter().fold(y, |y, text| note(&mut canvas, y + 2.0, text));
        y = references(&mut canvas, y, &self.sources);
        canvas.finish(&self.label(), y + 12.0)
    }

    /// Ours set the scale of x; of y, published values may widen it by [`REACH`].
    fn plot(&self, y: f64) -> Plot {
        let published = || self.published.iter().flat_map(|line| line.points().iter().copied());
        let has_own = self.points().next().is_some();
        let own = self.points().map(|point| point.x);
        let xs: Vec<f64> = match has_own {
            true => own.collect(),
            false => published().map(|point| point.0).collect(),
        };
        let widest = xs.iter().copied().fold(0.0, f64::max);
        let tallest = self.ends().reduce(f64::max).filter(|tallest| *tallest > 0.0);
        let tallest = tallest.map_or(f64::INFINITY, |tallest| tallest * REACH);
        let near = published().filter(|(x, y)| *x <= widest && *y <= tallest);
        let values = self.ends().chain(near.map(|point| point.1));
        let area = Area { x: START, y, width: RIGHT - START, height: PLOT };
        Plot { x: self.scale(&xs), y: Axis::over(values, &self.unit, TICKS), area, widest }
    }

    fn scale(&self, xs: &[f64]) -> Scale {
        let XAxis { unit, is_logarithmic, .. } = &self.x;
        if *is_logarithmic {
            return Scale::Logarithmic(Logarithm::over(xs.iter().copied()));
        }
        let is_counted = unit.is_empty() && xs.iter().all(|x| x.fract() == 0.0);
        let axis = Axis::exact(xs.iter().copied(), unit, TICKS);
        Scale::Linear(if is_counted { axis.in_whole_steps() } else { axis })
    }

    fn draw_published(&self, canvas: &mut Canvas, plot: &Plot, line: &Published) {
        let class = self.published_class(line);
        for part in line.within(plot.widest, plot.y.high()) {
            let points: Vec<_> = part.into_iter().map(|point| plot.at(point)).collect();
            canvas.path(&class, &points, false);
        }
    }

    fn published_class(&self, line: &Published) -> String {
        let twin = self.curves.iter().position(|curve| curve.name == line.name);
        format!("{} published", theme::colour(twin.unwrap_or(theme::GREY)))
    }

    fn keys(&self) -> Vec<Key> {
        let ours = self.curves.iter().enumerate();
        let ours = ours
            .map(|(index, curve)| (Swatch::Curve(index), format!("{}{}", curve.name, curve.signs)));
        let published = self.published.iter().map(|line| {
            (Swatch::Line(self.published_class(line)), format!("{}, published", line.name))
        });
        ours.chain(published).map(|(swatch, name)| Key { swatch, name }).collect()
    }

    fn legend_of_marks(&self) -> &'static str {
        let has_range = self.stats().any(|stats| stats.max > stats.min);
        match (has_range, self.points().any(|point| !point.marks.is_empty())) {
            (true, true) => "Points: median. Whiskers: min to max. Hollow: with a footnote.",
            (true, false) => "Points: median. Whiskers: min to max.",
            (false, true) => "Hollow: with a footnote.",
            (false, false) => "",
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    fn stats(&self) -> impl Iterator<Item = Stats> {
        self.points().filter_map(|point| point.stats)
    }

    fn ends(&self) -> impl Iterator<Item = f64> {
        self.stats().flat_map(|stats| [stats.min, stats.median, stats.max])
    }

    fn label(&self) -> String {
        let curves = self.curves.iter().map(|curve| {
            let value = |point: &Point| Some((point.x, point.stats?.median));
            let said = |(x, y): (f64, f64)| {
                format!("{} at {}", human(y, &self.unit), human(x, &self.x.unit))
            };
            let ends =
                [curve.points.iter().find_map(value), curve.points.iter().rev().find_map(value)];
            let ends: Vec<_> = ends.into_iter().flatten().map(said).collect();
            format!("{}: {}", curve.name, ends.join(" to "))
        });
        let curves = curves.collect::<Vec<_>>().join("; ");
        format!("{}, along {}. {curves}", self.title, self.x.label)
    }
}

impl Curve {
    fn draw(&self, canvas: &mut Canvas, plot: &Plot, series: usize) {
        let colour = theme::colour(series);
        for run in self.points.split(|point| point.stats.is_none()) {
            let points: Vec<_> = run.iter().filter_map(|point| plot.median(point)).collect();
            if points.len() > 1 {
                canvas.path(&format!("{colour} line"), &points, false);
            }
        }
        for point in &self.points {
            plot.whisker(canvas, &format!("{colour} range"), point);
        }
        for point in &self.points {
            if let Some(at) = plot.median(point) {
                marker(canvas, series, at, !point.marks.is_empty());
            }
        }
    }
}

/// The x axis.
enum Scale {
    Linear(Axis),
    Logarithmic(Logarithm),
}

/// The coordinates.
struct Plot {
    x: Scale,
    y: Axis,
    area: Area,
    /// The greatest x that is drawn.
    widest: f64,
}

impl Plot {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x(x), self.area.bottom() - self.area.height * self.y.place(y))
    }

    /// Points at the ends keep away from the edges.
    fn x(&self, value: f64) -> f64 {
        let place = match &self.x {
            Scale::Linear(axis) => axis.place(value),
            Scale::Logarithmic(axis) => axis.place(value),
        };
        self.area.x + INSET + (self.area.width - 2.0 * INSET) * place
    }

    fn median(&self, point: &Point) -> Option<(f64, f64)> {
        Some(self.at((point.x, point.stats?.median)))
    }

    fn whisker(&self, canvas: &mut Canvas, class: &str, point: &Point) {
        let Some(stats) = point.stats.filter(|stats| stats.max > stats.min) else { return };
        let ((x, low), (_, high)) = (self.at((point.x, stats.min)), self.at((point.x, stats.max)));
        canvas.path(class, &[(x, low), (x, high)], false);
        for y in [low, high] {
            canvas.path(class, &[(x - CAP, y), (x + CAP, y)], false);
        }
    }

    /// Ticks, their labels, and below them what x is. Returns the y of their end.
    fn labels(&self, canvas: &mut Canvas, along: &XAxis) -> f64 {
        let (ticks, unit) = match &self.x {
            Scale::Linear(axis) => (axis.ticks(), axis.unit()),
            Scale::Logarithmic(axis) => (axis.ticks(), along.unit.as_str()),
        };
        let y = self.area.bottom();
        let mut free = 0.0;
        for (value, label) in ticks {
            let (x, half) = (self.x(value), SMALL_LETTER * label.chars().count() as f64 / 2.0);
            canvas.path("base", &[(x, y), (x, y + 5.0)], false);
            // Of labels that would touch, the first is kept.
            if x - half >= free {
                canvas.text("small soft", (x.min(RIGHT - half), y + 24.0), Anchor::Middle, &label);
                free = x + half + SMALL_LETTER;
            }
        }
        let name = format!("{}, {unit}", along.label);
        let name = clip(name.trim_matches([',', ' ']), letters(self.area.width, LETTER));
        let middle = self.area.x + self.area.width / 2.0;
        canvas.text("strong", (middle, y + 24.0 + LINE), Anchor::Middle, &name);
        y + 32.0 + LINE
    }
}

/// Where the plot begins, right of the y labels.
const START: f64 = LEFT + 50.0;
const PLOT: f64 = 300.0;
const INSET: f64 = 14.0;
/// Half of a whisker's end.
const CAP: f64 = 4.0;
const TICKS: usize = 6;
/// How far a published line may widen the y axis beyond ours.
const REACH: f64 = 2.5;
