//! Latencies as a histogram: lines for a terminal, and curves for a page.
//!
//! The bins end at 1, 2, 5, 10, 20, 50 … nanoseconds, so that pictures of different measurements
//! have the same ones.

use report::figure::XAxis;
use report::number::human;
use report::plot::{Curves, Point};
use report::{Stats, Svg};
use traffic::Histogram;

/// Values of one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin {
    /// The end, which belongs to the next bin.
    end_ns: u64,
    count: u64,
}

/// Bins from the first to the last one with values; empty ones between them are included.
fn bins(histogram: &Histogram) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    for (range, count) in histogram.buckets().filter(|(_, count)| *count > 0) {
        let value = u64::from(*range.start());
        let mut next = bins.last().map_or_else(|| end_of(value), |bin| bin.end_ns);
        if bins.is_empty() {
            bins.push(Bin { end_ns: next, count: 0 });
        }
        while value >= next {
            next = end_of(next);
            bins.push(Bin { end_ns: next, count: 0 });
        }
        if let Some(bin) = bins.last_mut() {
            bin.count += count;
        }
    }
    bins
}

/// The smallest end of a bin that is greater than the value.
fn end_of(value: u64) -> u64 {
    let decades = (0..).map(|power| 10_u64.pow(power));
    let mut ends = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]);
    ends.find(|end| *end > value).unwrap_or(u64::MAX)
}

/// A line for each bin: its end, its share, and a bar; nothing for an empty histogram.
pub fn picture(histogram: &Histogram) -> String {
    let bins = bins(histogram);
    let all = histogram.count() as f64;
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(0) as f64;
    let line = |bin: &Bin| {
        let share = 100.0 * bin.count as f64 / all;
        let length = (bin.count as f64 / most * BAR).ceil() as usize;
        let end = human(bin.end_ns as f64, "ns");
        format!("  < {end:>8}  {share:6.2} %  {}\n", "█".repeat(length))
            .trim_end_matches([' ', '\n'])
            .to_owned()
            + "\n"
    };
    bins.iter().map(line).collect()
}

/// Shares of bins, a curve for each histogram.
pub fn figure<'a>(histograms: impl IntoIterator<Item = (String, &'a Histogram)>) -> Svg {
    let x = XAxis { label: "Latency".into(), unit: "s".into(), is_logarithmic: true };
    let mut curves = Curves::new("Latency", "%", x);
    curves.subtitle("share of frames below each latency and above the next smaller one");
    for (name, histogram) in histograms.into_iter().filter(|(_, it)| !it.is_empty()) {
        let all = histogram.count() as f64;
        let points = bins(histogram).into_iter().map(|bin| Point {
            x: bin.end_ns as f64 / 1e9,
            stats: Some(Stats::single(100.0 * bin.count as f64 / all)),
            marks: Vec::new(),
        });
        curves.curve(&name, points);
    }
    curves.to_svg()
}

/// Columns of the longest bar.
const BAR: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[(u32, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|(value, count)| histogram.record_many(*value, *count));
        histogram
    }

    #[test]
    fn bins_end_at_round_values() {
        let bins = bins(&histogram(&[(0, 1), (1, 2), (7, 5), (450, 3)]));
        let pairs: Vec<_> = bins.iter().map(|bin| (bin.end_ns, bin.count)).collect();
        let none = [(20, 0), (50, 0), (100, 0), (200, 0)];
        assert_eq!(pairs[..4], [(1, 1), (2, 2), (5, 0), (10, 5)]);
        assert_eq!((&pairs[4..8], pairs[8]), (&none[..], (500, 3)));
        assert_eq!(super::bins(&Histogram::default()), []);
        let large = super::bins(&histogram(&[(u32::MAX, 1)]));
        assert_eq!((large.len(), large[0].end_ns), (1, 5_000_000_000));
    }

    #[test]
    fn the_longest_bar_is_the_most_frequent_bin() {
        let text = picture(&histogram(&[(150, 25), (300, 75), (1500, 1)]));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("  <   200 ns   24.75 %  █"), "{text}");
        assert_eq!(lines[1].matches('█').count(), 40);
        assert_eq!(lines[2], "  <  1.00 µs    0.00 %");
        assert_eq!(lines[3].matches('█').count(), 1, "one of 101 is seen: {text}");
        assert_eq!(picture(&Histogram::default()), "");
    }

    #[test]
    fn empty_histograms_have_no_curve() {
        let (some, none) = (histogram(&[(150, 25), (3000, 7)]), Histogram::default());
        let svg = figure([("64 bytes".to_owned(), &some), ("512 bytes".to_owned(), &none)]);
        let text = svg.as_str();
        assert!(text.contains("64 bytes") && !text.contains("512 bytes"), "{text}");
    }
}
