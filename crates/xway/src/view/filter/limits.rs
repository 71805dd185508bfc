//! Text of the state of limits: a part of `filter show`.

use control::filter::limits::Limit;
use report::number::human;
use report::table::{Column, Table};

/// A row for each kind of bucket.
pub fn table(limits: &[Limit]) -> Table {
    let texts = ["limit", "per"].map(Column::text);
    let numbers = ["buckets", "used", "empty", "left", "over", "rate", "load", "loss"];
    let mut table = Table::new(texts.into_iter().chain(numbers.map(Column::number)));
    for limit in limits {
        for (place, level) in limit.levels.iter().enumerate() {
            let mut row = vec![String::new(), level.per.clone()];
            row.extend([level.buckets, level.used, level.empty].map(|one| human(one as f64, "")));
            row.push(human(100.0 * level.left, "%"));
            if place == 0 {
                row[0].clone_from(&limit.rule);
                row.extend([human(limit.over as f64, ""), human(limit.over_pps, "pps")]);
                row.push(limit.load.map_or_else(|| "-".to_owned(), |load| human(load, "")));
                row.push(limit.loss.map_or_else(|| "-".to_owned(), chance));
            } else {
                row.extend(std::array::from_fn::<_, 4, _>(|_| String::new()));
            }
            table.row(row);
        }
    }
    table
}

fn chance(chance: f64) -> String {
    match chance {
        small if small < 1e-12 => "0".to_owned(),
        small if small < 0.001 => format!("{small:.0e}"),
        other => human(100.0 * other, "%"),
    }
}

#[cfg(test)]
mod tests {
    use control::filter::limits::Level;

    use super::*;

    #[test]
    fn a_row_for_each_kind_of_bucket() {
        let level = |per: &str| Level {
            per: per.to_owned(),
            buckets: 32_768,
            used: 2,
            empty: 1,
            left: 0.25,
        };
        let limit = Limit {
            rule: "flood".to_owned(),
            over: 7,
            over_pps: 3.5,
            levels: vec![level("source"), level("source/24,64")],
            load: Some(0.5),
            loss: Some(4e-5),
        };
        let text = table(&[limit]).to_string();
        let rows: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let first = rows.iter().find(|row| row.first() == Some(&"flood")).unwrap();
        let wanted = "flood source 32.8 k 2 1 25 % 7 3.50 pps 0.500 4e-5";
        assert_eq!(first.join(" "), wanted);
        assert!(rows.iter().any(|row| row.first() == Some(&"source/24,64")), "{text}");
        assert_eq!([chance(1e-13), chance(0.25)], ["0", "25 %"]);
    }
}
