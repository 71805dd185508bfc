//! Tables of a benchmark's rows and ratios.
//!
//! Rule: every number has its unit beside it; a rate of packets is also shown as the time per
//! packet, because costs add up and rates do not.

use crate::bench::{Ratio, Report, Row};
use crate::figure::{Series, Shape, XAxis};
use crate::number::{folded, human};
use crate::row;
use crate::samples::Interval;
use crate::table::{Column, Table};

impl Report {
    /// Name, min, median, max and rounds of each row, and of rates what a packet takes.
    pub fn table(&self) -> Table {
        self.table_of(|_| true)
    }

    /// As [`Report::table`], of the rows whose names are wanted.
    pub fn table_of(&self, is_wanted: impl Fn(&str) -> bool) -> Table {
        let rows: Vec<_> = self.rows.iter().filter(|row| is_wanted(&row.name)).collect();
        let has_packets = rows.iter().any(|row| packet(row).is_some());
        let columns = ["min", "median", "max"].into_iter();
        let columns = columns.chain(has_packets.then_some("a packet")).chain(["rounds"]);
        let columns = [Column::text("")].into_iter().chain(columns.map(Column::number));
        let mut table = Table::new(columns);
        for row in rows {
            let Row { name, unit, stats } = row;
            let values = [stats.min, stats.median, stats.max].map(|value| human(value, unit));
            let packet = has_packets.then(|| packet(row).unwrap_or_default());
            let rounds = stats.rounds.to_string();
            table.row([name.clone()].into_iter().chain(values).chain(packet).chain([rounds]));
        }
        table
    }

    /// The ratios with their intervals, or nothing if there are none.
    pub fn ratio_table(&self) -> Option<Table> {
        if self.ratios.is_empty() {
            return None;
        }
        let columns = ["min", "median", "max", "95 %"].map(Column::number);
        let mut table = Table::new([Column::text("round by round")].into_iter().chain(columns));
        for Ratio { a, b, min, median, max, interval } in &self.ratios {
            let [min, median, max] = [min, median, max].map(|value| human(*value, "x"));
            let interval = interval.as_ref().map_or("-".into(), Interval::to_string);
            table.row([format!("{a} / {b}"), min, median, max, interval]);
        }
        Some(table)
    }

    /// The medians of each figure of curves, by place.
    pub fn curve_tables(&self) -> Vec<Table> {
        let curves = self.notes.figures.iter().filter_map(|figure| match &figure.shape {
            Shape::Curves { x, series } => Some(self.curve_table(x, series)),
            Shape::Bars { .. } => None,
        });
        curves.collect()
    }

    fn curve_table(&self, x: &XAxis, series: &[Series]) -> Table {
        let columns = series.iter().map(|series| Column::number(&series.name));
        let mut table = Table::new([Column::number(&x.label)].into_iter().chain(columns));
        let places = series.iter().flat_map(|series| series.points.iter().map(|(place, _)| *place));
        let mut places: Vec<f64> = places.collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        for place in places {
            let median = |series: &Series| {
                let (_, name) = series.points.iter().find(|(at, _)| *at == place)?;
                let row = self.row(name)?;
                Some(human(row.stats.median, &row.unit))
            };
            let medians = series.iter().map(|series| median(series).unwrap_or("-".into()));
            table.row([human(place, &x.unit)].into_iter().chain(medians));
        }
        table
    }

    /// What the arms are measured for; where everything is a detail, all of it.
    pub fn main_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| self.is_main(&row.name))
    }

    /// Whether this is what its arm is measured for, see [`Report::main_rows`].
    pub(crate) fn is_main(&self, name: &str) -> bool {
        row::is_main(name) || !self.rows.iter().any(|row| row::is_main(&row.name))
    }

    /// Whether a figure has this row as a point of a curve.
    pub(crate) fn is_of_curve(&self, name: &str) -> bool {
        let mut curves = self.notes.figures.iter().filter(|figure| !figure.is_bars());
        curves.any(|figure| figure.names(name))
    }
}

/// What one packet takes.
fn packet(row: &Row) -> Option<String> {
    let (factor, base) = folded(&row.unit);
    let per_second = row.stats.median * factor;
    (base == "pps" && per_second > 0.0).then(|| human(1e9 / per_second, "ns"))
}

#[cfg(test)]
mod tests {
    use crate::figure::{Series, XAxis};
    use crate::{Bench, Figure, Host};

    #[test]
    fn a_rate_of_packets_is_also_shown_as_time() {
        let mut bench = Bench::new("drop");
        bench.round("native", "Mpps", 4.0).round("none", "pps", 0.0).round("lost", "%", 3.0);
        let text = bench.finish(Host::default()).unwrap().table().to_string();
        let words = |line: usize| -> Vec<&str> {
            text.lines().nth(line).unwrap().split_whitespace().collect()
        };
        assert_eq!(words(2)[5..], ["4", "Mpps", "250", "ns", "1"], "{text}");
        assert_eq!(words(3)[5..], ["0", "pps", "1"], "{text}");
    }

    #[test]
    fn curves_are_shown_by_place() {
        let mut bench = Bench::new("cpu");
        bench.round("a@1", "%", 50.0).round("a@2", "%", 20.0).round("b@1", "%", 9.0);
        let x = XAxis { label: "load".into(), unit: "pps".into(), is_logarithmic: false };
        let series = ["a", "b"].map(|name| {
            let points = [1, 2].map(|at| (f64::from(at), format!("{name}@{at}")));
            Series { name: name.into(), points: points.to_vec() }
        });
        bench.figure(Figure::curves("cpu", "Idle", x, series.to_vec()));
        let report = bench.finish(Host::default()).unwrap();
        let want = " load     a    b\n─────  ────  ───\n1 pps  50 %  9 %\n2 pps  20 %    -\n";
        assert_eq!(report.curve_tables()[0].to_string(), want);
        assert!(report.is_of_curve("a@1") && !report.is_of_curve("c@1"));
    }
}
