//! Figures of latencies, with published values.

use report::{Bench, Figure};

use super::{CellSet, LOW, row};

/// Average and maximum of the cells that were measured.
pub fn draw(bench: &mut Bench, set: &CellSet) {
    for (what, title, column) in COLUMNS {
        let rows = set.cells.iter().map(|(path, pps)| format!("{what}/{}", row(path, *pps)));
        let rows: Vec<String> = rows.filter(|row| bench.median(row).is_some()).collect();
        if rows.is_empty() {
            continue;
        }
        let (name, title) =
            (format!("latency-{what}-{}", set.name), format!("{title}, {}", set.at));
        let figure = Figure::bars(&name, &title, rows).subtitle("one way through a device");
        bench.figure(beside(figure, column, set));
    }
}

fn beside(figure: Figure, column: usize, set: &CellSet) -> Figure {
    let is_low = set.cells.iter().all(|(_, pps)| *pps == LOW);
    TABLE.iter().fold(figure, |figure, (name, low, high)| {
        let microseconds = if is_low { low[column] } else { high[column] };
        let rate = if is_low { "100 pps" } else { "1 Mpps" };
        figure.reference(&format!("{name}, {rate}"), microseconds * 1e3, SOURCE)
    })
}

const COLUMNS: [(&str, &str, usize); 2] =
    [("avg", "Average latency", 0), ("max", "Longest latency", 1)];

/// Average and maximum in microseconds, at 100 packets a second and at a million.
const TABLE: &[(&str, [f64; 2], [f64; 2])] = &[
    ("XDP", [82.0, 272.0], [7.0, 202.0]),
    ("DPDK", [2.0, 161.0], [3.0, 189.0]),
    ("Linux bridge", [89.0, 277.0], [20.0, 236.0]),
];
const SOURCE: &str = "\"The eXpress Data Path\", CoNEXT 2018, table 1 and its sources: two hosts, \
                      ConnectX-5 Ex, 100 Gbit/s, 50 s";
