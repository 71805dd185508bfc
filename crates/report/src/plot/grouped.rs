//! Bars in groups: the same series under several conditions, such as 1 to 6 cores.
//!
//! Rule: a series keeps its color and its place in every group; a group has one value, or a
//! gap, for each series.

use super::axis::Axis;
use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, Svg};
use super::heading::{Key, Swatch, bar_class, heading, legend, references};
use super::mark::{self, drawable};
use super::theme::{LETTER, LINE};
use crate::Stats;

/// Groups of horizontal bars of one unit.
#[derive(Debug, Clone)]
pub struct Grouped {
    title: String,
    subtitle: String,
    unit: String,
    series: Vec<Series>,
    groups: Vec<(String, Vec<Option<Stats>>)>,
    sources: Vec<String>,
}

#[derive(Debug, Clone)]
struct Series {
    name: String,
    is_reference: bool,
}

impl Grouped {
    /// A figure without series.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Grouped {
        Grouped {
            title: title.into(),
            subtitle: String::new(),
            unit: unit.into(),
            series: Vec::new(),
            groups: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Sets the line below the heading.
    pub fn subtitle(&mut self, subtitle: impl Into<String>) -> &mut Grouped {
        self.subtitle = subtitle.into();
        self
    }

    /// One more bar in each group. Name all series before the first group.
    pub fn series(&mut self, name: &str) -> &mut Grouped {
        self.series.push(Series { name: name.into(), is_reference: false });
        self
    }

    /// Adds a published series, drawn lighter; `source` names publication and hardware.
    pub fn reference(&mut self, name: &str, source: &str) -> &mut Grouped {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.into());
        }
        self.series.push(Series { name: name.into(), is_reference: true });
        self
    }

    /// Adds a group with one value per series; `None` is labeled "not measured".
    ///
    /// # Panics
    /// When the number of values is not the number of series.
    pub fn group(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = Option<Stats>>,
    ) -> &mut Grouped {
        let values: Vec<_> = values.into_iter().map(drawable).collect();
        assert_eq!(values.len(), self.series.len(), "a group has one value for each series");
        self.groups.push((name.into(), values));
        self
    }

    /// Draws the figure.
    pub fn to_svg(&self) -> Svg {
        let mut canvas = Canvas::default();
        let top = heading(&mut canvas, &self.title, &self.subtitle);
        let top = legend(&mut canvas, top, &self.keys()) + 4.0;
        let group = self.group_height();
        let height = group * self.groups.len() as f64;
        let area = Area { x: LEFT, y: top, width: RIGHT - LEFT - VALUE, height };
        let axis = Axis::over(self.ends(), &self.unit, 5);
        for (index, (name, values)) in self.groups.iter().enumerate() {
            let y = top + group * index as f64;
            canvas.text("strong", (LEFT, y + LINE - 6.0), Anchor::Start, name);
            self.draw(&mut canvas, Area { y: y + LINE, ..area }, &axis, values);
        }
        let y = mark::labels(&mut canvas, area, &axis);
        let y = references(&mut canvas, y, &self.sources);
        canvas.finish(&self.title, y + 12.0)
    }

    fn draw(&self, canvas: &mut Canvas, area: Area, axis: &Axis, values: &[Option<Stats>]) {
        let height = ROW * values.len() as f64 + 1.0;
        mark::grid(canvas, Area { y: area.y - 3.0, height, ..area }, axis);
        for (index, (series, stats)) in self.series.iter().zip(values).enumerate() {
            let row = Area { y: area.y + ROW * index as f64, height: BAR, ..area };
            let class = bar_class(index, series.is_reference);
            if let Some(stats) = stats {
                mark::bar(canvas, &class, row, axis, *stats);
            }
            let (value, _) = mark::words(*stats, &self.unit);
            let value = if stats.is_some() { value } else { "-".into() };
            canvas.text("small soft", (RIGHT, row.bottom() - 4.0), Anchor::End, &value);
        }
    }

    fn keys(&self) -> Vec<Key> {
        let keys = self.series.iter().enumerate().map(|(index, series)| Key {
            swatch: Swatch::Box(bar_class(index, series.is_reference)),
            name: series.name.clone(),
        });
        keys.collect()
    }

    fn ends(&self) -> impl Iterator<Item = f64> {
        let values = self.groups.iter().flat_map(|(_, values)| values.iter().flatten());
        values.flat_map(|stats| [stats.min, stats.median, stats.max])
    }

    fn group_height(&self) -> f64 {
        LINE + ROW * self.series.len() as f64 + 12.0
    }
}

const BAR: f64 = 20.0;
const ROW: f64 = BAR + 5.0;
/// What the column of values takes at the right: ten letters.
const VALUE: f64 = LETTER * 10.0;
