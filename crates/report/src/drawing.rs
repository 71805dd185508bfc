//! The figures of a benchmark, drawn of its rows.
//!
//! Rule: what a figure asks for and was not measured is shown as not here, and what was marked
//! has a footnote. What no figure asks for and is absent stands in the first one of bars, so
//! that nothing is absent in silence.

use crate::bench::{Absent, Report, Row};
use crate::figure::{Figure, Reference, Series, Shape, XAxis};
use crate::plot::{Bars, Curves, Point};
use crate::{Svg, row};

/// A figure with its name and caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Name of its file, without the extension.
    pub name: String,
    /// Heading of the figure.
    pub title: String,
    /// The figure itself.
    pub picture: Svg,
}

impl Report {
    /// The figures of a report; without any, bars of its main rows by unit. A figure without
    /// measured rows is left out.
    pub fn drawings(&self) -> Vec<Drawing> {
        if self.notes.figures.is_empty() {
            return self.plain_drawings();
        }
        let first = self.notes.figures.iter().position(|figure| figure.is_bars());
        let figures = self.notes.figures.iter().enumerate();
        let drawn = figures.filter_map(|(index, figure)| {
            let picture = match &figure.shape {
                Shape::Bars { rows } => self.bars_of(figure, rows, first == Some(index))?.to_svg(),
                Shape::Curves { x, series } => self.curves_of(figure, x, series)?.to_svg(),
            };
            let (name, title) = (figure.name.clone(), figure.title.clone());
            Some(Drawing { name, title, picture })
        });
        drawn.collect()
    }

    fn plain_drawings(&self) -> Vec<Drawing> {
        let numbered = |(index, bars): (usize, &Bars)| {
            let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
            let name = format!("{}{number}", self.scenario);
            Drawing { name, title: self.scenario.clone(), picture: bars.to_svg() }
        };
        self.bars().iter().enumerate().map(numbered).collect()
    }

    fn bars_of(&self, figure: &Figure, names: &[String], with_others: bool) -> Option<Bars> {
        let unit = &names.iter().find_map(|name| self.row(name))?.unit;
        let mut bars = Bars::new(&figure.title, unit);
        bars.subtitle(&figure.subtitle);
        let mut references: Vec<&Reference> = figure.references.iter().collect();
        let others = self.unasked().filter(|_| with_others).map(|gone| &gone.name);
        for name in names.iter().chain(others) {
            match (self.row(name).filter(|row| row.unit == *unit), self.absence(name)) {
                (Some(row), _) if row::is_bound(name) => bars.bound(name, row.stats),
                (Some(row), _) => bars.bar(name, row.stats),
                (None, Some(gone)) => bars.absent(name, &gone.reason),
                (None, None) => bars.missing(name),
            };
            self.marks(name).iter().for_each(|text| _ = bars.mark(text));
            let (own, others) = references.into_iter().partition(|known| known.name == *name);
            references = others;
            publish(&mut bars, &own);
        }
        publish(&mut bars, &references);
        Some(bars)
    }

    fn curves_of(&self, figure: &Figure, x: &XAxis, series: &[Series]) -> Option<Curves> {
        let rows = || series.iter().flat_map(|series| &series.points);
        let unit = &rows().find_map(|(_, name)| self.row(name))?.unit;
        let mut curves = Curves::new(&figure.title, unit, x.clone());
        curves.subtitle(&figure.subtitle);
        for Series { name, points } in series {
            let points = points.iter().map(|(at, row)| {
                let stats = self.row(row).filter(|row| row.unit == *unit).map(|row| row.stats);
                Point { x: *at, stats, marks: self.marks(row) }
            });
            let points: Vec<_> = points.collect();
            match self.absence(name).filter(|_| points.iter().all(|point| point.stats.is_none())) {
                Some(gone) => curves.remark(&format!("{name} is not here: {}", gone.reason)),
                None => curves.curve(name, points),
            };
        }
        for Reference { name, points, source } in &figure.references {
            curves.reference(name, points.clone(), source);
        }
        Some(curves)
    }

    /// What is absent without any figure asking for it.
    fn unasked(&self) -> impl Iterator<Item = &Absent> {
        let is_asked = |name: &String| self.notes.figures.iter().any(|figure| figure.names(name));
        let absent = self.notes.absent.iter();
        absent.filter(move |gone| !is_asked(&gone.name) && self.row(&gone.name).is_none())
    }

    fn absence(&self, name: &str) -> Option<&Absent> {
        self.notes.absent.iter().find(|gone| gone.name == name)
    }

    /// What there is to know of a row; that it ended early, too.
    fn marks(&self, name: &str) -> Vec<String> {
        let marks = self.notes.marks.iter().filter(|mark| mark.row == name);
        let gone = self.absence(name).filter(|_| self.row(name).is_some());
        let gone = gone.map(|gone| format!("left out after a while, {}", gone.reason));
        marks.map(|mark| mark.text.clone()).chain(gone).collect()
    }

    pub(crate) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

fn publish(bars: &mut Bars, references: &[&Reference]) {
    for Reference { name, points, source } in references {
        points.iter().for_each(|(_, value)| _ = bars.reference(name, *value, source));
    }
}
