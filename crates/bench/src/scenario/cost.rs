//! Nanoseconds a packet, from rates of the same round.

use report::Bench;

/// Adds row `name`: how much longer a packet of row `slow` takes than one of row `fast`, round by
/// round. Where a round shows no difference there is no such row, and a mark at `slow` says so.
pub fn longer(bench: &mut Bench, name: &str, slow: &str, fast: &str) {
    let values = |wanted: &str| {
        let row = bench.rounds().iter().find(|row| row.name == wanted);
        row.map(|row| row.values.clone()).unwrap_or_default()
    };
    // Rounds are in order: of a run that ended early, those that both have are the first ones.
    let pairs = values(slow).into_iter().zip(values(fast));
    let times: Vec<f64> = pairs.map(|(slow, fast)| SECOND / slow - SECOND / fast).collect();
    if times.iter().any(|time| *time <= 0.0) {
        bench.mark(slow, format!("not slower than {fast} in every round: no time can be told"));
        return;
    }
    times.iter().for_each(|time| _ = bench.round(name, "ns", *time));
}

const SECOND: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_of_each_round_and_never_below_nothing() {
        let mut bench = Bench::new("x");
        for (fast, slow, near) in [(10e6, 4e6, 9e6), (8e6, 2e6, 8.1e6), (10e6, 5e6, 9e6)] {
            bench.round("fast", "pps", fast).round("slow", "pps", slow).round("near", "pps", near);
        }
        bench.round("fast", "pps", 9e6);
        for row in ["slow", "near", "gone"] {
            longer(&mut bench, &format!("ns/{row}"), row, "fast");
        }
        let times: Vec<_> =
            bench.rounds()[3..].iter().map(|row| (&*row.name, &row.values)).collect();
        assert_eq!(times, [("ns/slow", &vec![150.0, 375.0, 100.0])]);
        assert_eq!(bench.story().marks.len(), 1);
        assert_eq!(bench.story().marks[0].row, "near");
    }
}
