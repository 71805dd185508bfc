//! Whether a figure of two runs shows the same: the order of its series, and their ratios.
//!
//! Rule: only series of one group are compared: the bars of a figure, the curves at one place.
//! Shares in percent have no ratios. Two that neither run distinguishes have no order.

use serde::Serialize;

use crate::bench::{Report, Row};
use crate::figure::{Figure, Shape};
use crate::row;
use crate::run::Measured;

/// One figure of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Picture {
    /// Name of the figure.
    pub figure: String,
    /// The ratio of two series in one group that changed most.
    pub greatest: Option<RatioChange>,
    /// Pairs of rows that changed their order, and that at least one run distinguishes.
    pub swapped: Vec<(String, String)>,
    /// Pairs that changed it, but in both runs the interval of their ratio holds 1.
    pub close: Vec<(String, String)>,
}

/// How many times row `a` was row `b`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RatioChange {
    /// Name of the numerator's row.
    pub a: String,
    /// Name of the denominator's row.
    pub b: String,
    /// Ratio in the earlier run.
    pub before: f64,
    /// Ratio in the later run.
    pub after: f64,
    /// `after` over `before`, less 1: 0.1 when it grew by a tenth.
    pub change: f64,
}

impl RatioChange {
    fn new(a: &str, b: &str, before: f64, after: f64) -> Option<RatioChange> {
        let change = after / before - 1.0;
        change.is_finite().then(|| RatioChange { a: a.into(), b: b.into(), before, after, change })
    }

    /// How much it changed, alike in both directions: halved is as much as doubled.
    pub fn size(&self) -> f64 {
        let factor = self.change + 1.0;
        if factor > 0.0 { factor.max(1.0 / factor) - 1.0 } else { f64::INFINITY }
    }
}

/// The ratios that both runs contain.
pub(super) fn ratios(a: &Report, b: &Report) -> Vec<RatioChange> {
    let both = a.ratios.iter().filter_map(|ratio| {
        let same = b.ratios.iter().find(|other| (&other.a, &other.b) == (&ratio.a, &ratio.b))?;
        RatioChange::new(&ratio.a, &ratio.b, ratio.median, same.median)
    });
    both.collect()
}

/// A row of both runs.
type Pair<'a> = (&'a Row, &'a Row);

impl Picture {
    pub(super) fn all(a: &Measured, b: &Measured) -> Vec<Picture> {
        let report = &a.report;
        let figures = &report.notes.figures;
        if figures.is_empty() {
            let names = report.main_rows().map(|row| row.name.clone());
            let plain = Figure::bars(&report.scenario, &report.scenario, names);
            return vec![Picture::of(&plain, a, b)];
        }
        figures.iter().map(|figure| Picture::of(figure, a, b)).collect()
    }

    fn of(figure: &Figure, before: &Measured, after: &Measured) -> Picture {
        let pairs: Vec<(Pair, Pair)> = groups(figure)
            .iter()
            .flat_map(|group| {
                let both = |name: &&str| Some((before.report.row(name)?, after.report.row(name)?));
                pairs(&group.iter().filter_map(both).collect::<Vec<_>>())
            })
            .collect();
        let moved = pairs.iter().filter_map(|((a, later_a), (b, later_b))| {
            let is_share = a.unit == "%";
            let (before, after) =
                (a.stats.median / b.stats.median, later_a.stats.median / later_b.stats.median);
            RatioChange::new(&a.name, &b.name, before, after).filter(|_| !is_share)
        });
        let greatest = moved.max_by(|a, b| a.size().total_cmp(&b.size()));
        let is_swapped = |((a, later_a), (b, later_b)): &&(Pair, Pair)| {
            let before = a.stats.median.total_cmp(&b.stats.median);
            before == later_a.stats.median.total_cmp(&later_b.stats.median).reverse()
                && before.is_ne()
        };
        let is_close = |((a, later_a), (b, later_b)): &&(Pair, Pair)| {
            let both = [before.between(a, b), after.between(later_a, later_b)];
            both.iter().all(|ratio| ratio.as_ref().is_some_and(|(_, within)| within.holds(1.0)))
        };
        let (close, swapped): (Vec<_>, Vec<_>) =
            pairs.iter().filter(is_swapped).partition(is_close);
        let names = |pairs: Vec<&(Pair, Pair)>| {
            pairs.iter().map(|((a, _), (b, _))| (a.name.clone(), b.name.clone())).collect()
        };
        let (swapped, close) = (names(swapped), names(close));
        Picture { figure: figure.name.clone(), greatest, swapped, close }
    }
}

/// Every two of `group` that are of one unit.
fn pairs<'a>(group: &[Pair<'a>]) -> Vec<(Pair<'a>, Pair<'a>)> {
    let mut pairs = Vec::new();
    for (index, first) in group.iter().enumerate() {
        let rest = group[index + 1..].iter().filter(|other| {
            let units = [first.0, first.1, other.0, other.1].map(|row| row.unit.as_str());
            units.iter().all(|unit| *unit == units[0])
        });
        pairs.extend(rest.map(|other| (*first, *other)));
    }
    pairs
}

/// Rows that are to be compared with each other; what bounds them is not one of them.
fn groups(figure: &Figure) -> Vec<Vec<&str>> {
    match &figure.shape {
        Shape::Bars { rows } => {
            let names = rows.iter().map(String::as_str).filter(|name| !row::is_bound(name));
            vec![names.collect()]
        }
        Shape::Curves { series, .. } => {
            let points = || series.iter().flat_map(|series| &series.points);
            let mut places: Vec<f64> = points().map(|(place, _)| *place).collect();
            places.sort_by(f64::total_cmp);
            places.dedup();
            let group = |place: &f64| {
                let here = points().filter(|(at, name)| at == place && !row::is_bound(name));
                here.map(|(_, name)| name.as_str()).collect()
            };
            places.iter().map(group).collect()
        }
    }
}
