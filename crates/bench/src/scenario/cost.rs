//! Nanoseconds a packet, from rates of the same round.

use report::{Bench, Rounds, Samples};

/// Adds row `name`: how much longer a packet of row `slow` takes than one of row `fast`, round by
/// round. A single round may have a negative difference; if the interval of the median includes
/// zero there is no such row, and `slow` is marked.
pub fn longer(bench: &mut Bench, name: &str, slow: &str, fast: &str) {
    let row = |wanted: &str| bench.rounds().iter().find(|row| row.name == wanted);
    let Some(times) = row(slow).zip(row(fast)).map(|(slow, fast)| differences(slow, fast)) else {
        return;
    };
    let values: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    let Ok(samples) = Samples::new(values) else { return };
    if samples.confident().low <= 0.0 {
        let close = "indistinguishable from the baseline; no per-packet time";
        bench.mark(slow, format!("no slower than {fast}, {close}"));
        return;
    }
    times.iter().for_each(|(round, time)| _ = bench.round_at(*round, name, "ns", *time));
}

/// The differences in the rounds that both have.
fn differences(slow: &Rounds, fast: &Rounds) -> Vec<(usize, f64)> {
    let pairs = slow.pairs(fast).into_iter();
    pairs.map(|(round, slow, fast)| (round, SECOND / slow - SECOND / fast)).collect()
}

const SECOND: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_of_each_round_and_reported_if_there_is_one() {
        let mut bench = Bench::new("x");
        let rounds = [(10e6, 4e6, 9e6), (8e6, 2e6, 8.1e6), (10e6, 5e6, 9.9e6), (8e6, 2e6, 8.2e6)];
        for (fast, slow, near) in rounds {
            bench.round("fast", "pps", fast).round("slow", "pps", slow).round("near", "pps", near);
        }
        bench.round("fast", "pps", 9e6);
        bench.round("gap", "pps", 4e6).round_at(4, "gap", "pps", 4e6);
        for row in ["slow", "near", "gone", "gap"] {
            longer(&mut bench, &format!("ns/{row}"), row, "fast");
        }
        let times: Vec<(&str, Vec<_>)> = bench.rounds()[4..]
            .iter()
            .map(|row| (row.name.as_str(), row.numbered().collect()))
            .collect();
        let want = [
            ("ns/slow", vec![(1, 150.0), (2, 375.0), (3, 100.0), (4, 375.0)]),
            ("ns/gap", vec![(1, 150.0), (4, 125.0)]),
        ];
        assert_eq!(times, want);
        let marks: Vec<_> = bench.notes().marks.iter().map(|mark| mark.row.as_str()).collect();
        assert_eq!(marks, ["near"]);
    }
}
