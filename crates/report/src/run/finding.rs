//! What a figure shows, in one sentence.
//!
//! Rule: the faster row is named only if the interval of the ratio, of rounds measured side by
//! side, does not include 1. What bounds the arms does not compete with them.

use super::Measured;
use crate::bench::Row;
use crate::figure::{Figure, Series, Shape, XAxis};
use crate::number::human;
use crate::row;
use crate::samples::Interval;

/// A row by the name that the figure has for it.
type Named<'a> = (&'a str, &'a Row);

impl Measured {
    /// The finding of a figure that compares at least two series.
    pub fn finding(&self, figure: &Figure) -> Option<String> {
        match &figure.shape {
            Shape::Bars { rows } => {
                let row = |name: &'_ String| self.report.row(name);
                self.contest(rows.iter().filter_map(row).map(|row| (row.name.as_str(), row)))
            }
            Shape::Curves { x, series } => self.at_the_end(x, series),
        }
    }

    /// The finding of a report without figures: that of the rows of the first unit.
    pub fn plain_finding(&self) -> Option<String> {
        self.contest(self.report.main_rows().map(|row| (row.name.as_str(), row)))
    }

    /// The finding of curves: at the last place that all measured ones have.
    fn at_the_end(&self, x: &XAxis, series: &[Series]) -> Option<String> {
        let at = |series: &Series, place: f64| {
            let mut points = series.points.iter().filter(|(at, _)| *at == place);
            points.find_map(|(_, row)| self.report.row(row))
        };
        let is_here =
            |series: &&Series| series.points.iter().any(|(x, _)| at(series, *x).is_some());
        let series: Vec<_> = series.iter().filter(is_here).collect();
        let places = series.first()?.points.iter().map(|(place, _)| *place);
        let place = places.filter(|place| series.iter().all(|series| at(series, *place).is_some()));
        let place = place.reduce(f64::max)?;
        let rows =
            series.iter().filter_map(|series| Some((series.name.as_str(), at(series, place)?)));
        let mut label = x.label.chars();
        let label = label.next().into_iter().flat_map(char::to_uppercase).chain(label);
        let label: String = label.collect();
        Some(format!("{label} {}: {}", human(place, &x.unit), self.contest(rows)?))
    }

    /// Who of these is ahead, of the first one's unit.
    fn contest<'a>(&self, rows: impl Iterator<Item = Named<'a>>) -> Option<String> {
        let mut rows: Vec<Named> = rows.filter(|(_, row)| !row::is_bound(&row.name)).collect();
        let unit = &rows.first()?.1.unit;
        rows.retain(|(_, row)| row.unit == *unit);
        let said = |(name, row): &Named| format!("{name} ({})", human(row.stats.median, unit));
        if unit == "%" {
            let all = rows.iter().map(said).collect::<Vec<_>>().join(", ");
            return (rows.len() > 1).then(|| format!("{all}."));
        }
        let is_more_better = row::is_more_better(&rows[0].1.name, unit);
        rows.sort_by(|(_, a), (_, b)| {
            let order = a.stats.median.total_cmp(&b.stats.median);
            if is_more_better { order.reverse() } else { order }
        });
        let [best, second, ..] = rows.as_slice() else { return None };
        let others = match rows.as_slice() {
            [_, second] => self.times(best, second)?,
            [_, second, .., last] => {
                format!("{}, {}", self.times(best, second)?, self.times(best, last)?)
            }
            _ => return None,
        };
        let is_ahead = self.between(best.1, second.1).is_some_and(|(_, within)| !within.holds(1.0));
        Some(if is_ahead {
            format!("{} is ahead: {others}.", said(best))
        } else {
            format!("{} and {} are too close to distinguish: {others}.", said(best), second.0)
        })
    }

    /// `2.1 times tc`; for costs `tc takes 2.1 times as much`.
    fn times(&self, best: &Named, other: &Named) -> Option<String> {
        let (ratio, _) = self.between(best.1, other.1)?;
        if row::is_more_better(&best.1.name, &best.1.unit) {
            return Some(format!("{} times {}", human(ratio, ""), other.0));
        }
        let (back, _) = self.between(other.1, best.1)?;
        Some(format!("{} takes {} times as much", other.0, human(back, "")))
    }

    /// The median of one row over another, round by round, and where it probably lies.
    pub(crate) fn between(&self, a: &Row, b: &Row) -> Option<(f64, Interval)> {
        let of = |row: &Row| self.samples.iter().find(|rounds| rounds.name == row.name);
        let ratios = of(a)?.ratios(of(b)?).ok()?;
        Some((ratios.stats().median, ratios.confident()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, Host, Run};

    fn measured(unit: &str, rows: &[(&str, [f64; 5])]) -> Measured {
        let mut bench = Bench::new("drop");
        for (name, values) in rows {
            values.iter().for_each(|value| _ = bench.round(name, unit, *value));
        }
        let mut run = Run::new("");
        run.put(&bench, Host::default()).unwrap().clone()
    }

    #[test]
    fn who_is_ahead_in_one_sentence() {
        let table = [
            (
                "pps",
                vec![("tc", [2.0, 2.1, 1.9, 2.0, 2.0]), ("xdp", [4.0, 4.1, 3.9, 4.0, 4.0])],
                "xdp (4 pps) is ahead: 2 times tc.",
            ),
            (
                "pps",
                vec![("limit", [9.0; 5]), ("a", [2.0; 5]), ("b", [4.0; 5]), ("c", [1.0; 5])],
                "b (4 pps) is ahead: 2 times a, 4 times c.",
            ),
            (
                "ns",
                vec![("slow", [9.0; 5]), ("quick", [3.0; 5])],
                "quick (3 ns) is ahead: slow takes 3 times as much.",
            ),
            (
                "pps",
                vec![("a", [4.0, 5.0, 4.0, 5.0, 4.5]), ("b", [5.0, 4.0, 5.0, 4.0, 4.5])],
                "a (4.50 pps) and b are too close to distinguish: 1 times b.",
            ),
            ("%", vec![("a", [10.0; 5]), ("b", [0.0; 5])], "a (10 %), b (0 %)."),
        ];
        for (unit, rows, want) in table {
            assert_eq!(measured(unit, &rows).plain_finding().as_deref(), Some(want));
        }
        assert_eq!(measured("pps", &[("alone", [1.0; 5])]).plain_finding(), None);
    }

    #[test]
    fn curves_are_compared_at_the_last_place_that_all_have() {
        let rows = [("a@1", [8.0; 5]), ("b@1", [8.0; 5]), ("a@2", [6.0; 5]), ("b@2", [3.0; 5])];
        let mut measured = measured("/s", &[&rows[..], &[("a@3", [5.0; 5])]].concat());
        measured.report.notes.absent.clear();
        let x = XAxis { label: "cores".into(), unit: String::new(), is_logarithmic: false };
        let series = ["a", "b", "gone"].map(|name| {
            let points = [1, 2, 3].map(|at| (f64::from(at), format!("{name}@{at}")));
            Series { name: name.into(), points: points.to_vec() }
        });
        let figure = Figure::curves("c", "C", x, series.to_vec());
        let want = "Cores 2: a (6 /s) is ahead: 2 times b.";
        assert_eq!(measured.finding(&figure).as_deref(), Some(want));
    }
}
