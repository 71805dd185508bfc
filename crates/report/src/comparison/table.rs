//! Tables of a comparison.

use super::{Compared, Comparison};
use crate::number::human;
use crate::samples::Interval;
use crate::table::{Column, Table};

impl Compared {
    /// Both medians, the later over the earlier with its interval, and the verdict of each row.
    pub fn table(&self) -> Table {
        let columns = ["before", "after", "after / before", "95 %"].map(Column::number);
        let columns = [Column::text(&self.scenario)].into_iter().chain(columns);
        let mut table = Table::new(columns.chain([Column::text("")]));
        for change in &self.rows {
            let value = |median| human(median, &change.unit);
            table.row([
                change.row.clone(),
                value(change.a.median),
                value(change.b.median),
                change.ratio.map_or("-".into(), |ratio| human(ratio, "x")),
                change.interval.as_ref().map_or("-".into(), Interval::to_string),
                change.verdict.to_string(),
            ]);
        }
        table
    }

    /// The ratios inside of each run, those of figures too.
    pub fn ratio_table(&self) -> Table {
        let columns = ["before", "after", "change"].map(Column::number);
        let mut table = Table::new([Column::text("inside of a run")].into_iter().chain(columns));
        let figures = self.figures.iter().filter_map(|figure| figure.greatest.as_ref());
        let figures = figures.filter(|moved| {
            let is_same =
                |other: &&super::RatioChange| (&other.a, &other.b) == (&moved.a, &moved.b);
            !self.ratios.iter().any(|other| is_same(&other))
        });
        for moved in self.ratios.iter().chain(figures) {
            let [before, after] = [moved.before, moved.after].map(|ratio| human(ratio, "x"));
            let change = format!("{:+.1} %", moved.change * 100.0);
            table.row([format!("{} / {}", moved.a, moved.b), before, after, change]);
        }
        table
    }

    /// What the goal of a repeatable picture comes to, in one sentence.
    pub fn sentence(&self) -> String {
        let swapped: Vec<_> = self.figures.iter().flat_map(|figure| &figure.swapped).collect();
        let close: Vec<_> = self.figures.iter().flat_map(|figure| &figure.close).collect();
        let order = match (swapped.as_slice(), close.as_slice()) {
            ([], []) => "the same order".to_owned(),
            ([], close) => {
                let pairs = close.iter().map(|(a, b)| format!("{a} and {b}")).collect::<Vec<_>>();
                let pairs = pairs.join(", ");
                format!("the same order, except for {pairs}, which neither run distinguishes")
            }
            ([(a, b)], _) => format!("another order ({a}, {b})"),
            ([(a, b), rest @ ..], _) => {
                format!("another order ({a}, {b} and {} more)", rest.len())
            }
        };
        let greatest = self.greatest.as_ref().map(|moved| {
            let change = moved.change * 100.0;
            format!("; the ratio that changed most is {} / {}, by {change:+.1} %", moved.a, moved.b)
        });
        format!("{}: {order}{}.", self.scenario, greatest.unwrap_or_default())
    }
}

impl Comparison {
    /// What only one of the runs has, one line each.
    pub fn unpaired(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut tell = |only_a: &[String], only_b: &[String], of: &str| {
            for (names, which) in [(only_a, "first"), (only_b, "second")] {
                if !names.is_empty() {
                    lines.push(format!("{of} of the {which} run only: {}", names.join(", ")));
                }
            }
        };
        tell(&self.only_a, &self.only_b, "scenarios");
        for compared in &self.scenarios {
            tell(&compared.only_a, &compared.only_b, &format!("rows of {}", compared.scenario));
        }
        lines
    }
}
